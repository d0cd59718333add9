package schemas

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestSpecialFindsTheFirst compares the eight bytes at once with one by one.
func TestSpecialFindsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Bytes around the limits make neighbours borrow from each other.
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x1f, ' ', '!', '"', '#', '[', '\\', ']', 0x7f, 0x80, 0x81, 0xa2, 0xdc, 0xff, 'x'}), 8, 8).Draw(t, "bytes")
		want := bytes.IndexFunc(bytes.Map(func(r rune) rune { return r }, ascii(b)), func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
		got := -1
		if stop := special(binary.LittleEndian.Uint64(b)); stop != 0 {
			got = bits.TrailingZeros64(stop) >> 3
		}
		if got != want {
			t.Fatalf("% x: %d, want %d", b, got, want)
		}
	})
}

// ascii replaces bytes that are not ASCII, so that indexes stay those of bytes.
func ascii(b []byte) []byte {
	out := bytes.Clone(b)
	for i, c := range out {
		if c >= utf8.RuneSelf {
			out[i] = 'x'
		}
	}
	return out
}

func TestSpecialOnEveryByte(t *testing.T) {
	for c := range 256 {
		for at := range 8 {
			b := []byte("xxxxxxxx")
			b[at] = byte(c)
			want := c < ' ' || c == '"' || c == '\\'
			if got := special(binary.LittleEndian.Uint64(b)) != 0; got != want {
				t.Errorf("byte %#x at %d: %t, want %t", c, at, got, want)
			}
		}
	}
}

func TestEscape(t *testing.T) {
	for c := range 256 {
		text := []byte{'\\', byte(c), '0', '0', '4', '1'}
		want := 0
		switch {
		case c == 'u':
			want = 6
		case strings.IndexByte(`"\/bfnrt`, byte(c)) >= 0:
			want = 2
		}
		if got := escape(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
		// The same byte as a hexadecimal digit.
		digits := []byte{'\\', 'u', '0', byte(c), 'a', 'F'}
		want = 0
		if strings.IndexByte("0123456789abcdefABCDEF", byte(c)) >= 0 {
			want = 6
		}
		if got := escape(digits); got != want {
			t.Errorf("%q: %d, want %d", digits, got, want)
		}
	}
	for _, text := range []string{`\`, `\u`, `\u1`, `\u12`, `\u123`} {
		if got := escape([]byte(text)); got != 0 {
			t.Errorf("%s: %d, want 0", text, got)
		}
	}
}

func TestBadUTF8(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"abc", 3},
		{"é\u20ac😀\ufffd", 12},
		{"\x80", 0},
		{"ab\xc3", 2},
		{"é\xed\xa0\x80", 2},
		{"😀\xf4\x90\x80\x80", 4},
		{"a\xc0\xaf", 1},
	} {
		if got := badUTF8([]byte(tt.text)); got != tt.want {
			t.Errorf("%q: %d, want %d", tt.text, got, tt.want)
		}
	}
}

// TestNumbers compares with encoding/json on every short text over the
// characters of numbers.
func TestNumbers(t *testing.T) {
	const letters = "-+.0e19E"
	texts := []string{""}
	for range 5 {
		var longer []string
		for _, text := range texts {
			for _, c := range letters {
				longer = append(longer, text+string(c))
			}
		}
		for _, text := range longer {
			s := scanner{raw: []byte(text)}
			end, plain := s.number(0)
			if whole := end == len(text); whole != json.Valid([]byte(text)) {
				t.Fatalf("%q ends at %d", text, end)
			} else if whole && plain != !strings.ContainsAny(text, ".eE") {
				t.Fatalf("%q: plain %t", text, plain)
			}
		}
		texts = longer
	}
}

// TestPlainInt compares with fmt.
func TestPlainInt(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 10, -10, 123456789012345678, -12345678901234567, 999999999999999999} {
		if got := plainInt(fmt.Append(nil, v)); got != v {
			t.Errorf("%d: %d", v, got)
		}
	}
	if got := plainInt([]byte("-0")); got != 0 {
		t.Errorf("-0: %d", got)
	}
}

// TestNamesStack pushes more names than fit without the heap, leaves some groups
// and pushes again.
func TestNamesStack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s names
		var want []name
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				for range rapid.IntRange(1, 2*fewNames).Draw(t, "count") {
					x := name{start: len(want), end: rapid.Int().Draw(t, "end")}
					s.push(x)
					want = append(want, x)
				}
			} else {
				s.n = rapid.IntRange(0, len(want)).Draw(t, "keep")
				want = want[:s.n]
			}
			for k, x := range want {
				if s.at(k) != x {
					t.Fatalf("name %d of %d is %v, want %v", k, len(want), s.at(k), x)
				}
			}
		}
	})
}

// TestDuplicatesInNestedObjects puts a repetition into one of many objects that
// are open at once, each with names of the others.
func TestDuplicatesInNestedObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 2*fewNames), 1, 5).Draw(t, "sizes")
		bad := rapid.IntRange(-1, len(sizes)-1).Draw(t, "bad")
		var open, end strings.Builder
		for level, size := range sizes {
			open.WriteByte('{')
			for k := range size {
				fmt.Fprintf(&open, `"n%d":0,`, k)
			}
			last := fmt.Sprintf("n%d", size)
			if level == bad {
				last = `n\u0030` // n0
			}
			fmt.Fprintf(&open, `"%s":`, last)
			end.WriteByte('}')
		}
		text := open.String() + "0" + end.String()
		if err := Valid([]byte(text)); (err != nil) != (bad >= 0) {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
