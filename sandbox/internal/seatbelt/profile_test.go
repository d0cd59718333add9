package seatbelt

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

var update = flag.Bool("update", false, "rewrite the golden profiles")

func TestGolden(t *testing.T) {
	hooks := policy.Protected{Path: "/Users/me/p/.git/hooks"}
	git := policy.Protected{Path: "/Users/me/p/.git", Pin: true}
	tests := map[string]struct {
		p policy.Policy
		o Options
	}{
		"closed":    {p: policy.Policy{}},
		"roots":     {p: policy.Policy{Roots: []string{"/Users/me/p", `/Users/me/odd "name"\`}}, o: Options{TempDir: "/private/var/folders/x/T"}},
		"protected": {p: policy.Policy{Roots: []string{"/Users/me/p"}}, o: Options{Protected: []policy.Protected{git, hooks}}},
		"readdeny":  {p: policy.Policy{ReadDeny: []string{"/Users/me/.ssh"}}},
		"open":      {p: policy.Policy{Egress: policy.Egress{Mode: policy.EgressOpen}}},
		"pinned":    {p: policy.Policy{Egress: policy.Egress{Mode: policy.EgressPinned, Port: 8080, Hosts: []string{"127.0.0.1:8080", "localhost:8080"}}}},
		"listed":    {p: policy.Policy{Egress: policy.Egress{Mode: policy.EgressListed, Hosts: []string{"a.example", "b.example:443", "localhost:11434"}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Profile(tt.p, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".sb")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The rules that the seed states about every profile.
func TestInvariants(t *testing.T) {
	closed, err := Profile(policy.Policy{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(closed, "(version 1)\n(deny default)\n") {
		t.Error("does not deny by default")
	}
	if n := strings.Count(closed, "file-write* "); n != 4 {
		t.Errorf("%d write grants without roots, want the four scratch directories", n)
	}
	if strings.Contains(closed, "network-outbound") || strings.Contains(closed, "network-bind") {
		t.Error("a closed profile has network rules")
	}
	for _, p := range []policy.Policy{
		{Egress: policy.Egress{Mode: policy.EgressOpen}},
		{Egress: policy.Egress{Mode: policy.EgressListed, Hosts: []string{"x.example:25"}}},
	} {
		text, err := Profile(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "local ip") || strings.Contains(text, "network-bind") {
			t.Errorf("a rule that opens more than it says:\n%s", text)
		}
	}
}

// TestPinned: rules go by paths, so what has one stays where it is.
func TestPinned(t *testing.T) {
	text, err := Profile(policy.Policy{
		Roots: []string{"/r", "/r/a/b"}, ReadDeny: []string{"/r/c/s", "/home/s"},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/r/a": true, "/r/a/b": true, "/r/c": true, "/r/c/s": true,
		"/r": false, "/home/s": false, "/home": false,
	} {
		if got := strings.Contains(text, `(deny file-write-unlink (literal "`+path+`"))`); got != want {
			t.Errorf("%s can be moved: %v, want %v", path, !got, !want)
		}
	}
}

func TestHostilePaths(t *testing.T) {
	for path, reason := range map[string]policy.Reason{
		"/a\n(allow default)":           policy.ReasonControlCharacter,
		"/" + strings.Repeat("x", 1000): policy.ReasonPathLength,
		"/tab\there":                    policy.ReasonControlCharacter,
		"/delete\x7f":                   policy.ReasonControlCharacter,
	} {
		_, err := Profile(policy.Policy{Roots: []string{path}}, Options{})
		var refused *policy.RefusedError
		if !errors.As(err, &refused) || refused.Reason != reason {
			t.Errorf("Profile with root %.20q: %v, want reason %s", path, err, reason)
		}
	}
}

// FuzzQuote checks that no path can end its string literal.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"/a", `/"`, `/\`, `/\"`, `/")(allow default)("`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := &writer{}
		q := w.quote(s)
		if w.err != nil {
			return
		}
		inner, escaped := q[1:len(q)-1], false
		for _, c := range inner {
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				t.Fatalf("%q ends its literal early: %s", s, q)
			}
		}
		if escaped || strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inner) != s {
			t.Fatalf("%q reads back as %s", s, q)
		}
	})
}

func TestEnforced(t *testing.T) {
	for name, tt := range map[string]struct {
		e    policy.Egress
		want policy.Enforcement
	}{
		"closed":   {policy.Egress{}, policy.Full},
		"pinned":   {policy.Egress{Mode: policy.EgressPinned, Port: 1}, policy.Full},
		"loopback": {policy.Egress{Mode: policy.EgressLoopback}, policy.Full},
		"socket":   {policy.Egress{Mode: policy.EgressPinned, Port: 1, Socket: "/s"}, policy.Partial},
		"listed":   {policy.Egress{Mode: policy.EgressListed}, policy.Partial},
		"open":     {policy.Egress{Mode: policy.EgressOpen}, policy.Partial},
	} {
		p := policy.Policy{Egress: tt.e}
		if got := policy.Assess(policy.BackendSeatbelt, 0, Enforced(p), p).Enforcement; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
