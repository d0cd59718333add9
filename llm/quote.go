package llm

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendQuoted appends text to dst as a JSON string literal that may be pasted
// into a frame: like encoding/json without HTML escaping, with U+2028 and U+2029
// escaped and invalid UTF-8 replaced by U+FFFD.
func AppendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, text)
	return append(dst, '"')
}

// Quote returns text as a JSON string literal; see AppendQuoted.
func Quote(text string) json.RawMessage {
	return AppendQuoted(make([]byte, 0, len(text)+2+len(text)/8), []byte(text))
}

// appendEscaped appends text as the inside of a JSON string literal.
func appendEscaped(dst, text []byte) []byte {
	for len(text) > 0 {
		n := asciiPlainRun(text)
		dst = append(dst, text[:n]...)
		text = text[n:]
		for len(text) > 0 && text[0] >= utf8.RuneSelf {
			var size int
			dst, size = appendRune(dst, text)
			text = text[size:]
		}
		if len(text) > 0 && isSpecial(text[0]) {
			dst = appendEscape(dst, text[0])
			text = text[1:]
		}
	}
	return dst
}

// appendEscape appends the escape of a quote, a backslash or a control character.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return appendHex(dst, uint16(c))
}

// appendRune appends the first rune of text, which is not ASCII, in a form that
// may stand in any frame, and returns how many bytes of text it took.
func appendRune(dst, text []byte) ([]byte, int) {
	r, size := utf8.DecodeRune(text)
	switch r {
	case utf8.RuneError:
		return append(dst, "\ufffd"...), size
	case '\u2028', '\u2029':
		return appendHex(dst, uint16(r)), size
	}
	return append(dst, text[:size]...), size
}

// appendHex appends a \uXXXX escape.
func appendHex(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// parseHex reads the four hexadecimal digits of an escape that is known to be
// well formed.
func parseHex(b []byte) uint16 {
	var u uint16
	for _, c := range b[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		u = u<<4 | uint16(c)
	}
	return u
}

// Masks for looking at eight bytes at a time.
const (
	everyByte = 0x0101010101010101
	highBits  = 0x80 * everyByte
)

// special returns eight bytes of which the lowest that is not zero marks the
// first quote, backslash or control character of x.
func special(x uint64) uint64 {
	quote := x ^ '"'*everyByte
	slash := x ^ '\\'*everyByte
	// A byte's high bit is set where it was below the subtrahend. Borrows only
	// run upwards, so the lowest hit is exact.
	return ((x - ' '*everyByte) | (quote - everyByte) | (slash - everyByte)) & ^x & highBits
}

// plainRun returns how many leading bytes of b are no quote, no backslash and no
// control character.
func plainRun(b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		if hit := special(binary.LittleEndian.Uint64(b[n:])); hit != 0 {
			return n + bits.TrailingZeros64(hit)/8
		}
		n += 8
	}
	for n < len(b) && !isSpecial(b[n]) {
		n++
	}
	return n
}

// asciiPlainRun returns how many leading bytes of b are plain and ASCII.
func asciiPlainRun(b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		if hit := special(x) | x&highBits; hit != 0 {
			return n + bits.TrailingZeros64(hit)/8
		}
		n += 8
	}
	for n < len(b) && b[n] < utf8.RuneSelf && !isSpecial(b[n]) {
		n++
	}
	return n
}

// isSpecial says whether a byte may not stand in a literal as it is.
func isSpecial(c byte) bool { return c == '"' || c == '\\' || c < ' ' }

// asciiRun returns how many leading bytes of b are ASCII.
func asciiRun(b []byte) int {
	n := 0
	for len(b)-n >= 8 {
		if hit := binary.LittleEndian.Uint64(b[n:]) & highBits; hit != 0 {
			return n + bits.TrailingZeros64(hit)/8
		}
		n += 8
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// unquote decodes a JSON string literal; anything else gives "".
func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
