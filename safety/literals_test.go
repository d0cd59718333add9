package safety

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRequiredLiterals(t *testing.T) {
	lit := func(texts ...string) []literal {
		var out []literal
		for _, s := range texts {
			out = append(out, literal{text: s})
		}
		return out
	}
	for expr, want := range map[string][]literal{
		`\brm\s`:                 {{text: "rm", before: true, after: true}},
		`\breboot\b`:             {{text: "reboot", before: true, after: true}},
		`rm\s+-rf`:               lit("-rf"),
		`\bgit\s+(push|pull|x)`:  {{text: "git", before: true, after: true}},
		`push|pull`:              lit("push", "pull"),
		`pu(sh|ll)`:              lit("push", "pull"),
		`(abc)+d`:                lit("abc"),
		`(?:abc){2}`:             lit("abc"),
		`a*(bc)?d`:               nil,
		`[ab]c`:                  nil,
		`a|bc`:                   nil,
		`ab|.*`:                  nil,
		`(?i)Remove-Item`:        {{text: "remove-item", fold: true}},
		`日本語ab`:                  nil,
		`^ab$`:                   {{text: "ab", start: true, end: true}},
		`x*ab$`:                  {{text: "ab", end: true}},
		`(?m)x*ab$`:              lit("ab"),
		`[a-z]*>[^|]`:            lit(">"),
		`[a-z]*\d5`:              nil,
		`^ab(?:c|d)`:             {{text: "ab", start: true}},
		`^ab(?:cd|ef)`:           {{text: "abcd", start: true}, {text: "abef", start: true}},
		`\bx-\b`:                 {{text: "x-", before: true}},
		`foo[a-z]`:               lit("foo"),
		`foo[ \t]+bar`:           {{text: "foo", after: true}},
		`(?:abc){0,2}longer|xyz`: lit("longer", "xyz"),
	} {
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, requiredLiterals(re), cmp.AllowUnexported(literal{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expr, diff)
		}
	}
	var many strings.Builder
	for i := range maxLiterals + 1 {
		many.WriteString("|w" + strings.Repeat("x", i+1))
	}
	re, err := syntax.Parse("(?:"+many.String()[1:]+")y*", syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	if got := requiredLiterals(re); len(got) > maxLiterals {
		t.Errorf("%d literals kept", len(got))
	}
}

func TestContainsAny(t *testing.T) {
	for _, tt := range []struct {
		text string
		lits []literal
		want bool
	}{
		{"anything", nil, true},
		{"say delete", []literal{{text: "delete"}}, true},
		{"say DELETE", []literal{{text: "delete"}}, false},
		{"say DeLeTe", []literal{{text: "delete", fold: true}}, true},
		{"say delet", []literal{{text: "delete", fold: true}}, false},
		{"dedelete", []literal{{text: "delete", fold: true}}, true},
		{"x", []literal{{text: "ab"}, {text: "x"}}, true},
		{"Kelvin \u212a", []literal{{text: "kk", fold: true}}, true}, // may fold
	} {
		if got := containsAny(tt.text, tt.lits); got != tt.want {
			t.Errorf("%q holds %v: %v, want %v", tt.text, tt.lits, got, tt.want)
		}
	}
}

func TestScanner(t *testing.T) {
	s := newScanner([][]literal{
		{{text: "he"}, {text: "she"}},
		{{text: "his"}},
		{{text: "hers"}},
		{{text: "rm", before: true, after: true}},
		nil,
	})
	for text, want := range map[string][]int32{
		"":           nil,
		"ushers":     {0, 2},
		"USHERS":     {0, 2},
		"this":       {1},
		"x rm y":     {3},
		"rm":         {3},
		"farm":       nil,
		"rmdir":      nil,
		"/rm-rf":     {3},
		"日rm本":       {3}, // not word characters of package regexp
		"h e":        nil,
		"shishers..": {0, 1, 2},
	} {
		var got []int32
		s.find(text, false, func(owner int32) { got = append(got, owner) })
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestBitset(t *testing.T) {
	var b bitset
	for _, i := range []int{0, 63, 64, 255, 256, 4095} {
		if b.has(i) {
			t.Errorf("%d is in an empty set", i)
		}
		b.add(i)
		if !b.has(i) || b.has(i+1) {
			t.Errorf("after adding %d: %v, %v", i, b.has(i), b.has(i+1))
		}
	}
}

func TestAlternatives(t *testing.T) {
	for expr, want := range map[string][]string{
		`^rm `:                   {`^rm `},
		`(?:^a |^b )`:            {`^a `, `^b `},
		`(?:^a (?:x|y)|^b[|)] )`: {`^a (?:x|y)`, `^b[|)] `},
		`(?:^a \||^b\) )`:        {`^a \|`, `^b\) `},
		`(?:a|b)c`:               {`(?:a|b)c`},
		`(?:[^\]|]a|b)`:          {`[^\]|]a`, `b`},
	} {
		if diff := cmp.Diff(want, alternatives(expr)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expr, diff)
		}
	}
}

func TestFirstWords(t *testing.T) {
	for expr, want := range map[string][]string{
		`^rm `:                     {"rm"},
		`^(?:rm|rmdir|shred) x`:    {"rm", "rmdir", "shred"},
		`^write: <dev>`:            {"write:"},
		`^a(?:b|c)? `:              {"ab", "ac", "a"},
		`^(a|b)[xy] .*`:            {"ax", "ay", "bx", "by"},
		`(?i)^Rm `:                 {"rm"},
		`^rm`:                      nil, // no blank
		`rm `:                      nil,
		`^.* `:                     nil,
		`^[a-z]x `:                 nil,
		`^r+m `:                    nil,
		`^(?:docker rm |docker x)`: {"docker"},
	} {
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got := firstWords(re)
		slices.Sort(got)
		want = slices.Clone(want)
		slices.Sort(want)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

func TestIsWordOnly(t *testing.T) {
	for expr, want := range map[string]bool{
		"^rm ": true, "^(?:a-b|c:) ": true, "^rm .*x": false, "^rm": false, "^r.m ": false, "^(?:a|b)": false, "^[ab] ": false,
	} {
		if got := isWordOnly(expr); got != want {
			t.Errorf("%s: %v", expr, got)
		}
	}
}

// The index tries only the alternatives that can start with the first word of a
// line, and none whose literals are missing. That must find exactly what the
// whole expressions find.
func TestViewIndexEqualsWholeExpressions(t *testing.T) {
	c := newClassifier(t, SetDefault)
	index := c.views()
	whole := make([]*regexp.Regexp, len(c.rules))
	for i, r := range c.rules {
		whole[i] = regexp.MustCompile(r.Pattern.Pattern)
	}
	e := newEngine()
	lines := map[string]bool{}
	for _, file := range corpora {
		for _, r := range readRows(t, file) {
			for _, line := range linesOf(e, r.Cmd, Platform(r.Platform)) {
				lines[line] = true
			}
		}
	}
	for line := range lines {
		g := &grading{c: c}
		sink := &grader{g: g, index: index, size: len(line)}
		sink.view(view{line: line, dialect: PlatformAll})
		for i, re := range whole {
			if got, want := g.matched.has(i), re.MatchString(line); got != want {
				t.Errorf("rule %s on %q: %v, want %v", c.rules[i].ID, line, got, want)
			}
		}
	}
}
