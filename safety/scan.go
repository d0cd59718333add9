package safety

import "strings"

// scanner finds which of many literals occur in a text, letter case aside, in
// one pass over it (Aho and Corasick, "Efficient string matching", CACM 18(6),
// 1975). States are rows of a dense table: 61 rules need about 270 rows.
type scanner struct {
	next []int32 // state*256 + byte
	// out lists, per state, the literals that end there, those of the state's
	// suffixes included.
	out [][]scanHit
}

// scanHit is a literal of an owner.
type scanHit struct {
	owner, length int32
	before, after bool
	end           bool
}

// newScanner builds a scanner. literals[i] are the alternatives of owner i.
func newScanner(literals [][]literal) *scanner {
	s := &scanner{}
	s.addState()
	for owner, set := range literals {
		for _, lit := range set {
			s.insert(lit, offset32(owner))
		}
	}
	s.link()
	return s
}

// addState appends a row without transitions and returns its number.
func (s *scanner) addState() int32 {
	row := make([]int32, 256)
	for i := range row {
		row[i] = -1
	}
	s.next = append(s.next, row...)
	s.out = append(s.out, nil)
	return offset32(len(s.out) - 1)
}

// insert adds one literal to the trie.
func (s *scanner) insert(lit literal, owner int32) {
	text := strings.ToLower(lit.text)
	state := int32(0)
	for i := range len(text) {
		at := int(state)*256 + int(text[i])
		if s.next[at] < 0 {
			added := s.addState()
			s.next[at] = added
		}
		state = s.next[at]
	}
	s.out[state] = append(s.out[state], scanHit{owner: owner, length: offset32(len(text)), before: lit.before, after: lit.after, end: lit.end})
}

// link turns the trie into an automaton, breadth first.
func (s *scanner) link() {
	fail := make([]int32, len(s.out))
	queue := make([]int32, 0, len(s.out))
	for c := range 256 {
		if s.next[c] < 0 {
			s.next[c] = 0
		} else {
			queue = append(queue, s.next[c])
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		s.out[state] = append(s.out[state], s.out[fail[state]]...)
		for c := range 256 {
			at := int(state)*256 + c
			back := s.next[int(fail[state])*256+c]
			if s.next[at] < 0 {
				s.next[at] = back
				continue
			}
			fail[s.next[at]] = back
			queue = append(queue, s.next[at])
		}
	}
	// Upper-case letters behave like lower-case ones, so that text need not be
	// folded first.
	for state := range s.out {
		row := s.next[state*256:]
		for c := byte('A'); c <= 'Z'; c++ {
			row[c] = row[foldByte(c)]
		}
	}
}

// find calls hit for every owner with a literal in text; an owner may be
// reported more than once. Text may match in spite of the bytes around a literal
// if it was folded: those were none of a word before.
func (s *scanner) find(text string, folded bool, hit func(owner int32)) {
	state := int32(0)
	for i := range len(text) {
		state = s.next[int(state)<<8|int(text[i])]
		for _, h := range s.out[state] {
			if !folded && h.before && i >= int(h.length) && isWordByte(text[i-int(h.length)]) ||
				!folded && h.after && i+1 < len(text) && isWordByte(text[i+1]) || h.end && i+1 < len(text) {
				continue
			}
			hit(h.owner)
		}
	}
}
