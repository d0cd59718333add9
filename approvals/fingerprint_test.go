package approvals_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/approvals"
)

func TestFingerprintIgnoresForm(t *testing.T) {
	for _, tt := range []struct{ name, a, b string }{
		{"blanks", `{"a": 1, "b": [1, 2]}`, `{"a":1,"b":[1,2]}`},
		{"order of names", `{"a":{"x":1,"y":2},"b":2}`, `{"b":2,"a":{"y":2,"x":1}}`},
		{"escapes", `{"a":"\u0041\/"}`, `{"a":"A/"}`},
		{"surrogate pair", `"\ud83d\ude00"`, `"😀"`},
		{"absent and null", ``, `null`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := approvals.FingerprintOf(json.RawMessage(tt.a)).Verify(json.RawMessage(tt.b)); err != nil {
				t.Errorf("%s and %s: %v", tt.a, tt.b, err)
			}
		})
	}
}

func TestFingerprintSeesEveryChange(t *testing.T) {
	deep := strings.Repeat("[", 300) + "%s" + strings.Repeat("]", 300)
	values := []string{
		`null`, `true`, `false`, `0`, `1`, `1.0`, `1e0`, `-1`, `"1"`, `""`, `"null"`, `[]`, `{}`, `[[]]`, `[{}]`, `[null]`,
		`[1]`, `[1,2]`, `[12]`, `["1","2"]`, `["12"]`, `["1,2"]`, `{"a":1}`, `{"a":"1"}`, `{"b":1}`, `{"a":{"b":1}}`, `{"a":1,"b":1}`,
		`{"a":[1]}`, `{"ab":1}`, `{"a":"b"}`, `{"a":1,"a":1}`, `{"a":1,"a":2}`, `{"a":1, "a":2}`, `{"a":2,"a":1}`, `{"a":2}`,
		`"\ud800"`, `"\ud801"`, `"\udc00"`, "\"\ufffd\"", `"\\ud800"`, "\"\xff\"", "\"\xfe\"", `{`, `{"a"`, `x`,
		strings.Replace(deep, "%s", "1", 1), strings.Replace(deep, "%s", "2", 1),
	}
	seen := map[approvals.Fingerprint]string{}
	for _, v := range values {
		fp := approvals.FingerprintOf(json.RawMessage(v))
		if other, ok := seen[fp]; ok {
			t.Errorf("%q and %q have one fingerprint", v, other)
		}
		seen[fp] = v
	}
}

func TestVerifyNamesTheChange(t *testing.T) {
	fp := approvals.FingerprintOf(json.RawMessage(`{"command":"ls"}`))
	if err := fp.Verify(json.RawMessage(`{"command":"rm -rf x"}`)); !errors.Is(err, approvals.ErrArgumentsChanged) {
		t.Errorf("Verify of other arguments = %v, want %v", err, approvals.ErrArgumentsChanged)
	}
	if err := (approvals.Fingerprint{}).Verify(nil); !errors.Is(err, approvals.ErrArgumentsChanged) {
		t.Errorf("the zero fingerprint verifies: %v", err)
	}
	if len(fp.String()) != 64 {
		t.Errorf("String = %q, want 64 hexadecimal digits", fp)
	}
}

// A re-encoding by the standard library keeps the fingerprint, and a changed
// re-encoding does not.
func FuzzFingerprint(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `[1,[2,{"b":"\u00e9"}]]`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, `{`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		fp := approvals.FingerprintOf(raw)
		if err := fp.Verify(bytes.Clone(raw)); err != nil {
			t.Errorf("equal bytes: %v", err)
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil || !json.Valid(raw) {
			return
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		wrapped := append(append([]byte("["), again...), ']')
		if fp.Verify(wrapped) == nil {
			t.Errorf("%q and %q have one fingerprint", raw, wrapped)
		}
	})
}
