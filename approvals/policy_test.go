package approvals_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/approvals"
)

func TestPolicyReads(t *testing.T) {
	gitStatus := approvals.Rule{Tool: "bash", Effect: allow, CommandPrefix: []string{"git", "status"}}
	noRM := approvals.Rule{Tool: "bash", Effect: deny, CommandPrefix: []string{"rm"}}
	for _, tt := range []struct {
		name, text string
		want       []approvals.IndexedRule
		problems   []approvals.Problem
	}{
		{name: "no rules", text: `{"version":1,"rules":[]}`},
		{name: "rules absent", text: `{"version":1}`},
		{name: "version absent", text: `{"rules":[]}`},
		{
			name: "two rules",
			text: `{"version":1,"rules":[{"tool":"bash","decision":"allow","commandPrefix":["git","status"]},{"tool":"bash","decision":"deny","commandPrefix":["rm"]}]}`,
			want: []approvals.IndexedRule{{0, gitStatus}, {1, noRM}},
		},
		{
			name: "four spellings of the whole tool",
			text: `{"version":1,"rules":[{"tool":"a","decision":"allow"},{"tool":"b","decision":"allow","commandPrefix":[]},{"tool":"c","decision":"allow","commandPrefix":""},{"tool":"d","decision":"allow","commandPrefix":null}]}`,
			want: []approvals.IndexedRule{
				{0, approvals.Rule{Tool: "a", Effect: allow}},
				{1, approvals.Rule{Tool: "b", Effect: allow}},
				{2, approvals.Rule{Tool: "c", Effect: allow}},
				{3, approvals.Rule{Tool: "d", Effect: allow}},
			},
		},
		{
			name: "one bad rule among good ones",
			text: `{"version":1,"rules":[{"tool":"bash","decision":"maybe"},{"tool":"bash","decision":"deny","commandPrefix":["rm"]}]}`,
			want: []approvals.IndexedRule{{1, noRM}},
			problems: []approvals.Problem{
				{0, "bash", `unknown decision "maybe", want allow or deny`},
			},
		},
		{
			name: "every bad rule is named",
			text: `{"version":1,"rules":[5,{"decision":"allow"},{"tool":"","decision":"allow"},{"tool":7,"decision":"allow"},{"tool":"a"},{"tool":"a","decision":["allow"]},` +
				`{"tool":"a","decision":"allow","commandPrefix":"git status"},{"tool":"a","decision":"allow","commandPrefix":["git",1]},{"tool":"a","tool":"b","decision":"allow"},{"Tool":"a","Decision":"allow"}]}`,
			problems: []approvals.Problem{
				{0, "", "not a JSON object"},
				{1, "", "tool is not a non-empty string"},
				{2, "", "tool is not a non-empty string"},
				{3, "", "tool is not a non-empty string"},
				{4, "a", "decision is not a string"},
				{5, "a", "decision is not a string"},
				{6, "a", "commandPrefix is not a list of strings"},
				{7, "a", "commandPrefix is not a list of strings"},
				{8, "", `the name "tool" occurs twice`},
				{9, "", "tool is not a non-empty string"},
			},
		},
		{
			name: "another version", text: `{"version":2,"rules":[{"tool":"bash","decision":"deny","commandPrefix":["rm"]}]}`,
			want:     []approvals.IndexedRule{{0, noRM}},
			problems: []approvals.Problem{{Index: -1, Text: "version is not 1"}},
		},
		{
			name:     "a misspelled prefix makes no allow for the whole tool, and a denial for it",
			text:     `{"version":1,"rules":[{"tool":"a","decision":"allow","commandprefix":["ls"]},{"tool":"b","decision":"deny","prefix":["rm"]}]}`,
			want:     []approvals.IndexedRule{{1, approvals.Rule{Tool: "b"}}},
			problems: []approvals.Problem{{0, "a", `an allow with an unknown member "commandprefix"`}},
		},
		{
			name: "misspelled rules", text: `{"version":1,"Rules":[{"tool":"bash","decision":"deny"}]}`,
			problems: damaged("rules are missing, and other members are there"),
		},
		{name: "nothing at all", text: `{}`},
		{name: "rules a number", text: `{"version":1,"rules":3}`, problems: damaged("rules: not a list")},
		{name: "rules null", text: `{"version":1,"rules":null}`, problems: damaged("rules: not a list")},
		{name: "rules twice", text: `{"rules":[],"rules":[]}`, problems: damaged(`the name "rules" occurs twice`)},
		{name: "a list", text: `[]`, problems: damaged("not a JSON object")},
		{name: "half a file", text: `{"version":1,"rules":[`, problems: damaged("not JSON: unexpected end of JSON input")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "policy.json")
			write(t, path, tt.text)
			p := approvals.OpenPolicy(path, at)
			if diff := cmp.Diff(tt.want, p.List()); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.problems, p.Check()); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyWritesTheReferenceShape(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "policy.json")
	p := approvals.OpenPolicy(path, at)
	rules := []approvals.Rule{
		{Tool: "bash", Effect: allow, CommandPrefix: []string{"git", "<&>"}},
		{Tool: "edit", Effect: deny},
		{Tool: "bash", Effect: allow, CommandPrefix: []string{"git", "<&>"}}, // equal: nothing to do
	}
	for _, r := range rules {
		if err := p.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	want := `{
  "version": 1,
  "rules": [
    {
      "tool": "bash",
      "decision": "allow",
      "commandPrefix": [
        "git",
        "<&>"
      ]
    },
    {
      "tool": "edit",
      "decision": "deny"
    }
  ]
}
`
	if got := read(t, path); got != want {
		t.Errorf("file is\n%s\nwant\n%s", got, want)
	}
}

func TestPolicyKeepsWhatItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	write(t, path, `{"note":"mine","rules":[{"tool":"x","decision":"later"},{"tool":"y","decision":"deny","why":"because"}],"version":1}`)
	p := approvals.OpenPolicy(path, at)
	if err := p.Add(t.Context(), approvals.Rule{Tool: "z"}); err != nil {
		t.Fatal(err)
	}
	want := `{
  "note": "mine",
  "rules": [
    {
      "tool": "x",
      "decision": "later"
    },
    {
      "tool": "y",
      "decision": "deny",
      "why": "because"
    },
    {
      "tool": "z",
      "decision": "deny"
    }
  ],
  "version": 1
}
`
	if got := read(t, path); got != want {
		t.Errorf("file is\n%s\nwant\n%s", got, want)
	}
}

func TestPolicyRevoke(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	write(t, path, `{"version":1,"rules":[{"tool":"a","decision":"deny"}, {"tool": "b", "decision":"later"},{"tool":"c","decision":"allow"}]}`)
	p := approvals.OpenPolicy(path, at)
	removed, err := p.Revoke(t.Context(), 1)
	if err != nil || removed != `{"tool":"b","decision":"later"}` {
		t.Errorf("Revoke(1) = %s, %v", removed, err)
	}
	want := []approvals.IndexedRule{{0, approvals.Rule{Tool: "a"}}, {1, approvals.Rule{Tool: "c", Effect: allow}}}
	if diff := cmp.Diff(want, p.List()); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	for _, index := range []int{-1, 2, 99} {
		if _, err := p.Revoke(t.Context(), index); !errors.Is(err, approvals.ErrNoRule) {
			t.Errorf("Revoke(%d): %v, want %v", index, err, approvals.ErrNoRule)
		}
	}
	write(t, path, "x")
	if _, err := p.Revoke(t.Context(), 0); err == nil || read(t, path) != "x" {
		t.Errorf("Revoke in a damaged file: %v, file %q", err, read(t, path))
	}
}

func TestPolicyPath(t *testing.T) {
	for _, tt := range []struct{ name, policy, store, want string }{
		{"given", "/p/policy.json", "/s/approvals.json", "/p/policy.json"},
		{"beside the store", "", "/s/approvals.json", filepath.Join("/s", "approval-policy.json")},
		{"neither", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := approvals.PolicyPath(tt.policy, tt.store); got != tt.want {
				t.Errorf("PolicyPath = %q, want %q", got, tt.want)
			}
		})
	}
}
