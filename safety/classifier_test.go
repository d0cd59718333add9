package safety

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCustomRules(t *testing.T) {
	base := newClassifier(t, SetDefault)
	rule := func(id, pattern string, s Severity, p Platform) Pattern {
		return Pattern{ID: id, Pattern: pattern, Severity: s, Platform: p}
	}
	c, err := base.With(
		rule("prod", `(psql|mysql).*--host.*prod-db`, Critical, PlatformAll),
		rule("mention", `rm -rf`, Critical, PlatformUnix),
		rule("WIN", `frobnicate`, Warning, PlatformWindows),
		rule("any", `[xyz]{3}`, Warning, PlatformAll), // has no literal to scan for
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cmd      string
		platform Platform
		want     Result
	}{
		{"psql --host prod-db -U admin", PlatformUnix, Result{Critical, []string{"prod"}}},
		{"PSQL --HOST prod-db", PlatformUnix, Result{Safe, []string{}}},
		// The raw line decides, whatever it looks like parsed.
		{"echo 'rm -rf x'", PlatformUnix, Result{Critical, []string{"mention"}}},
		{"echo 'rm -rf x'", PlatformWindows, Result{Safe, []string{}}},
		{"echo 'rm -rf x'", PlatformAll, Result{Critical, []string{"mention"}}},
		{"FROBNICATE now", PlatformWindows, Result{Warning, []string{"WIN"}}},
		{"FROBNICATE now", PlatformUnix, Result{Safe, []string{}}},
		{"  \n frobnicate\t", PlatformAll, Result{Warning, []string{"WIN"}}},
		{"echo xyzzy", PlatformUnix, Result{Warning, []string{"any"}}},
		{"rm -rf / xxx", PlatformUnix, Result{Critical, []string{"rm", "rm_rf_root", "mention", "any"}}},
	} {
		if diff := cmp.Diff(tt.want, c.Classify(tt.cmd, tt.platform)); diff != "" {
			t.Errorf("%q on %q (-want +got):\n%s", tt.cmd, tt.platform, diff)
		}
	}
	if got := base.Classify("psql --host prod-db", PlatformUnix); got.Severity != Safe {
		t.Errorf("With changed the classifier it was called on: %v", got)
	}
}

func TestRegistrationIsAllOrNothing(t *testing.T) {
	base := newClassifier(t, SetDefault)
	good := testPattern(nil)
	for _, tt := range []struct {
		name string
		bad  Pattern
		err  error
	}{
		{"id of a built-in rule", testPattern(func(p *Pattern) { p.ID = "rm" }), ErrPatternDuplicate},
		{"id given twice", good, ErrPatternDuplicate},
		{"reserved id", testPattern(func(p *Pattern) { p.ID = RuleTooComplex }), ErrPatternDuplicate},
		{"other reserved id", testPattern(func(p *Pattern) { p.ID = RuleUnparsed }), ErrPatternDuplicate},
		{"expression of another dialect", testPattern(func(p *Pattern) { p.ID, p.Pattern = "y", "a(?!b)" }), ErrPatternSyntax},
		{"no severity", testPattern(func(p *Pattern) { p.ID, p.Severity = "y", "" }), ErrPatternField},
	} {
		got, err := base.With(good, tt.bad)
		if e, ok := errors.AsType[*PatternError](err); !ok || got != nil || !errors.Is(err, tt.err) || e.ID != tt.bad.ID {
			t.Errorf("%s: %v, %v; want %v for %q", tt.name, got, err, tt.err, tt.bad.ID)
		}
	}
	many := make([]Pattern, MaxRules)
	for i := range many {
		many[i] = testPattern(func(p *Pattern) { p.ID = fmt.Sprint("n", i) })
	}
	if _, err := base.With(many...); !errors.Is(err, ErrTooManyRules) {
		t.Errorf("%d rules more: %v, want %v", len(many), err, ErrTooManyRules)
	}
}

func TestDisabledRules(t *testing.T) {
	base := newClassifier(t, SetDefault)
	// What a jailed deployment switches off.
	c, err := base.Without("sudo", "dd_if", "dd", "mkfs")
	if err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[string][]string{
		"sudo ls":           {},
		"mkfs.ext4 x.img":   {},
		"dd if=a of=b":      {},
		"sudo rm x":         {"rm"},
		"dd of=/dev/sda \"": {RuleUnparsed}, // also the rules for broken lines
	} {
		if got := c.Classify(cmd, PlatformUnix); !cmp.Equal(got.MatchedRules, want) {
			t.Errorf("%q matches %v, want %v", cmd, got.MatchedRules, want)
		}
	}
	if got := base.Classify("sudo ls", PlatformUnix); got.Severity != Critical {
		t.Errorf("Without changed the classifier it was called on: %v", got)
	}
	if c, err = c.Without("kill"); err != nil {
		t.Fatal(err)
	}
	if got := c.Classify("sudo kill 1 \"", PlatformUnix); !cmp.Equal(got.MatchedRules, []string{RuleUnparsed}) {
		t.Errorf("an earlier Without is forgotten: %v", got)
	}
	for _, ids := range [][]string{{"no_such_rule"}, {"rm", ""}, {RuleTooComplex}, {"sudo", "sudo_"}} {
		if _, err := base.Without(ids...); !errors.Is(err, ErrPatternUnknown) {
			t.Errorf("Without(%q): %v, want %v", ids, err, ErrPatternUnknown)
		}
	}
	if c, err := base.Without(); err != nil || len(c.Patterns()) != len(base.Patterns()) {
		t.Errorf("Without(): %v", err)
	}
}

func TestBuiltInSets(t *testing.T) {
	for _, set := range []Set{SetDefault, SetReference} {
		patterns, err := Builtins(set)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, p := range patterns {
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
			if seen[p.ID] {
				t.Errorf("%s: id %s is not unique", set, p.ID)
			}
			if p.Label == "" || p.Description == "" || p.Category == "" {
				t.Errorf("%s: rule %s has no text", set, p.ID)
			}
			seen[p.ID] = true
		}
		c := newClassifier(t, set)
		if c.Set() != set || !cmp.Equal(c.Patterns(), patterns) {
			t.Errorf("New(%s) holds set %s with %d rules", set, c.Set(), len(c.Patterns()))
		}
	}
	if _, err := New("mine"); err == nil {
		t.Error("an unknown set is accepted")
	}
}

// The default set keeps the reference's ids for rules of the same meaning, so
// that configurations that disable them keep working.
func TestDefaultSetKeepsReferenceIDs(t *testing.T) {
	reference, err := Builtins(SetReference)
	if err != nil {
		t.Fatal(err)
	}
	c := newClassifier(t, SetDefault)
	without := map[string]bool{"rm_end": true, "win_rd_end": true, "redirect_overwrite": true}
	for _, p := range reference {
		if _, ok := c.byID[p.ID]; ok == without[p.ID] {
			t.Errorf("rule %s: in the default set is %v", p.ID, ok)
		}
	}
	if len(reference) != 61 {
		t.Errorf("%d reference rules, want 61", len(reference))
	}
}

func TestBlankLines(t *testing.T) {
	for _, set := range []Set{SetDefault, SetReference} {
		c := newClassifier(t, set)
		for _, cmd := range []string{"", " ", "\n\t ", "\u00a0"} {
			if diff := cmp.Diff(Result{Safe, []string{}}, c.Classify(cmd, PlatformAll)); diff != "" {
				t.Errorf("%s, %q (-want +got):\n%s", set, cmd, diff)
			}
		}
	}
}

func TestUnusableClassifierFailsClosed(t *testing.T) {
	want := Result{Critical, []string{RuleTooComplex}}
	var none *Classifier
	for _, c := range []*Classifier{none, {}} {
		if got := c.Classify("ls", PlatformUnix); !cmp.Equal(got, want) {
			t.Errorf("%v", got)
		}
	}
}

// patternsForPrograms is a line with n patterns in place of programs, none of
// which is known.
func patternsForPrograms(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "/bin/unknown%d? x;", i)
	}
	return b.String()
}

func TestLimitsFailClosed(t *testing.T) {
	nest := func(n int, cmd string) string {
		for range n {
			cmd = "bash -c " + quoteWords([]word{{text: cmd}})
		}
		return cmd
	}
	for _, tt := range []struct {
		name, cmd string
		want      bool
	}{
		{"longest line", "echo " + strings.Repeat("a", MaxLine-5), false},
		{"line too long", "echo " + strings.Repeat("a", MaxLine-4), true},
		{"deepest shells", nest(maxDepth, "ls"), false},
		{"shells too deep", nest(maxDepth+1, "ls"), true},
		{"longest chain of wrappers", strings.Repeat("nohup ", maxWrappers) + "ls", false},
		{"chain too long", strings.Repeat("nohup ", maxWrappers+1) + "ls", true},
		{"wrappers of several kinds", strings.Repeat("env nice ", maxWrappers) + "ls", true},
		{"brackets", strings.Repeat("(", maxNesting) + "ls" + strings.Repeat(")", maxNesting), false},
		{"brackets too deep", strings.Repeat("(", maxNesting+1) + "ls" + strings.Repeat(")", maxNesting+1), true},
		{"keywords too deep", strings.Repeat("if ", maxNesting+1), true},
		{"prose with keywords", "git commit -m '" + strings.Repeat("if for while ", 200) + "'", false},
		{"many commands", strings.Repeat("ls;", 1000), false},
		{"too many commands", strings.Repeat("ls;", maxSteps), true},
		{"braces", "echo {a,b}{c,d}", false},
		{"too many braces", "echo " + strings.Repeat("{a,b}", 12), true},
		{"long sequence", "for i in {1..100000}; do echo $i; done", false},
		{"growing variable", "x=aaaaaaaaaa;" + strings.Repeat("x=$x$x;", 20), true},
		{"appending", strings.Repeat("x+=aaaaaaaaaaaaaaaaaaaa;", 2000), true},
		{"functions that call each other", "a(){ b;b;b;b; };b(){ c;c;c;c; };c(){ d;d;d;d; };d(){ e;e;e;e; };e(){ f;f;f;f; };f(){ g;g;g;g; };g(){ ls;ls;ls;ls; }; a;a;a;a", true},
		{"function that calls itself", "f(){ f; }; f", false},
		{"patterns for programs", patternsForPrograms(maxPatterns), false},
		{"too many patterns for programs", patternsForPrograms(maxPatterns + 1), true},
		{"alias that names itself", "alias ls='ls -l'; ls", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := newClassifier(t, SetDefault).Classify(tt.cmd, PlatformUnix)
			if found := len(got.MatchedRules) > 0 && got.MatchedRules[len(got.MatchedRules)-1] == RuleTooComplex; found != tt.want {
				t.Errorf("%v, want %s: %v", got, RuleTooComplex, tt.want)
			}
			if tt.want && got.Severity != Critical {
				t.Errorf("severity %s", got.Severity)
			}
		})
	}
	windows := strings.Repeat("cmd /c ", maxDepth+1) + "dir"
	if got := newClassifier(t, SetDefault).Classify(windows, PlatformWindows); got.Severity != Critical {
		t.Errorf("%q is %v", windows, got)
	}
}

// Of a line that is too long, both ends are still searched.
func TestLongLinesAreSearchedAtBothEnds(t *testing.T) {
	filler := strings.Repeat(" a", MaxLine)
	c := newClassifier(t, SetReference)
	for cmd, want := range map[string][]string{
		"sudo ls" + filler:          {"sudo", RuleTooComplex},
		filler + "; npm publish":    {"npm_publish", RuleTooComplex},
		filler + " reboot" + filler: {RuleTooComplex},
	} {
		if got := c.Classify(cmd, PlatformUnix); got.Severity != Critical || !cmp.Equal(got.MatchedRules, want) {
			t.Errorf("%.20q…: %v, want %v", cmd, got, want)
		}
	}
}

func TestUnparsedLinesAreNeverSafe(t *testing.T) {
	c := newClassifier(t, SetDefault)
	for cmd, want := range map[string]Result{
		`ls "`:                  {Warning, []string{RuleUnparsed}},
		`ls )`:                  {Warning, []string{RuleUnparsed}},
		`if ls`:                 {Warning, []string{RuleUnparsed}},
		`:(){:|:&};:`:           {Critical, []string{"fork_bomb", RuleUnparsed}},
		`rm x "`:                {Warning, []string{"rm", RuleUnparsed}},
		`ls ( ; rm -rf / )`:     {Critical, []string{"rm", "rm_rf_root", RuleUnparsed}},
		`echo "; nice rm -rf ~`: {Critical, []string{"rm", "rm_home", RuleUnparsed}},
		`x ) | curl u | sh`:     {Critical, []string{"curl_pipe_sh", RuleUnparsed}},
		`) echo x >/etc/passwd`: {Critical, []string{"account_file", RuleUnparsed}},
		`a ) $HOME/bin/rm -r x`: {Warning, []string{"rm", RuleUnparsed}},
		// A here-document without its end is accepted by shells.
		"bash <<E\nrm -rf /": {Critical, []string{"rm", "rm_rf_root"}},
		"cat <<E\nrm -rf /":  {Safe, []string{}},
	} {
		if got := c.Classify(cmd, PlatformUnix); !cmp.Equal(got, want) {
			t.Errorf("%q: %v, want %v", cmd, got, want)
		}
	}
}

func TestExplanations(t *testing.T) {
	base := newClassifier(t, SetDefault)
	c, err := base.With(Pattern{ID: "raw", Pattern: "HOME", Severity: Warning, Platform: PlatformAll})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cmd  string
		want []Match
	}{
		{"ls", []Match{}},
		{" ls $HOME", []Match{{Rule: "raw", Severity: Warning, View: ViewRaw, Line: "ls $HOME", Start: 5, End: 9}}},
		{"ls; nice -n 5 env A=1 rm -fr build", []Match{
			{Rule: "rm", Severity: Warning, View: ViewArgv, Line: "rm -f -r -- build", Start: 4, End: 34, Wrappers: []string{"nice", "env"}},
		}},
		{"  sh -c 'sh -c \"reboot\"' ", []Match{
			{Rule: "reboot", Severity: Warning, View: ViewNested, Depth: 2, Line: "reboot --", Start: 2, End: 24},
		}},
		{"curl u | sh", []Match{{Rule: "curl_pipe_sh", Severity: Critical, View: ViewPipe, Line: "pipe: curl | sh", Start: 9, End: 11}}},
		{"ls > /dev/sda", []Match{{Rule: "redirect_dev", Severity: Critical, View: ViewRedirect, Line: "write: <dev>/dev/sda", Start: 0, End: 13}}},
		{"python3 -c 'import os; os.remove(\"a\")'", []Match{
			{Rule: "rm", Severity: Warning, View: ViewCode, Depth: 1, Line: "rm -f -- a", Start: 0, End: 38},
		}},
		{"rm x )", []Match{
			{Rule: RuleUnparsed, Severity: Warning, View: ViewArgv, Line: "rm x )", Start: 0, End: 6},
			{Rule: "rm", Severity: Warning, View: ViewRaw, Line: "rm x )", Start: 0, End: 6},
			{Rule: "rm", Severity: Warning, View: ViewArgv, Line: "rm -- x", Start: 0, End: 6},
		}},
	} {
		got := c.Explain(tt.cmd, PlatformUnix)
		if diff := cmp.Diff(tt.want, got.Matches); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.cmd, diff)
		}
		if plain := c.Classify(tt.cmd, PlatformUnix); !cmp.Equal(plain, got.Result) {
			t.Errorf("%q: explained as %v, classified as %v", tt.cmd, got.Result, plain)
		}
	}
	long := c.Explain("ls "+strings.Repeat("a", MaxLine), PlatformUnix)
	want := []Match{{Rule: RuleTooComplex, Severity: Critical, View: ViewRaw, End: MaxLine + 3}}
	if diff := cmp.Diff(want, long.Matches); diff != "" {
		t.Errorf("a long line (-want +got):\n%s", diff)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := newClassifier(t, SetDefault)
	rows := readRows(t, "classifier-dev.jsonl")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, r := range rows {
				if got := c.Classify(r.Cmd, Platform(r.Platform)); got.Severity != r.Want {
					t.Errorf("%q is %s, want %s", r.Cmd, got.Severity, r.Want)
				}
			}
		})
	}
	wg.Wait()
}
