package safety

import (
	"slices"
	"strings"
	"testing"
)

// addCorpus seeds a fuzz target with every command of the corpora.
func addCorpus(f *testing.F) {
	f.Helper()
	for _, file := range corpora {
		for i, r := range readRows(f, file) {
			if i%4 == 0 { // a quarter keeps the first pass short
				f.Add(r.Cmd, r.Platform == "windows")
			}
		}
	}
}

// FuzzClassify demands that no line makes the analysis panic, that a result is
// well formed, and that an explanation agrees with the plain answer.
func FuzzClassify(f *testing.F) {
	addCorpus(f)
	c := newClassifier(f, SetDefault)
	f.Fuzz(func(t *testing.T, cmd string, windows bool) {
		p := platformOf(windows)
		got := c.Classify(cmd, p)
		if err := wellFormed(c, got); err != nil {
			t.Fatalf("%q: %v", cmd, err)
		}
		why := c.Explain(cmd, p)
		if diff := compareResults(got, why.Result); diff != "" {
			t.Fatalf("%q: Explain differs from Classify: %s", cmd, diff)
		}
		for _, m := range why.Matches {
			if m.Start < 0 || m.End < m.Start || m.End > len(cmd) {
				t.Fatalf("%q: rule %s has span %d..%d", cmd, m.Rule, m.Start, m.End)
			}
		}
	})
}

// FuzzWrappers demands that no wrapper lowers the grade of any line that parses.
// One that does not may become valid and harmless by a wrapper: "& rm" is not
// valid, "env & rm" is two commands.
func FuzzWrappers(f *testing.F) {
	addCorpus(f)
	c := newClassifier(f, SetDefault)
	f.Fuzz(func(t *testing.T, cmd string, windows bool) {
		p := platformOf(windows)
		before := c.Classify(cmd, p)
		if slices.Contains(before.MatchedRules, RuleUnparsed) || strings.HasPrefix(strings.TrimLeft(cmd, " \t\n'\"\\"), "-") {
			return // a first word with a dash is an option of the wrapper, not a command
		}
		if strings.HasSuffix(cmd, "`") || strings.HasSuffix(cmd, "^") || strings.HasSuffix(cmd, `\`) {
			return // it makes what is appended a part of the last word
		}
		for name, wrap := range wrappers {
			after := c.Classify(wrap(cmd), p)
			if !after.Severity.AtLeast(before.Severity) {
				t.Errorf("%s, %s: %q is %v, %q is %v", p, name, cmd, before, wrap(cmd), after)
			}
		}
	})
}

// FuzzSyntaxErrors demands that no syntax error lowers the grade of any line that
// parses. The Windows languages have no errors of that kind: there is always some
// reading.
func FuzzSyntaxErrors(f *testing.F) {
	addCorpus(f)
	c := newClassifier(f, SetDefault)
	f.Fuzz(func(t *testing.T, cmd string, windows bool) {
		before := c.Classify(cmd, PlatformUnix)
		if windows || slices.Contains(before.MatchedRules, RuleUnparsed) || strings.Contains(cmd, "<<") {
			return // what follows an open here-document belongs to the program in it
		}
		for name, change := range syntaxErrors {
			after := c.Classify(change(cmd), PlatformUnix)
			if !after.Severity.AtLeast(before.Severity) {
				t.Errorf("%s: %q is %v, %q is %v", name, cmd, before, change(cmd), after)
			}
		}
	})
}

func platformOf(windows bool) Platform {
	if windows {
		return PlatformWindows
	}
	return PlatformUnix
}
