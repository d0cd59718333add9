package safety

import (
	"regexp"
	"strings"
	"testing"
)

// A grade must not fall when a command is wrapped or followed by another.
var wrappers = map[string]func(string) string{
	"followed by ls": func(s string) string { return s + "; ls" },
	"bash -c":        func(s string) string { return "bash -c '" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
	"env":            func(s string) string { return "env " + s },
	"command":        func(s string) string { return "command " + s },
	"timeout":        func(s string) string { return "timeout 5 " + s },
}

// syntaxErrors make a line invalid without touching what it says.
var syntaxErrors = map[string]func(string) string{
	"open double quote": func(s string) string { return s + ` "` },
	"open single quote": func(s string) string { return s + ` '` },
	"open bracket":      func(s string) string { return s + " $(" },
	"stray bracket":     func(s string) string { return s + " )" },
	"bare operator":     func(s string) string { return s + " | |" },
	"leading quote":     func(s string) string { return `" ` + s },
	"leading bracket":   func(s string) string { return ") " + s },
}

func TestSyntaxErrorsNeverLowerAGrade(t *testing.T) {
	c := newClassifier(t, SetDefault)
	for _, file := range corpora {
		for i, row := range readRows(t, file) {
			if i%5 != 0 { // guessing is slow; the fuzz target does the rest
				continue
			}
			before := c.Classify(row.Cmd, Platform(row.Platform))
			for name, change := range syntaxErrors {
				after := c.Classify(change(row.Cmd), Platform(row.Platform))
				if !after.Severity.AtLeast(before.Severity) {
					t.Errorf("%s, %s: %q is %v, %q is %v", row.Platform, name, row.Cmd, before, change(row.Cmd), after)
				}
			}
		}
	}
}

func TestWrappersNeverLowerAGrade(t *testing.T) {
	c := newClassifier(t, SetDefault)
	for _, file := range corpora {
		for _, row := range readRows(t, file) {
			before := c.Classify(row.Cmd, Platform(row.Platform))
			for name, wrap := range wrappers {
				after := c.Classify(wrap(row.Cmd), Platform(row.Platform))
				if !after.Severity.AtLeast(before.Severity) {
					t.Errorf("%s, %s: %q is %s, %q is %s", row.Platform, name, row.Cmd, before.Severity, wrap(row.Cmd), after.Severity)
				}
			}
		}
	}
}

// posixOnly are constructs that no Windows language has: a line with one of them
// is not read as a Windows line when the platform is not known.
var posixOnly = regexp.MustCompile(`<<|\bcase |command -v`)

// Not knowing the platform must not hide what one of the platforms would grade.
func TestAllPlatformsIsTheHighestGrade(t *testing.T) {
	c := newClassifier(t, SetDefault)
	skipped := 0
	for _, file := range corpora {
		for _, row := range readRows(t, file) {
			all := c.Classify(row.Cmd, PlatformAll)
			for _, p := range []Platform{PlatformUnix, PlatformWindows} {
				if p == PlatformWindows && row.Platform != "windows" && posixOnly.MatchString(row.Cmd) {
					skipped++
					continue
				}
				if one := c.Classify(row.Cmd, p); !all.Severity.AtLeast(one.Severity) {
					t.Errorf("%q is %v on all platforms, %v on %s", row.Cmd, all, one, p)
				}
			}
		}
	}
	if skipped > 100 {
		t.Errorf("%d rows skipped", skipped)
	}
}
