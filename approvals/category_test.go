package approvals_test

import (
	"os"
	"testing"

	"github.com/steerable-go/sidecar/approvals"
)

// TestDenialOfTheToolHoldsForOtherCategories shows that a question under a
// category of its own, as an escalation asks it, does not get around what is
// denied for the tool, and that an allow for the tool does not answer it.
func TestDenialOfTheToolHoldsForOtherCategories(t *testing.T) {
	escalated := approvals.Request{ChatID: "c", Tool: "edit", Category: "authz:edit:REASON", MustAsk: true}
	f := newFixture(t)
	if v := f.gate().Check(escalated); v.Outcome != approvals.OutcomeAsk {
		t.Fatalf("without a denial it is asked about, got %+v", v)
	}
	if err := os.WriteFile(f.store, []byte(`{"edit":"deny_always"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	v := f.gate().Check(escalated)
	if v.Outcome != approvals.OutcomeDeny || v.Reason != approvals.ReasonStore || v.Message != "persisted decision for category 'edit'" {
		t.Errorf("a stored denial of the tool: got %+v", v)
	}
	if err := os.WriteFile(f.store, []byte(`{"edit":"allow_always"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := f.gate().Check(escalated); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("a stored allow of the tool must not answer: got %+v", v)
	}
	f = newFixture(t)
	f.says(approvals.DenyForSession)
	plain := approvals.Request{ChatID: "c", Tool: "edit"}
	if res, err := f.gate().Resolve(t.Context(), plain); err != nil || res.Allowed() {
		t.Fatalf("got %+v, %v", res, err)
	}
	if v := f.gate().Check(escalated); v.Outcome != approvals.OutcomeDeny || v.Reason != approvals.ReasonSession {
		t.Errorf("a denial of the tool in the session: got %+v", v)
	}
}
