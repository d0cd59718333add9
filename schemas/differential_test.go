package schemas

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// engines are both engines of one schema.
type engines struct {
	name  string
	table *table
	judge *judge
}

// bothEngines returns the engines of every schema that has a table.
func bothEngines(tb testing.TB) []engines {
	tb.Helper()
	var all []engines
	for _, name := range allNames(tb) {
		root, err := build(name)
		if _, ok := errors.AsType[*unsupportedError](err); ok {
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, engines{name: name, table: &table{root: root}, judge: reference(tb, name)})
	}
	return all
}

// agree fails unless both engines give the same verdict, of the same sort.
func agree(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, name string, fast, slow engine, raw []byte,
) {
	t.Helper()
	a, b := fast.check(raw), slow.check(raw)
	if (a == nil) != (b == nil) {
		t.Fatalf("%s: %.300q: the table says %v, v5 says %v", name, raw, a, b)
	}
	var syntaxA, syntaxB *SyntaxError
	if errors.As(a, &syntaxA) != errors.As(b, &syntaxB) {
		t.Fatalf("%s: %.300q: the table says %v, v5 says %v", name, raw, a, b)
	}
	var violation *ValidationError
	if a != nil && syntaxA == nil && (!errors.As(a, &violation) || violation.Keyword == "" || violation.Message == "") {
		t.Fatalf("%s: %.300q: %#v is no proper error", name, raw, a)
	}
}

// strangers are values that mutations put in the place of others.
func strangers() []any {
	return []any{
		nil, true, false, "", "x", "host", "none", strings.Repeat("é", 257), "srv_1", "\u0000", "a=b",
		json.Number("0"), json.Number("-1"), json.Number("1.0"), json.Number("1.5"), json.Number("10e-1"), json.Number("1e2"), json.Number("-0.0"),
		json.Number("9007199254740991"), json.Number("9007199254740992"), json.Number("9007199254740992.0"), json.Number("1000000000000000000000"), json.Number("1e999999999"), json.Number("1e-999999999"),
		[]any{},
		[]any{"x"},
		[]any{nil},
		map[string]any{},
		map[string]any{"streamId": "s"},
		map[string]any{"x": json.Number("1")},
	}
}

// mutate returns value with one change somewhere.
func mutate(t *rapid.T, value any, names []string) any {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 && rapid.IntRange(0, 3).Draw(t, "down") > 0 {
			key := rapid.SampledFrom(slices.Sorted(maps.Keys(v))).Draw(t, "key")
			v[key] = mutate(t, v[key], names)
			return v
		}
		switch key := rapid.SampledFrom(names).Draw(t, "name"); rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			v[key] = rapid.SampledFrom(strangers()).Draw(t, "value")
		case 1:
			for name := range v {
				delete(v, name)
				break
			}
		default:
			return rapid.SampledFrom(strangers()).Draw(t, "value")
		}
		return v
	case []any:
		if len(v) > 0 && rapid.Bool().Draw(t, "down") {
			k := rapid.IntRange(0, len(v)-1).Draw(t, "index")
			v[k] = mutate(t, v[k], names)
			return v
		}
		return append(v, rapid.SampledFrom(strangers()).Draw(t, "value"))
	default:
		return rapid.SampledFrom(strangers()).Draw(t, "value")
	}
}

// memberNames lists every property name of the schemas.
func memberNames(tb testing.TB) []string {
	tb.Helper()
	found := map[string]bool{"unknown": true}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			if props, ok := v["properties"].(map[string]any); ok {
				for name := range props {
					found[name] = true
				}
			}
			for _, child := range v {
				walk(child)
			}
		}
	}
	for _, name := range allNames(tb) {
		walk(document(tb, name))
	}
	return slices.Sorted(maps.Keys(found))
}

// TestTablesAgreeOnChangedFrames compares the engines on examples with up to
// three changes each.
func TestTablesAgreeOnChangedFrames(t *testing.T) {
	names := memberNames(t)
	for _, e := range bothEngines(t) {
		instances := loadExamples(t, e.name).Valid
		t.Run(e.name, rapid.MakeCheck(func(t *rapid.T) {
			value, err := decodeNumbers(rapid.SampledFrom(instances).Draw(t, "instance"))
			if err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(1, 3).Draw(t, "changes") {
				value = mutate(t, value, names)
			}
			raw, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, e.name, e.table, e.judge, raw)
		}))
	}
}

// FuzzChecker compares the engines on any bytes.
func FuzzChecker(f *testing.F) {
	all := bothEngines(f)
	for k, e := range all {
		x := loadExamples(f, e.name)
		for _, instance := range x.Valid {
			f.Add(uint8(k), []byte(instance))
		}
		for _, bad := range x.Invalid {
			if len(bad.Instance) < 1000 {
				f.Add(uint8(k), []byte(bad.Instance))
			}
		}
	}
	f.Fuzz(func(t *testing.T, k uint8, raw []byte) {
		e := all[int(k)%len(all)]
		agree(t, e.name, e.table, e.judge, raw)
		var s *SyntaxError
		if errors.As(e.table.check(raw), &s) != (Valid(raw) != nil) {
			t.Fatalf("%s: %q: a syntax error and Valid must go together", e.name, raw)
		}
	})
}
