package safety

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeEscapes(t *testing.T) {
	for _, tt := range []struct {
		in   string
		kind escapes
		want string
	}{
		{`plain`, escapesANSI, "plain"},
		{`\a\b\e\E\f\n\r\t\v\\\'\"\?`, escapesANSI, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"},
		{`\x41\x4`, escapesANSI, "A\x04"},
		{`\101\60x\7`, escapesANSI, "A0x\x07"},
		{`\u00e4\U0001F600`, escapesANSI, "ä😀"},
		{`\cA\ca`, escapesANSI, "\x01\x01"},
		{`\q\`, escapesANSI, `\q\`},
		{`\xzz`, escapesANSI, `\xzz`},
		{`\0101\0`, escapesEcho, "A\x00"},
		{`a\cb`, escapesEcho, "a"},
		{`\101`, escapesPrintf, "A"},
	} {
		if got := decodeEscapes(tt.in, tt.kind); got != tt.want {
			t.Errorf("%q (%d): %q, want %q", tt.in, tt.kind, got, tt.want)
		}
	}
}

func TestGlobMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"*", "", true},
		{"a*", "abc", true},
		{"*c", "abc", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"[a-c]x", "bx", true},
		{"[!a]x", "ax", false},
		{"[^a]x", "bx", true},
		{"[ab", "a", false},
		{"a*b*c", "a1b2c", true},
		{"a*b*c", "a1c2b", false},
		{"rm", "rmdir", false},
		{strings.Repeat("a*", 30) + "b", strings.Repeat("a", 5000), false},
	} {
		if got := globMatch(tt.pattern, tt.text); got != tt.want {
			t.Errorf("%.20q matches %.20q: %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}

func TestStaticOutput(t *testing.T) {
	e := newEngine()
	for cmd, want := range map[string]string{ // what an sh behind a pipe runs
		`echo rm a`:                                            "rm a",
		`echo -n rm; echo ' a'`:                                "rm a",
		`echo -e 'r\x6d a'`:                                    "rm a",
		`echo -E 'rm \x61'`:                                    "rm x61",
		`printf 'rm %s' a`:                                     "rm a",
		`printf '%s ' rm a b`:                                  "rm a b",
		`printf 'rm %d%% %x %o %b' 5 255 8 '\061'`:             "rm 5% ff 10 1",
		`printf -- 'rm a'`:                                     "rm a",
		`cat <<< 'rm a'`:                                       "rm a",
		"cat <<E\nrm a\nE":                                     "rm a",
		`x=a; cat <<< "rm $x"`:                                 "rm a",
		`echo 'rm a' | cat - | sort | head -1`:                 "rm a",
		`echo cm0gYQo= | base64 -d`:                            "rm a",
		`echo OJWSAYI= | base32 -d`:                            "rm a",
		`echo 726d2061 | xxd -r -p`:                            "rm a",
		`echo 'a mr' | rev`:                                    "rm a",
		`echo 'RM A' | tr A-Z a-z`:                             "rm a",
		`echo 'rm a' | tr x y`:                                 "rm a",
		`echo rmX | tr -d x`:                                   "rmX",
		`echo cm0gYQo= | openssl base64 -d`:                    "rm a",
		`echo 'rm a' | tee f`:                                  "rm a",
		`echo 'rm a' > f; cat f`:                               "rm a",
		`echo rm > f; echo ' a' >> f; tr -d '\n' < f; cat ./f`: "a",
		`(echo 'rm a')`:                                        "rm a",
		`if x; then echo 'rm a'; fi`:                           "rm a",
		`bash -c 'echo rm a'`:                                  "rm a",
		`which rm`:                                             "rm",
		`dd if=f`:                                              "",
		`echo a | wc`:                                          "",
		`echo a | md5sum`:                                      "",
	} {
		r := &recorder{}
		e.analyse("{ "+cmd+"\n} | sh", PlatformUnix, r, nil)
		got := ""
		if n := len(r.commands); n > 0 && r.commands[n-1] != "sh" {
			got = r.commands[n-1]
		}
		if want != "" && got != want {
			t.Errorf("%s prints %q, want %q", cmd, got, want)
		}
		if want == "" && got != "" {
			t.Errorf("%s prints %q, want nothing known", cmd, got)
		}
	}
}

func TestParseSed(t *testing.T) {
	for script, want := range map[string]sedScript{
		`p`:                    {},
		`s/a/b/g; s#c#d#2p`:    {},
		`s/a\/e/b/`:            {},
		`/e/d;$!N;y/ab/cd/`:    {},
		`1,5{p;q}`:             {},
		`a\ text with e and w`: {},
		`: loop; b loop; t; T`: {},
		`\%x%Id`:               {},
		`1e rm x`:              {commands: []string{"rm x"}},
		`/a/,/b/ e id`:         {commands: []string{"id"}},
		"p\ne ls\nd":           {commands: []string{"ls"}},
		`e`:                    {executes: true},
		`s/a/rm/e`:             {executes: true, commands: []string{"rm"}},
		`y/a/b/;s/./id \//e`:   {executes: true, commands: []string{"id /"}},
		`:a;e id`:              {commands: []string{"id"}},
		`b a;e id`:             {commands: []string{"id"}},
		`ta;1{b};e id`:         {commands: []string{"id"}},
		`s/[/]/id/e`:           {executes: true, commands: []string{"id"}},
		`/[]/]/e id`:           {commands: []string{"id"}, unsure: true}, // no command starts with ]
		`/[/e id`:              {commands: []string{"id"}},
		`s/a/b/w out`:          {writes: []string{"out"}},
		`/x/w out`:             {writes: []string{"out"}},
		`W all`:                {writes: []string{"all"}},
		`s/a/b`:                {},
		`k`:                    {unsure: true},
		`v`:                    {unsure: true},
		`\`:                    {unsure: true},
		``:                     {},
		`s`:                    {},
	} {
		if diff := cmp.Diff(want, parseSed(script), cmp.AllowUnexported(sedScript{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", script, diff)
		}
	}
}

func TestCodeCalls(t *testing.T) {
	for src, want := range map[string][]codeCall{
		`os.system("a b")`:                 {{name: "os.system", short: "system", literals: []string{"a b"}}},
		`run(['a', "b"], shell=True)`:      {{name: "run", short: "run", literals: []string{"a", "b"}}},
		`system "x"; y`:                    {{name: "system", short: "system", literals: []string{"x"}}},
		`f('a' + 'b', "c")`:                {{name: "f", short: "f", literals: []string{"ab", "c"}}},
		`f(x)`:                             {{name: "f", short: "f", indirect: true}},
		`rmtree(os.path.expanduser('~'))`:  {{name: "rmtree", short: "rmtree", literals: []string{"~"}}, {name: "os.path.expanduser", short: "expanduser", literals: []string{"~"}}},
		`rm(os.environ["HOME"])`:           {{name: "rm", short: "rm", literals: []string{"~"}}, {name: "os.environ", short: "environ", literals: []string{"~"}}},
		`rm(os.homedir())`:                 {{name: "rm", short: "rm", literals: []string{"~"}}, {name: "os.homedir", short: "homedir"}},
		`"rm x".execute()`:                 {{name: "execute", short: "execute", before: "rm x"}},
		"`ls`":                             {{tick: true, literals: []string{"ls"}}},
		`qx{ls} %x(id)`:                    {{tick: true, literals: []string{"ls"}}, {tick: true, literals: []string{"id"}}},
		`system(qw(rm x))`:                 {{name: "system", short: "system", literals: []string{"rm x"}}},
		"# system('x')\n// f('y')\ng('z')": {{name: "g", short: "g", literals: []string{"z"}}},
		`"""a"b"""; f('''c''')`:            {{name: "f", short: "f", literals: []string{"c"}}},
		`f("a\x62\n")`:                     {{name: "f", short: "f", literals: []string{"ab\n"}}},
		`print('system("x")')`:             {{name: "print", short: "print", literals: []string{`system("x")`}}},
		`unlink glob "/*"`:                 {{name: "unlink", short: "unlink", literals: []string{"/*"}}, {name: "glob", short: "glob", literals: []string{"/*"}}},
		`f("open`:                          {{name: "f", short: "f", literals: []string{"open"}}},
		`x = 1`:                            nil,
	} {
		got := codeCalls(lexCode(src))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(codeCall{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", src, diff)
		}
	}
	if n := len(lexCode(strings.Repeat("a ", maxTokens*2))); n != maxTokens {
		t.Errorf("%d tokens kept, want %d", n, maxTokens)
	}
}

func TestStripSQLComments(t *testing.T) {
	for in, want := range map[string]string{
		"select 1":      "select 1",
		"a -- b\nc":     "a  \nc",
		"a /* b */ c":   "a   c",
		"a '--' b -- c": "a '--' b ",
		"a /* unclosed": "a ",
		"it's -- x":     "it's ",
		"'a''b' /*x*/":  "'a''b'  ",
	} {
		if got := stripSQLComments(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCronCommand(t *testing.T) {
	for line, want := range map[string]string{
		"* * * * * ls -l": "ls -l", "@reboot ls": "ls", "*/5\t0 1 2 3  ls": "ls", "# ls": "", "": "", "1 2 3": "", "@daily": "",
	} {
		if got := cronCommand(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestUnbalanced(t *testing.T) {
	for line, want := range map[string][]string{
		`del "a b"`: nil,
		`del "a`:    {`del a`},
		`"a" del "`: {`"a" del `, `a" del "`},
		`it's`:      {`its`},
		`a $(`:      {`a  `},
		`a ) b`:     {`a   b`},
		`(a)`:       nil,
	} {
		if diff := cmp.Diff(want, unbalanced(line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestEncodedPowerShell(t *testing.T) {
	for in, want := range map[string]string{"aQBlAHgA": "iex", "SQBFAFgAIAB4AA==": "IEX x", "": ""} {
		if got, ok := decodeUTF16(in); !ok || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{"a", "YQ==", "!!!!"} {
		if got, ok := decodeUTF16(in); ok {
			t.Errorf("%q decodes to %q", in, got)
		}
	}
}

func TestNestedTooDeep(t *testing.T) {
	for _, tt := range []struct {
		line string
		want bool
	}{
		{strings.Repeat("(", maxNesting), false},
		{strings.Repeat("(", maxNesting+1), true},
		{strings.Repeat("()", 1000), false},
		{strings.Repeat("a[", maxNesting+1), true},
		{strings.Repeat("while ", maxNesting+1), true},
		{strings.Repeat("if a; then b; fi; ", 1000), false},
		{strings.Repeat("iffy ", 1000), false},
		{"echo '" + strings.Repeat("if ", 1000) + "'", false},
		{`echo \'` + strings.Repeat("if ", 1000), true},
		{"cat <<E\n" + strings.Repeat("if x:\n", 1000) + "E", false},
	} {
		if got := nestedTooDeep(tt.line); got != tt.want {
			t.Errorf("%.20q…: %v, want %v", tt.line, got, tt.want)
		}
	}
}
