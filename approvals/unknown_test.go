package approvals_test

import (
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/approvals"
)

// A command that a rule perhaps denies is allowed by nothing that is stored: a
// person decides, and without one it is denied.
func TestPerhapsDenied(t *testing.T) {
	const session = `{"tool":"bash","decision":"allow","commandPrefix":["$CC"]}`
	for _, tt := range []struct{ name, store, policy string }{
		{name: "stored allow", store: `{"bash":"allow_always"}`, policy: rules(denyRM)},
		{name: "rule for the tool", policy: rules(denyRM, allowBash)},
		{name: "rule for the prefix", policy: rules(session, denyRM)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			if tt.store != "" {
				write(t, f.store, tt.store)
			}
			write(t, f.policy, tt.policy)
			if v := f.gate().Check(shell("ls")); tt.store != "" && v.Outcome != approvals.OutcomeAllow {
				t.Errorf("known command: %+v", v)
			}
			v := f.gate().Check(shell("$CC -c x"))
			if v.Outcome != approvals.OutcomeAsk || !strings.Contains(v.Message, "$CC") || !strings.Contains(v.Message, "bash rm") {
				t.Errorf("with a host: %+v", v)
			}
			f.says(approvals.DenyOnce)
			if _, err := f.gate().Resolve(t.Context(), shell("$CC -c x")); err != nil || len(f.host.asked) != 1 || f.host.asked[0].Why != v.Message {
				t.Errorf("%v, asked: %+v", err, f.host.asked)
			}
			f.opts.Mode = approvals.GateAuto
			if v := f.gate().Check(shell("$CC -c x")); v.Outcome != approvals.OutcomeDeny {
				t.Errorf("without one: %+v", v)
			}
		})
	}
	t.Run("no denial of the tool", func(t *testing.T) {
		f := newFixture(t)
		write(t, f.policy, rules(`{"tool":"other","decision":"deny","commandPrefix":["rm"]}`, allowBash))
		if v := f.gate().Check(shell("$CC -c x")); v.Outcome != approvals.OutcomeAllow {
			t.Errorf("%+v", v)
		}
	})
	t.Run("denial of the session", func(t *testing.T) {
		f := newFixture(t)
		write(t, f.policy, rules(allowBash))
		f.host.decision = approvals.Decision{Kind: approvals.DenyForSession}
		gate := f.gate()
		req := shell("rm x")
		req.MustAsk = true
		if _, err := gate.Resolve(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if v := gate.Check(shell("$CC -c x")); v.Outcome == approvals.OutcomeAllow {
			t.Errorf("%+v", v)
		}
	})
}

// A prefix without a program matches nothing, so a denial with one is reported.
func TestPrefixWithoutProgram(t *testing.T) {
	f := newFixture(t)
	write(t, f.policy, rules(`{"tool":"bash","decision":"deny","commandPrefix":[""]}`, allowBash))
	if problems := approvals.OpenPolicy(f.policy, at).Check(); len(problems) != 1 || problems[0].Tool != "bash" {
		t.Errorf("problems: %+v", problems)
	}
	if v := f.gate().Check(shell("ls")); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("%+v", v)
	}
}
