package approvals

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// The parsers are fuzzed without files, which would make each try cost two
// flushes of a disk.

func sorted(list []StoredAnswer) []StoredAnswer {
	slices.SortFunc(list, func(a, b StoredAnswer) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Effect, b.Effect))
	})
	return list
}

// A write changes the answer it is about, and nothing else that was there.
func FuzzStore(f *testing.F) {
	for _, seed := range []string{
		`{"bash":"deny_always"}`, `{"a":"allow_always","a":"deny_always"}`, `{"a":1,"b":[{}]}`, `{`, ``, `[]`, "{\"\xff\":1}", `{"\ud800":"deny_always"}`,
		`{"new category":"allow_always","x":"later"}`, "\ufeff{}", `{"a":"deny_always"} {}`,
	} {
		f.Add([]byte(seed))
	}
	const category = "new category"
	f.Fuzz(func(t *testing.T, raw []byte) {
		before, err := parseStore(raw)
		if err != nil {
			if len(before.answers)+len(before.entries) > 0 {
				t.Errorf("a damaged file has answers: %+v", before)
			}
			return
		}
		if !json.Valid(raw) {
			t.Errorf("accepted %q, which is not JSON", raw)
		}
		text, err := before.set(category, DenyAlways.String())
		if err != nil {
			t.Fatal(err)
		}
		after, err := parseStore(text)
		if err != nil {
			t.Fatalf("cannot read what was written for %q: %v\n%s", raw, err, text)
		}
		want := []StoredAnswer{{category, EffectDeny}}
		others := 0
		for _, a := range before.answers {
			if a.Category != category {
				want = append(want, a)
			}
		}
		for _, p := range before.problems {
			if p.Tool != category {
				others++
			}
		}
		if diff := gocmp.Diff(sorted(want), sorted(after.answers)); diff != "" {
			t.Errorf("answers of %q after a write (-want +got):\n%s", raw, diff)
		}
		if len(after.problems) != others {
			t.Errorf("problems of %q: %v became %v", raw, before.problems, after.problems)
		}
	})
}

// A rule that is added comes last, and every rule that was there, usable or
// not, stays.
func FuzzPolicy(f *testing.F) {
	for _, seed := range []string{
		`{"version":1,"rules":[{"tool":"bash","decision":"allow","commandPrefix":["git"]}]}`, `{"rules":[5,{"tool":"a"}]}`,
		`{"version":2}`, `{"rules":{}}`, `{`, ``, `[]`, `{"rules":[{"tool":"\ud800","decision":"deny"}]}`, `{"a":1,"a":2}`,
		`{"x":{"rules":[]},"rules":[ ],"version":1}`,
	} {
		f.Add([]byte(seed))
	}
	added := Rule{Tool: "added by the test", CommandPrefix: []string{"x"}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before, err := parsePolicy(raw)
		if err != nil {
			if len(before.rules)+len(before.raw) > 0 {
				t.Errorf("a damaged file has rules: %+v", before)
			}
			return
		}
		text, err := added.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		file, err := before.encode(append(slices.Clip(before.raw), text))
		if err != nil {
			t.Fatal(err)
		}
		after, err := parsePolicy(file)
		if err != nil {
			t.Fatalf("cannot read what was written for %q: %v\n%s", raw, err, file)
		}
		want := append(slices.Clip(before.rules), IndexedRule{len(before.raw), added})
		if diff := gocmp.Diff(want, after.rules); diff != "" {
			t.Errorf("rules of %q after a write (-want +got):\n%s", raw, diff)
		}
		if diff := gocmp.Diff(before.problems, after.problems); diff != "" {
			t.Errorf("problems of %q after a write (-want +got):\n%s", raw, diff)
		}
	})
}
