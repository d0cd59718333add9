package dlp

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

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

// encoded calls visit with what may be an encoded text in a run of base64
// digits, and what it hides. It looks at eight bytes of every twenty: where one
// of them is a blank, a full stop or a colon, no run covers them.
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
			p := parts{alphabet: a, run: text[lo:hi], visit: visit, at: lo}
			p.all()
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

// parts are what a run may consist of: in a path or a name, slashes, hyphens and
// underscores are no digits but stand before and behind an encoded text.
type parts struct {
	alphabet *alphabet
	run      string
	at       int // where the run stands
	visit    func(lo, hi int, hidden string)
}

// all visits the parts that begin where the run does or behind such a digit,
// and end where the run does or before a slash. Of those with one end that begin a
// multiple of four digits apart, the first hides what the others do, so that
// the work stays in proportion to the run.
func (p *parts) all() {
	var toEnd, toSlash [4]bool
	slash := -1
	for lo := 0; len(p.run)-lo >= minEncoded; lo = behind(p.run, lo) {
		if slash < lo {
			toSlash, slash = [4]bool{}, len(p.run)
			if n := strings.IndexByte(p.run[lo:], '/'); n >= 0 {
				slash = lo + n
			}
		}
		p.hex(lo)
		if !p.alphabet.promising(p.run[lo:]) {
			continue
		}
		if slash < len(p.run) && slash-lo >= minEncoded && !toSlash[lo%4] {
			toSlash[lo%4] = true
			p.base64(lo, slash)
		}
		if !toEnd[lo%4] {
			toEnd[lo%4] = true
			p.base64(lo, len(p.run))
		}
	}
}

// behind returns the place behind the next digit that may be punctuation.
func behind(run string, from int) int {
	for i := from; i < len(run); i++ {
		switch run[i] {
		case '/', '-', '_', '+':
			return i + 1
		}
	}
	return len(run)
}

// hex visits the hexadecimal digits from lo on, behind "0x" if that is there.
func (p *parts) hex(lo int) {
	if strings.HasPrefix(p.run[lo:], "0x") {
		lo += 2
	}
	hi := lo
	for hi < len(p.run) {
		if _, ok := nibble(p.run[hi]); !ok {
			break
		}
		hi++
	}
	hi -= (hi - lo) % 2
	if hi-lo < minEncoded {
		return
	}
	if b, err := hex.DecodeString(p.run[lo:hi]); err == nil && printable(b[:6]) {
		p.visit(p.at+lo, p.at+hi, string(b))
	}
}

// base64 visits digits of either alphabet.
func (p *parts) base64(lo, hi int) {
	std := strings.NewReplacer("-", "+", "_", "/").Replace(p.run[lo:hi])
	if len(std)%4 == 1 {
		std = std[:len(std)-1] // no encoder makes such a tail
	}
	if b, err := base64.RawStdEncoding.DecodeString(std); err == nil {
		p.visit(p.at+lo, p.at+hi, string(b))
	}
}

// promising reports whether the first bytes that digits stand for are
// printable: random ones are not, and names and paths in a text decode to
// random bytes.
func (a *alphabet) promising(run string) bool {
	var head [6]byte
	for i := range 2 {
		var n uint32
		for j := range 4 {
			n = n<<6 | uint32(a[run[4*i+j]])
		}
		head[3*i], head[3*i+1], head[3*i+2] = byte(n>>16), byte(n>>8), byte(n)
	}
	return printable(head[:])
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c > '~' {
			return false
		}
	}
	return true
}
