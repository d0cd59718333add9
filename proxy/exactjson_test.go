package proxy

import (
	"encoding/json"
	"testing"
)

func TestCheckKeys(t *testing.T) {
	t.Parallel()
	known := []string{"a", "b"}
	for in, want := range map[string]struct{ any, known bool }{
		`{}`: {true, true}, `[]`: {true, true}, `"a"`: {true, true}, `null`: {true, true}, `1`: {true, true},
		`{"a": 1, "b": "a"}`:                {true, true},
		`{"a": "a", "b": "a"}`:              {true, true},
		`{"a": ["a", "a"], "b": ["b"]}`:     {true, true},
		`{"a": [{"a": 1}, {"a": 1}]}`:       {true, true},
		`{"a": {"a": {"b": 1}}, "b": 2}`:    {true, true},
		`{"A": 1}`:                          {true, false},
		`{"a": 1, "c": 1}`:                  {true, false},
		`{"a": 1, "a": 1}`:                  {},
		`{"a": [], "a": []}`:                {},
		`{"a": {}, "b": 1, "a": {}}`:        {},
		`{"a": 1, "\u0061": 1}`:             {},
		`{"a": [{"b": 1, "b": 2}]}`:         {},
		`[{"a": 1}, {"a": {"b":1, "b":1}}]`: {},
	} {
		if !json.Valid([]byte(in)) {
			t.Fatalf("%s is no JSON", in)
		}
		if err := checkKeys([]byte(in), nil); (err == nil) != want.any {
			t.Errorf("%s: %v", in, err)
		}
		if err := checkKeys([]byte(in), known); (err == nil) != want.known {
			t.Errorf("%s among %v: %v", in, known, err)
		}
	}
}

// FuzzCheckKeys wants no panic, whatever is not JSON.
func FuzzCheckKeys(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": "a"}]}`))
	f.Add([]byte(`]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkKeys(data, []string{"a"}) == nil && checkKeys(data, nil) != nil {
			t.Fatalf("%q: stricter without a list of keys", data)
		}
	})
}
