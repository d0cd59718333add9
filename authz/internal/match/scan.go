package match

import (
	"io"
	"slices"
	"unicode/utf8"
)

// All returns every hit in text, ordered by pattern and position.
func (s *Set) All(text string) []Hit { return s.scan(text, false) }

// First returns the first hit of each pattern that has one, ordered by pattern.
func (s *Set) First(text string) []Hit { return s.scan(text, true) }

func (s *Set) scan(text string, first bool) []Hit {
	c := candidates{set: s, text: text, digitsEnd: -1, dotsEnd: -1}
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
	set       *Set
	text      string
	found     [][]int // by pattern, in rising order
	digitsEnd int     // end of the last group of digits that was looked at
	dotsEnd   int     // the last full stop that was looked at
}

// collect looks at every pair, or at every second pair.
func (c *candidates) collect() {
	text, table := c.text, &c.set.table
	if c.set.step == 1 {
		for i := 1; i < len(text); i++ {
			if b := table[uint16(text[i-1])|uint16(text[i])<<8]; b != 0 {
				c.look(b, i-1)
			}
		}
		return
	}
	i := 1
	for ; i+6 < len(text); i += 8 {
		// Four pairs at once: most texts have nothing in most of them.
		t := text[i-1 : i+7]
		b0 := table[uint16(t[0])|uint16(t[1])<<8]
		b1 := table[uint16(t[2])|uint16(t[3])<<8]
		b2 := table[uint16(t[4])|uint16(t[5])<<8]
		b3 := table[uint16(t[6])|uint16(t[7])<<8]
		switch b0 | b1 | b2 | b3 {
		case 0:
			continue
		case onlyDigits:
			if !c.numbers(i - 1) {
				continue
			}
		}
		if b0 != 0 {
			c.look(b0, i-1)
		}
		if b1 != 0 {
			c.look(b1, i+1)
		}
		if b2 != 0 {
			c.look(b2, i+3)
		}
		if b3 != 0 {
			c.look(b3, i+5)
		}
	}
	for ; i < len(text); i += 2 {
		if b := table[uint16(text[i-1])|uint16(text[i])<<8]; b != 0 {
			c.look(b, i-1)
		}
	}
}

// look looks closer at the pair at i, which belongs to a bucket.
func (c *candidates) look(bucket byte, i int) {
	if bucket == onlyDigits {
		if c.number(i) {
			c.group(i)
		}
		return
	}
	b := &c.set.buckets[bucket]
	if i+2 < len(c.text) {
		// Most pairs that are met by chance go on in another way.
		if next := c.text[i+2]; b.next[next>>6]>>(next&63)&1 == 0 {
			return
		}
	}
	c.hit(b, i)
}

// numbers reports whether a number that matters can begin with any of the four
// pairs of digits from i on. From wherever it begins, the bytes up to the reach
// are numeric, so the fourth pair and what the first reaches always are.
func (c *candidates) numbers(i int) bool {
	end := i + c.set.reach
	return end < len(c.text) && c.set.numeric[c.text[i+6]] && c.set.numeric[c.text[end]]
}

// number reports whether a number that matters can begin with the digits at i.
// Most digits stand in dates, times and short numbers, which two more bytes
// tell.
func (c *candidates) number(i int) bool {
	end := i + c.set.reach
	return end < len(c.text) && c.set.numeric[c.text[end]] && c.set.numeric[c.text[i+c.set.reach/2]]
}

// hit compares what stands around the pair at i with the bucket's keywords.
func (c *candidates) hit(b *bucket, i int) {
	for j := range b.entries {
		e := &b.entries[j]
		at := i - e.offset
		end := at + len(e.keyword)
		if at < 0 || end > len(c.text) || !equal(c.text[at:end], e.keyword, e.fold) {
			continue
		}
		c.offer(e.pattern, at, end)
	}
	if b.digits && c.number(i) {
		c.group(i)
	}
	if b.dots {
		c.dot(i)
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

// group offers a whole group of digits to the patterns that want one.
func (c *candidates) group(i int) {
	if i < c.digitsEnd {
		return
	}
	text := c.text
	at, end := i, i+2
	for at > 0 && isDigit(text[at-1]) {
		at--
	}
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	c.digitsEnd = end
	if end-at == 2 {
		return
	}
	for _, p := range c.set.digits {
		if end-at >= c.set.patterns[p].Digits {
			c.offer(p, at, end)
		}
	}
}

// dot offers a full stop, once.
func (c *candidates) dot(i int) {
	if c.text[i] != '.' {
		i++
	}
	if i <= c.dotsEnd {
		return
	}
	c.dotsEnd = i
	for _, p := range c.set.dots {
		c.offer(p, i, i+1)
	}
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
