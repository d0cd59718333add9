package safety

import (
	"strconv"
	"strings"
)

// escapes selects a dialect of backslash escapes.
type escapes int

const (
	// escapesANSI are those of $'…'.
	escapesANSI escapes = iota
	// escapesEcho are those of echo -e and printf %b, where octal numbers
	// start with \0 and \c ends the output.
	escapesEcho
	// escapesPrintf are those of a printf format.
	escapesPrintf
)

// decodeEscapes resolves backslash escapes. An escape it does not know stays
// as written, as in Bash.
func decodeEscapes(s string, kind escapes) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			i++
			continue
		}
		n, stop := writeEscape(&b, s[i+1:], kind)
		if stop {
			break
		}
		i += 1 + n
	}
	return b.String()
}

// writeEscape decodes the escape that s starts with, the backslash removed. It
// returns how much of s it used and whether the output ends.
func writeEscape(b *strings.Builder, s string, kind escapes) (n int, stop bool) {
	if i := strings.IndexByte(`abeEfnrtv\'"?`, s[0]); i >= 0 {
		b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[i])
		return 1, false
	}
	switch c := s[0]; {
	case c == 'x':
		return writeNumber(b, s, 1, 2, 16), false
	case c == 'u':
		return writeNumber(b, s, 1, 4, 16), false
	case c == 'U':
		return writeNumber(b, s, 1, 8, 16), false
	case c == 'c' && kind == escapesEcho:
		return 0, true
	case c == 'c' && kind == escapesANSI && len(s) > 1:
		b.WriteByte(s[1] & 0x1f)
		return 2, false
	case c == '0' && kind == escapesEcho:
		return writeNumber(b, s, 1, 3, 8), false
	case c >= '0' && c <= '7':
		return writeNumber(b, s, 0, 3, 8), false
	}
	b.WriteString(`\` + s[:1])
	return 1, false
}

// writeNumber decodes up to digits digits that follow skip bytes of s.
func writeNumber(b *strings.Builder, s string, skip, digits, base int) int {
	end := skip
	for end < len(s) && end-skip < digits {
		if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	v, err := strconv.ParseUint(s[skip:end], base, 32)
	switch {
	case err != nil:
		if skip == 1 && base == 8 {
			b.WriteByte(0) // \0 alone
		} else {
			b.WriteString(`\` + s[:max(end, 1)])
		}
	case base == 16 && digits > 2:
		b.WriteRune(rune(v)) //nolint:gosec // at most eight hexadecimal digits; invalid runes become U+FFFD
	default:
		b.WriteByte(byte(v & 0xff))
	}
	return max(end, 1)
}
