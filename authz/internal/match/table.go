package match

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The pass looks at three pairs of bytes in a row, a window. For each pair the
// masks have fifteen bits: five lanes for each place that a pair can have in a
// window. A lane is what some keywords have in common; the first one is for
// numbers. A window is of interest where one lane allows all three of its pairs.
const (
	lanes     = 5
	places    = 3
	width     = 2 * places // bytes in a window
	laneBits  = 1<<lanes - 1
	numberBit = 1 << 0
)

// masks are indexed by a pair of bytes, the first of which is the lower one.
type masks [1 << 16]uint16

// entry is a keyword that shows a window at an offset.
type entry struct {
	keyword string
	offset  int // of the window in the keyword; -1 if a byte stands before it
	pattern int
	fold    bool
	lane    uint16 // one bit
}

// at returns which bytes the entry's window allows at one of its six places.
// Nil means all.
func (e *entry) at(place int) []byte {
	i := e.offset + place
	switch {
	case i < 0 || i >= len(e.keyword):
		return nil
	case e.fold:
		return cases(e.keyword[i])
	default:
		return []byte{e.keyword[i]}
	}
}

// chance estimates how much of ordinary text the window lets through at one of
// its places.
func (e *entry) chance(place int) float64 {
	sum := 0.0
	for _, c := range e.at(place) {
		sum += frequency(c)
	}
	if sum == 0 {
		return 1
	}
	return sum
}

// pairChance is chance for two bytes.
func (e *entry) pairChance(place int) float64 { return e.chance(2*place) * e.chance(2*place+1) }

func (e *entry) windowChance() float64 {
	return e.pairChance(0) * e.pairChance(1) * e.pairChance(2)
}

// builder collects the entries and gives each a lane.
type builder struct {
	masks   *masks
	entries []entry
	load    [lanes][places]map[string]float64 // the pairs of a lane and how frequent they are
	open    [places]uint16                    // lanes that allow every pair at a place
}

// add registers the keywords of a pattern. A keyword may begin at the first or
// at the second byte of a pair. For each case the window that lets least
// through is chosen.
func (b *builder) add(index int, c *compiled) {
	for _, k := range c.Keywords {
		for parity := range 2 {
			best := entry{}
			for offset := -parity; offset < len(k); offset += 2 {
				e := entry{keyword: k, offset: offset, pattern: index, fold: c.folds()}
				if best.keyword == "" || e.windowChance() < best.windowChance() {
					best = e
				}
			}
			b.entries = append(b.entries, best)
		}
	}
}

// build fills the masks and returns the entries by the second byte of their
// windows.
func (b *builder) build() *[256][]entry {
	// Short keywords let most through and spoil their lane for longer ones, so
	// they are placed first and the others avoid them.
	order := make([]*entry, len(b.entries))
	for i := range b.entries {
		order[i] = &b.entries[i]
	}
	slices.SortStableFunc(order, func(x, y *entry) int { return cmp.Compare(y.windowChance(), x.windowChance()) })
	var lists [256][]entry
	for _, e := range order {
		b.place(e)
		anchors := e.at(1)
		for _, c := range anchors {
			lists[c] = append(lists[c], *e)
		}
		for c := 0; anchors == nil && c < len(lists); c++ {
			lists[c] = append(lists[c], *e)
		}
	}
	for p := range b.masks {
		for place := range places {
			b.masks[p] |= b.open[place] << (lanes * place)
		}
	}
	return &lists
}

// place gives an entry the lane that it makes worse by the least.
func (b *builder) place(e *entry) {
	best, least := 0, 0.0
	for lane := 1; lane < lanes; lane++ {
		before, after := 1.0, 1.0
		for place := range places {
			old, grown := b.sum(lane, place, e)
			before, after = before*old, after*grown
		}
		// Lanes that are as bad are not told apart by rounding: all short keywords
		// belong into one.
		if best == 0 || after-before < 0.99*least {
			best, least = lane, after-before
		}
	}
	e.lane = 1 << best
	for place := range places {
		if b.load[best][place] == nil {
			b.load[best][place] = map[string]float64{}
		}
		b.load[best][place][e.key(place)] = e.pairChance(place)
		b.allow(e, place)
	}
}

// sum returns how much a lane lets through at a place, and how much it would
// with one more entry.
func (b *builder) sum(lane, place int, e *entry) (before, after float64) {
	for _, chance := range b.load[lane][place] {
		before += chance
	}
	after = before
	if _, ok := b.load[lane][place][e.key(place)]; !ok {
		after += e.pairChance(place)
	}
	return min(before, 1), min(after, 1)
}

// key tells pairs apart.
func (e *entry) key(place int) string {
	return string(e.at(2*place)) + "|" + string(e.at(2*place+1))
}

// allow lets the entry's pairs at a place through its lane.
func (b *builder) allow(e *entry, place int) {
	bit := e.lane << (lanes * place)
	xs, ys := e.at(2*place), e.at(2*place+1)
	switch {
	case xs == nil && ys == nil:
		b.open[place] |= e.lane
	case xs == nil:
		for x := range 256 {
			for _, y := range ys {
				b.masks[pair(byte(x), y)] |= bit
			}
		}
	default:
		for _, x := range xs {
			for _, y := range ys {
				b.masks[pair(x, y)] |= bit
			}
			for y := 0; ys == nil && y < 256; y++ {
				b.masks[pair(x, byte(y))] |= bit
			}
		}
	}
}

// numbers lets the pairs through of which long numbers consist: two digits, a
// digit and what may stand between digits, or two bytes of one character
// beyond ASCII that may.
func (b *builder) numbers(numeric *[256]bool) {
	for x := range numeric {
		for y := range numeric {
			beyond := x >= utf8.RuneSelf && y >= utf8.RuneSelf
			if numeric[x] && numeric[y] && (beyond || isDigit(byte(x)) || isDigit(byte(y))) {
				b.masks[pair(byte(x), byte(y))] |= numberBit | numberBit<<lanes | numberBit<<(2*lanes)
			}
		}
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

// frequency says how common a byte is in prose, code and logs, roughly: letters
// by their rank in English, digits as common, other bytes as rare.
func frequency(c byte) float64 {
	const ranks = " etaoinsrhldcumfpgwybvkxjqz"
	const total = 600 // what all bytes together come to, about
	switch i := strings.IndexByte(ranks, c); {
	case i >= 0:
		return float64(len(ranks)+4-i) / total
	case isDigit(c):
		return 12.0 / total
	default:
		return 3.0 / total
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWord reports whether \b takes c for a letter.
func isWord(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
}
