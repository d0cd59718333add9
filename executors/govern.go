package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/dlp"
	"github.com/steerable-go/sidecar/authz/govern"
	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// ErrorAuthzDenied is the code of a call that the authorization pipeline denied.
const ErrorAuthzDenied = "authz_denied"

// Recorder writes audit records; see [auditlog.Log].
type Recorder interface {
	Append(ctx context.Context, r auditlog.Record) (auditlog.Receipt, error)
}

// AuthorizationOptions configures an [Authorization]. Governor, Log and Now are
// required.
type AuthorizationOptions struct {
	Governor *govern.Governor
	Scanner  *dlp.Scanner // looks at results; a hit taints the request
	Tools    govern.Tools
	Mode     govern.Mode
	Replies  govern.Replies
	// State is that of a new request: its principal and budgets.
	State govern.State
	// Owner is that of the session which makes the calls; ChatID its chat.
	Owner, ChatID string
	Log           Recorder
	Logger        zerolog.Logger
	Now           func() time.Time
}

// Authorization is the authorization of one request: its budgets and what it
// has seen. It is safe for concurrent use.
type Authorization struct {
	opts AuthorizationOptions

	mu    sync.Mutex // guards following
	state govern.State
}

// NewAuthorization returns the authorization of a new request.
func NewAuthorization(opts AuthorizationOptions) *Authorization {
	return &Authorization{opts: opts, state: opts.State}
}

// Govern returns the layer that runs the authorization pipeline. It stands
// outside every layer that decides, so that nothing skips it; a denial is
// final, and an escalation makes the approval layer ask a person. It is nil,
// and so left out of a chain, without an authorization.
func Govern(a *Authorization) Middleware {
	if a == nil {
		return nil
	}
	return func(next ToolExecutor) ToolExecutor { return &governed{next: next, auth: a} }
}

type governed struct {
	next ToolExecutor
	auth *Authorization
}

// authzMarker is data.authz of a result: what the pipeline said. Payloads never
// stand in it, but for the redacted one a model may retry with.
type authzMarker struct {
	Mode       string          `json:"mode"`
	Decision   string          `json:"decision"`
	Reasons    []authz.Reason  `json:"reasons"`
	Categories []string        `json:"categories,omitempty"`
	Band       string          `json:"band,omitempty"`
	Redacted   json.RawMessage `json:"redacted,omitempty"`
}

// Execute implements [ToolExecutor].
func (g *governed) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	a := g.auth
	out := a.decide(ctx, call)
	marker := a.marker(out)
	if a.enforces() {
		switch out.Decision() {
		case authz.Allow:
		case authz.Escalate:
			escalated := *call
			escalated.MustAsk = string(out.Reasons()[0])
			call = &escalated
		case authz.Deny:
			fallthrough
		default:
			return a.denied(call, out, marker), nil
		}
	}
	if !out.Envelope().Covers(call.Arguments) {
		return refused(ErrorAuthzDenied, "Tool call '%s' was not run: its arguments changed after they were looked at.", call.Name), nil
	}
	result, err := g.next.Execute(ctx, call)
	a.watch(result, err)
	result = a.after(ctx, out, result, err)
	if result != nil && out.Decision() != authz.Allow {
		mark(result, "authz", marker)
	}
	return result, err
}

// enforces reports whether decisions hold, as under a mode that nobody knows.
func (a *Authorization) enforces() bool {
	return a.opts.Mode != govern.Observe && a.opts.Mode != govern.Off
}

// ConcurrencySafe implements [ToolExecutor].
func (g *governed) ConcurrencySafe(call *Call) bool { return g.next.ConcurrencySafe(call) }

// decide runs the pipeline on a call and writes the record of what is intended.
// What is not recorded does not happen.
func (a *Authorization) decide(ctx context.Context, call *Call) govern.Outcome {
	env := a.opts.Tools.Envelope(a.envelopeOf(call))
	a.mu.Lock()
	out := a.opts.Governor.Govern(env, a.state)
	a.state = out.State()
	a.mu.Unlock()
	_, err := a.opts.Log.Append(ctx, auditlog.Record{Fields: out.Record(), Durable: out.Acts()})
	if err == nil {
		return out
	}
	a.opts.Logger.Error().Err(err).Str("tool", call.Name).Msg("audit record not written")
	if out.Decision() != authz.Deny {
		a.mu.Lock()
		a.state = a.state.Release(env)
		a.mu.Unlock()
	}
	return out.Unrecorded()
}

// envelopeOf is the call as the server sees it.
func (a *Authorization) envelopeOf(call *Call) govern.Call {
	c := govern.Call{
		Owner: a.opts.Owner, ChatID: a.opts.ChatID, CallID: call.ID, Tool: call.Name, Arguments: call.Arguments,
		Time: a.opts.Now().UTC().Format(time.RFC3339), Observed: a.opts.Mode == govern.Observe,
	}
	if g := call.Facts.Grade; g != nil {
		c.CommandCritical, c.CommandWarning = g.Severity == safety.Critical, g.Severity == safety.Warning
	}
	if d := call.Facts.Confinement; d != nil && d.Backend != nil && d.Refused == "" {
		c.Offline = d.Policy.Egress.Mode == policy.EgressClosed && d.Report.Enforcement == policy.Full
	}
	return c
}

func (a *Authorization) marker(out govern.Outcome) *authzMarker {
	m := &authzMarker{
		Mode: a.opts.Mode.String(), Decision: out.Decision().String(), Reasons: out.Reasons(),
		Categories: out.Categories(), Band: out.Assessment().Band().String(),
	}
	if clean, hit := out.Redacted(); hit {
		if raw, err := clean.MarshalJSON(); err == nil {
			m.Redacted = raw
		}
	}
	return m
}

// denied is the result of a call that the pipeline denied. The decisive reason
// comes first.
func (a *Authorization) denied(call *Call, out govern.Outcome, marker *authzMarker) *protocol.ToolResult {
	reasons := make([]string, len(marker.Reasons))
	for i, r := range marker.Reasons {
		reasons[i] = string(r)
	}
	result := refused(ErrorAuthzDenied, "Tool call '%s' was denied by authorization: %s.", call.Name, strings.Join(reasons, ", "))
	if _, hit := out.Redacted(); hit {
		result.Message = "What may not leave has been masked in data.authz.redacted; retry with that."
	}
	result.NeedsFollowup = true
	mark(result, "authz", marker)
	return result
}

// after counts what a call returned, takes back what a call that did not run
// had reserved, and writes the record of how it ended.
func (a *Authorization) after(ctx context.Context, out govern.Outcome, result *protocol.ToolResult, err error) *protocol.ToolResult {
	word, size := "ok", int64(0)
	switch {
	case err != nil || result == nil:
		word = "error"
		if _, abort := asAbort(err); abort {
			word = "refused"
		} else if errors.Is(context.Cause(ctx), ErrTurnCancelled) {
			word = "cancelled"
		}
	case result.Refused:
		word = "refused"
	default:
		if !result.Success {
			word = "error"
		}
		size = int64(len(result.AppendJSON(nil)))
	}
	withheld := a.account(out, result, word, size)
	if out.Acts() {
		fields := out.Result(word, a.opts.Now().UTC().Format(time.RFC3339), size)
		if _, err := a.opts.Log.Append(context.WithoutCancel(ctx), auditlog.Record{Fields: fields}); err != nil {
			a.opts.Logger.Error().Err(err).Msg("audit record of a result not written")
		}
	}
	if withheld != nil {
		return withheld
	}
	return result
}

// watch taints the request if what a call came back with holds a secret. All
// that the model gets to read counts, the text of a failure too.
func (a *Authorization) watch(result *protocol.ToolResult, err error) {
	if a.opts.Scanner == nil {
		return
	}
	hit := err != nil && a.opts.Scanner.Scan(dlp.Text(err.Error()), authz.Low).Blocked()
	if result != nil && !hit {
		payload, err := dlp.JSON(result.AppendJSON(nil))
		hit = err != nil || a.opts.Scanner.Scan(payload, authz.Low).Blocked()
	}
	if hit {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.state = a.state.Taint()
	}
}

// account updates the request's state; it returns what replaces a result that
// does not fit into the budget.
func (a *Authorization) account(out govern.Outcome, result *protocol.ToolResult, word string, size int64) *protocol.ToolResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	if word == "refused" {
		if out.Decision() != authz.Deny { // a denied call was never counted; observed, it gets this far
			a.state = a.state.Release(out.Envelope())
		}
		return nil
	}
	if result == nil {
		return nil
	}
	next, fits := a.state.Moved(size)
	a.state = next
	if fits.Allowed() || !a.enforces() {
		return nil
	}
	withheld := fail(ErrorAuthzDenied, "The call ran, but its result of %d bytes exceeds the request's budget and was withheld.", size)
	mark(withheld, "authz", &authzMarker{Mode: a.opts.Mode.String(), Decision: authz.Deny.String(), Reasons: []authz.Reason{fits.Reason()}})
	return withheld
}

// RefusalCode reports whether an error code is one of those that a layer gives
// a call that it refuses. It is for those who have nothing but the code: a host
// can write one too, and a call that ran may have been found wanting after. See
// [protocol.ToolResult.Refused] for what happened.
func RefusalCode(code string) bool {
	switch code {
	case ErrorApprovalDenied, ErrorPolicyDenied, ErrorSandboxUnavailable, ErrorAuthzDenied:
		return true
	}
	return false
}

// GuardsReplies reports whether assistant text must be judged. A nil
// authorization guards nothing.
func (a *Authorization) GuardsReplies() bool {
	return a != nil && a.opts.Mode != govern.Off && a.opts.Replies != govern.IgnoreReplies
}

// HoldsReplies reports whether text may be shown only after it was judged, and
// as [Authorization.Reply] returns it; otherwise judging only records.
func (a *Authorization) HoldsReplies() bool {
	return a.GuardsReplies() && a.enforces()
}

// Reply governs text of the assistant and returns what to show instead. Only a
// denial changes the text: nobody can be asked about it, and what an escalation
// is about, such as a command that is merely spoken of, harms nobody by being
// read. A denial without a redacted text, or one that could not be recorded,
// withholds all of it.
func (a *Authorization) Reply(ctx context.Context, text string) string {
	if !a.GuardsReplies() {
		return text
	}
	env := govern.Reply(govern.Call{
		Owner: a.opts.Owner, ChatID: a.opts.ChatID, Time: a.opts.Now().UTC().Format(time.RFC3339),
		Observed: a.opts.Mode == govern.Observe,
	}, text)
	a.mu.Lock()
	state := a.state
	a.mu.Unlock()
	out := a.opts.Governor.Govern(env, state)
	if out.Decision() != authz.Deny {
		return text
	}
	// A turn that is cancelled still shows what it holds.
	if _, err := a.opts.Log.Append(context.WithoutCancel(ctx), auditlog.Record{Fields: out.Record()}); err != nil {
		a.opts.Logger.Error().Err(err).Msg("audit record of a reply not written")
		out = out.Unrecorded()
	}
	clean, hit := out.Redacted()
	switch {
	case !a.HoldsReplies():
		return text
	case out.Reasons()[0] != authz.ReasonDLPBlocked || !hit:
		return fmt.Sprintf("[withheld: %s]", out.Reasons()[0])
	case a.opts.Replies == govern.RedactReplies:
		return clean.Text()
	default:
		return fmt.Sprintf("[withheld: %s]", strings.Join(out.Categories(), ", "))
	}
}
