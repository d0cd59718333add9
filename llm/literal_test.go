package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// unitsOf decodes the inside of a literal to UTF-16, the slow and plain way.
func unitsOf(t *testing.T, quoted string) []uint16 {
	t.Helper()
	text := quoted[1 : len(quoted)-1]
	var out []uint16
	for len(text) > 0 {
		if text[0] != '\\' {
			r, size := utf8.DecodeRuneInString(text)
			out = utf16.AppendRune(out, r)
			text = text[size:]
			continue
		}
		if text[1] == 'u' {
			u, err := strconv.ParseUint(text[2:6], 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, uint16(u))
			text = text[6:]
			continue
		}
		out = append(out, uint16(map[byte]byte{'b': 8, 'f': 12, 'n': 10, 'r': 13, 't': 9, '"': '"', '\\': '\\', '/': '/'}[text[1]]))
		text = text[2:]
	}
	return out
}

// checkLiterals compares literals and decoded with the plain way.
func checkLiterals(t *testing.T, list []string) {
	t.Helper()
	var l literals
	var d decoded
	var units []uint16
	var shown []byte
	show := func(piece []byte) {
		if piece == nil {
			return
		}
		if !json.Valid(piece) || !utf8.Valid(piece) || strings.ContainsAny(string(piece), "\u2028\u2029") {
			t.Errorf("%q: unsafe piece %q", list, piece)
		}
		// A piece may not hold half a pair: joined decoding and decoding by
		// piece must be the same, which the comparison below shows.
		shown = append(shown, unquote(piece)...)
	}
	for _, quoted := range list {
		show(l.add([]byte(quoted)))
		d.add([]byte(quoted))
		units = append(units, unitsOf(t, quoted)...)
	}
	show(l.flush())
	d.flush()
	want := string(utf16.Decode(units))
	if string(shown) != want {
		t.Errorf("%q: shown %q, want %q", list, shown, want)
	}
	if got := unquote(l.literal()); got != want {
		t.Errorf("%q: joined %q, want %q", list, got, want)
	}
	if string(d.b) != want {
		t.Errorf("%q: decoded %q, want %q", list, d.b, want)
	}
}

func TestLiterals(t *testing.T) {
	for _, list := range [][]string{
		{`""`},
		{`"a"`, `""`, `"b"`},
		{`"\ud83d"`, `"\ude80"`},
		{`"\ud83d"`, `""`, `"\ude80"`},
		{`"x\uD83D"`, `"\uDE80y"`},
		{`"\ud83d\ud83d"`, `"\ude80"`},
		{`"\ude80"`, `"\ud83d"`},
		{`"\ud83d"`, `"a"`},
		{`"\ud83d"`, `"\n"`},
		{`"\ud83d"`, `"é"`},
		{`"\ud83d"`, `"\u0041"`},
		{`"\\ud83d"`, `"\\"`, `"ude80"`},
		{"\"\u2028\u2029\u2030\u0085\""},
		{"\"\xff\"", "\"\xe4\xbd\"", "\"\xa0\""},
		{`"\"\\\/\b\f\n\r\t"`},
		{`"\ufffd\uffff\u0000\ud7ff\ue000"`},
		{`"plain text that is longer than eight bytes \ud83d\ude80 and goes on"`},
	} {
		checkLiterals(t, list)
	}
}

// FuzzLiterals cuts one literal into two in all ways that keep escapes whole.
func FuzzLiterals(f *testing.F) {
	f.Add(`a\ud83d\ude80b`, 7)
	f.Add(`\ude80\ud83d`, 6)
	f.Add("\u2028\xff\\n", 3)
	f.Fuzz(func(t *testing.T, text string, at int) {
		whole := `"` + text + `"`
		if !json.Valid([]byte(whole)) {
			return
		}
		for i := 0; i < len(text) && i <= at; {
			switch {
			case text[i] != '\\':
				_, size := utf8.DecodeRuneInString(text[i:])
				i += size
			case text[i+1] == 'u':
				i += 6
			default:
				i += 2
			}
			checkLiterals(t, []string{`"` + text[:i] + `"`, `"` + text[i:] + `"`})
		}
		checkLiterals(t, []string{whole})
	})
}

// FuzzQuote holds that a quoted text decodes to itself.
func FuzzQuote(f *testing.F) {
	for _, text := range []string{"", "a", "\"\\\n\r\t\b\x00\x1f\x7f", "é漢🚀", "\u2028\u2029", "\xff\xc3", "1234567\"", "12345678é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted := Quote(text)
		std, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := unquote(quoted); got != unquote(std) {
			t.Errorf("%q: %s", text, quoted)
		}
		if !isClean(quoted) || bytes.ContainsAny(quoted, "\n\r") {
			t.Errorf("%q: unsafe %s", text, quoted)
		}
	})
}

func TestOneLine(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"a":1}`, `{"a":1}`},
		{"{\n \"a\" : 1.0 }", `{"a":1.0}`},
		{"{\"a\":\"\u2028\"}", `{"a":"\u2028"}`},
		{`{"a":"\ud83d","b":"\ude80"}`, `{"a":"` + "\ufffd" + `","b":"` + "\ufffd" + `"}`},
		{`{"a":"\ud83d\ude80"}`, `{"a":"\ud83d\ude80"}`},
	} {
		if got := string(oneLine([]byte(tc.in))); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.in, got, tc.want)
		}
	}
}
