package sidecar

import (
	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/safety"
)

// matcher compares commands with the prefixes of approval rules, in the
// classifier's reading of them.
type matcher struct{ m *safety.Matcher }

var _ approvals.Matcher = matcher{}

func newMatcher(p safety.Platform) matcher { return matcher{safety.NewMatcher(p)} }

// Match implements [approvals.Matcher].
func (m matcher) Match(effect approvals.Effect, prefix []string, command string) bool {
	decision := safety.DecisionDeny
	if effect == approvals.EffectAllow {
		decision = safety.DecisionAllow
	}
	return m.m.Match(prefix, command, decision).Matches
}

// Unknown implements [approvals.Matcher].
func (m matcher) Unknown(prefix []string, command string) string {
	match := m.m.Match(prefix, command, safety.DecisionDeny)
	if match.Reason != safety.ReasonUncertain {
		return ""
	}
	return match.Detail
}

// Parses implements [approvals.Matcher].
func (m matcher) Parses(command string) bool { return m.m.Parses(command) }

// Suggest implements [approvals.Matcher].
func (m matcher) Suggest(command string) []string {
	prefix, ok := m.m.Suggest(command)
	if !ok {
		return nil
	}
	return prefix
}

// Broad implements [approvals.Matcher].
func (m matcher) Broad(prefix []string) string {
	reason, broad := m.m.Broad(prefix)
	if !broad {
		return ""
	}
	return reason
}
