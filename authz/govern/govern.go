package govern

import (
	"slices"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/chain"
	"github.com/steerable-go/sidecar/authz/dlp"
	"github.com/steerable-go/sidecar/authz/egress"
	"github.com/steerable-go/sidecar/authz/policy"
	"github.com/steerable-go/sidecar/authz/risk"
)

// Options configures a [Governor]. The zero value is the published behaviour.
type Options struct {
	// Source says what principals may do; nil reads their groups.
	Source capabilities.Source
	// StrictMask shows nothing of values below sixteen characters.
	StrictMask bool
}

// Governor runs the pipeline. It is immutable and safe for concurrent use.
// Making one takes a few milliseconds, so a process makes one.
type Governor struct {
	stages stages
}

// stages are the parts that can fail only by a defect. They are fields so that
// tests can make them fail.
type stages struct {
	source capabilities.Source
	score  func(risk.Input) risk.Assessment
	decide func(policy.Input) policy.Verdict
	check  func(url string) authz.Verdict
	scan   func(dlp.Payload, authz.Band) dlp.Report
	redact func(dlp.Payload, authz.Band) dlp.Payload
}

// New returns a governor.
func New(opts Options) *Governor {
	scanner := dlp.New(dlp.Options{StrictMask: opts.StrictMask})
	source := opts.Source
	if source == nil {
		source = capabilities.FromGroups{}
	}
	return &Governor{stages: stages{
		source: source,
		score:  risk.New().Score,
		decide: policy.Decide,
		check:  egress.CheckURL,
		scan:   scanner.Scan,
		redact: scanner.Redact,
	}}
}

// Govern decides on a call in a request. It never fails: a defect in any stage
// gives DENY with [authz.ReasonInternalError], because a stage that could not
// answer has not agreed.
func (g *Governor) Govern(e Envelope, s State) (out Outcome) {
	base := Outcome{envelope: e, state: s, owner: s.Principal.Owner(), action: "tool:" + e.call.Tool}
	if base.owner == "" {
		base.owner = e.call.Owner
	}
	base.owner = ownerName(base.owner)
	if !e.known {
		base.action = "tool:unknown"
	}
	defer func() {
		if recover() != nil {
			base.reasons = []authz.Reason{authz.ReasonInternalError}
			out = base
		}
	}()
	return g.run(base)
}

// run is Govern for stages that do not fail. It works on its own copy of the
// outcome, so that a failure leaves nothing half done behind.
func (g *Governor) run(o Outcome) Outcome {
	e := o.envelope
	if !e.known {
		// The name is the model's: it may be long, and hide anything.
		o.action = "tool:" + valid(g.stages.redact(dlp.Text(e.call.Tool), authz.Critical).String())
	}
	var all findings
	if v := checkChain(e, o.state); !v.Allowed() {
		all.add("chain", authz.Deny, v.Reason())
		o.reasons, o.steps = []authz.Reason{v.Reason()}, all.steps
		return o
	}
	all.add("chain", authz.Allow)
	o.assessment = g.stages.score(risk.Input{
		Kind:            e.spec.Kind,
		Description:     e.call.Description,
		Content:         e.payload.Text(),
		CommandCritical: e.call.CommandCritical,
		CommandWarning:  e.call.CommandWarning,
	})
	verdict := g.stages.decide(policy.Input{
		Required:   e.spec.Required,
		Held:       g.stages.source.Capabilities(o.state.Principal).Has(e.spec.Required),
		Band:       o.assessment.Band(),
		SideEffect: o.assessment.SideEffect(),
		Secrets:    o.assessment.HasSecrets(),
	})
	all.add("risk", authz.Allow)
	all.add("policy", verdict.Decision(), verdict.Reasons()...)
	if e.malformed {
		all.add("arguments", authz.Deny, authz.ReasonMalformedArguments)
	}
	for _, url := range e.urls() {
		if v := g.stages.check(url); v.Allowed() {
			all.add("egress", authz.Allow)
		} else {
			all.add("egress", authz.Deny, v.Reason())
		}
	}
	if e.spec.Outbound {
		g.leaks(&o, &all)
	}
	o.decision, o.reasons = all.conclude()
	o.steps = all.steps
	if o.decision != authz.Deny && !e.isReply() {
		o.state = o.state.reserve(e.Size())
	}
	return o
}

// checkChain holds the call against the owner and the budgets of the request.
// Text of the assistant is no call and uses none up: a budget that is used up
// must not end the pipeline before the text was looked at.
func checkChain(e Envelope, s State) authz.Verdict {
	call, used, limits := chain.Call{Owner: e.call.Owner, Size: e.Size()}, s.Used, s.Limits
	if e.isReply() {
		call.Size, limits = 0, chain.Limits{Calls: 1}
		used = chain.Counters{Calls: min(used.Calls, 0), Bytes: min(used.Bytes, 0)} // negative ones stay invalid
	}
	return chain.Check(s.Principal.Owner(), call, used, limits)
}

// leaks runs the data-leak stage on what is about to go out.
func (g *Governor) leaks(o *Outcome, all *findings) {
	report := g.stages.scan(o.envelope.payload, o.assessment.Band())
	if !report.Blocked() {
		all.add("dlp", authz.Allow)
	} else {
		clean := g.stages.redact(o.envelope.payload, o.assessment.Band())
		o.categories, o.redacted = report.Categories(), &clean
		all.add("dlp", authz.Deny, authz.ReasonDLPBlocked)
	}
	if o.state.Tainted && !o.envelope.isReply() {
		all.add("taint", authz.Escalate, authz.ReasonTaintedRequest)
	}
}

// findings collects what the stages say.
type findings struct {
	steps   []Step
	entries []finding
}

type finding struct {
	decision authz.Decision
	reason   authz.Reason
}

// add notes that a stage ran, what it decides and why.
func (f *findings) add(stage string, d authz.Decision, reasons ...authz.Reason) {
	f.steps = append(f.steps, Step{Stage: stage, decision: d, reasons: reasons})
	for i, r := range reasons {
		if i > 0 {
			// Only the first reason of a stage is decisive for certain.
			d = authz.Allow
		}
		f.entries = append(f.entries, finding{d, r})
	}
}

// conclude returns the strictest decision, and the reasons with the first that
// led to it in front. The one reason to allow is no reason any more once
// something else is decided.
func (f *findings) conclude() (authz.Decision, []authz.Reason) {
	decision := authz.Allow
	for _, e := range f.entries {
		decision = decision.Tighten(e.decision)
	}
	var reasons []authz.Reason
	for _, e := range f.entries {
		switch {
		case e.reason == authz.ReasonCapabilityHeld && decision != authz.Allow, slices.Contains(reasons, e.reason):
		case e.decision == decision && !f.decided(reasons, decision):
			reasons = slices.Insert(reasons, 0, e.reason)
		default:
			reasons = append(reasons, e.reason)
		}
	}
	return decision, reasons
}

// decided reports whether the first reason already is one for the decision.
func (f *findings) decided(reasons []authz.Reason, d authz.Decision) bool {
	return len(reasons) > 0 && slices.Contains(f.entries, finding{d, reasons[0]})
}
