package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// acceptable is what Valid must say, put together from encoding/json: its
// grammar, and on top UTF-8, nesting and names that a second reader looks at.
func acceptable(raw []byte) bool {
	return json.Valid(raw) && utf8.Valid(raw) && nesting(raw) <= MaxDepth && !repeats(raw)
}

// nesting is the depth of a valid text.
func nesting(raw []byte) int {
	depth, deepest := 0, 0
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// repeats reports whether an object of a valid text has a name twice.
func repeats(raw []byte) bool {
	type open struct {
		names map[string]bool // nil for an array
		value bool            // a value comes next, not a name
	}
	var stack []open
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			panic(err)
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if n := len(stack); n > 0 && stack[n-1].names != nil {
			top := &stack[n-1]
			if name, ok := token.(string); ok && !top.value {
				if top.names[name] {
					return true
				}
				top.names[name], top.value = true, true
				continue
			}
			top.value = false
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, open{names: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, open{})
		}
	}
}

// corners are texts around every rule.
func corners() []string {
	return []string{
		``, ` `, `{}`, ` { } `, `[]`, "[\n]", `null`, `true`, `false`, `""`, `0`, "\t0\r\n",
		`nul`, `nullx`, `True`, `tru e`, `fals`, `n`, `x`, `{`, `}`, `[`, `]`, `"`, `,`, `:`,
		`{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{,}`, `{"a":1}}`, `{1:2}`, `{"a" : 1 , "b" : [ ] }`,
		`[1,2]`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `[1,`, `[[]]`, `[[]`, `[]]`,
		`{} {}`, `{}x`, `{}` + "\x00", `1 2`, `// c`, `{}/**/`,
		`-`, `-1`, `+1`, `01`, `-0`, `-01`, `0.`, `.5`, `0.5`, `1e`, `1e+`, `1e5`, `1E-5`, `1.5e+10`, `1e1.5`, `0x1`, `1_000`, `--1`, `1e99999`, `-0.0e-0`,
		`NaN`, `Infinity`, `-Infinity`, `nan`,
		"\ufeff{}", "\xef\xbb\xbf1", "\xff\xfe{}", "{}\ufeff",
		`"\""`, `"\\"`, `"\/"`, `"\b\f\n\r\t"`, `"\u0041"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`,
		`"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\ud800x"`, `{"\ud800":1}`, `{"\ud800":1,"\udbff":2}`,
		`"\x41"`, `"\u004"`, `"\u00g1"`, `"\u"`, `"\`, `"\"`, `"\U0041"`, `"\'"`, `"\a"`,
		"\"a\x00b\"", "\"a\x1fb\"", "\"a\nb\"", "\"a\tb\"", "\"\x7f\"", "\"\u2028\u2029\"", "\"\u0080\"",
		"\"\xff\"", "\"\xc3\x28\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xc0\xaf\"", "\"\xe2\x82\"", "\"\xf0\x9f\x98\x80\"", "{\"\xff\":1}",
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"":1,"":2}`, `{"a":{"a":1},"b":{"a":1}}`, `[{"a":1},{"a":1}]`, `{"a":1,"A":2}`, `{"a":{"b":1,"b":2}}`, `{"é":1,"\u00e9":2}`,
		"{\"a\":1,\n\"b\":2}", "[1\v2]", "[\f]", "\u00a0{}", "{\u2003}",
	}
}

// corpus is corners and texts made by a rule.
func corpus() []string {
	texts := corners()
	for _, depth := range []int{MaxDepth - 1, MaxDepth, MaxDepth + 1, 5000} {
		texts = append(texts,
			strings.Repeat("[", depth)+strings.Repeat("]", depth),
			strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth),
			strings.Repeat("[", depth))
	}
	texts = append(texts, "["+strings.Repeat(`[1],{"a":1},`, MaxDepth)+"0]")
	// Strings of every length around the eight bytes that are read at once,
	// each with each special byte at each place.
	for n := range 20 {
		plain := strings.Repeat("x", n)
		texts = append(texts, `"`+plain+`"`, `"`+plain+`é"`, `["`+plain+`\n",1]`)
		for k := range n {
			for _, c := range []string{"\x1f", "\x80", "\\", "\"", "\xc3\xa9", "\\u00e9"} {
				texts = append(texts, `"`+plain[:k]+c+plain[k:]+`"`)
			}
		}
	}
	// Objects around the number of names that are compared one by one.
	for n := fewNames - 2; n < fewNames+4; n++ {
		var b strings.Builder
		for k := range n {
			b.WriteString(`"k` + string(rune('a'+k)) + `":0,`)
		}
		texts = append(texts, `{`+b.String()+`"z":0}`, `{`+b.String()+`"ka":0}`, `{`+b.String()+`"kb":{`+b.String()+`"z":0}}`,
			`[{`+b.String()+`"z":0},{`+b.String()+`"z":0}]`, `{"o":{`+b.String()+`"z":0},"o":1}`)
	}
	return texts
}

func TestValidAgreesWithEncodingJSON(t *testing.T) {
	accepted := 0
	for _, text := range corpus() {
		want := acceptable([]byte(text))
		if got := Valid([]byte(text)); (got == nil) != want {
			t.Errorf("%.80q: %v, want acceptable %t", text, got, want)
		}
		if want {
			accepted++
		}
	}
	if accepted < 100 || len(corpus())-accepted < 100 {
		t.Errorf("%d of %d texts are acceptable: the corpus is lopsided", accepted, len(corpus()))
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range corners() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := Valid(raw)
		if want := acceptable(raw); (err == nil) != want {
			t.Fatalf("%v, want acceptable %t", err, want)
		}
		if err == nil {
			return
		}
		var s *SyntaxError
		if !errors.As(err, &s) || s.Offset < 0 || s.Offset > len(raw) || s.Reason == "" {
			t.Fatalf("%#v is no proper error for %d bytes", err, len(raw))
		}
		checkReason(t, raw, s)
	})
}

// checkReason holds the reason of an error to what the text really is.
func checkReason(t *testing.T, raw []byte, s *SyntaxError) {
	t.Helper()
	switch s.Reason {
	case ReasonSyntax: // another rule may be broken later in the text
	case ReasonDepth:
		if bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) <= MaxDepth {
			t.Errorf("depth, but only %d containers open", MaxDepth)
		}
	case ReasonUTF8:
		if utf8.Valid(raw) {
			t.Error("utf8, but the text is UTF-8")
		}
	case ReasonDuplicate:
		if json.Valid(raw) && !repeats(raw) {
			t.Error("duplicate, but no name occurs twice")
		}
	default:
		t.Errorf("unknown reason %q", s.Reason)
	}
	if s.Reason != ReasonSyntax && !json.Valid(raw) {
		return
	}
	if s.Reason == ReasonSyntax && json.Valid(raw) {
		t.Error("syntax, but encoding/json accepts the text")
	}
}
