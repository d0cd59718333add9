package safety

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"
)

// sample writes a text that re may match to b, given enough luck with its
// boundaries.
func sample(b *strings.Builder, re *syntax.Regexp, rnd *rand.Rand) {
	times := 1
	switch re.Op { //nolint:exhaustive // the others are empty or groups
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		i := 2 * rnd.IntN(len(re.Rune)/2)
		b.WriteRune(re.Rune[i] + rune(rnd.IntN(int(min(re.Rune[i+1]-re.Rune[i]+1, 90)))))
	case syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		b.WriteByte(" -x<a>"[rnd.IntN(6)])
	case syntax.OpAlternate:
		sample(b, re.Sub[rnd.IntN(len(re.Sub))], rnd)
		return
	case syntax.OpStar, syntax.OpQuest:
		times = rnd.IntN(3) % 2 * (1 + rnd.IntN(3))
	case syntax.OpRepeat:
		times = re.Min
	}
	for range times {
		for _, sub := range re.Sub {
			sample(b, sub, rnd)
		}
	}
}

// mutate changes a text a little.
func mutate(s string, rnd *rand.Rand) string {
	i, j := rnd.IntN(len(s)+1), rnd.IntN(len(s)+1)
	i, j = min(i, j), max(i, j)
	switch rnd.IntN(8) {
	case 0:
		return s[:i] + s[min(i+1, len(s)):]
	case 1:
		return s[:j] + s[i:]
	case 2:
		return s[:i] + string(" -<>=/\n\x00\xff"[rnd.IntN(9)]) + s[i:]
	case 3:
		return s + s[i:j]
	}
	return s
}

// TestBranchesMatchAsTheirExpressions compares what decides about the branches of
// the default set with their expressions, in lines made from these.
func TestBranchesMatchAsTheirExpressions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	seen, matched, inOrder := 0, 0, 0
	for word, list := range newClassifier(t, SetDefault).views().byWord {
		for _, e := range list {
			re, err := syntax.Parse(e.expr().String(), syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			if e.inOrder != nil {
				inOrder++
			}
			for range 100 {
				var b strings.Builder
				sample(&b, re, rnd)
				line := mutate(b.String(), rnd)
				if first, _, found := strings.Cut(line, " "); first != word || !found {
					continue
				}
				seen++
				pairs := pairsOf(line)
				want := e.expr().MatchString(line)
				if want {
					matched++
				}
				if got := pairs.hasAll(&e.needs) && e.match(line); got != want {
					t.Errorf("%s in %q: %v, want %v", e.expr(), line, got, want)
				}
			}
		}
	}
	if seen < 10000 || matched < seen/4 || matched > seen*19/20 || inOrder < 100 {
		t.Errorf("%d lines, %d of them match, %d branches in order: too few to tell", seen, matched, inOrder)
	}
}

// TestOrdered shows what expressions are taken apart.
func TestOrdered(t *testing.T) {
	for expr, want := range map[string]bool{
		"^rm .*-- (?:.* )?<root>":        true,
		"^a (?:.* )?(?:-[rR]|--all)[ =]": true,
		"^a .*b$":                        true,
		"^a .*-- (?:b|c)(?: |$)":         true,
		"^a .*--b\\S*":                   true,
		"^a .*(?:ab|a).*c":               true,
		"^a .*(?:abc|b).*c":              false, // b ends before the abc around it
		"^a (?:\\S+ )?b":                 false,
		"^a .*\\bb":                      false,
		"^a(?:.* )?b":                    false, // no blank to share
		"a .*b":                          false,
		"^a .*[a-z]{1,3}x":               false,
		"^a .*(?i:s)":                    false, // s is also a letter beyond ASCII
		"^a .*é":                         false,
		"^a (?:1|2|3)(?:1|2|3)(?:1|2|3)4(?:1|2|3)": false, // too many
	} {
		re, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := newOrdered(re) != nil; got != want {
			t.Errorf("%s: taken apart %v, want %v", expr, got, want)
		}
	}
}
