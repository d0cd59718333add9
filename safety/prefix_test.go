package safety

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// prefixRow is one case of a prefix corpus.
type prefixRow struct {
	Prefix   []string `json:"prefix"`
	Cmd      string   `json:"cmd"`
	Match    bool     `json:"match"`
	Decision Decision `json:"decision"`
	Platform Platform `json:"platform"`
	// Uncertain says that a deny must answer that it cannot know.
	Uncertain bool `json:"uncertain"`
}

func TestPrefixCorpora(t *testing.T) {
	matchers := map[Platform]*Matcher{PlatformUnix: NewMatcher(PlatformUnix), PlatformWindows: NewMatcher(PlatformWindows)}
	for _, file := range []string{"prefix-dev.jsonl", "prefix-heldout.jsonl", "prefix-heldout2.jsonl", "prefix-kinds.jsonl", "prefix-attacks.jsonl"} {
		for _, r := range readLines[prefixRow](t, file) {
			if r.Decision == "" {
				r.Decision = DecisionAllow
			}
			if r.Platform == "" {
				r.Platform = PlatformUnix
			}
			got := matchers[r.Platform].Match(r.Prefix, r.Cmd, r.Decision)
			if got.Matches != r.Match {
				t.Errorf("%s: %s %q on %q: %+v, want %v", file, r.Decision, r.Prefix, r.Cmd, got, r.Match)
			}
			if r.Uncertain && got.Reason != ReasonUncertain {
				t.Errorf("%s: %s %q on %q: %+v, want it uncertain", file, r.Decision, r.Prefix, r.Cmd, got)
			}
		}
	}
}

func TestPrefixReasons(t *testing.T) {
	m := NewMatcher(PlatformUnix)
	for _, tt := range []struct {
		prefix   []string
		cmd      string
		decision Decision
		want     PrefixMatch
	}{
		{[]string{"ls"}, " ", DecisionAllow, PrefixMatch{Reason: ReasonEmpty}},
		{[]string{"ls"}, "# ls", DecisionAllow, PrefixMatch{Reason: ReasonEmpty}},
		{[]string{"ls"}, `ls "`, DecisionAllow, PrefixMatch{Reason: ReasonUnparsed, Detail: "1:4: reached EOF without closing quote `\"`"}},
		{[]string{"ls"}, strings.Repeat("(", 100) + "ls", DecisionAllow, PrefixMatch{Reason: ReasonTooComplex}},
		{[]string{"ls"}, "ls " + strings.Repeat("a", MaxLine), DecisionAllow, PrefixMatch{Reason: ReasonTooComplex}},
		{[]string{"ls"}, "ls; id", DecisionAllow, PrefixMatch{Reason: ReasonNotCovered, Detail: "id"}},
		{[]string{"git", "log"}, "git", DecisionAllow, PrefixMatch{Reason: ReasonNotCovered, Detail: "git"}},
		{[]string{"ls"}, "ls &", DecisionAllow, PrefixMatch{Reason: ReasonStructure, Detail: "background job or negation"}},
		{[]string{"ls"}, "(ls)", DecisionAllow, PrefixMatch{Reason: ReasonStructure, Detail: "compound command"}},
		{[]string{"ls"}, "A=1 ls", DecisionAllow, PrefixMatch{Reason: ReasonAssignment}},
		{[]string{"ls"}, "ls $(id)", DecisionAllow, PrefixMatch{Reason: ReasonExpansion}},
		{[]string{"ls"}, "> /dev/null", DecisionAllow, PrefixMatch{Reason: ReasonRedirect, Detail: "no command"}},
		{[]string{"ls"}, "ls > a", DecisionAllow, PrefixMatch{Reason: ReasonRedirect, Detail: "a"}},
		{[]string{"sort"}, "sort -o a", DecisionAllow, PrefixMatch{Reason: ReasonOption, Detail: "-o"}},
		{[]string{"vim"}, "vim a", DecisionAllow, PrefixMatch{Reason: ReasonOption, Detail: "vim: editors run commands"}},
		{[]string{"nice"}, "nice ls", DecisionAllow, PrefixMatch{Reason: ReasonWrapper, Detail: "nice"}},
		{[]string{"ls"}, "ls -l", DecisionAllow, PrefixMatch{Matches: true}},
		{nil, "ls -l | wc", DecisionAllow, PrefixMatch{Matches: true}},
		{nil, "ls > a", DecisionAllow, PrefixMatch{Reason: ReasonRedirect, Detail: "a"}},
		{[]string{"rm"}, "nice rm a b c d", DecisionDeny, PrefixMatch{Matches: true, Reason: ReasonDenied, Detail: "rm a b"}},
		{[]string{"rm"}, "ls", DecisionDeny, PrefixMatch{Reason: ReasonNotCovered}},
		{[]string{"rm"}, "\t", DecisionDeny, PrefixMatch{Reason: ReasonEmpty}},
		{[]string{"rm"}, `echo "; rm x`, DecisionDeny, PrefixMatch{Matches: true, Reason: ReasonDenied, Detail: "rm x"}},
		// What was not read may be what is denied.
		{[]string{"rm"}, "ls " + strings.Repeat("a", MaxLine), DecisionDeny, PrefixMatch{Matches: true, Reason: ReasonTooComplex}},
		{[]string{"rm"}, strings.Repeat("nohup ", 40) + "ls", DecisionDeny, PrefixMatch{Matches: true, Reason: ReasonTooComplex}},
		{nil, "anything (", DecisionDeny, PrefixMatch{Matches: true, Reason: ReasonDenied}},
		// An unknown decision is read as a deny.
		{[]string{"ls"}, "ls", "", PrefixMatch{Matches: true, Reason: ReasonDenied, Detail: "ls"}},
	} {
		if got := m.Match(tt.prefix, tt.cmd, tt.decision); got != tt.want {
			t.Errorf("%s %q on %.40q: %+v, want %+v", tt.decision, tt.prefix, tt.cmd, got, tt.want)
		}
	}
}

func TestPrefixOnUnknownPlatform(t *testing.T) {
	// An allow has to hold in both languages, a deny in either.
	for _, tt := range []struct {
		prefix   []string
		cmd      string
		decision Decision
		want     bool
	}{
		{[]string{"git", "status"}, "git status", DecisionAllow, true},
		{[]string{"echo"}, "echo %PATH%", DecisionAllow, false},
		{[]string{"echo"}, "echo a ^& b", DecisionAllow, false},
		{[]string{"rm"}, "/bin/rm x", DecisionDeny, true},
		{[]string{"del"}, "DEL x", DecisionDeny, true},
		{[]string{"del"}, "ls", DecisionDeny, false},
	} {
		if got := MatchPrefix(tt.prefix, tt.cmd, tt.decision, PlatformAll); got.Matches != tt.want {
			t.Errorf("%s %q on %q: %+v, want %v", tt.decision, tt.prefix, tt.cmd, got, tt.want)
		}
	}
}

func TestParses(t *testing.T) {
	unix, windows := NewMatcher(PlatformUnix), NewMatcher(PlatformWindows)
	for cmd, want := range map[string][2]bool{
		"ls":                              {true, true},
		"ls 'a":                           {false, true},
		`ls "a`:                           {false, false},
		"":                                {false, false},
		"ls )":                            {false, true},
		strings.Repeat("(", 70):           {false, false},
		strings.Repeat("a", MaxLine+1):    {false, false},
		"if x; then y; fi":                {true, true},
		"cat <<E\nunfinished":             {false, true},
		"for /d %i in (*) do rd \"%i\"":   {false, true},
		"Get-Item a | ? { $_.Length }":    {true, true},
		"echo a && echo b || { exit 1; }": {true, true},
	} {
		if got := [2]bool{unix.Parses(cmd), windows.Parses(cmd)}; got != want {
			t.Errorf("%.30q parses: %v, want %v", cmd, got, want)
		}
	}
}

func TestBroadPrefixes(t *testing.T) {
	for _, tt := range []struct {
		prefix string // words
		broad  bool
	}{
		{"", true},
		{"bash", true},
		{"/bin/sh", true},
		{"bash -lc", true},
		{"bash -c", true},
		{"bash x.sh", false},
		{"zsh", true},
		{"fish", true},
		{"python3", true},
		{"python3.12", true},
		{"python -m", true},
		{"python3 -c", true},
		{"python3 -m pytest", false},
		{"python3 x.py", false},
		{"node", true},
		{"node -e", true},
		{"node x.js", false},
		{"perl", true},
		{"ruby -e", true},
		{"awk", true},
		{"deno", true},
		{"env", true},
		{"env A=1", true},
		{"env A=1 bash", true},
		{"env A=1 make", false},
		{"sudo", true},
		{"sudo -u bob", true},
		{"sudo bash", true},
		{"doas", true},
		{"su", true},
		{"xargs", true},
		{"xargs -n1", true},
		{"xargs wc", false},
		{"timeout 5", true},
		{"timeout 5 ls", false},
		{"git", true},
		{"git -c", true},
		{"git status", false},
		{"find", true},
		{"find .", false},
		{"ssh", true},
		{"npx", true},
		{"docker", true},
		{"docker ps", false},
		{"npm", true},
		{"npm test", false},
		{"cargo test", false},
		{"ls", false},
		{"make", false},
		{"rm", false},
		{"powershell", true},
		{"powershell.exe -NoProfile -Command", true},
		{"CMD /c", true},
		{"cmd.exe", true},
		{"eval", true},
		{"exec", true},
		{"nice bash", true},
	} {
		reason, broad := BroadPrefix(strings.Fields(tt.prefix))
		if broad != tt.broad || broad != (reason != "") {
			t.Errorf("%q: %q, %v; want %v", tt.prefix, reason, broad, tt.broad)
		}
	}
	if _, broad := BroadPrefix([]string{" ", "ls"}); !broad {
		t.Error("a blank program is not broad")
	}
}

func TestProgramsThatCarryCommands(t *testing.T) {
	for _, tt := range []struct {
		prefix, cmd string
		want        bool
	}{
		{"sometool", "sometool A=1 rm x", false},
		{"sometool", "sometool -- rm", false},
		{"sometool", "sometool 'rm -rf x'", false},
		{"sometool", "sometool 'ls; rm x'", false},
		{"sometool", "sometool rm", true},
		{"sometool", "sometool build x", true},
		{"sometool", "sometool -m 'a message'", true},
		{"sometool run rm", "sometool run rm x", true},
		{"cross-env", "cross-env A=1 rm x", false},
	} {
		if got := MatchPrefix(strings.Fields(tt.prefix), tt.cmd, DecisionAllow, PlatformUnix); got.Matches != tt.want {
			t.Errorf("allow %s on %s: %+v, want %v", tt.prefix, tt.cmd, got, tt.want)
		}
	}
}

func TestSuggestedPrefixes(t *testing.T) {
	for cmd, want := range map[string]string{ // empty: none
		"git status -s":                "git status",
		" git  status ":                "git status",
		"git 'status'":                 "git status",
		"git stash pop":                "git stash pop",
		"git -C d status":              "",
		"git":                          "",
		"ls -la":                       "ls",
		"rm -rf build":                 "rm",
		"npm run build":                "npm run build",
		"npm run build -- --prod":      "npm run build",
		"npm test":                     "npm test",
		"cargo test --all":             "cargo test",
		"go test ./...":                "go test",
		"python3 -m pytest -q":         "python3 -m pytest",
		"python3 x.py a":               "python3 x.py",
		"python3":                      "",
		"python3 -c 'x'":               "",
		"bash x.sh":                    "bash x.sh",
		"bash -c 'ls'":                 "",
		"docker compose up -d":         "docker compose up",
		"aws s3 ls s3://b":             "aws s3 ls",
		"kubectl get pods":             "kubectl get",
		"make test":                    "make test",
		"make":                         "make",
		"./gradlew test":               "./gradlew",
		"sudo ls":                      "",
		"env A=1 ls":                   "",
		"timeout 5 ls":                 "",
		"xargs rm":                     "",
		"ssh h ls":                     "",
		"ls; ls":                       "",
		"ls && ls":                     "",
		"ls | wc":                      "",
		"ls &":                         "",
		"! ls":                         "",
		"A=1 ls":                       "",
		"A=1":                          "",
		"ls $(id)":                     "",
		"ls $x":                        "",
		"ls > a":                       "",
		"(ls)":                         "",
		"if ls; then ls; fi":           "",
		`ls "`:                         "",
		"":                             "",
		"vim a":                        "",
		"cross-env A=1 npm test":       "",
		"concurrently 'npm test'":      "",
		"lerna exec rm x":              "",
		"tox exec -- rm x":             "",
		"systemd-cat ls -l":            "",
		"nvm exec 18 node x":           "",
		"ifne mail x":                  "",
		"logsave f ls":                 "",
		"dtach -n s ls":                "",
		"tsp ls -l":                    "",
		"hyperfine 'ls -l'":            "",
		"watchexec ls -l":              "",
		"nodemon x.js":                 "",
		"dotenvx run -- ls":            "",
		"chamber exec s -- ls":         "",
		"fnm exec ls":                  "",
		"podman unshare rm x":          "",
		"toolbox run ls":               "",
		"distrobox enter b -- ls":      "",
		"sort -o a b":                  "",
		"find . -delete":               "",
		strings.Repeat("a", MaxLine+1): "",
	} {
		prefix, ok := SuggestPrefix(cmd)
		if got := strings.Join(prefix, " "); got != want || ok != (want != "") {
			t.Errorf("%.40q: %q, %v; want %q", cmd, got, ok, want)
		}
	}
	m := NewMatcher(PlatformWindows)
	for cmd, want := range map[string]string{
		`dotnet build a.sln`:  "dotnet build",
		`type "C:\a b\c.txt"`: "type",
		`dotnet build & del`:  "",
		`dotnet "x`:           "",
		`powershell -c ls`:    "",
		`cmd /c dir`:          "",
	} {
		prefix, ok := m.Suggest(cmd)
		if got := strings.Join(prefix, " "); got != want || ok != (want != "") {
			t.Errorf("windows, %q: %q, %v; want %q", cmd, got, ok, want)
		}
	}
}

// The reference example of CommandLineToArgvW: backslashes count only before a
// double quote.
func TestSplitWindows(t *testing.T) {
	for line, want := range map[string][]string{
		`"abc" d e`:           {`abc`, `d`, `e`},
		`a\\b d"e f"g h`:      {`a\\b`, `de fg`, `h`},
		`a\\\"b c d`:          {`a\"b`, `c`, `d`},
		`a\\\\"b c" d e`:      {`a\\b c`, `d`, `e`},
		`C:\x\ "C:\a b\\" ""`: {`C:\x\`, `C:\a b\`, ``},
		"a\t b ":              {`a`, `b`},
		``:                    {},
	} {
		if diff := cmp.Diff(want, texts(splitWindows(line))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// FuzzMatchPrefix demands that an allow is never wider than a deny: if an allow
// for a prefix covers a line, a deny for it does, and the line parses. A
// suggestion covers the command it was made for and is not broad.
func FuzzMatchPrefix(f *testing.F) {
	for _, r := range readLines[prefixRow](f, "prefix-heldout.jsonl") {
		f.Add(strings.Join(r.Prefix, " "), r.Cmd, r.Platform == PlatformWindows)
	}
	matchers := map[bool]*Matcher{false: NewMatcher(PlatformUnix), true: NewMatcher(PlatformWindows)}
	f.Fuzz(func(t *testing.T, words, cmd string, windows bool) {
		m, prefix := matchers[windows], strings.Fields(words)
		allow, deny := m.Match(prefix, cmd, DecisionAllow), m.Match(prefix, cmd, DecisionDeny)
		if allow.Matches && !deny.Matches {
			t.Errorf("allow %q covers %q, deny does not: %+v", prefix, cmd, deny)
		}
		if allow.Matches && !m.Parses(cmd) {
			t.Errorf("allow %q covers %q, which does not parse", prefix, cmd)
		}
		suggested, ok := m.Suggest(cmd)
		if !ok {
			return
		}
		if reason, broad := m.Broad(suggested); broad {
			t.Errorf("%q suggests %q: %s", cmd, suggested, reason)
		}
		if got := m.Match(suggested, cmd, DecisionAllow); !got.Matches {
			t.Errorf("%q suggests %q, which does not cover it: %+v", cmd, suggested, got)
		}
	})
}
