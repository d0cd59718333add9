package match_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/authz/internal/match"
	"github.com/steerable-go/sidecar/authz/internal/match/matchtest"
)

// literal is a pattern whose matches are its keywords.
func literal(name string, fold, bounded bool, keywords []string) match.Pattern {
	var quoted []string
	for _, k := range keywords {
		quoted = append(quoted, regexp.QuoteMeta(k))
	}
	expr := "(?:" + strings.Join(quoted, "|") + ")"
	if bounded {
		expr = `\b` + expr
	}
	if fold {
		expr = "(?i)" + expr
	}
	return match.Pattern{Name: name, Expr: expr, Keywords: keywords}
}

// keyword draws a keyword of one to nine characters from a few, so that
// keywords have beginnings, ends and pairs in common.
func keyword(t *rapid.T, label string) string {
	return rapid.StringOfN(rapid.SampledFrom([]rune("abk-_ 0")), 1, 9, -1).Draw(t, label)
}

// Whatever the keywords are and however they share lanes, the pass finds each
// of them at every alignment, at both ends of the text, and beside others.
func TestAnyKeywordsAreFound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var patterns []match.Pattern
		var all []string
		for i := range rapid.IntRange(1, 12).Draw(rt, "patterns") {
			var keywords []string
			for j := range rapid.IntRange(1, 4).Draw(rt, "keywords") {
				keywords = append(keywords, keyword(rt, fmt.Sprint("keyword ", i, j)))
			}
			all = append(all, keywords...)
			patterns = append(patterns, literal(fmt.Sprint(i), rapid.Bool().Draw(rt, "fold"), rapid.Bool().Draw(rt, "bounded"), keywords))
		}
		set := match.New(patterns)
		for range 4 {
			var text strings.Builder
			text.WriteString(strings.Repeat(".", rapid.IntRange(0, 9).Draw(rt, "before")))
			for range rapid.IntRange(0, 6).Draw(rt, "parts") {
				part := rapid.SampledFrom(all).Draw(rt, "part")
				if rapid.Bool().Draw(rt, "upper") {
					part = strings.ToUpper(part)
				}
				text.WriteString(part)
				text.WriteString(rapid.SampledFrom([]string{"", "", ".", " ", "b", "\xff", "é"}).Draw(rt, "glue"))
			}
			matchtest.Equal(t, set, text.String())
		}
	})
}

// Every length of keyword, wherever it stands in the steps of the pass, alone
// and as the last or the first thing in a text.
func TestEveryLengthAtEveryPlace(t *testing.T) {
	const letters = "kestrelbox"
	for n := 1; n <= len(letters); n++ {
		k := letters[:n]
		set := match.New([]match.Pattern{literal("it", true, false, []string{k})})
		for before := range 20 {
			for after := range 20 {
				text := strings.Repeat("z", before) + strings.ToUpper(k) + strings.Repeat("z", after)
				hits := set.All(text)
				if len(hits) != 1 || hits[0].Start != before || hits[0].End != before+n {
					t.Fatalf("%q in %q: %+v", k, text, hits)
				}
			}
		}
	}
}

// numbers are patterns for digits and what stands between them.
func numbers() []match.Pattern {
	around := func(text string, at int) (lo, hi int) {
		inside := func(c byte) bool { return c == '.' || '0' <= c && c <= '9' }
		for lo = at; lo > 0 && inside(text[lo-1]); lo-- {
			continue
		}
		for hi = at; hi < len(text) && inside(text[hi]); hi++ {
			continue
		}
		return lo, hi
	}
	return []match.Pattern{
		{Name: "dotted", Expr: `\b\d{1,3}(?:\.\d{1,3}){3}\b`, Dots: true, Reach: 7, Between: ".", Around: around},
		{Name: "groups", Expr: `\b\d{4}(?:[ \x{00a0}\x{2009}]\d{4})+\b`, Digits: 4, Reach: 9, Between: " \u00a0\u2009"},
		{Name: "date", Expr: `\b\d{4}-\d\d-\d\d\b`, Digits: 4, Reach: 10, Between: "-"},
	}
}

func TestNumbers(t *testing.T) {
	set := match.New(numbers())
	for text, want := range map[string]string{
		"1.2.3.4":                            "dotted",
		"at 10.20.30.40, 1.1.1.1":            "dotted dotted",
		"1.2.3":                              "",
		"1..2.3.4":                           "",
		"12345678":                           "",
		"1234 5678":                          "groups",
		"1234\u00a05678":                     "groups",
		"1234\u20095678\u20099012 1234":      "groups",
		"1234\u20035678":                     "",
		"2026-11-30":                         "date",
		"x2026-11-30":                        "",
		"2026-11-301":                        "",
		"2026-11-30 2026-11-30":              "date date",
		"1234 5678-11-30":                    "groups date",
		"\u2009\u2009\u20092026-11-30\u2009": "date",
	} {
		for pad := range 9 {
			padded := strings.Repeat("~", pad) + text
			var got []string
			for _, h := range set.All(padded) {
				got = append(got, set.Name(h.Pattern))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q: %q, want %q", padded, got, want)
			}
			matchtest.Equal(t, set, padded)
		}
	}
}

// Numbers of every length among characters that numbers are made of.
func TestAnyNumbersAreFound(t *testing.T) {
	set := match.New(numbers())
	part := rapid.SampledFrom([]string{
		"1", "22", "333", "4444", "1234", "10", "0", ".", ".", " ", "-", "\u00a0", "\u2009", "x", "\n", "\xc2", "\x80", "  ",
		"1.2.3.4", "2026-11-30", "1234 5678",
	})
	rapid.Check(t, func(rt *rapid.T) {
		matchtest.Equal(t, set, strings.Join(rapid.SliceOfN(part, 0, 24).Draw(rt, "parts"), ""))
	})
}

// A table that says numbers may be shorter than what the pass can see is wrong.
func TestShortNumbersPanic(t *testing.T) {
	for _, reach := range []int{0, 6} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("reach %d is taken", reach)
				}
			}()
			match.New([]match.Pattern{{Name: "x", Expr: `\d{3}`, Digits: 3, Reach: reach}})
		}()
	}
}

// A text that begins with an attempt that fails too expensively.
func TestFallBackFromTheStart(t *testing.T) {
	set := match.New([]match.Pattern{{Name: "dd", Expr: `dd [^\n]*of=`, Keywords: []string{"dd "}}})
	for _, text := range []string{
		strings.Repeat("dd ", 4000),
		strings.Repeat("dd ", 4000) + "of=",
		strings.Repeat("dd ", 4000) + "\ndd of= dd x of=",
		"\xffdd " + strings.Repeat("dd \n", 4000) + "dd of=",
	} {
		matchtest.Equal(t, set, text)
	}
}

func BenchmarkNew(b *testing.B) {
	patterns := toys()
	for b.Loop() {
		match.New(patterns)
	}
}
