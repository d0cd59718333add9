package dlp

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// ellipsis is the middle of a mask. No pattern lets it into a value, and NFKC,
// which would turn it into three full stops, must leave it alone.
const ellipsis = "…"

// normalized returns the text in form NFKC without characters that cannot be
// seen. It returns the text itself, and does no work, if that is ASCII.
func normalized(text string) string {
	if ascii(text) {
		return text
	}
	visible := text
	if strings.ContainsFunc(text, invisible) {
		visible = strings.Map(func(r rune) rune {
			if invisible(r) {
				return -1
			}
			return r
		}, text)
	}
	if !strings.Contains(visible, ellipsis) {
		return norm.NFKC.String(visible)
	}
	parts := strings.Split(visible, ellipsis)
	for i, p := range parts {
		parts[i] = norm.NFKC.String(p)
	}
	return strings.Join(parts, ellipsis)
}

// ascii looks at thirty-two bytes at a time, because nearly every text is ASCII
// and this is all that the reading costs then.
func ascii(s string) bool {
	for ; len(s) >= 32; s = s[32:] {
		if (eight(s[:8])|eight(s[8:16])|eight(s[16:24])|eight(s[24:32]))&highBits != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Constants for arithmetic on eight bytes at a time: the lowest and the highest
// bit of each.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// eight returns the first eight bytes of s; the compiler makes it one load.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// invisible reports whether r shows nothing: format characters, such as the
// zero-width space and the marks of text direction, and the characters that
// Unicode lets a renderer ignore.
func invisible(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.Is(unicode.Cf, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r))
}

// percentDecoded replaces every %XX by its byte, and leaves what is no escape.
// A text without escapes is returned as it is.
func percentDecoded(text string) string {
	var out strings.Builder
	done := 0
	for i := 0; ; i++ {
		next := strings.IndexByte(text[i:], '%')
		if next < 0 {
			break
		}
		i += next
		if b, ok := unhex(text[min(i+1, len(text)):min(i+3, len(text))]); ok {
			out.WriteString(text[done:i])
			out.WriteByte(b)
			i += 2
			done = i + 1
		}
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// formDecoded is percentDecoded for the query of a URL and the fields of a form,
// in which a blank is a plus sign. A text with more than one blank of its own,
// which may stand behind the name of the text, is neither.
func formDecoded(text string) string {
	if strings.IndexByte(text, '+') < 0 || strings.ContainsAny(text[strings.IndexByte(text, ' ')+1:], " \t\r\n") {
		return text
	}
	return percentDecoded(strings.ReplaceAll(text, "+", " "))
}

// escapedLines returns the lines in which a backslash stands, far enough apart
// that nothing is found across them. A secret with an escape in it, or right
// before it, stands in one.
func escapedLines(text string) string {
	first := strings.IndexByte(text, '\\')
	if first < 0 {
		return ""
	}
	var out strings.Builder
	for at := first; at >= 0; {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n
		}
		out.WriteString(text[strings.LastIndexByte(text[:at], '\n')+1 : end])
		out.WriteString("\n" + strings.Repeat(ellipsis, 8) + "\n")
		if at = strings.IndexByte(text[end:], '\\'); at >= 0 {
			at += end
		}
	}
	return out.String()
}

// unescaped replaces the escapes that JSON and most languages have in strings:
// the body of a request is often JSON itself, as a text in the arguments. All
// blanks become the one that no reader of the result stumbles over.
func unescaped(text string) string {
	var out strings.Builder
	done := 0
	for i := strings.IndexByte(text, '\\'); i >= 0 && i < len(text); {
		r, n := escape(text[i:])
		if n > 0 {
			out.WriteString(text[done:i])
			out.WriteRune(r)
			done = i + n
		}
		i += max(n, 1)
		next := strings.IndexByte(text[i:], '\\')
		if next < 0 {
			break
		}
		i += next
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// escape reads the escape that begins with the backslash at s[0], and says how
// many bytes it has: 0 if it is none.
func escape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\'', '\\', '/':
		return rune(s[1]), 2
	case 'n', 'r', 't', 'b', 'f':
		return ' ', 2 // whichever blank it is
	case 'x':
		if b, ok := unhex(s[2:min(4, len(s))]); ok {
			return rune(b), 4
		}
	case 'u':
		return unicodeEscape(s)
	}
	return 0, 0
}

// unicodeEscape reads \uXXXX, or two of them that are halves of one character.
func unicodeEscape(s string) (rune, int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return 0, false
		}
		hi, ok1 := unhex(s[2:4])
		lo, ok2 := unhex(s[4:6])
		return rune(hi)<<8 | rune(lo), ok1 && ok2
	}
	r, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if low, ok := unit(s[6:]); ok && utf16.IsSurrogate(r) {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return r, 6
}

// unhex reads two hexadecimal digits.
func unhex(s string) (byte, bool) {
	if len(s) != 2 {
		return 0, false
	}
	hi, ok1 := nibble(s[0])
	lo, ok2 := nibble(s[1])
	return hi<<4 | lo, ok1 && ok2
}

func nibble(c byte) (byte, bool) {
	switch lower := c | 0x20; {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= lower && lower <= 'f':
		return lower - 'a' + 10, true
	default:
		return 0, false
	}
}
