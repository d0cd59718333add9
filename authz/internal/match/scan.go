package match

import (
	"io"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// All returns every hit in text, ordered by pattern and position.
func (s *Set) All(text string) []Hit { return s.scan(text, false) }

// First returns the first hit of each pattern that has one, ordered by pattern.
func (s *Set) First(text string) []Hit { return s.scan(text, true) }

func (s *Set) scan(text string, first bool) []Hit {
	c := candidates{set: s, text: text}
	c.collect()
	var hits []Hit
	for i, at := range c.found {
		if len(at) > 0 {
			hits = s.patterns[i].run(run{text: text, index: i, at: at, first: first}, hits)
		}
	}
	return hits
}

// candidates is one pass over a text.
type candidates struct {
	set        *Set
	text       string
	found      [][]int // by pattern, in rising order
	numbersEnd int     // end of the last numeric run that was looked at
}

// each has a bit for every lane in each of four windows.
const each = laneBits | laneBits<<16 | laneBits<<32 | laneBits<<48

// collect looks at the windows that begin at every second byte, four at a time:
// most texts have nothing of interest in most of them.
func (c *candidates) collect() {
	text, masks := c.text, c.set.masks
	var before uint64 // the masks of the last four pairs, the first one lowest
	i := 0
	for ; i+8 <= len(text); i += 8 {
		t := text[i : i+8]
		here := uint64(masks[pair(t[0], t[1])]) | uint64(masks[pair(t[2], t[3])])<<16 |
			uint64(masks[pair(t[4], t[5])])<<32 | uint64(masks[pair(t[6], t[7])])<<48
		// Windows end with each of the four pairs. Their first pairs are two
		// masks back, their second ones are one mask back. What the shifts
		// move to where no lane is does not count.
		windows := (here<<32 | before>>32) & (here<<(16-lanes) | before>>(48+lanes)) & (here >> (2 * lanes)) & each
		before = here
		if windows != 0 {
			c.lookAll(i-4, windows)
		}
	}
	// Windows that reach beyond the end see zeros there. Keywords cannot, but a
	// window that a keyword does not fill allows every byte.
	for i = max(0, i-width+2); i < len(text); i += 2 {
		allowed := c.maskAt(i) & (c.maskAt(i+2) >> lanes) & (c.maskAt(i+4) >> (2 * lanes)) & laneBits
		for ; allowed != 0; allowed &= allowed - 1 {
			c.look(i, allowed&-allowed)
		}
	}
}

// maskAt returns the mask of a pair.
func (c *candidates) maskAt(i int) uint16 { return c.set.masks[pair(c.byteAt(i), c.byteAt(i+1))] }

// lookAll looks closer at up to four windows from i on, with their lanes.
func (c *candidates) lookAll(i int, windows uint64) {
	for ; windows != 0; windows &= windows - 1 {
		bit := bits.TrailingZeros64(windows)
		c.look(i+bit>>4<<1, 1<<(bit&15))
	}
}

// byteAt returns a byte of the text, or zero after its end.
func (c *candidates) byteAt(i int) byte {
	if i < len(c.text) {
		return c.text[i]
	}
	return 0
}

// look looks closer at the window at i, which a lane allows.
func (c *candidates) look(i int, lane uint16) {
	if lane == numberBit {
		c.numbers(i)
		return
	}
	list := c.set.lists[c.byteAt(i+1)]
	for j := range list {
		e := &list[j]
		if e.lane != lane {
			continue
		}
		at := i - e.offset
		end := at + len(e.keyword)
		if at >= 0 && end <= len(c.text) && equal(c.text[at:end], e.keyword, e.fold) {
			c.offer(e.pattern, at, end)
		}
	}
}

// equal compares s with a lower-case keyword.
func equal(s, keyword string, fold bool) bool {
	if !fold {
		return s == keyword
	}
	for i := range len(keyword) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != keyword[i] {
			return false
		}
	}
	return true
}

// numbers offers the groups of digits and the full stops of the numeric run
// around i, once.
func (c *candidates) numbers(i int) {
	if i < c.numbersEnd {
		return
	}
	text, numeric := c.text, &c.set.numeric
	at, end := i, i
	for at > c.numbersEnd && numeric[text[at-1]] {
		at--
	}
	for end < len(text) && numeric[text[end]] {
		end++
	}
	c.numbersEnd = end
	if end-at < c.set.reach {
		return
	}
	for at < end {
		switch {
		case text[at] == '.':
			for _, p := range c.set.dots {
				c.offer(p, at, at+1)
			}
			at++
		case isDigit(text[at]):
			at = c.group(at)
		default:
			at++
		}
	}
}

// group offers the group of digits that begins at a position and returns its
// end.
func (c *candidates) group(at int) int {
	end := at
	for end < len(c.text) && isDigit(c.text[end]) {
		end++
	}
	for _, p := range c.set.digits {
		if end-at >= c.set.patterns[p].Digits {
			c.offer(p, at, end)
		}
	}
	return end
}

// offer keeps a candidate unless something cheap speaks against it.
func (c *candidates) offer(pattern, at, end int) {
	p := c.set.patterns[pattern]
	if p.bounded && p.Around == nil && at > 0 && isWord(c.text[at-1]) && isWord(c.text[at]) {
		return
	}
	if p.Likely != nil && !p.Likely(c.text, at, end) {
		return
	}
	if c.found == nil {
		c.found = make([][]int, len(c.set.patterns))
	}
	list := c.found[pattern]
	// Keywords show their pair at different offsets, so that neighbours may
	// come in the wrong order.
	i := len(list)
	for i > 0 && list[i-1] > at {
		i--
	}
	if i == 0 || list[i-1] != at {
		c.found[pattern] = slices.Insert(list, i, at)
	}
}

// run is the second half of a scan, for one pattern.
type run struct {
	text  string
	index int
	at    []int
	first bool // stop at the first hit
}

// How much failed attempts may cost before an ordinary search takes over: some
// runes per byte of text passed, and enough to begin with for any short text.
const (
	freeRunes    = 4096
	runesPerByte = 4
)

// run tries the candidates in order and appends the hits.
func (c *compiled) run(r run, hits []Hit) []Hit {
	var find Finder
	switch {
	case c.Finder != nil:
		find = c.Finder(r.text)
	case c.Around != nil:
		return c.around(r, hits)
	default:
		find = c.attempt(r.text)
	}
	from := 0
	for _, at := range r.at {
		if at < from {
			continue
		}
		var m Match
		m, from = find(at)
		if m.Start == m.End || c.Check != nil && !c.Check(m) {
			continue
		}
		hits = append(hits, Hit{Pattern: r.index, Match: m})
		if r.first {
			break
		}
	}
	return hits
}

// attempt returns the finder that runs the expression where a candidate is.
func (c *compiled) attempt(text string) Finder {
	spent := 0
	return func(at int) (Match, int) {
		if spent > freeRunes+runesPerByte*at {
			return c.search(text, at)
		}
		exprs := c.compile()
		re, base, shift := exprs.first, at, 0
		if at > 0 {
			_, size := utf8.DecodeLastRuneInString(text[:at])
			re, base, shift = exprs.middle, at-size, 1
		}
		in := reader{text: text, pos: base}
		loc := re.FindReaderSubmatchIndex(&in)
		if loc == nil {
			spent += in.pos - base
			return Match{}, at
		}
		m := c.match(text, loc, base, shift)
		return m, m.End
	}
}

// search finds the next match at or after a position, wherever it is.
func (c *compiled) search(text string, at int) (Match, int) {
	exprs := c.compile()
	if at == 0 {
		if loc := exprs.whole.FindStringSubmatchIndex(text); loc != nil {
			m := c.match(text, loc, 0, 0)
			return m, m.End
		}
		return Match{}, len(text)
	}
	_, size := utf8.DecodeLastRuneInString(text[:at])
	if loc := exprs.anywhere.FindStringSubmatchIndex(text[at-size:]); loc != nil {
		m := c.match(text, loc, at-size, 1)
		return m, m.End
	}
	return Match{}, len(text)
}

// around searches the parts of the text in which candidates lie.
func (c *compiled) around(r run, hits []Hit) []Hit {
	from, last := 0, 0
	for _, at := range r.at {
		if at < from {
			continue
		}
		lo, hi := c.Around(r.text, at)
		lo, from = max(lo, last), hi
		// One rune on each side, for \b; it cannot belong to a match.
		_, before := utf8.DecodeLastRuneInString(r.text[:lo])
		_, after := utf8.DecodeRuneInString(r.text[hi:])
		base := lo - before
		for _, loc := range c.compile().whole.FindAllStringSubmatchIndex(r.text[base:hi+after], -1) {
			m := c.match(r.text, loc, base, 0)
			last = m.End
			if c.Check != nil && !c.Check(m) {
				continue
			}
			hits = append(hits, Hit{Pattern: r.index, Match: m})
			if r.first {
				return hits
			}
		}
	}
	return hits
}

// reader gives a text to an expression rune by rune and so knows how far the
// expression had to look.
type reader struct {
	text string
	pos  int
}

// ReadRune returns the next rune, as a range over the text would.
func (r *reader) ReadRune() (rune, int, error) {
	if r.pos >= len(r.text) {
		return 0, 0, io.EOF
	}
	if c := r.text[r.pos]; c < utf8.RuneSelf {
		r.pos++
		return rune(c), 1, nil
	}
	c, size := utf8.DecodeRuneInString(r.text[r.pos:])
	r.pos += size
	return c, size, nil
}

// Naive returns what [Set.All] returns, by its definition: every expression
// over the whole text. It is the reference for tests and benchmarks.
func (s *Set) Naive(text string) []Hit {
	var hits []Hit
	for i, c := range s.patterns {
		for _, loc := range c.compile().whole.FindAllStringSubmatchIndex(text, -1) {
			if m := c.match(text, loc, 0, 0); c.Check == nil || c.Check(m) {
				hits = append(hits, Hit{Pattern: i, Match: m})
			}
		}
	}
	return hits
}
