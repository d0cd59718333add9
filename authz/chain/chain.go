// Package chain decides whether one more tool call fits into the request that
// caused it: first whose call it is, then how many calls and bytes the request
// has used. The decision is pure; whoever runs the calls holds the counters.
//
//	v := chain.Check("u1", chain.Call{Owner: "u1", Size: 512}, used, chain.DefaultLimits())
//
// Ownership comes before every number: a call of another owner is refused
// before anything is counted, so that nobody can spend another's budget or
// learn how much of it is left.
package chain

import "github.com/steerable-go/sidecar/authz"

// The budgets of one request, from the published pipeline.
const (
	MaxCalls = 20       // calls
	MaxBytes = 10 << 20 // bytes moved, arguments and results together
)

// Call is the call that asks to be let in.
type Call struct {
	Owner string // on whose behalf; compared byte for byte
	Size  int64  // bytes it would move; negative is invalid
}

// Counters is what a request has used so far. The zero value is a new request.
type Counters struct {
	Calls int64
	Bytes int64
}

// Limits are the budgets of one request. The zero value allows nothing; start
// from [DefaultLimits].
type Limits struct {
	Calls int64
	Bytes int64
}

// DefaultLimits returns [MaxCalls] and [MaxBytes].
func DefaultLimits() Limits { return Limits{Calls: MaxCalls, Bytes: MaxBytes} }

// Check decides whether call may join a request of requestOwner that has used
// the given amounts. Exactly reaching a limit is allowed. It refuses, in this
// order, with REASON_OWNER_MISMATCH (also if either owner is empty),
// REASON_INVALID_COUNTERS (anything negative), REASON_CALL_BUDGET_EXCEEDED and
// REASON_BYTE_BUDGET_EXCEEDED.
func Check(requestOwner string, call Call, used Counters, limits Limits) authz.Verdict {
	switch {
	case requestOwner == "" || call.Owner != requestOwner:
		return authz.Refuse(authz.ReasonOwnerMismatch)
	case used.Calls < 0 || used.Bytes < 0 || call.Size < 0 || limits.Calls < 0 || limits.Bytes < 0:
		return authz.Refuse(authz.ReasonInvalidCounters)
	case used.Calls >= limits.Calls:
		return authz.Refuse(authz.ReasonCallBudgetExceeded)
	case call.Size > limits.Bytes-used.Bytes: // a sum could overflow, this difference cannot
		return authz.Refuse(authz.ReasonByteBudgetExceeded)
	default:
		return authz.Pass()
	}
}
