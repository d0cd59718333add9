package schemas

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// One set bit, and the sign bit, in each of the eight bytes of a word.
const (
	ones  = 0x0101010101010101
	signs = 0x8080808080808080
)

// text reads the string at i, quotes included, and reports whether it is free of
// escapes. Eight bytes are examined at a time: in each step only the bytes that
// mean something (quote, backslash, control characters) stop the loop. Whether
// the string is UTF-8 is asked once at its end, and only if it has bytes beyond
// ASCII.
func (s *scanner) text(i int) (end int, plain bool) {
	raw := s.raw
	start := i + 1
	i, plain = start, true
	var seen uint64
	for {
		for i+8 <= len(raw) {
			w := binary.LittleEndian.Uint64(raw[i:])
			seen |= w
			if stop := special(w); stop != 0 {
				i += bits.TrailingZeros64(stop) >> 3
				break
			}
			i += 8
		}
		if i >= len(raw) {
			return s.fail(i, ReasonSyntax), false
		}
		switch c := raw[i]; {
		case c == '"':
			if seen&signs != 0 && !utf8.Valid(raw[start:i]) {
				return s.fail(start+badUTF8(raw[start:i]), ReasonUTF8), false
			}
			return i + 1, plain
		case c == '\\':
			n := escape(raw[i:])
			if n == 0 {
				return s.fail(i, ReasonSyntax), false
			}
			i, plain = i+n, false
		case c < ' ':
			return s.fail(i, ReasonSyntax), false
		default: // fewer than eight bytes are left
			seen |= uint64(c)
			i++
		}
	}
}

// special marks, with the sign bit, the bytes of w that end a run of ordinary
// characters. The lowest mark is exact; a borrow may set false ones above it.
func special(w uint64) uint64 {
	// x-ones sets the sign bit of a byte that is zero, &^x drops those that had
	// it before; for control characters the limit takes the place of one.
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & signs
}

// escape returns the length of the escape sequence that b begins with, or 0 if
// it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// badUTF8 returns the index of the first byte of b that is not UTF-8.
func badUTF8(b []byte) int {
	i := 0
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// decode returns the characters of a valid string literal. Lone surrogates
// become U+FFFD, exactly as for every later reader of the same bytes: names
// that only differ in those are duplicates.
func decode(literal []byte) []byte {
	var text string
	if err := json.Unmarshal(literal, &text); err != nil {
		panic("bug: the scanner accepted a string that encoding/json refuses: " + err.Error())
	}
	return []byte(text)
}
