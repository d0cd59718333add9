package policy_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/policy"
)

func TestDecide(t *testing.T) {
	const read = authz.Capability("file.read")
	for _, tt := range []struct {
		name string
		in   policy.Input
		want authz.Decision
		why  []authz.Reason
	}{
		{"zero value", policy.Input{}, authz.Deny, []authz.Reason{authz.ReasonUnclassifiedAction, authz.ReasonUnknownBand}},
		{
			"unclassified outranks everything",
			policy.Input{Held: true, Band: authz.Critical, SideEffect: authz.Irreversible, Secrets: true},
			authz.Deny,
			[]authz.Reason{authz.ReasonUnclassifiedAction, authz.ReasonSecretsPresent, authz.ReasonCriticalRisk, authz.ReasonIrreversible},
		},
		{
			"not held outranks secrets",
			policy.Input{Required: read, Band: authz.Critical, SideEffect: authz.NoSideEffect, Secrets: true},
			authz.Deny,
			[]authz.Reason{authz.ReasonCapabilityNotHeld, authz.ReasonSecretsPresent, authz.ReasonCriticalRisk},
		},
		{
			"secrets before the band",
			policy.Input{Required: read, Held: true, Band: authz.High, SideEffect: authz.NoSideEffect, Secrets: true},
			authz.Escalate,
			[]authz.Reason{authz.ReasonSecretsPresent, authz.ReasonHighRisk},
		},
		{
			"secrets in a low band",
			policy.Input{Required: read, Held: true, Band: authz.Low, SideEffect: authz.NoSideEffect, Secrets: true},
			authz.Escalate,
			[]authz.Reason{authz.ReasonSecretsPresent},
		},
		{
			"critical",
			policy.Input{Required: read, Held: true, Band: authz.Critical, SideEffect: authz.NoSideEffect},
			authz.Escalate,
			[]authz.Reason{authz.ReasonCriticalRisk},
		},
		{
			"high and irreversible",
			policy.Input{Required: read, Held: true, Band: authz.High, SideEffect: authz.Irreversible},
			authz.Escalate,
			[]authz.Reason{authz.ReasonHighRisk, authz.ReasonIrreversible},
		},
		{
			"irreversible in a low band",
			policy.Input{Required: read, Held: true, Band: authz.Low, SideEffect: authz.Irreversible},
			authz.Escalate,
			[]authz.Reason{authz.ReasonIrreversible},
		},
		{
			"unknown band",
			policy.Input{Required: read, Held: true, SideEffect: authz.NoSideEffect},
			authz.Escalate,
			[]authz.Reason{authz.ReasonUnknownBand},
		},
		{
			"band out of range",
			policy.Input{Required: read, Held: true, Band: authz.Critical + 1, SideEffect: authz.NoSideEffect},
			authz.Escalate,
			[]authz.Reason{authz.ReasonUnknownBand},
		},
		{
			"unknown side effect",
			policy.Input{Required: read, Held: true, Band: authz.Low},
			authz.Escalate,
			[]authz.Reason{authz.ReasonUnknownBand},
		},
		{
			"side effect out of range",
			policy.Input{Required: read, Held: true, Band: authz.Medium, SideEffect: authz.Irreversible + 1},
			authz.Escalate,
			[]authz.Reason{authz.ReasonUnknownBand},
		},
		{
			"low",
			policy.Input{Required: read, Held: true, Band: authz.Low, SideEffect: authz.NoSideEffect},
			authz.Allow,
			[]authz.Reason{authz.ReasonCapabilityHeld},
		},
		{
			"medium and reversible",
			policy.Input{Required: read, Held: true, Band: authz.Medium, SideEffect: authz.Reversible},
			authz.Allow,
			[]authz.Reason{authz.ReasonCapabilityHeld},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := policy.Decide(tt.in)
			if v.Decision() != tt.want {
				t.Errorf("decision %v, want %v", v.Decision(), tt.want)
			}
			if diff := cmp.Diff(tt.why, v.Reasons()); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

// ALLOW needs every condition at once, checked over all values an input of
// single bytes can take.
func TestAllowNeedsEverything(t *testing.T) {
	for _, required := range []authz.Capability{"", "file.read"} {
		for bits := range 4 {
			held, secrets := bits&1 != 0, bits&2 != 0
			for band := range 256 {
				for side := range 256 {
					in := policy.Input{Required: required, Held: held, Secrets: secrets, Band: authz.Band(band), SideEffect: authz.SideEffect(side)}
					want := required != "" && held && !secrets &&
						slices.Contains([]string{"low", "medium"}, in.Band.String()) &&
						slices.Contains([]string{"none", "reversible"}, in.SideEffect.String())
					v := policy.Decide(in)
					if got := v.Decision() == authz.Allow; got != want {
						t.Fatalf("Decide(%+v) = %v %v", in, v.Decision(), v.Reasons())
					}
				}
			}
		}
	}
}

func TestVerdictIsFrozen(t *testing.T) {
	v := policy.Decide(policy.Input{})
	v.Reasons()[0] = "changed"
	if v.Reasons()[0] == "changed" {
		t.Error("Reasons handed out its own memory")
	}
	var zero policy.Verdict
	if zero.Decision() != authz.Deny || !slices.Equal(zero.Reasons(), []authz.Reason{authz.ReasonInternalError}) {
		t.Errorf("zero verdict is %v %v", zero.Decision(), zero.Reasons())
	}
}
