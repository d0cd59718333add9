package llm

import (
	"bytes"
	"unicode/utf8"
)

// literals joins the JSON string literals of one part of a reply and makes each
// of them safe to show: see Sink.Delta for the promises. Ordinary literals pass
// through untouched.
//
// The hard case is a surrogate pair whose halves are escapes in two literals
// ("\ud83d" then "\ude80"): each half alone has no meaning, and decoding it
// alone loses the character. A trailing high half is therefore held back.
type literals struct {
	joined  []byte // an opening quote and all contents so far; nil before the first
	high    uint16 // high half that waits for its low half, or 0
	scratch []byte // the last rewritten literal
}

// add takes the next literal, with its quotes and known to be well formed, and
// returns what to show of it: nil if nothing. The result is good until the next
// call and may share memory with quoted.
func (l *literals) add(quoted []byte) []byte {
	if len(quoted) <= 2 {
		return nil
	}
	if l.high != 0 || !isClean(quoted) {
		l.scratch = append(l.scratch[:0], '"')
		l.scratch = l.rewrite(l.scratch, quoted[1:len(quoted)-1])
		quoted = append(l.scratch, '"')
		l.scratch = quoted
	}
	return l.keep(quoted)
}

// flush returns what stands for a half that never found its other half.
func (l *literals) flush() []byte {
	if l.high == 0 {
		return nil
	}
	l.high = 0
	return l.keep([]byte("\"\ufffd\""))
}

// keep appends the literal to the joined one.
func (l *literals) keep(quoted []byte) []byte {
	if len(quoted) <= 2 {
		return nil
	}
	if l.joined == nil {
		l.joined = append(l.joined, '"')
	}
	l.joined = append(l.joined, quoted[1:len(quoted)-1]...)
	return quoted
}

// literal returns the joined literal, nil if it is empty.
func (l *literals) literal() []byte {
	if l.joined == nil {
		return nil
	}
	return append(l.joined, '"')
}

// isClean says whether a literal can be shown as it is.
func isClean(quoted []byte) bool {
	for rest := quoted; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			break
		}
		// D800 to DFFF are the halves; the pairs among them go the long way too.
		if rest[i+1] == 'u' && (rest[i+2] == 'd' || rest[i+2] == 'D') && rest[i+3] >= '8' {
			return false
		}
		rest = rest[i+2:]
	}
	if asciiRun(quoted) == len(quoted) {
		return true
	}
	if !utf8.Valid(quoted) {
		return false
	}
	for rest := quoted; ; {
		i := bytes.Index(rest, []byte("\xe2\x80"))
		if i < 0 {
			return true
		}
		if c := rest[i+2]; c == 0xa8 || c == 0xa9 {
			return false
		}
		rest = rest[i+3:]
	}
}

// rewrite appends the inside of a literal, repaired.
func (l *literals) rewrite(dst, text []byte) []byte {
	for len(text) > 0 {
		c := text[0]
		if c == '\\' && text[1] == 'u' {
			dst = l.half(dst, text[:6])
			text = text[6:]
			continue
		}
		if l.high != 0 {
			l.high = 0
			dst = append(dst, "\ufffd"...)
		}
		switch {
		case c == '\\':
			dst = append(dst, text[:2]...)
			text = text[2:]
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			text = text[1:]
		default:
			var size int
			dst, size = appendRune(dst, text)
			text = text[size:]
		}
	}
	return dst
}

// half appends a \uXXXX escape; surrogates only in pairs.
func (l *literals) half(dst, escape []byte) []byte {
	u := parseHex(escape[2:])
	if l.high != 0 && isLow(u) {
		dst = appendHex(dst, l.high)
		l.high = 0
		return append(dst, escape...)
	}
	if l.high != 0 {
		l.high = 0
		dst = append(dst, "\ufffd"...)
	}
	switch {
	case isHigh(u):
		l.high = u
		return dst
	case isLow(u):
		return append(dst, "\ufffd"...)
	}
	return append(dst, escape...)
}

func isHigh(u uint16) bool { return u&0xfc00 == 0xd800 }

func isLow(u uint16) bool { return u&0xfc00 == 0xdc00 }
