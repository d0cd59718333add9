package schemas

import (
	"math/bits"
	"strconv"
)

// check reads the value at i like value, and holds it to n in the same pass.
func (s *scanner) check(n *node, i int) int {
	if i >= len(s.raw) {
		return s.fail(i, ReasonSyntax)
	}
	switch s.raw[i] {
	case '{':
		if n.kinds&kindObject == 0 {
			return s.reject(n.keyword, n.expected)
		}
		if n.object == nil {
			return s.object(i)
		}
		return s.checkObject(n.object, i)
	case '[':
		if n.kinds&kindArray == 0 {
			return s.reject(n.keyword, n.expected)
		}
		if n.array == nil {
			return s.array(i)
		}
		return s.checkArray(n.array, i)
	case '"':
		return s.checkText(n, i)
	case 't':
		return s.checkWord(n, i, "true", kindTrue)
	case 'f':
		return s.checkWord(n, i, "false", kindFalse)
	case 'n':
		return s.checkWord(n, i, "null", kindNull)
	default:
		return s.checkNumber(n, i)
	}
}

// checkWord is word, for a literal that n must accept. Whether the rest of the
// word is there does not matter once the kind is wrong.
func (s *scanner) checkWord(n *node, i int, word string, kind kinds) int {
	if n.kinds&kind == 0 {
		return s.reject(n.keyword, n.expected)
	}
	return s.word(i, word)
}

// checkArray is array with a rule.
func (s *scanner) checkArray(r *arrayRule, i int) int {
	count := 0
	i, done := s.begin(i, ']')
	for ; !done; count++ {
		if count == r.max {
			return s.reject("maxItems", "must not have more than "+strconv.Itoa(r.max)+" items")
		}
		if i = s.check(r.items, i); i < 0 {
			return s.within(strconv.Itoa(count))
		}
		i, done = s.after(i, ']')
	}
	if i >= 0 && count < r.min {
		return s.reject("minItems", "must have at least "+strconv.Itoa(r.min)+" items")
	}
	return i
}

// progress is how far the check of one object has come.
type progress struct {
	seen  uint64 // one bit for each of the rule's props
	count int    // of all members
}

// checkObject is object with a rule.
func (s *scanner) checkObject(r *objectRule, i int) int {
	g, p := s.group(), progress{}
	i, done := s.begin(i, '}')
	for !done {
		x, at := s.name(i)
		if at < 0 {
			return at
		}
		text := s.nameText(x)
		child := r.extra
		// A bit tells repetitions of known names, so that only unknown ones
		// are put on the stack of names.
		if k := r.find(text); k >= 0 {
			bit := uint64(1) << k
			if p.seen&bit != 0 {
				return s.fail(at, ReasonDuplicate)
			}
			p.seen |= bit
			child = r.props[k].node
		} else if !s.fresh(&g, x, text) {
			return s.fail(at, ReasonDuplicate)
		}
		if child == nil {
			s.reject("additionalProperties", "unknown member")
			return s.within(string(text))
		}
		if i = s.check(child, at); i < 0 {
			return s.within(string(text))
		}
		p.count++
		i, done = s.after(i, '}')
	}
	if i = s.leave(&g, i); i < 0 {
		return i
	}
	return s.finish(r, p, i)
}

// find returns the index in props of the member with the given name, or -1.
func (r *objectRule) find(text []byte) int {
	if r.index != nil {
		if k, ok := r.index[string(text)]; ok {
			return k
		}
		return -1
	}
	for k := range r.props {
		if r.props[k].name == string(text) {
			return k
		}
	}
	return -1
}

// finish checks what can only be said at the end of an object.
func (s *scanner) finish(r *objectRule, p progress, i int) int {
	if missing := r.required &^ p.seen; missing != 0 {
		return s.reject("required", r.props[bits.TrailingZeros64(missing)].name+" is required")
	}
	if p.count < r.min {
		return s.reject("minProperties", "must have at least "+strconv.Itoa(r.min)+" members")
	}
	if r.max >= 0 && p.count > r.max {
		return s.reject("maxProperties", "must not have more than "+strconv.Itoa(r.max)+" members")
	}
	if r.choices == nil {
		return i
	}
	hits := 0
	for _, set := range r.choices {
		if p.seen&set == set {
			hits++
		}
	}
	if hits == 0 || hits > 1 && r.choice == "oneOf" {
		return s.reject(r.choice, r.demand)
	}
	return i
}
