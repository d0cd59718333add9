// Package matchtest makes texts on which filters for regular expressions go
// wrong, and compares a filter with the expressions themselves.
package matchtest

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz/internal/match"
)

// Equal fails the test if the set finds anything else in text than its
// expressions do alone.
func Equal(t *testing.T, set *match.Set, text string) {
	t.Helper()
	got, want := set.All(text), set.Naive(text)
	if describe(set, got) != describe(set, want) {
		t.Fatalf("in %q\n got %s\nwant %s", text, describe(set, got), describe(set, want))
	}
	var first []match.Hit
	for _, h := range want {
		if len(first) == 0 || first[len(first)-1].Pattern != h.Pattern {
			first = append(first, h)
		}
	}
	if got := set.First(text); describe(set, got) != describe(set, first) {
		t.Fatalf("First in %q\n got %s\nwant %s", text, describe(set, got), describe(set, first))
	}
}

func describe(set *match.Set, hits []match.Hit) string {
	var out strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&out, "%s[%d:%d %d:%d] ", set.Name(h.Pattern), h.Start, h.End, h.From, h.To)
	}
	return out.String()
}

// Generator makes texts. It is not safe for concurrent use.
type Generator struct {
	state uint64
	exprs []*syntax.Regexp
}

// intn returns the next number below n, from splitmix64: texts need variety,
// and the same ones for the same seed, not secrecy.
func (g *Generator) intn(n int) int {
	g.state += 0x9e3779b97f4a7c15
	z := g.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z^z>>31)>>33) % n
}

// printable returns one printable ASCII character.
func (g *Generator) printable() string {
	const all = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
	i := g.intn(len(all))
	return all[i : i+1]
}

// NewGenerator returns a generator of texts that are full of matches and near
// misses of the expressions.
func NewGenerator(seed uint64, exprs []string) *Generator {
	g := &Generator{state: seed}
	for _, e := range exprs {
		re, err := syntax.Parse(e, syntax.Perl)
		if err != nil {
			panic(err)
		}
		g.exprs = append(g.exprs, re)
	}
	return g
}

// Text returns the next text.
func (g *Generator) Text() string {
	glue := []string{"", "", "", " ", "\n", "x", "_", "1", "-", ".", ":", "=", "@", "/", "…", "é", "\xff", "ſ", "\u212a", "  ", "v"}
	var out strings.Builder
	for range 1 + g.intn(5) {
		out.WriteString(glue[g.intn(len(glue))])
		part := g.match(g.exprs[g.intn(len(g.exprs))])
		if len(part) > 0 && g.intn(4) == 0 {
			// A near miss: one byte changed, removed or cut after.
			i := g.intn(len(part))
			switch g.intn(3) {
			case 0:
				part = part[:i] + g.printable() + part[i+1:]
			case 1:
				part = part[:i] + part[i+1:]
			default:
				part = part[:i]
			}
		}
		out.WriteString(part)
	}
	out.WriteString(glue[g.intn(len(glue))])
	return out.String()
}

// match returns a text that the expression matches, ignoring assertions.
func (g *Generator) match(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine,
		syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return "" // assertions hold or fail by what stands beside them
	case syntax.OpLiteral:
		return g.literal(re)
	case syntax.OpCharClass:
		return g.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return g.printable()
	case syntax.OpStar:
		return g.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		return g.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
		return g.repeat(re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		return g.repeat(re.Sub[0], re.Min, re.Max)
	case syntax.OpConcat, syntax.OpCapture:
		var out strings.Builder
		for _, sub := range re.Sub {
			out.WriteString(g.match(sub))
		}
		return out.String()
	case syntax.OpAlternate:
		return g.match(re.Sub[g.intn(len(re.Sub))])
	default:
		return ""
	}
}

// literal returns a literal, in any case if it folds.
func (g *Generator) literal(re *syntax.Regexp) string {
	out := string(re.Rune)
	if re.Flags&syntax.FoldCase == 0 {
		return out
	}
	switch g.intn(3) {
	case 0:
		return strings.ToLower(out)
	case 1:
		return strings.ToUpper(out)
	default:
		return out
	}
}

func (g *Generator) repeat(re *syntax.Regexp, lo, hi int) string {
	n := lo + g.intn(4)
	if hi >= 0 {
		n = min(n, hi)
	}
	var out strings.Builder
	for range n {
		out.WriteString(g.match(re))
	}
	return out.String()
}

// class returns a member of a character class, an ASCII one if there is any.
func (g *Generator) class(ranges []rune) string {
	var ascii []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= min(ranges[i+1], 126); r++ {
			ascii = append(ascii, r)
		}
	}
	if len(ascii) == 0 || g.intn(40) == 0 {
		return string(ranges[2*g.intn(len(ranges)/2)])
	}
	return string(ascii[g.intn(len(ascii))])
}
