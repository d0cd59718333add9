package match

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
)

// Pattern is one expression and what finds its candidates. All functions must
// be pure and safe for concurrent use.
type Pattern struct {
	Name  string
	Expr  string // RE2; (?i) folds ASCII letters only
	Value int    // the group that holds the value, 0 for the whole match

	// Keywords are the ASCII texts with one of which every match begins; with
	// Around, one of which every match contains. They are compared as the
	// expression compares: exactly, or in lower case if it folds.
	Keywords []string

	// Digits makes every group of at least so many digits a candidate, 0 none.
	// Dots makes every full stop a candidate. Both work as keywords do. Around
	// such a candidate, in every match, lie at least Reach bytes in a row, seven
	// or more, that are digits or belong to the characters in Between, of which
	// no two ASCII ones stand together.
	Digits, Reach int
	Dots          bool
	Between       string

	// Likely, if set, rejects candidates cheaply. It is given where the keyword
	// or the group of digits begins and ends, and may only say false where
	// there is no match.
	Likely func(text string, at, end int) bool

	// Around, if set, returns the part of text in which every match that
	// contains the candidate lies. Another candidate inside the part is not
	// looked at again.
	Around func(text string, at int) (lo, hi int)

	// Finder, if set, replaces the expression: it returns a function that
	// finds the match at a candidate. One is made for each text, so that it
	// may remember what it has seen.
	Finder func(text string) Finder

	// Check, if set, decides after the expression whether a match counts.
	Check func(m Match) bool
}

// Finder finds the match that belongs to the candidate at the given position,
// and returns the position before which no other match begins. A match with an
// empty span means none.
type Finder func(at int) (m Match, next int)

// Match is one match: where it is and where its value is.
type Match struct {
	Text       string // the text that was searched
	Start, End int
	From, To   int // the value, within Start and End
}

// Value returns the value's text.
func (m Match) Value() string { return m.Text[m.From:m.To] }

// Hit is a match of the set's pattern with that index that passed its check.
type Hit struct {
	Pattern int
	Match
}

// Set is a set of patterns to search for together. It is immutable and safe
// for concurrent use; expressions are compiled when first needed.
type Set struct {
	patterns []*compiled
	digits   []int // patterns that want groups of digits
	dots     []int // patterns that want full stops
	reach    int   // the shortest of what they reach
	numeric  [256]bool
	masks    *masks
	lists    *[256][]entry // by the second byte of the window
}

// New returns the set of the given patterns. A table that cannot be right, such
// as an expression that does not compile when it is needed, panics: tables are
// code.
func New(patterns []Pattern) *Set {
	s := &Set{reach: math.MaxInt, masks: new(masks)}
	b := builder{masks: s.masks}
	for i, p := range patterns {
		c := &compiled{Pattern: p, bounded: bounded(p.Expr)}
		s.patterns = append(s.patterns, c)
		b.add(i, c)
		if p.Digits > 0 {
			s.digits = append(s.digits, i)
		}
		if p.Dots {
			s.dots = append(s.dots, i)
		}
		if p.Digits > 0 || p.Dots {
			s.addNumeric(&p)
		}
	}
	b.numbers(&s.numeric)
	s.lists = b.build()
	return s
}

// addNumeric notes the bytes of which a pattern's numbers consist.
func (s *Set) addNumeric(p *Pattern) {
	if p.Reach <= width {
		panic(fmt.Sprintf("bug: the numbers of %s may hide between two windows", p.Name))
	}
	s.reach = min(s.reach, p.Reach)
	for c := range s.numeric {
		s.numeric[c] = s.numeric[c] || isDigit(byte(c)) || strings.IndexByte(p.Between, byte(c)) >= 0
	}
}

// Len returns the number of patterns.
func (s *Set) Len() int { return len(s.patterns) }

// Name returns the name of a pattern.
func (s *Set) Name(pattern int) string { return s.patterns[pattern].Name }

// compiled is a pattern with its expressions.
type compiled struct {
	Pattern
	bounded bool // every match begins at a word boundary
	once    sync.Once
	exprs   exprs
}

// exprs are the forms in which an expression is needed. Those for the middle
// of a text first take one rune, so that \b sees what stands before the match.
type exprs struct {
	whole    *regexp.Regexp // anywhere
	first    *regexp.Regexp // at the start of a text
	middle   *regexp.Regexp // one rune after it; group 1 is the match
	anywhere *regexp.Regexp // from one rune after it on; group 1 is the match
}

func (c *compiled) compile() *exprs {
	c.once.Do(func() {
		expr := foldASCII(c.Expr)
		c.exprs = exprs{
			whole:    regexp.MustCompile(expr),
			first:    regexp.MustCompile(`\A(?:` + expr + `)`),
			middle:   regexp.MustCompile(`\A(?s:.)(` + expr + `)`),
			anywhere: regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + expr + `)`),
		}
	})
	return &c.exprs
}

// bounded reports whether every match of expr begins at a word boundary.
func bounded(expr string) bool { return strings.HasPrefix(strings.TrimPrefix(expr, "(?i)"), `\b`) }

// folds reports whether keywords are compared without regard to case.
func (c *compiled) folds() bool { return strings.HasPrefix(c.Expr, "(?i)") }

// match turns the indexes of a submatch into a Match. Indexes are relative to
// base; shift is how many groups stand before the expression's own.
func (c *compiled) match(text string, loc []int, base, shift int) Match {
	g := 2 * (c.Value + shift)
	m := Match{Text: text, Start: base + loc[2*shift], End: base + loc[2*shift+1], From: base + loc[g], To: base + loc[g+1]}
	if loc[g] < 0 {
		panic(fmt.Sprintf("bug: %s has no value group in %q", c.Name, text[m.Start:m.End]))
	}
	return m
}
