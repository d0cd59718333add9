package schemas

import (
	"hash/maphash"
	"slices"
)

// fewNames is how many member names of open objects are kept without the heap,
// and up to how many names of one object are compared one by one. More are
// sorted at the end of the object, so that the cost of a hostile object of n
// members stays at n log n.
const fewNames = 24

// name is where a member's name stands in the text, quotes excluded. Positions
// hold no pointers, which keeps a scanner on its caller's stack.
type name struct {
	start, end int
	escaped    bool
}

// names is a stack of the names of all open objects.
type names struct {
	n    int
	few  [fewNames]name
	more []name
}

// at returns the name at depth k of the stack, from 0 to n-1.
func (s *names) at(k int) name {
	if k < fewNames {
		return s.few[k]
	}
	return s.more[k-fewNames]
}

// push puts a name on the stack. Whoever lowers n gives names back.
func (s *names) push(x name) {
	if s.n < fewNames {
		s.few[s.n] = x
	} else {
		s.more = append(s.more[:s.n-fewNames], x)
	}
	s.n++
}

// group is the set of names that one open object has shown so far.
type group struct {
	base  int    // where the object's names begin on the stack
	bloom uint64 // one bit for each hash; a clear bit proves a name new
}

// group starts the names of one more object.
func (s *scanner) group() group {
	return group{base: s.names.n}
}

// fresh adds a name to g and reports whether it is new there. Among more than
// fewNames a repetition is reported by leave instead.
func (s *scanner) fresh(g *group, x name, text []byte) bool {
	bit := uint64(1) << (hash(text) & 63)
	if g.bloom&bit != 0 && s.names.n-g.base <= fewNames {
		for k := g.base; k < s.names.n; k++ {
			if string(s.nameText(s.names.at(k))) == string(text) {
				return false
			}
		}
	}
	g.bloom |= bit
	s.names.push(x)
	return true
}

// leave ends an object whose last byte lies before i, and returns i unless a
// name occurred twice.
func (s *scanner) leave(g *group, i int) int {
	count := s.names.n - g.base
	s.names.n = g.base
	if i < 0 || count <= fewNames {
		return i
	}
	if s.unique(g.base, count) {
		return i
	}
	return s.fail(i, ReasonDuplicate)
}

// unique reports whether count names from base on differ. Sorting hashes is
// some ten times as fast as sorting names; only if two are equal are the names
// themselves compared. The seed keeps an attacker from preparing such pairs.
func (s *scanner) unique(base, count int) bool {
	seed := maphash.MakeSeed()
	hashes := make([]uint64, count)
	for k := range hashes {
		hashes[k] = maphash.Bytes(seed, s.nameText(s.names.at(base+k)))
	}
	slices.Sort(hashes)
	if len(slices.Compact(hashes)) == count {
		return true
	}
	all := make([]string, count)
	for k := range all {
		all[k] = string(s.nameText(s.names.at(base + k)))
	}
	slices.Sort(all)
	return len(slices.Compact(all)) == count
}

// nameText returns a name as its readers see it.
func (s *scanner) nameText(x name) []byte {
	if x.escaped {
		return decode(s.raw[x.start-1 : x.end+1])
	}
	return s.raw[x.start:x.end]
}

// hash spreads short names over 64 values. It need not resist an attacker:
// equal hashes only cost comparisons, at most fewNames of them.
func hash(text []byte) uint {
	n := len(text)
	if n == 0 {
		return 0
	}
	return uint(n)*31 + uint(text[0])*7 + uint(text[n/2])*3 + uint(text[n-1])
}
