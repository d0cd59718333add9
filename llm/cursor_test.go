package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

// jsonSamples are texts at the edges of the grammar.
func jsonSamples() []string {
	return []string{
		``, ` `, `{}`, `[]`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `[1,2]`, `[1,]`, `[,1]`, `[1 2]`,
		`0`, `-0`, `-`, `01`, `1.`, `.5`, `1.5e`, `1e+`, `1E-7`, `+1`, `0x1`, `1e5.5`, `--1`,
		`true`, `tru`, `trueish`, `null`, `nul`, `false`, `True`,
		`""`, `"`, `"a`, `"\"`, `"\\"`, `"\u12"`, `"\u12G4"`, `"\uabCD"`, `"\x"`, "\"\t\"", "\"\x00\"", "\"\x7f\"", "\"\xff\"", `"é"`,
		"{}\x00", "\x00{}", `{}{}`, `{} `, " \t\r\n{\n\"a\"\r:\t[ ] } ", `{"\u0061":1}`, `{"a":{"b":[{"c":null}]}}`, `[[[[]]]]`, `{"a":[}`, `[{]}`,
		`"12345678"`, `"1234567\"`, `"1234567\n"`, `"12345678\u00e9"`, "\"1234567\n\"",
	}
}

func checkValid(t *testing.T, text string) {
	t.Helper()
	c := cursor{b: []byte(text)}
	value := c.value()
	got := c.end()
	if want := json.Valid([]byte(text)); got != want {
		t.Errorf("%.80q: valid %v, want %v", text, got, want)
	}
	if got && strings.TrimLeft(text, " \t\r\n")[:len(value)] != string(value) {
		t.Errorf("%.80q: value %.80q", text, value)
	}
}

func TestCursorValid(t *testing.T) {
	for _, text := range jsonSamples() {
		checkValid(t, text)
	}
	for _, depth := range []int{maxDepth, maxDepth + 1} {
		checkValid(t, strings.Repeat("[", depth)+strings.Repeat("]", depth))
		checkValid(t, strings.Repeat(`{"":`, depth)+"1"+strings.Repeat("}", depth))
	}
}

// FuzzCursor holds that the cursor and encoding/json accept the same texts, and
// find the same members in them.
func FuzzCursor(f *testing.F) {
	for _, text := range jsonSamples() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkValid(t, text)
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &want) != nil || want == nil {
			return
		}
		got := map[string]string{}
		c := cursor{b: []byte(text)}
		for c.object(); c.member(); {
			// encoding/json repairs names; for ours it matters only that a known
			// name is found, and those are ASCII.
			key := strings.ToValidUTF8(string(c.key), "\ufffd")
			got[key] = string(c.value())
		}
		if !c.end() {
			t.Fatalf("%q does not end", text)
		}
		for key, raw := range want {
			if value, ok := got[key]; strings.ContainsRune(key, '\ufffd') {
				continue
			} else if !ok || value != string(raw) {
				t.Errorf("%q: member %q is %q, want %q", text, key, value, raw)
			}
		}
	})
}

// TestCursorSticks holds that nothing is found behind an error.
func TestCursorSticks(t *testing.T) {
	for _, text := range []string{`{"a":1 "b":2}`, `{"a":x,"b":2}`, `[`, `{"a":1}`} {
		c := cursor{b: []byte(text)}
		members := 0
		for c.object(); c.member() && members < 10; members++ {
			c.value()
		}
		if members > 1 {
			t.Errorf("%s: %d members", text, members)
		}
		c.bad = true
		if c.array(); c.element() || c.member() || c.value() != nil || c.end() {
			t.Errorf("%s: goes on after an error", text)
		}
	}
}

func TestMemberOf(t *testing.T) {
	for _, tc := range []struct{ object, key, want string }{
		{`{"a":1,"b":[2]}`, "b", `[2]`},
		{`{"a":1,"a":2}`, "a", `2`},
		{`{"\u0061":1}`, "a", `1`},
		{`{"a":{"b":1}}`, "b", ``},
		{`[1]`, "a", ``},
		{``, "a", ``},
	} {
		if got := string(memberOf([]byte(tc.object), tc.key)); got != tc.want {
			t.Errorf("%s of %s: %s, want %s", tc.key, tc.object, got, tc.want)
		}
	}
}
