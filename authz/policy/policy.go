// Package policy turns what is at stake and what the caller holds into one of
// three words: ALLOW, ESCALATE (a person must be asked) or DENY.
//
//	v := policy.Decide(policy.Input{Required: "file.read", Held: true, Band: authz.Low, SideEffect: authz.NoSideEffect})
//
// The order is fixed. An unclassified action or a missing capability denies
// before anything else is looked at; then secrets, the critical band, the high
// band and an irreversible side effect each ask a person; only the exact bands
// low and medium with a known, harmless side effect allow. It fails closed for
// every kind of caller, takes no random samples and does no I/O.
package policy

import (
	"slices"

	"github.com/steerable-go/sidecar/authz"
)

// Input is what the decision depends on. The zero value denies.
type Input struct {
	Required   authz.Capability // set by the server's tool table, never by a model; "" is unclassified
	Held       bool             // whether the caller holds Required
	Band       authz.Band
	SideEffect authz.SideEffect
	Secrets    bool // whether the risk stage found a secret
}

// Verdict is a decision with all its reasons. It is immutable; the zero value
// denies with [authz.ReasonInternalError].
type Verdict struct {
	decision authz.Decision
	reasons  []authz.Reason
}

// Decision returns the word.
func (v Verdict) Decision() authz.Decision { return v.decision }

// Reasons returns a copy of the reasons, the decisive one first, then the
// others that apply in the order of precedence. There is always at least one.
func (v Verdict) Reasons() []authz.Reason {
	if len(v.reasons) == 0 {
		return []authz.Reason{authz.ReasonInternalError}
	}
	return slices.Clone(v.reasons)
}

// Decide applies the rules. All of them are evaluated, not only up to the
// first match, so that a person who is asked sees every reason.
func Decide(in Input) Verdict {
	var v Verdict
	for _, rule := range []struct {
		applies  bool
		decision authz.Decision
		reason   authz.Reason
	}{
		{in.Required == "", authz.Deny, authz.ReasonUnclassifiedAction},
		{in.Required != "" && !in.Held, authz.Deny, authz.ReasonCapabilityNotHeld},
		{in.Secrets, authz.Escalate, authz.ReasonSecretsPresent},
		{in.Band == authz.Critical, authz.Escalate, authz.ReasonCriticalRisk},
		{in.Band == authz.High, authz.Escalate, authz.ReasonHighRisk},
		{in.SideEffect == authz.Irreversible, authz.Escalate, authz.ReasonIrreversible},
		{!known(in.Band, in.SideEffect), authz.Escalate, authz.ReasonUnknownBand},
	} {
		if !rule.applies {
			continue
		}
		// The rules stand in falling strictness, so the first one decides.
		if len(v.reasons) == 0 {
			v.decision = rule.decision
		}
		v.reasons = append(v.reasons, rule.reason)
	}
	if len(v.reasons) == 0 {
		return Verdict{decision: authz.Allow, reasons: []authz.Reason{authz.ReasonCapabilityHeld}}
	}
	return v
}

// known reports whether both values are ones that this code was written for.
func known(b authz.Band, s authz.SideEffect) bool {
	return b >= authz.Low && b <= authz.Critical && s >= authz.NoSideEffect && s <= authz.Irreversible
}
