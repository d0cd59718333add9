package match_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz/internal/match"
	"github.com/steerable-go/sidecar/authz/internal/match/matchtest"
)

// toys are patterns of every kind that a set knows.
func toys() []match.Pattern {
	return []match.Pattern{
		{Name: "folding", Expr: `(?i)\bkeys?\b`, Keywords: []string{"key"}},
		{Name: "exact", Expr: `AB[0-9]+`, Keywords: []string{"AB"}},
		{Name: "value", Expr: `(?i)sink=(\w+)`, Value: 1, Keywords: []string{"sink="}},
		{Name: "many", Expr: `(?i)(?:task|risk|desk)-\d`, Keywords: []string{"task-", "risk-", "desk-"}},
		{Name: "around", Expr: `[a-z]+@[a-z]+`, Keywords: []string{"@"}, Around: func(text string, at int) (int, int) {
			lo, hi := at, at
			for lo > 0 && (text[lo-1] == '@' || text[lo-1] >= 'a' && text[lo-1] <= 'z') {
				lo--
			}
			for hi < len(text) && (text[hi] == '@' || text[hi] >= 'a' && text[hi] <= 'z') {
				hi++
			}
			return lo, hi
		}},
		{Name: "digits", Expr: `\b\d{3}-\d{4}\b`, Digits: 3, Reach: 8, Between: "-"},
		{Name: "checked", Expr: `even\d+`, Keywords: []string{"even"}, Check: func(m match.Match) bool { return (m.Text[m.End-1]-'0')%2 == 0 }},
		{Name: "lookahead", Expr: `dd [^\n]*of=`, Keywords: []string{"dd "}},
	}
}

func expressions() []string {
	var out []string
	for _, p := range toys() {
		out = append(out, p.Expr)
	}
	return out
}

// Sets with keywords of two bytes look at every pair, the others at every
// second; both find what the expressions find.
func TestSetsFindWhatExpressionsFind(t *testing.T) {
	var long []match.Pattern
	for _, p := range toys() {
		if p.Name != "exact" {
			long = append(long, p)
		}
	}
	for name, set := range map[string]*match.Set{"every pair": match.New(toys()), "every second pair": match.New(long)} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{
				"", "k", "key", "KEYS key keyed monkey", " key", "AB1", "xAB12AB3ab4", "sink=", "SINK=abc_1 sink=x", "task-1risk-2 DESK-3",
				"a@b", "@", "a@", "@b", "x.y@z a@b@c", "555-1234", "1555-1234", "555-12345", "even12 even13", "even13even12", "dd if of=", "dd \nof=",
				"\xff", "key\xff", "ſink=x", "tas\u212a-1", "é key é", strings.Repeat("dd ", 50) + "of=",
			} {
				for pad := range 9 { // every alignment within a step of the pass
					matchtest.Equal(t, set, strings.Repeat(".", pad)+text)
					matchtest.Equal(t, set, strings.Repeat(".", pad)+text+strings.Repeat(".", 9))
				}
			}
			g := matchtest.NewGenerator(1, expressions())
			for range 3000 {
				matchtest.Equal(t, set, g.Text())
			}
		})
	}
}

// Attempts that fail after reading far give way to one ordinary search, with
// the same result.
func TestExpensiveFailuresFallBack(t *testing.T) {
	set := match.New(toys())
	dense := strings.Repeat("dd ", 20_000)
	if hits := set.All(dense); len(hits) != 0 {
		t.Errorf("%d hits", len(hits))
	}
	matchtest.Equal(t, set, dense+"\nkey dd x of=y dd "+dense+"of=\n")
}

// Folding stays within ASCII; everything else means what it means to regexp.
func TestFoldingIsASCII(t *testing.T) {
	set := match.New([]match.Pattern{{Name: "s", Expr: `(?i)\bkiss[^a]`, Keywords: []string{"kiss"}}})
	for text, want := range map[string]int{"kiss!": 1, "KISS!": 1, "kIsS\u017f": 1, "ki\u017fs!": 0, "\u212aiss!": 0, "kissa": 0, "kissA": 0} {
		if got := len(set.All(text)); got != want {
			t.Errorf("%q: %d hits, want %d", text, got, want)
		}
	}
	if !regexp.MustCompile(`(?i)kiss`).MatchString("ki\u017fs") {
		t.Error("the standard library no longer folds U+017F; the rewriting may go")
	}
}

func TestNames(t *testing.T) {
	set := match.New(toys())
	if set.Len() != len(toys()) || set.Name(1) != "exact" {
		t.Errorf("%d patterns, second %q", set.Len(), set.Name(1))
	}
	hits := set.First("sink=abc sink=def")
	if len(hits) != 1 || hits[0].Value() != "abc" || set.Name(hits[0].Pattern) != "value" {
		t.Errorf("%+v", hits)
	}
}

// Tables are code: mistakes in them stop the program at once.
func TestBadTablesPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"expression": func() { match.New([]match.Pattern{{Name: "x", Expr: `(`, Keywords: []string{"abc"}}}).All("abc") },
		"value": func() {
			match.New([]match.Pattern{{Name: "x", Expr: `abc(d)?`, Value: 1, Keywords: []string{"abc"}}}).All("abc")
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func FuzzSets(f *testing.F) {
	set := match.New(toys())
	f.Add("key AB1 sink=x 555-1234 a@b", uint64(0))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		matchtest.Equal(t, set, text)
		matchtest.Equal(t, set, text+matchtest.NewGenerator(seed, expressions()).Text())
	})
}

func BenchmarkFirst(b *testing.B) {
	set, text := match.New(toys()), strings.Repeat("nothing of interest stands in this line, or in any other\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		set.First(text)
	}
}
