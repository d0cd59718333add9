package authz_test

import (
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz"
)

// enum describes one enumeration for the tests that hold for all of them.
type enum struct {
	words []string
	zero  string // how the zero value reads
	parse func(string) (string, error)
	text  func(uint8) string
}

func enums() map[string]enum {
	return map[string]enum{
		"Decision": {
			[]string{"DENY", "ESCALATE", "ALLOW"},
			"DENY",
			func(s string) (string, error) { v, err := authz.ParseDecision(s); return v.String(), err },
			func(n uint8) string { return authz.Decision(n).String() },
		},
		"Band": {
			[]string{"low", "medium", "high", "critical"},
			"unknown",
			func(s string) (string, error) { v, err := authz.ParseBand(s); return v.String(), err },
			func(n uint8) string { return authz.Band(n).String() },
		},
		"SideEffect": {
			[]string{"none", "reversible", "irreversible"},
			"unknown",
			func(s string) (string, error) { v, err := authz.ParseSideEffect(s); return v.String(), err },
			func(n uint8) string { return authz.SideEffect(n).String() },
		},
		"Kind": {
			[]string{"read", "write", "command", "delete", "send"},
			"unknown",
			func(s string) (string, error) { v, err := authz.ParseKind(s); return v.String(), err },
			func(n uint8) string { return authz.Kind(n).String() },
		},
	}
}

func TestParseIsStrict(t *testing.T) {
	for name, e := range enums() {
		t.Run(name, func(t *testing.T) {
			for _, word := range e.words {
				if got, err := e.parse(word); err != nil || got != word {
					t.Errorf("parse(%q) = %s, %v", word, got, err)
				}
				swapped := strings.ToUpper(word)
				if swapped == word {
					swapped = strings.ToLower(word)
				}
				for _, bad := range []string{swapped, " " + word, word + "\n", word[:len(word)-1], "unknown", ""} {
					if got, err := e.parse(bad); err == nil || got != e.zero {
						t.Errorf("parse(%q) = %s, %v; want %s and an error", bad, got, err, e.zero)
					}
				}
			}
		})
	}
}

func TestZeroAndUnknownValuesAreStrict(t *testing.T) {
	for name, e := range enums() {
		for _, n := range []uint8{0, 100, 255} {
			if got := e.text(n); got != e.zero {
				t.Errorf("%s(%d) = %s, want %s", name, n, got, e.zero)
			}
		}
	}
	var v authz.Verdict
	if v.Allowed() || v.Reason() != authz.ReasonInternalError {
		t.Errorf("zero verdict: %v %q", v.Allowed(), v.Reason())
	}
	if v := authz.Refuse(""); v.Allowed() || v.Reason() == "" {
		t.Error("a refusal without a reason must still refuse and say something")
	}
	if v := authz.Pass(); !v.Allowed() || v.Reason() != "" {
		t.Errorf("pass: %v %q", v.Allowed(), v.Reason())
	}
	if v := authz.Refuse(authz.ReasonLoopback); v.Allowed() || v.Reason() != authz.ReasonLoopback {
		t.Errorf("refuse: %v %q", v.Allowed(), v.Reason())
	}
}

// Tighten never gives anything milder than either side, for every pair of byte
// values, known or not.
func TestTightenOnlyTightens(t *testing.T) {
	rank := func(d authz.Decision) int { // strictness by the word, independent of the numbering
		return map[string]int{"DENY": 2, "ESCALATE": 1, "ALLOW": 0}[d.String()]
	}
	for a := range 256 {
		for b := range 256 {
			x, y := authz.Decision(a), authz.Decision(b)
			if got := x.Tighten(y); rank(got) != max(rank(x), rank(y)) {
				t.Fatalf("%v.Tighten(%v) = %v", x, y, got)
			}
		}
	}
}
