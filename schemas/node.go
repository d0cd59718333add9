package schemas

import "regexp"

// kinds is a set of JSON types. Booleans count as two, so that a constant is a
// set as well; a plain number has both number bits, a restriction to integers
// leaves one.
type kinds uint8

const (
	kindObject kinds = 1 << iota
	kindArray
	kindString
	kindInteger
	kindFraction // a number that is no integer
	kindTrue
	kindFalse
	kindNull

	kindNumber = kindInteger | kindFraction
	kindBool   = kindTrue | kindFalse
	kindAny    = kindObject | kindArray | kindString | kindNumber | kindBool | kindNull
)

// node is a schema prepared for being checked against text. It is immutable and
// has one rule for each type of value that needs more than its type to be
// right; a nil rule demands nothing.
type node struct {
	kinds    kinds
	keyword  string // what a value of another kind does not satisfy
	expected string // the same in words

	object *objectRule
	array  *arrayRule
	text   *textRule
	number []bound
}

// objectRule is what an object must satisfy. A rule has at most 64 props, so
// that a set of them fits into a word.
type objectRule struct {
	props    []prop
	index    map[string]int // of props, if they are many
	required uint64         // one bit for each of props
	extra    *node          // for all other members; nil refuses them
	min, max int            // number of members; max is -1 if there is no limit
	choices  []uint64       // sets of props of which some must be there whole
	choice   string         // anyOf or oneOf, which says how many of choices
	demand   string         // choices in words
}

// prop is a member that the schema knows.
type prop struct {
	name string
	node *node
}

// arrayRule is what an array must satisfy.
type arrayRule struct {
	items    *node
	min, max int // number of items; max is -1 if there is no limit
}

// textRule is what a string must satisfy. Lengths are in characters, which JSON
// Schema takes to be code points.
type textRule struct {
	min, max int // characters; max is -1 if there is no limit
	values   []string
	keyword  string // enum or const, where values come from
	pattern  *regexp.Regexp
}

// bound is minimum, maximum or one of their exclusive forms.
type bound struct {
	keyword   string
	limit     int64
	upper     bool
	exclusive bool
}
