package chain_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/chain"
)

func TestPublishedLimits(t *testing.T) {
	if got := chain.DefaultLimits(); got != (chain.Limits{Calls: 20, Bytes: 10485760}) {
		t.Errorf("limits %+v, want 20 calls and 10 MiB", got)
	}
}

func TestCheck(t *testing.T) {
	type row struct {
		name       string
		request    string
		owner      string
		calls      int64
		bytes      int64
		size       int64
		want       authz.Reason
		wantLimits *chain.Limits
	}
	for _, tt := range []row{
		{name: "first", request: "u1", owner: "u1", size: 10},
		{name: "twentieth call", request: "u1", owner: "u1", calls: 19},
		{name: "exactly 10 MiB", request: "u1", owner: "u1", bytes: 10485750, size: 10},
		{name: "nothing more fits but nothing is asked", request: "u1", owner: "u1", bytes: 10485760},
		{name: "other owner", request: "u1", owner: "u2", want: authz.ReasonOwnerMismatch},
		{name: "other owner and no budget", request: "u1", owner: "u2", calls: 99, bytes: 1 << 30, size: 1, want: authz.ReasonOwnerMismatch},
		{name: "other owner and invalid counters", request: "u1", owner: "u2", calls: -1, want: authz.ReasonOwnerMismatch},
		{name: "letter case", request: "u1", owner: "U1", want: authz.ReasonOwnerMismatch},
		{name: "blank", request: "u1", owner: "u1 ", want: authz.ReasonOwnerMismatch},
		{name: "two spellings of one letter", request: "\u00e9", owner: "e\u0301", want: authz.ReasonOwnerMismatch},
		{name: "no request owner", request: "", owner: "u1", want: authz.ReasonOwnerMismatch},
		{name: "no call owner", request: "u1", owner: "", want: authz.ReasonOwnerMismatch},
		{name: "no owner at all", want: authz.ReasonOwnerMismatch},
		{name: "negative size", request: "u1", owner: "u1", size: -1, want: authz.ReasonInvalidCounters},
		{name: "negative calls", request: "u1", owner: "u1", calls: -1, want: authz.ReasonInvalidCounters},
		{name: "negative bytes", request: "u1", owner: "u1", bytes: -1, want: authz.ReasonInvalidCounters},
		{name: "invalid before exhausted", request: "u1", owner: "u1", calls: 20, size: -1, want: authz.ReasonInvalidCounters},
		{name: "twenty-first call", request: "u1", owner: "u1", calls: 20, want: authz.ReasonCallBudgetExceeded},
		{name: "calls before bytes", request: "u1", owner: "u1", calls: 20, bytes: 10485760, size: 1, want: authz.ReasonCallBudgetExceeded},
		{name: "one byte over", request: "u1", owner: "u1", bytes: 10485750, size: 11, want: authz.ReasonByteBudgetExceeded},
		{name: "no overflow", request: "u1", owner: "u1", bytes: 1, size: math.MaxInt64, want: authz.ReasonByteBudgetExceeded},
		{name: "already beyond", request: "u1", owner: "u1", bytes: math.MaxInt64, size: 0, want: authz.ReasonByteBudgetExceeded},
		{name: "zero limits", request: "u1", owner: "u1", wantLimits: &chain.Limits{}, want: authz.ReasonCallBudgetExceeded},
		{name: "negative limit", request: "u1", owner: "u1", wantLimits: &chain.Limits{Calls: 5, Bytes: -1}, want: authz.ReasonInvalidCounters},
		{name: "raised limit", request: "u1", owner: "u1", calls: 20, wantLimits: &chain.Limits{Calls: 50, Bytes: 1}, size: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits := chain.DefaultLimits()
			if tt.wantLimits != nil {
				limits = *tt.wantLimits
			}
			used := chain.Counters{Calls: tt.calls, Bytes: tt.bytes}
			v := chain.Check(tt.request, chain.Call{Owner: tt.owner, Size: tt.size}, used, limits)
			if v.Reason() != tt.want || v.Allowed() != (tt.want == "") {
				t.Errorf("Check = %v %q, want %q", v.Allowed(), v.Reason(), tt.want)
			}
		})
	}
}

// Using more never turns a refusal into a pass.
func TestBudgetsAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64)
		used := chain.Counters{Calls: n.Draw(t, "calls"), Bytes: n.Draw(t, "bytes")}
		call := chain.Call{Owner: "u", Size: n.Draw(t, "size")}
		limits := chain.Limits{Calls: n.Draw(t, "maxCalls"), Bytes: n.Draw(t, "maxBytes")}
		if chain.Check("u", call, used, limits).Allowed() {
			return
		}
		more := chain.Counters{
			Calls: rapid.Int64Range(used.Calls, math.MaxInt64).Draw(t, "moreCalls"),
			Bytes: rapid.Int64Range(used.Bytes, math.MaxInt64).Draw(t, "moreBytes"),
		}
		if chain.Check("u", call, more, limits).Allowed() {
			t.Fatalf("%+v refused but %+v allowed", used, more)
		}
	})
}
