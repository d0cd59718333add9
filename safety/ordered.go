package safety

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// ordered decides expressions that ask for nothing but literals in order, such as
// "^rm .*-- (?:.* )?<root>", without running them: a line matches if each of the
// literals can be found behind the one before. They are derived from the
// expression, as the literals of a branch are.
type ordered struct {
	// first are the literals that the line may start with.
	first []string
	gaps  []gap
}

// gap is anything, then one of several literals.
type gap struct {
	// prefix is what all of the literals start with, rest what follows it in each,
	// the shortest first.
	prefix string
	rest   []string
	// overlap is how many bytes of the literal before may belong to this one: the
	// blank of "a (?:.* )?b" is that of "a " if there is nothing between.
	overlap int
}

// newOrdered returns literals in order that are equivalent to re for lines that isOneLine
// accepts; nil if there are none.
func newOrdered(re *syntax.Regexp) *ordered {
	if re.Op != syntax.OpConcat || re.Sub[0].Op != syntax.OpBeginText {
		return nil
	}
	var s ordered
	part, overlap := []string{""}, 0
	end := func() {
		if s.first == nil {
			s.first = part
		} else {
			s.addGap(part, overlap)
		}
	}
	subs := flatten(re.Sub[1:])
	for i, sub := range subs {
		blank := isAnythingBlank(sub)
		switch {
		case blank || isAnything(sub):
			if blank && !endInBlank(part) || s.first != nil && !isOrderly(part) {
				return nil
			}
			end()
			part, overlap = []string{""}, 0
			if blank {
				part, overlap = []string{" "}, 1
			}
		default:
			if part = crossed(part, finite(sub, i+1 == len(subs))); len(part) == 0 {
				return nil
			}
		}
	}
	end()
	return &s
}

// endInBlank reports whether all literals do.
func endInBlank(literals []string) bool {
	return !slices.ContainsFunc(literals, func(s string) bool { return !strings.HasSuffix(s, " ") })
}

// addGap appends a gap before one of the literals.
func (s *ordered) addGap(literals []string, overlap int) {
	slices.SortStableFunc(literals, func(a, b string) int { return len(a) - len(b) })
	g := gap{prefix: strings.TrimSuffix(literals[0], lineEnd), overlap: overlap}
	for _, lit := range literals {
		for !strings.HasPrefix(lit, g.prefix) {
			g.prefix = g.prefix[:len(g.prefix)-1]
		}
	}
	for _, lit := range literals {
		g.rest = append(g.rest, lit[len(g.prefix):])
	}
	s.gaps = append(s.gaps, g)
}

// isOrderly reports whether the first of the literals that starts in a text is the
// first that ends.
func isOrderly(literals []string) bool {
	for _, lit := range literals {
		if lit == "" || slices.ContainsFunc(literals, func(other string) bool { return strings.Contains(lit[1:], other) }) {
			return false
		}
	}
	return true
}

// match reports whether the expression matches a line that isOneLine accepts.
func (s *ordered) match(line string) bool {
	pos := -1
	for _, lit := range s.first {
		if n := prefixLength(line, lit); n >= 0 && (pos < 0 || n < pos) {
			pos = n
		}
	}
	for i := range s.gaps {
		if pos < 0 {
			return false
		}
		pos = s.gaps[i].find(line, pos)
	}
	return pos >= 0
}

// find returns the end of the first of the literals in line that does not start
// before from, or -1.
func (g *gap) find(line string, from int) int {
	for from -= g.overlap; from <= len(line); from++ {
		i := strings.Index(line[from:], g.prefix)
		if i < 0 {
			return -1
		}
		from += i
		after := from + len(g.prefix)
		for _, rest := range g.rest {
			if n := prefixLength(line[after:], rest); n >= 0 {
				return after + n
			}
		}
	}
	return -1
}

// lineEnd stands for "$" at the end of a literal. No line that isOneLine accepts
// holds it.
const lineEnd = "\x00"

// prefixLength is the length of lit if s starts with it, else -1.
func prefixLength(s, lit string) int {
	if strings.HasPrefix(s, lit) {
		return len(lit)
	}
	if n := len(lit) - 1; n == len(s) && lit[n:] == lineEnd && s == lit[:n] {
		return n
	}
	return -1
}

// flatten takes concatenations apart.
func flatten(subs []*syntax.Regexp) []*syntax.Regexp {
	var out []*syntax.Regexp
	for _, sub := range subs {
		if sub.Op == syntax.OpConcat {
			out = append(out, flatten(sub.Sub)...)
		} else {
			out = append(out, sub)
		}
	}
	return out
}

// isAnything recognises ".*".
func isAnything(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar && re.Sub[0].Op == syntax.OpAnyCharNotNL
}

// isAnythingBlank recognises "(?:.* )?".
func isAnythingBlank(re *syntax.Regexp) bool {
	if re.Op != syntax.OpQuest || re.Sub[0].Op != syntax.OpConcat || len(re.Sub[0].Sub) != 2 {
		return false
	}
	blank := re.Sub[0].Sub[1]
	return isAnything(re.Sub[0].Sub[0]) && blank.Op == syntax.OpLiteral && string(blank.Rune) == " "
}

// finite lists the strings that re matches; nil if they are too many or not all
// of them are ASCII. What an expression repeats at its end, if last is set, it
// need not repeat.
func finite(re *syntax.Regexp, last bool) []string {
	switch re.Op { //nolint:exhaustive // the others match too much
	case syntax.OpEmptyMatch:
		return []string{""}
	case syntax.OpEndText:
		return []string{lineEnd}
	case syntax.OpStar:
		if last {
			return []string{""}
		}
	case syntax.OpLiteral:
		return finiteLiteral(re)
	case syntax.OpCharClass:
		return finiteClass(re.Rune)
	case syntax.OpQuest:
		if inner := finite(re.Sub[0], last); inner != nil {
			return append(inner, "")
		}
	case syntax.OpConcat:
		out := []string{""}
		for i, sub := range re.Sub {
			out = crossed(out, finite(sub, last && i+1 == len(re.Sub)))
		}
		return out
	case syntax.OpAlternate:
		return finiteAny(re.Sub, last)
	}
	return nil
}

// finiteAny lists the strings that one of the alternatives matches.
func finiteAny(subs []*syntax.Regexp, last bool) []string {
	var out []string
	for _, sub := range subs {
		inner := finite(sub, last)
		if inner == nil || len(out)+len(inner) > maxLiterals {
			return nil
		}
		out = append(out, inner...)
	}
	return out
}

// finiteLiteral lists the spellings of a literal.
func finiteLiteral(re *syntax.Regexp) []string {
	out := []string{""}
	for _, c := range re.Rune {
		bounds := []rune{c, c}
		if re.Flags&syntax.FoldCase != 0 {
			for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
				bounds = append(bounds, other, other)
			}
		}
		out = crossed(out, finiteClass(bounds))
	}
	return out
}

// finiteClass lists the characters of a class, given as pairs of bounds.
func finiteClass(bounds []rune) []string {
	var out []string
	for i := 0; i+1 < len(bounds); i += 2 {
		for c := bounds[i]; c <= bounds[i+1]; c++ {
			if len(out) == maxLiterals || !isPrintable(string(c)) {
				return nil
			}
			out = append(out, string(c))
		}
	}
	return out
}

// crossed joins each of the strings a with each of b, except behind the end of the
// line; nil if they are too many.
func crossed(a, b []string) []string {
	if len(a)*len(b) > maxLiterals {
		return nil
	}
	var out []string
	for _, x := range a {
		for _, y := range b {
			if y == "" || !strings.HasSuffix(x, lineEnd) {
				out = append(out, x+y)
			}
		}
	}
	return out
}
