package schemas

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// examples are the instances in testdata that a schema accepts and refuses.
type examples struct {
	Valid   []json.RawMessage `json:"valid"`
	Invalid []struct {
		Pointer  string          `json:"pointer"`
		Keyword  string          `json:"keyword"`
		Instance json.RawMessage `json:"instance"`
	} `json:"invalid"`
}

// loadExamples reads the examples of a schema. In the files, long texts are
// written {"$repeat": "x", "$times": 300, "$then": "…"} and long lists
// {"$items": 1, "$times": 300}.
func loadExamples(tb testing.TB, name string) examples {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "examples", filepath.FromSlash(name)+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	var e examples
	if err := json.Unmarshal(text, &e); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	for i := range e.Valid {
		e.Valid[i] = expand(tb, e.Valid[i])
	}
	for i := range e.Invalid {
		e.Invalid[i].Instance = expand(tb, e.Invalid[i].Instance)
	}
	return e
}

func expand(tb testing.TB, raw json.RawMessage) json.RawMessage {
	tb.Helper()
	value, err := decodeNumbers(raw)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := json.Marshal(unfold(value))
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func unfold(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = unfold(v[i])
		}
	case map[string]any:
		times, _ := v["$times"].(json.Number)
		n, _ := times.Int64()
		if text, ok := v["$repeat"].(string); ok {
			then, _ := v["$then"].(string)
			return strings.Repeat(text, int(n)) + then
		}
		if item, ok := v["$items"]; ok {
			list := make([]any, n)
			for i := range list {
				list[i] = item
			}
			return list
		}
		for name := range v {
			v[name] = unfold(v[name])
		}
	}
	return value
}

func TestExamples(t *testing.T) {
	set := New()
	for _, name := range allNames(t) {
		t.Run(name, func(t *testing.T) {
			e := loadExamples(t, name)
			if len(e.Valid) == 0 || len(e.Invalid) == 0 {
				t.Fatal("both accepted and refused instances are needed")
			}
			j := reference(t, name)
			for _, instance := range e.Valid {
				if err := set.Check(name, instance); err != nil {
					t.Errorf("%.200s: %v", instance, err)
				}
				if err := j.check(instance); err != nil {
					t.Errorf("v5: %.200s: %v", instance, err)
				}
			}
			for _, bad := range e.Invalid {
				var got *ValidationError
				if err := set.Check(name, bad.Instance); !errors.As(err, &got) {
					t.Errorf("%.200s: %v, want %s at %q", bad.Instance, err, bad.Keyword, bad.Pointer)
				} else if got.Pointer != bad.Pointer || got.Keyword != bad.Keyword || got.Message == "" {
					t.Errorf("%.200s: %+v, want %s at %q", bad.Instance, got, bad.Keyword, bad.Pointer)
				}
				if err := j.check(bad.Instance); !errors.As(err, &got) {
					t.Errorf("v5: %.200s: %v, want a violation", bad.Instance, err)
				}
			}
		})
	}
}
