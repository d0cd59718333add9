package govern

import (
	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/chain"
)

// State is what a request has done so far. It is a plain value: methods return
// the next one. Whoever executes calls keeps it under a lock from reading it to
// storing what came of it, because two calls that see the same state could
// both take the last place. The zero value is a request of nobody without
// budgets, in which nothing is allowed.
type State struct {
	Principal capabilities.Principal // who the request belongs to
	Limits    chain.Limits
	Used      chain.Counters
	Tainted   bool // a result has shown a secret to the model
}

// NewState returns the state of a new request with the default budgets.
func NewState(p capabilities.Principal) State {
	return State{Principal: p, Limits: chain.DefaultLimits()}
}

// reserve counts a call that may run.
func (s State) reserve(size int64) State {
	s.Used.Calls++
	s.Used.Bytes += size
	return s
}

// Release takes back what the outcome's state counted for a call that did not
// run after all: a refused call does not use up budgets.
func (s State) Release(e Envelope) State {
	if e.isReply() {
		return s
	}
	s.Used.Calls = max(0, s.Used.Calls-1)
	s.Used.Bytes = max(0, s.Used.Bytes-e.Size())
	return s
}

// Moved counts the size of a result. If it does not fit into the budget the
// verdict refuses, the result must be withheld, and the budget is used up: the
// bytes were moved, and asking again must not help.
func (s State) Moved(size int64) (State, authz.Verdict) {
	// Everything but the bytes has been checked before the call ran.
	owner := s.Principal.Owner()
	v := chain.Check(owner, chain.Call{Owner: owner, Size: size}, chain.Counters{Bytes: s.Used.Bytes}, chain.Limits{Calls: 1, Bytes: s.Limits.Bytes})
	if v.Allowed() {
		s.Used.Bytes += size
	} else {
		s.Used.Bytes = max(s.Used.Bytes, s.Limits.Bytes)
	}
	return s, v
}

// Taint marks the request: from now on outbound calls are at least ESCALATE.
func (s State) Taint() State {
	s.Tainted = true
	return s
}
