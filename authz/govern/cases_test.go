package govern

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/chain"
	"github.com/steerable-go/sidecar/authz/dlp"
	"github.com/steerable-go/sidecar/authz/policy"
	"github.com/steerable-go/sidecar/authz/risk"
)

// row is one line of testdata/cases.jsonl.
type row struct {
	Input struct {
		Owner, RequestOwner, Tool, Description, Fault, Approval string
		Groups                                                  []string
		Calls, Bytes                                            int64
		Args                                                    json.RawMessage
		Reply                                                   *string
		ApprovalCache                                           map[string]string
	}
	Want struct {
		Decision, FirstReason string
		Required, Redacted    *string
		Categories            []string
		Audited, Asks, Ran    *bool
		CallsCounted          *int64
		Record                map[string]string
	}
	Why string
}

// broken returns a governor one stage of which fails.
func broken(stage string) *Governor {
	g := New(Options{})
	switch stage {
	case "":
	case "risk_panic":
		g.stages.score = func(risk.Input) risk.Assessment { panic(stage) }
	case "policy_panic":
		g.stages.decide = func(policy.Input) policy.Verdict { panic(stage) }
	case "egress_panic":
		g.stages.check = func(string) authz.Verdict { panic(stage) }
	case "dlp_panic":
		g.stages.scan = func(dlp.Payload, authz.Band) dlp.Report { panic(stage) }
	case "redact_panic":
		g.stages.redact = func(dlp.Payload, authz.Band) dlp.Payload { panic(stage) }
	case "capabilities_panic":
		g.stages.source = brokenSource{}
	default:
		panic("unknown fault " + stage)
	}
	return g
}

type brokenSource struct{}

func (brokenSource) Capabilities(capabilities.Principal) capabilities.Set { panic("source") }

func (r row) envelope() Envelope {
	call := Call{Owner: r.Input.Owner, Tool: r.Input.Tool, Description: r.Input.Description, Arguments: r.Input.Args}
	if r.Input.Reply != nil {
		return Reply(call, *r.Input.Reply)
	}
	return Tools{}.Envelope(call)
}

func (r row) state() State {
	return State{
		Principal: capabilities.NewPrincipal(r.Input.RequestOwner, r.Input.Groups...),
		Limits:    chain.DefaultLimits(),
		Used:      chain.Counters{Calls: r.Input.Calls, Bytes: r.Input.Bytes},
	}
}

func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(bytes.ReplaceAll(data, []byte("~~"), nil)) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		t.Run(r.Why, func(t *testing.T) { r.check(t) })
	}
}

func (r row) check(t *testing.T) {
	o := broken(r.Input.Fault).Govern(r.envelope(), r.state())
	rec := o.Record()
	if got := o.Decision().String(); got != r.Want.Decision {
		t.Errorf("decision %s %v, want %s", got, o.Reasons(), r.Want.Decision)
	}
	if got := string(o.Reasons()[0]); r.Want.FirstReason != "" && got != r.Want.FirstReason {
		t.Errorf("first reason %s, want %s", got, r.Want.FirstReason)
	}
	if w := r.Want.Required; w != nil && string(o.Envelope().Spec().Required) != *w {
		t.Errorf("required %q, want %q", o.Envelope().Spec().Required, *w)
	}
	if w := r.Want.Categories; w != nil && !slices.Equal(o.Categories(), w) {
		t.Errorf("categories %q, want %q", o.Categories(), w)
	}
	if w := r.Want.Redacted; w != nil {
		if p, ok := o.Redacted(); !ok || p.String() != *w {
			t.Errorf("redacted %q, want %q", p, *w)
		}
	}
	if w := r.Want.Audited; w != nil && *w != (rec.Action != "" && rec.Decision == r.Want.Decision) {
		t.Errorf("record %+v", rec)
	}
	if w, ok := r.Want.Record["capability"]; ok && rec.Capability != w {
		t.Errorf("record has capability %q, want %q", rec.Capability, w)
	}
	// What the executor does with an ESCALATE: it asks whatever is cached, and
	// runs nothing without a yes.
	asks := o.Decision() == authz.Escalate
	if w := r.Want.Asks; w != nil && *w != asks {
		t.Errorf("asks %v, want %v", asks, *w)
	}
	if w := r.Want.Ran; w != nil && *w != (o.Decision() == authz.Allow || r.Input.Approval == "allow_once") {
		t.Errorf("runs although the answer is %q", r.Input.Approval)
	}
	if w := r.Want.CallsCounted; w != nil {
		if got := o.State().Release(o.Envelope()).Used.Calls; got != *w {
			t.Errorf("%d calls counted after a refusal, want %d", got, *w)
		}
	}
}
