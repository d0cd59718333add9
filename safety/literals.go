package safety

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
)

// A regular expression can often match only where one of a few literal strings
// occurs. Finding those first costs a fraction of running the expression; the
// literals are derived from the expression, never written by hand, so that
// they cannot drift from it.

// maxLiterals bounds the alternatives kept for one expression; past it the
// expression counts as having none.
const maxLiterals = 64

// literal is a string that a match contains.
type literal struct {
	// text is in lower case if fold is set: then letter case does not matter.
	text string
	fold bool
	// before and after say that no letter, digit or underscore may stand right
	// before or after it: the expression has a word boundary or a blank there.
	before, after bool
	// start says that it is what the match and the text start with, end that it
	// is what they end with.
	start, end bool
}

// requiredLiterals returns literals of which at least one occurs in every text
// that re matches; nil when there are no such literals. They are ASCII and longer
// than a single letter or digit, which most texts hold.
func requiredLiterals(re *syntax.Regexp) []literal {
	switch op := re.Op; {
	case op == syntax.OpLiteral:
		return literalSet(re)
	case op == syntax.OpCapture, op == syntax.OpPlus, op == syntax.OpRepeat && re.Min > 0:
		return requiredLiterals(re.Sub[0])
	case op == syntax.OpConcat:
		return concatLiterals(re.Sub)
	case op == syntax.OpAlternate:
		return unionLiterals(re.Sub)
	}
	return nil
}

// unionLiterals joins the sets of all branches of an alternation.
func unionLiterals(subs []*syntax.Regexp) []literal {
	var union []literal
	for _, sub := range subs {
		set := requiredLiterals(sub)
		if set == nil || len(union)+len(set) > maxLiterals {
			return nil
		}
		union = append(union, set...)
	}
	return union
}

// concatLiterals chooses the best set among the parts of a concatenation. A set
// is better the longer its shortest member is: long strings are rare in
// commands.
func concatLiterals(subs []*syntax.Regexp) []literal {
	var best []literal
	for _, set := range concatSets(subs) {
		if better(set, best) {
			best = set
		}
	}
	return best
}

// requiredSets returns sets of literals, the strongest first. Every text that re
// matches holds a literal of each.
func requiredSets(re *syntax.Regexp) [][]literal {
	var sets [][]literal
	if re.Op == syntax.OpConcat {
		sets = concatSets(re.Sub)
	} else if set := requiredLiterals(re); set != nil {
		sets = [][]literal{set}
	}
	slices.SortStableFunc(sets, func(a, b []literal) int {
		return cmp.Or(cmp.Compare(shortest(b), shortest(a)), cmp.Compare(len(a), len(b)))
	})
	for i := 0; i < len(sets); i++ {
		rest := slices.DeleteFunc(sets[i+1:], func(weaker []literal) bool { return implies(sets[i], weaker) })
		sets = sets[:i+1+len(rest)]
	}
	return sets
}

// implies reports whether every text that holds a literal of set holds one of
// weaker, too.
func implies(set, weaker []literal) bool {
	for _, lit := range set {
		if lit.fold || !containsAny(lit.text, weaker) {
			return false
		}
	}
	return true
}

// concatSets lists the sets of the parts of a concatenation.
func concatSets(subs []*syntax.Regexp) [][]literal {
	var sets [][]literal
	for i, sub := range subs {
		set := requiredLiterals(sub)
		if sub.Op == syntax.OpLiteral && len(set) == 1 {
			set[0].start = i > 0 && subs[i-1].Op == syntax.OpBeginText
			set[0].before = i > 0 && subs[i-1].Op == syntax.OpWordBoundary && isWordByte(set[0].text[0])
			set[0].after = i+1 < len(subs) && isBoundary(subs[i+1]) && isWordByte(set[0].text[len(set[0].text)-1])
			set[0].end = i+1 < len(subs) && subs[i+1].Op == syntax.OpEndText
		}
		if set != nil {
			sets = append(sets, set)
		}
		if sub.Op != syntax.OpLiteral || i+1 == len(subs) {
			continue
		}
		if joined := joinedLiterals(sub, subs[i+1], len(set) == 1 && set[0].start); joined != nil {
			sets = append(sets, joined)
		}
	}
	return sets
}

// joinedLiterals is the set of a literal together with the alternation after it,
// if there is one: the parser factors "push|pull" into "pu" and "sh|ll". start
// says that the literal starts the text.
func joinedLiterals(lit, next *syntax.Regexp, start bool) []literal {
	for next.Op == syntax.OpCapture {
		next = next.Sub[0]
	}
	if next.Op != syntax.OpAlternate {
		return nil
	}
	joined := requiredLiterals(prefixed(lit, next))
	for i := range joined {
		joined[i].start = start
	}
	return joined
}

// isBoundary reports whether what matches re cannot start with a word character.
func isBoundary(re *syntax.Regexp) bool {
	if re.Op == syntax.OpPlus {
		return isBoundary(re.Sub[0])
	}
	if re.Op != syntax.OpCharClass {
		return re.Op == syntax.OpWordBoundary
	}
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for _, span := range [][2]rune{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}} {
			if re.Rune[i] <= span[1] && re.Rune[i+1] >= span[0] {
				return false
			}
		}
	}
	return true
}

// isWordByte reports whether c is a word character of package regexp.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// prefixed is the alternation of lit before the literal start of each branch.
func prefixed(lit, alt *syntax.Regexp) *syntax.Regexp {
	out := &syntax.Regexp{Op: syntax.OpAlternate}
	for _, branch := range alt.Sub {
		first := branch
		for first.Op == syntax.OpConcat || first.Op == syntax.OpCapture {
			first = first.Sub[0]
		}
		joined := &syntax.Regexp{Op: syntax.OpLiteral, Rune: lit.Rune, Flags: lit.Flags}
		if first.Op == syntax.OpLiteral {
			joined.Rune = append(append([]rune{}, lit.Rune...), first.Rune...)
			joined.Flags |= first.Flags
		}
		out.Sub = append(out.Sub, joined)
	}
	return out
}

// literalSet makes a set of a literal node.
func literalSet(re *syntax.Regexp) []literal {
	fold := re.Flags&syntax.FoldCase != 0
	text := string(re.Rune)
	if fold {
		text = strings.ToLower(text)
	}
	// Letters beyond ASCII have folds that the scan does not know.
	if len(text) == 1 && isWordByte(text[0]) || strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) {
		return nil
	}
	return []literal{{text: text, fold: fold}}
}

// better reports whether set is a stronger requirement than best.
func better(set, best []literal) bool {
	switch {
	case set == nil:
		return false
	case best == nil:
		return true
	}
	a, b := shortest(set), shortest(best)
	return a > b || a == b && len(set) < len(best)
}

// shortest is the length of the shortest literal of a set.
func shortest(set []literal) int {
	n := len(set[0].text)
	for _, s := range set[1:] {
		n = min(n, len(s.text))
	}
	return n
}

// containsAny reports whether s holds one of the literals. No literals means
// that nothing is required.
func containsAny(s string, literals []literal) bool {
	if len(literals) == 0 {
		return true
	}
	for i := range literals {
		if literals[i].occurs(s) {
			return true
		}
	}
	return false
}

// occurs reports whether s holds the literal.
func (lit *literal) occurs(s string) bool {
	switch {
	case lit.fold:
		return containsFold(s, lit.text)
	case lit.start:
		return strings.HasPrefix(s, lit.text)
	case lit.end:
		return strings.HasSuffix(s, lit.text)
	}
	return strings.Contains(s, lit.text)
}

// containsAll reports whether s holds one literal of every set.
func containsAll(s string, sets [][]literal) bool {
	for _, set := range sets {
		if !containsAny(s, set) {
			return false
		}
	}
	return true
}

// containsFold reports whether s holds the lower-case ASCII text lit, letter
// case aside. A line beyond ASCII may match by other folds, so it does hold it.
func containsFold(s, lit string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return true
		}
		if foldByte(s[i]) != lit[0] || len(s)-i < len(lit) {
			continue
		}
		n := 1
		for n < len(lit) && foldByte(s[i+n]) == lit[n] {
			n++
		}
		if n == len(lit) {
			return true
		}
	}
	return false
}

// foldByte lowers ASCII letters.
func foldByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// foldText prepares text for a scan. Two letters beyond ASCII fold to ASCII ones
// in a case-insensitive expression: the long s and the Kelvin sign. Without this
// step they would slip past the scan.
func foldText(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return strings.NewReplacer("\u017f", "s", "\u212a", "k").Replace(s)
		}
	}
	return s
}
