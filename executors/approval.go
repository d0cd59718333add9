package executors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// ErrorApprovalDenied is the code of a call that somebody, or a stored answer,
// refused.
const ErrorApprovalDenied = "approval_denied"

// ApprovalExecutor lets a call run only when somebody has said so. It is always
// in the chain: a call that must be asked about is denied when nobody can
// answer.
type ApprovalExecutor struct {
	next ToolExecutor
	opts ApprovalOptions
}

var _ ToolExecutor = (*ApprovalExecutor)(nil)

// ApprovalOptions configures an [ApprovalExecutor].
type ApprovalOptions struct {
	Gate *approvals.Gate
	// AskCritical has a person decide every critical command.
	AskCritical bool
	// Enforced says that the safety gate refuses critical commands; otherwise
	// their grade is only shown.
	Enforced bool
	// Workspace is the confinement of the turn's commands, for workspace
	// auto-approval of calls that run none; nil approves no such call.
	Workspace *Confiner
	// WorkspaceRoots replace the writable roots of the confinement as what
	// counts as the workspace; nil keeps them.
	WorkspaceRoots []string
}

// Approval returns the approval layer.
func Approval(opts ApprovalOptions) Middleware {
	return func(next ToolExecutor) ToolExecutor { return &ApprovalExecutor{next: next, opts: opts} }
}

// approvalMarker is data._approval of a result.
type approvalMarker struct {
	Kind     string            `json:"kind"`
	Category string            `json:"category"`
	WaitMs   int64             `json:"waitMs"`
	Stored   *approvals.Stored `json:"stored,omitempty"`
}

// Execute implements [ToolExecutor].
func (e *ApprovalExecutor) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	req := e.request(call)
	res, err := e.opts.Gate.Resolve(ctx, req)
	if err != nil {
		return nil, err
	}
	marker := markerOf(&req, &res)
	if !res.Allowed() {
		return e.denied(call, &req, &res, marker)
	}
	if err := res.Fingerprint.Verify(call.Arguments); err != nil {
		return refused(ErrorApprovalDenied, "Tool call '%s' was not run: %s.", call.Name, err), nil
	}
	result, err := e.next.Execute(ctx, call)
	if result != nil && marker != nil {
		mark(result, "_approval", marker)
	}
	return result, err
}

// ConcurrencySafe implements [ToolExecutor].
func (e *ApprovalExecutor) ConcurrencySafe(call *Call) bool { return e.next.ConcurrencySafe(call) }

// request states the question about a call.
func (e *ApprovalExecutor) request(call *Call) approvals.Request {
	f := &call.Facts
	req := approvals.Request{
		ChatID: call.Turn.ChatID, StreamID: call.Turn.StreamID, CallID: call.ID, Round: call.Round,
		RequestID: call.Turn.StreamID + "/" + call.ID, // calls have unique ids in a transcript, streams among themselves
		Tool:      call.Name, Arguments: call.Arguments,
		Shell: f.Shell, CommandParam: f.Command.Param, MustAsk: call.MustAsk != "",
	}
	if call.MustAsk != "" {
		req.Category = "authz:" + call.Name + ":" + call.MustAsk
	}
	if f.Grade != nil {
		req.Severity, req.MatchedRules = string(f.Grade.Severity), rulesOf(f.Grade)
	}
	switch {
	case e.opts.AskCritical:
		req.Critical = approvals.CriticalAsk
	case !e.opts.Enforced:
		req.Critical = approvals.CriticalObserve
	}
	d := f.Confinement
	if d != nil {
		req.Sandbox = d.Report.AppendJSON(nil)
	} else if !f.Shell && e.opts.Workspace != nil {
		d = e.opts.Workspace.decide(call.Name)
	}
	req.Posture = e.posture(call, d)
	return req
}

// posture is what workspace auto-approval may rely on: the confinement of this
// very call or, for one that runs no command, of the turn's commands, which
// could prepare a way out for it.
func (e *ApprovalExecutor) posture(call *Call, d *Confinement) *approvals.Posture {
	if d == nil || d.Backend == nil || d.Refused != "" {
		return nil
	}
	p := &approvals.Posture{
		Backend: d.Report.Backend, Full: d.Report.Enforcement == policy.Full,
		Roots: d.Policy.Roots, Dir: call.Turn.ProjectRoot,
	}
	if e.opts.WorkspaceRoots != nil {
		p.Roots = e.opts.WorkspaceRoots
	}
	return p
}

// markerOf is the marker of a call that somebody was asked about; nil for one
// that a stored answer decided.
func markerOf(req *approvals.Request, res *approvals.Resolution) *approvalMarker {
	if !res.Asked {
		return nil
	}
	m := &approvalMarker{
		Kind: res.Decision.Kind.String(), Category: category(req), WaitMs: res.Wait.Milliseconds(),
	}
	if res.Stored != (approvals.Stored{}) {
		stored := res.Stored
		m.Stored = &stored
	}
	return m
}

func category(req *approvals.Request) string {
	return cmp.Or(req.Category, approvals.CategoryOf(req.Tool))
}

// denied is the result of a call that may not run; an abort ends the turn.
func (e *ApprovalExecutor) denied(call *Call, req *approvals.Request, res *approvals.Resolution, marker *approvalMarker) (*protocol.ToolResult, error) {
	kind := res.Kind
	reason := cmp.Or(res.Message, "denied by approval policy")
	if kind == approvals.Abort {
		reason = cmp.Or(res.Decision.Reason, fmt.Sprintf("tool call '%s' aborted by approval", call.Name))
		return nil, &AbortError{Reason: reason, Result: &protocol.ToolResult{Error: reason}}
	}
	result := &protocol.ToolResult{Error: ErrorApprovalDenied, NeedsFollowup: true, Refused: true}
	data := struct {
		Approval string `json:"approval"`
		Category string `json:"category"`
		Reason   string `json:"reason"`
		Code     string `json:"reasonCode"`
		Message  string `json:"message"`
	}{kind.String(), category(req), reason, string(res.Reason), fmt.Sprintf("Tool call '%s' was denied (%s): %s", call.Name, kind, reason)}
	if raw, err := json.Marshal(data); err == nil {
		result.Data = raw
	}
	if marker != nil {
		mark(result, "_approval", marker)
	}
	return result, nil
}

// HostApprover asks the host: the reverse call approval.request. When a question
// ends without an answer, it tells the host so that a dialog can be closed.
type HostApprover struct {
	// Caller reaches the host; Notify sends approval.resolved.
	Caller protocol.Caller
	Notify func(method string, params any)
	// Timeout is shown to the host; the gate keeps it.
	Timeout time.Duration
}

var _ approvals.Approver = (*HostApprover)(nil)

// approvalParams is the params of approval.request: the reference's five
// members, then what a host needs to tell chats apart and to judge. Old hosts
// ignore the rest.
type approvalParams struct {
	ToolName        string          `json:"toolName"`
	Arguments       json.RawMessage `json:"arguments"`
	Mode            string          `json:"mode"`
	Category        string          `json:"category"`
	Round           int             `json:"round"`
	StreamID        string          `json:"streamId"`
	ChatID          string          `json:"chatId"`
	CallID          string          `json:"callId"`
	RequestID       string          `json:"requestId"`
	SuggestedPrefix []string        `json:"suggestedPrefix"`
	Reason          string          `json:"reason,omitempty"` // why nothing stored decides
	Severity        string          `json:"severity,omitempty"`
	MatchedRules    []string        `json:"matchedRules,omitzero"` // empty for a safe command
	Sandbox         json.RawMessage `json:"sandbox,omitempty"`
	Fingerprint     string          `json:"fingerprint"`
	TimeoutMs       int64           `json:"timeoutMs"`
}

// resolvedParams is the params of approval.resolved.
type resolvedParams struct {
	StreamID  string `json:"streamId"`
	RequestID string `json:"requestId"`
	Outcome   string `json:"outcome"`
}

// Ask implements [approvals.Approver].
func (h *HostApprover) Ask(ctx context.Context, req approvals.Request) (approvals.Decision, error) {
	params := approvalParams{
		ToolName: req.Tool, Arguments: req.Arguments, Mode: string(cmp.Or(req.Mode, approvals.ModeOf(req.Tool))),
		Category: category(&req), Round: req.Round, StreamID: req.StreamID, ChatID: req.ChatID, CallID: req.CallID,
		RequestID: req.RequestID, SuggestedPrefix: req.SuggestedPrefix, Reason: req.Why,
		Severity: req.Severity, MatchedRules: req.MatchedRules, Sandbox: req.Sandbox,
		Fingerprint: req.Fingerprint.String(), TimeoutMs: h.Timeout.Milliseconds(),
	}
	raw, err := protocol.Marshal(params)
	if err != nil {
		return approvals.Decision{}, fmt.Errorf("encode the question: %w", err)
	}
	reply, err := h.Caller.CallHost(ctx, protocol.ReverseApproval, raw, nil)
	if errors.Is(err, protocol.ErrFrameTooLarge) { // the host has not seen the question
		return approvals.Decision{}, err
	}
	h.Notify(protocol.NotifyApprovalResolved, resolvedParams{req.StreamID, req.RequestID, outcomeOf(ctx)})
	if err != nil {
		return approvals.Decision{}, err
	}
	return approvals.ParseReply(reply)
}

// outcomeOf says how a question ended. An answer that comes when the context has
// ended is late: it does not count.
func outcomeOf(ctx context.Context) string {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return "answered"
	case errors.Is(cause, approvals.ErrTimedOut):
		return "timed_out"
	case errors.Is(cause, ErrTurnCancelled):
		return "cancelled"
	default:
		return "turn_ended"
	}
}
