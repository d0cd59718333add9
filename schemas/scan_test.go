package schemas

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSyntaxErrors(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1)
	many := "{"
	for k := range fewNames + 1 {
		many += `"` + string(rune('a'+k)) + `":0,`
	}
	many += `"b":0}`
	for _, tt := range []struct {
		name, text string
		offset     int
		reason     Reason
	}{
		{"nothing", ``, 0, ReasonSyntax},
		{"white space", "  ", 2, ReasonSyntax},
		{"byte order mark", "\ufeff{}", 0, ReasonSyntax},
		{"not a number", `NaN`, 0, ReasonSyntax},
		{"two values", `{}{}`, 2, ReasonSyntax},
		{"second value after space", `{"a":1} {"a":1}`, 8, ReasonSyntax},
		{"trailing garbage", `[1] x`, 4, ReasonSyntax},
		{"misspelt literal", `{"a":nul}`, 5, ReasonSyntax},
		{"missing colon", `{"a" 1}`, 5, ReasonSyntax},
		{"missing comma", `[1 2]`, 3, ReasonSyntax},
		{"trailing comma", `{"a":1,}`, 7, ReasonSyntax},
		{"name without quotes", `{a:1}`, 1, ReasonSyntax},
		{"unfinished string", `"abc`, 4, ReasonSyntax},
		{"unfinished object", `{"a":1`, 6, ReasonSyntax},
		{"leading zero", `[01]`, 1, ReasonSyntax},
		{"no fraction", `[1.]`, 3, ReasonSyntax},
		{"no exponent", `[1e]`, 3, ReasonSyntax},
		{"line feed in a string", "[\"a\nb\"]", 3, ReasonSyntax},
		{"unknown escape", `"ab\x"`, 3, ReasonSyntax},
		{"short escape", `"\u12"`, 1, ReasonSyntax},
		{"too deep", deep, MaxDepth, ReasonDepth},
		{"not UTF-8", "\"ab\xffcd\"", 3, ReasonUTF8},
		{"surrogate as UTF-8", "[1,\"\xed\xa0\x80\"]", 4, ReasonUTF8},
		{"same name twice", `{"a":1,"a":2}`, 11, ReasonDuplicate},
		{"same name in another spelling", `{"a":1,"\u0061":2}`, 16, ReasonDuplicate},
		{"same name among many", many, len(many), ReasonDuplicate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got *SyntaxError
			if err := Valid([]byte(tt.text)); !errors.As(err, &got) || got.Offset != tt.offset || got.Reason != tt.reason {
				t.Fatalf("Valid(%.60q) = %#v, want offset %d, reason %s", tt.text, err, tt.offset, tt.reason)
			}
			if strings.Contains(got.Error(), "abc") {
				t.Errorf("%q quotes the text", got.Error())
			}
		})
	}
}

func TestSyntaxErrorText(t *testing.T) {
	for reason, want := range map[Reason]string{
		ReasonSyntax:    "invalid JSON at byte 7",
		ReasonDepth:     "JSON nested deeper than 128 at byte 7",
		ReasonUTF8:      "invalid UTF-8 at byte 7",
		ReasonDuplicate: "duplicate member name at byte 7",
	} {
		if got := (&SyntaxError{Offset: 7, Reason: reason}).Error(); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

// split returns what Scan visits, as "name=value".
func split(raw string) ([]string, error) {
	var got []string
	err := Scan([]byte(raw), func(key, value []byte) bool {
		got = append(got, string(key)+"="+string(value))
		return true
	})
	return got, err
}

func TestScan(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"empty", ` { } `, nil},
		{"frame", `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":[1,{}]}}`, []string{`jsonrpc="2.0"`, `id=7`, `method="m"`, `params={"a":[1,{}]}`}},
		{"white space around values", "{ \"a\" : [ 1 ] ,\n\"b\"\t:\rnull }", []string{`a=[ 1 ]`, `b=null`}},
		{"escaped name", `{"m\u0065thod":1,"":2}`, []string{`method=1`, `=2`}},
		{"numbers keep their form", `{"id":-0.50e+3}`, []string{`id=-0.50e+3`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := split(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScanOtherValues(t *testing.T) {
	for _, text := range []string{`[]`, ` [{"id":1}] `, `null`, `"a"`, `12`, `true`} {
		if got, err := split(text); !errors.Is(err, ErrNotObject) || got != nil {
			t.Errorf("%s: %v, visited %q", text, err, got)
		}
	}
	for _, text := range []string{``, `[`, `[] x`, `nul`, `{`, `{"a":1}x`, `{"a":1,"a":2}`, "\xff"} {
		var s *SyntaxError
		if _, err := split(text); !errors.As(err, &s) {
			t.Errorf("%q: %v, want a syntax error", text, err)
		}
	}
}

func TestScanStopsVisitingButNotChecking(t *testing.T) {
	visits := 0
	visit := func(_, _ []byte) bool { visits++; return false }
	if err := Scan([]byte(`{"a":1,"b":2,"c":3}`), visit); err != nil || visits != 1 {
		t.Errorf("%d visits, %v", visits, err)
	}
	for _, text := range []string{`{"a":1,"b":}`, `{"a":1,"b":2,"b":3}`, `{"a":1,"b":2} {}`} {
		if err := Scan([]byte(text), visit); err == nil {
			t.Errorf("%s: no error behind the last visit", text)
		}
	}
}

// TestScanHostileNames bounds the work for an object with very many names: it
// may grow a little faster than the text, not with its square.
func TestScanHostileNames(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for k := range 200_000 {
		if k > 0 {
			b.WriteByte(',')
		}
		// All names have the same hash.
		b.WriteString(`"` + string([]byte{'a', byte('0' + k%10), byte('0' + k/10%10), byte('0' + k/100%10), 'm', byte('0' + k/1000%10), byte('0' + k/10000%10), byte('0' + k/100000%10), 'z'}) + `":0`)
	}
	unique := b.String() + `}`
	if err := Valid([]byte(unique)); err != nil {
		t.Errorf("unique names: %v", err)
	}
	var s *SyntaxError
	if err := Valid([]byte(b.String() + `,"a000m000z":0}`)); !errors.As(err, &s) || s.Reason != ReasonDuplicate {
		t.Errorf("one name twice: %v", err)
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range corners() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var names []string
		got := map[string]string{}
		err := Scan(raw, func(key, value []byte) bool {
			names = append(names, string(key))
			got[string(key)] = string(value)
			return true
		})
		if valid := Valid(raw); (err == nil || errors.Is(err, ErrNotObject)) != (valid == nil) {
			t.Fatalf("Scan says %v, Valid %v", err, valid)
		}
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if len(want) != len(got) || len(names) != len(got) {
			t.Fatalf("visited %q, want %d members", names, len(want))
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Errorf("%q: %q, want %q", name, got[name], value)
			}
		}
		rest := string(raw)
		for _, name := range names {
			_, after, ok := strings.Cut(rest, got[name])
			if !ok {
				t.Fatalf("%q is not the order of the text", names)
			}
			rest = after
		}
	})
}
