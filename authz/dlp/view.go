package dlp

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
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

// The shortest token that is looked for has twenty bytes, which base64 makes
// twenty-seven. A run of so many digits covers the whole of one of the groups of
// eight bytes that begin at multiples of the stride.
const (
	minEncoded   = 27
	encodeStride = minEncoded - 8 + 1
)

// alphabet gives the value of each digit of base64 in either alphabet, 64 for
// other bytes.
type alphabet [256]byte

func newAlphabet() *alphabet {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var a alphabet
	for i := range a {
		a[i] = 64
	}
	for i := range len(digits) {
		a[digits[i]] = byte(i)
	}
	a['-'], a['_'] = a['+'], a['/']
	return &a
}

// encoded calls visit with every run of base64 digits that may hide something,
// and what it hides. It looks at eight bytes of every twenty: where one of them
// is a blank, a full stop or a colon, no run covers them.
func (a *alphabet) encoded(text string, visit func(lo, hi int, hidden string)) {
	for q := 0; q+8 <= len(text); q += encodeStride {
		if interrupted(eight(text[q : q+8])) {
			continue
		}
		lo, hi := q, q
		for hi < len(text) && a[text[hi]] != 64 {
			hi++
		}
		if hi < q+8 {
			continue
		}
		for lo > 0 && a[text[lo-1]] != 64 {
			lo--
		}
		if hi-lo >= minEncoded {
			if hidden, ok := a.decode(text[lo:hi]); ok {
				visit(lo, hi, hidden)
			}
		}
		q = hi / encodeStride * encodeStride
	}
}

// interrupted reports whether one of eight bytes is below all digits, or a full
// stop or a colon, which are what most often ends runs of other bytes. Each
// subtraction borrows into the highest bit of the bytes in question, and at
// most of one beside such a byte.
func interrupted(x uint64) bool {
	const lowest, stop, colon = '+' * lowBits, '.' * lowBits, ':' * lowBits
	low := (x - lowest) &^ x
	stops := ((x ^ stop) - lowBits) &^ (x ^ stop)
	colons := ((x ^ colon) - lowBits) &^ (x ^ colon)
	return (low|stops|colons)&highBits != 0
}

// decode reads a run as base64 or hexadecimal. It gives up unless the first
// bytes are printable: random ones are not, and names and paths in a text
// decode to random bytes.
func (a *alphabet) decode(run string) (string, bool) {
	if b, err := hex.DecodeString(run); err == nil {
		if printable(b[:6]) {
			return string(b), true
		}
	}
	var head [6]byte
	for i := range 2 {
		var n uint32
		for j := range 4 {
			n = n<<6 | uint32(a[run[4*i+j]])
		}
		head[3*i], head[3*i+1], head[3*i+2] = byte(n>>16), byte(n>>8), byte(n)
	}
	if !printable(head[:]) {
		return "", false
	}
	std := strings.NewReplacer("-", "+", "_", "/").Replace(run)
	if len(std)%4 == 1 {
		std = std[:len(std)-1] // no encoder makes such a tail
	}
	b, err := base64.RawStdEncoding.DecodeString(std)
	return string(b), err == nil
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c > '~' {
			return false
		}
	}
	return true
}
