package safety

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// branch is one alternative of a rule's expression.
type branch struct {
	rule int
	// unix and windows say which lines the rule is for.
	unix, windows bool
	// any says that every line with the first word matches.
	any bool
	// inOrder decides instead of the expression, if it is set.
	inOrder *ordered
	expr    func() *regexp.Regexp
	// literals are sets of strings; a match contains one of each set. Sets that
	// the first word alone satisfies are left out.
	literals [][]literal
}

// newBranch prepares an alternative of rule i, which starts with one of words.
func newBranch(i int, platform Platform, expr string, re *syntax.Regexp, words []string) *branch {
	b := &branch{
		rule: i, unix: platform.covers(PlatformUnix), windows: platform.covers(PlatformWindows),
		any: isWordOnly(expr), inOrder: newOrdered(re),
		expr: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) }),
	}
	b.literals = slices.DeleteFunc(requiredSets(re), func(set []literal) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !containsAny(w+" ", set) })
	})
	return b
}

// match reports whether the alternative matches a line that starts with one of its
// words.
func (b *branch) match(line string) bool {
	switch {
	case b.any:
		return true
	case b.inOrder != nil && isOneLine(line):
		return b.inOrder.match(line)
	}
	return containsAll(line, b.literals) && b.expr().MatchString(line)
}

// isOneLine reports whether a line is one to expressions, too.
func isOneLine(line string) bool {
	return strings.IndexByte(line, '\n') < 0 && strings.IndexByte(line, 0) < 0
}

// isWordOnly reports whether an expression demands nothing beyond its first word:
// "^rm " or "^(?:a|b) ".
func isWordOnly(expr string) bool {
	body, ok := strings.CutSuffix(strings.TrimPrefix(expr, "^"), " ")
	if !ok || body == expr {
		return false
	}
	if inner, ok := strings.CutPrefix(body, "(?:"); ok {
		body = strings.TrimSuffix(inner, ")")
	}
	return strings.Trim(body, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:|") == ""
}

// pairSet is a set of pairs of neighbouring bytes, some of which it takes for one
// another. Whether a line has all pairs of a literal is quickly seen for many
// literals; whether it has the literal is then looked for.
type pairSet [2]uint64

// add adds the pairs of a text.
func (p *pairSet) add(text string) {
	for i := 1; i < len(text); i++ {
		n := (uint(text[i-1])*31 + uint(text[i])*7) % 128
		p[n/64] |= 1 << (n % 64)
	}
}

// hasAll reports whether p holds all of another set.
func (p *pairSet) hasAll(other *pairSet) bool {
	return other[0]&^p[0] == 0 && other[1]&^p[1] == 0
}

// pairsOf returns the pairs of a text.
func pairsOf(text string) (p pairSet) {
	p.add(text)
	return p
}

// neededPairs returns the pairs that a text with a literal of each set has in any
// case.
func neededPairs(sets [][]literal) (needs pairSet) {
	for _, set := range sets {
		common := pairSet{^uint64(0), ^uint64(0)}
		for _, lit := range set {
			var own pairSet
			if !lit.fold {
				own = pairsOf(lit.text)
			}
			common[0] &= own[0]
			common[1] &= own[1]
		}
		needs[0] |= common[0]
		needs[1] |= common[1]
	}
	return needs
}
