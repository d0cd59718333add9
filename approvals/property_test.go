package approvals_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/approvals"
)

// world is everything stored that bears on calls of a few tools.
type world struct {
	store   map[string]string
	policy  []approvals.Rule
	session []approvals.Decision
}

// drawWorld makes up stored answers.
func drawWorld(t *rapid.T) world {
	tool := rapid.SampledFrom([]string{"bash", "edit"})
	w := world{store: map[string]string{}}
	for _, name := range rapid.SliceOfDistinct(tool, rapid.ID[string]).Draw(t, "stored") {
		w.store[name] = rapid.SampledFrom([]string{"allow_always", "deny_always"}).Draw(t, "value")
	}
	rule := rapid.Custom(func(t *rapid.T) approvals.Rule {
		return approvals.Rule{
			Tool: tool.Draw(t, "tool"), Effect: rapid.SampledFrom([]approvals.Effect{allow, deny}).Draw(t, "effect"),
			CommandPrefix: rapid.SliceOfN(rapid.SampledFrom([]string{"git", "push", "rm"}), 0, 2).Draw(t, "prefix"),
		}
	})
	w.policy = rapid.SliceOfN(rule, 0, 4).Draw(t, "policy")
	for range rapid.IntRange(0, 2).Draw(t, "session answers") {
		w.session = append(w.session, approvals.Decision{
			Kind:      rapid.SampledFrom([]approvals.Kind{approvals.AllowForSession, approvals.DenyForSession}).Draw(t, "session kind"),
			WholeTool: rapid.Bool().Draw(t, "whole tool"),
		})
	}
	return w
}

func drawRequest(t *rapid.T) approvals.Request {
	if rapid.Bool().Draw(t, "edit") {
		return approvals.Request{ChatID: "chat", Tool: "edit"}
	}
	return shell(rapid.SampledFrom([]string{
		"git push", "git push origin", "rm x", "git; rm x", "git push && rm x", "env rm x", "ls", "git 'push", "rm '",
	}).Draw(t, "command"))
}

// gate writes the world to a directory and opens it.
func (w world) gate(t *rapid.T, mode approvals.GateMode) *approvals.Gate {
	dir, err := os.MkdirTemp("", "approvals")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	opts := approvals.Options{
		Mode: mode, Host: &host{}, StorePath: filepath.Join(dir, "s"), PolicyPath: filepath.Join(dir, "p"),
		Sessions: &approvals.SessionCache{}, Matcher: words{},
	}
	for path, v := range map[string]any{opts.StorePath: w.store, opts.PolicyPath: map[string]any{"version": 1, "rules": w.policy}} {
		raw, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(path, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	gate := approvals.NewGate(opts)
	for _, d := range w.session {
		req := shell("git push")
		req.SuggestedPrefix = []string{"git", "push"}
		gate.Record(t.Context(), req, d)
	}
	return gate
}

// denies says, without the gate, whether something stored denies a call.
func (w world) denies(req approvals.Request) bool {
	if w.store[req.Tool] == "deny_always" {
		return true
	}
	var args struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(req.Arguments, &args) // a call without arguments has no command
	covers := func(tool string, prefix []string) bool {
		return tool == req.Tool && (len(prefix) == 0 || args.Command != "" && (words{}).Match(deny, prefix, args.Command))
	}
	for _, r := range w.policy {
		if r.Effect == deny && covers(r.Tool, r.CommandPrefix) {
			return true
		}
	}
	for _, d := range w.session {
		if d.Kind != approvals.DenyForSession {
			continue
		}
		if d.WholeTool && req.Tool == "bash" || !d.WholeTool && covers("bash", []string{"git", "push"}) {
			return true
		}
	}
	return false
}

func TestAnyDenyWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, req := drawWorld(t), drawRequest(t)
		v := w.gate(t, approvals.GateHost).Check(req)
		if w.denies(req) != (v.Outcome == approvals.OutcomeDeny) {
			t.Fatalf("%s %s: %+v, and a stored denial: %v", req.Tool, req.Arguments, v, w.denies(req))
		}
	})
}

func TestAddingAnAllowUndoesNoDenial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, req := drawWorld(t), drawRequest(t)
		before := w.gate(t, approvals.GateHost).Check(req)
		more := world{store: map[string]string{}, session: w.session}
		maps.Copy(more.store, w.store)
		if _, ok := more.store[req.Tool]; !ok {
			more.store[req.Tool] = "allow_always"
		}
		added := approvals.Rule{Tool: req.Tool, Effect: allow}
		at := rapid.IntRange(0, len(w.policy)).Draw(t, "place")
		more.policy = append(append(append(more.policy, w.policy[:at]...), added), w.policy[at:]...)
		after := more.gate(t, approvals.GateHost).Check(req)
		if before.Outcome == approvals.OutcomeDeny && after.Outcome != approvals.OutcomeDeny {
			t.Fatalf("%s %s: denied, and with more allows %+v", req.Tool, req.Arguments, after)
		}
	})
}

func TestAddingADenialAllowsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, req := drawWorld(t), drawRequest(t)
		before := w.gate(t, approvals.GateHost).Check(req)
		w.policy = append(w.policy, approvals.Rule{
			Tool: req.Tool, CommandPrefix: rapid.SliceOfN(rapid.SampledFrom([]string{"git", "push", "rm"}), 0, 2).Draw(t, "denied"),
		})
		after := w.gate(t, approvals.GateHost).Check(req)
		if before.Outcome != approvals.OutcomeAllow && after.Outcome == approvals.OutcomeAllow {
			t.Fatalf("%s %s: %+v, and with one more denial %+v", req.Tool, req.Arguments, before, after)
		}
	})
}

func TestOnlyAPersonAllowsWhatMustBeAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, req := drawWorld(t), drawRequest(t)
		req.MustAsk = true
		mode := rapid.SampledFrom([]approvals.GateMode{approvals.GateAuto, approvals.GateHost, approvals.GateOff}).Draw(t, "mode")
		if v := w.gate(t, mode).Check(req); v.Outcome == approvals.OutcomeAllow {
			t.Fatalf("%s %s in mode %v: %+v", req.Tool, req.Arguments, mode, v)
		}
	})
}

func TestCheckIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, req := drawWorld(t), drawRequest(t)
		gate := w.gate(t, approvals.GateHost)
		a, b := gate.Check(req), w.gate(t, approvals.GateHost).Check(req)
		if a.Outcome != b.Outcome || a.Kind != b.Kind || a.Message != b.Message || a.Fingerprint != b.Fingerprint {
			t.Fatalf("%+v and %+v", a, b)
		}
	})
}
