package match

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// bucket is what may stand where the pass has met a certain pair of bytes.
type bucket struct {
	next    [4]uint64 // the bytes that may follow the pair, one bit for each
	entries []entry
	digits  bool // two digits
	dots    bool // a digit and a full stop
}

// entry is a keyword that shows the bucket's pair at an offset.
type entry struct {
	keyword string
	offset  int
	pattern int
	fold    bool
}

// builder collects what the pass must notice for each pair of bytes.
type builder struct {
	step    int
	entries []entry
	last    rune // len(entries), as the type of an index in a key
	pairs   map[uint16]*notice
}

// notice is a bucket whose entries are still indexes, so that equal ones can
// be told by comparing bytes.
type notice struct {
	entries      []rune // indexes into builder.entries; runes make a key
	digits, dots bool
}

// onlyDigits stands for the bucket of two digits that begin no keyword. They are
// by far the most frequent, so that the pass tells them by a bit of their own.
const onlyDigits = 0x80

func (b *builder) at(x, y byte) *notice {
	n := b.pairs[pair(x, y)]
	if n == nil {
		n = &notice{}
		b.pairs[pair(x, y)] = n
	}
	return n
}

// add registers a pattern.
func (b *builder) add(index int, c *compiled) {
	for _, k := range c.Keywords {
		e := entry{keyword: k, pattern: index, fold: c.folds()}
		if len(k) == 1 {
			b.single(e)
			continue
		}
		// With two bytes per step a keyword is met at an even or at an odd
		// offset; the rarest pair of each kind makes the fewest false alarms.
		for parity := range b.step {
			e.offset = rarest(k, parity, b.step)
			b.pair(b.enter(e), k[e.offset], k[e.offset+1])
		}
	}
	for x := byte('0'); x <= '9'; x++ {
		for y := byte('0'); c.Digits > 0 && y <= '9'; y++ {
			b.at(x, y).digits = true
		}
		if c.Dots {
			b.at(x, '.').dots = true
			b.at('.', x).dots = true
		}
	}
}

// enter registers an entry and returns its index.
func (b *builder) enter(e entry) rune {
	b.entries = append(b.entries, e)
	b.last++
	return b.last - 1
}

// pair notes an entry under the pair x, y, in every case if the entry folds.
func (b *builder) pair(id rune, x, y byte) {
	xs, ys := []byte{x}, []byte{y}
	if b.entries[id].fold {
		xs, ys = cases(x), cases(y)
	}
	for _, x := range xs {
		for _, y := range ys {
			n := b.at(x, y)
			n.entries = append(n.entries, id)
		}
	}
}

// single notes a keyword of one byte under every pair that has it first, or
// second where the pass would step over it.
func (b *builder) single(e entry) {
	e.fold = false
	first := b.enter(e)
	e.offset = -1
	second := b.enter(e)
	for x := range 256 {
		b.pair(first, e.keyword[0], byte(x))
		if b.step == 2 {
			b.pair(second, byte(x), e.keyword[0])
		}
	}
}

// build numbers the different notices. Most pairs share one: the cases of a
// keyword, all pairs of digits, all pairs with one rare byte.
func (b *builder) build(table *[1 << 16]byte) []bucket {
	buckets := []bucket{{}}
	known := map[notices]int{{digits: true}: onlyDigits}
	for _, p := range slices.Sorted(maps.Keys(b.pairs)) {
		n := b.pairs[p]
		key := notices{string(n.entries), n.digits, n.dots}
		at, ok := known[key]
		if !ok {
			at = len(buckets)
			known[key] = at
			buckets = append(buckets, b.bucket(n))
		}
		if at > onlyDigits || at == onlyDigits && key != (notices{digits: true}) {
			panic("bug: too many kinds of pairs")
		}
		table[p] = byte(at)
	}
	return buckets
}

// notices is a notice as a key.
type notices struct {
	entries      string
	digits, dots bool
}

func (b *builder) bucket(n *notice) bucket {
	out := bucket{digits: n.digits, dots: n.dots}
	open := n.digits || n.dots
	for _, id := range n.entries {
		e := b.entries[id]
		out.entries = append(out.entries, e)
		if end := e.offset + 2; end < len(e.keyword) {
			out.allow(e.keyword[end])
			if e.fold {
				out.allow(cases(e.keyword[end])...)
			}
		} else {
			open = true
		}
	}
	if open {
		out.next = [4]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
	}
	return out
}

func (b *bucket) allow(follow ...byte) {
	for _, c := range follow {
		b.next[c>>6] |= 1 << (c & 63)
	}
}

func pair(a, b byte) uint16 { return uint16(a) | uint16(b)<<8 }

// cases returns the byte in both cases.
func cases(c byte) []byte {
	if lower := c | 0x20; lower >= 'a' && lower <= 'z' {
		return []byte{lower, lower &^ 0x20}
	}
	return []byte{c}
}

// rarest returns the offset of the rarest pair of k among those of a parity.
func rarest(k string, parity, step int) int {
	best, at := -1, -1
	for i := parity; i+1 < len(k); i += step {
		if w := weight(k[i]) * weight(k[i+1]); at < 0 || w < best {
			best, at = w, i
		}
	}
	if at < 0 {
		panic(fmt.Sprintf("bug: keyword %q is too short", k))
	}
	return at
}

// weight says how common a byte is in prose, code and logs, roughly: letters
// by their rank in English, digits and blanks as common, other bytes as rare.
func weight(c byte) int {
	const ranks = " etaoinsrhldcumfpgwybvkxjqz"
	switch i := strings.IndexByte(ranks, c); {
	case i >= 0:
		return len(ranks) + 4 - i
	case isDigit(c):
		return 12
	default:
		return 6
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord reports whether \b takes c for a letter.
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
}
