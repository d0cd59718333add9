package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// scripted plays replies that it was given: for tests of a whole process, and
// for demonstrations without a model. It shares no state with other providers.
type scripted struct {
	replies []scriptReply
	played  atomic.Int64
}

// scriptReply is one entry of a script. Its form is documented at Config.Script.
type scriptReply struct {
	Text         scriptText   `json:"text"`
	Reasoning    scriptText   `json:"reasoning"`
	ToolCalls    []scriptCall `json:"toolCalls"`
	FinishReason string       `json:"finishReason"`
	Usage        *Usage       `json:"usage"`
	Error        *scriptError `json:"error"`
	DelayMs      int64        `json:"delayMs"`
	Cut          bool         `json:"cut"`
}

// scriptCall is a tool call of a script.
type scriptCall struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Arguments    json.RawMessage `json:"arguments"`
	RawArguments *string         `json:"rawArguments"`
}

// scriptError is a failure of a script.
type scriptError struct {
	Kind         ErrorKind `json:"kind"`
	Status       int       `json:"status"`
	Message      string    `json:"message"`
	RetryAfterMs *int64    `json:"retryAfterMs"`
}

// scriptText is a text, or a list of the pieces in which it arrives.
type scriptText []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *scriptText) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = scriptText{one}
		return nil
	}
	var pieces []string
	if err := json.Unmarshal(raw, &pieces); err != nil {
		return errors.New("a text must be a string or an array of strings")
	}
	*t = pieces
	return nil
}

// newScripted parses a script.
func newScripted(script json.RawMessage) (Provider, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(script, &entries); err != nil {
		return nil, errors.New("script: not a JSON array of replies")
	}
	if len(entries) == 0 {
		return nil, errors.New("script: no replies")
	}
	p := &scripted{replies: make([]scriptReply, len(entries))}
	for i, raw := range entries {
		if err := p.replies[i].parse(raw); err != nil {
			return nil, fmt.Errorf("script: reply %d: %w", i, err)
		}
	}
	return p, nil
}

// parse reads and checks one reply. A misspelt member is an error, so that a
// script never silently plays something else.
func (r *scriptReply) parse(raw json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return fmt.Errorf("member %q: unexpected %s", wrong.Field, wrong.Value)
		}
		return err
	}
	if r.DelayMs < 0 {
		return errors.New(`member "delayMs": negative`)
	}
	switch FinishReason(r.FinishReason) {
	case FinishNone, FinishStop, FinishToolCalls, FinishLength, FinishContentFilter, FinishError:
	default:
		return fmt.Errorf("member %q: unknown value %q", "finishReason", r.FinishReason)
	}
	for i, c := range r.ToolCalls {
		if err := c.check(); err != nil {
			return fmt.Errorf("member \"toolCalls[%d].%w", i, err)
		}
	}
	if e := r.Error; e != nil && (e.Kind == "") == (e.Status == 0) {
		return errors.New(`member "error": needs either kind or status`)
	}
	if e := r.Error; e != nil && e.Kind != "" && !e.Kind.known() {
		return fmt.Errorf("member %q: unknown kind %q", "error.kind", e.Kind)
	}
	return nil
}

// check finds what is wrong with a call. Its error begins with the member's name
// and the quote that ends it.
func (c *scriptCall) check() error {
	switch {
	case c.Name == "":
		return errors.New(`name": missing`)
	case c.Arguments != nil && c.RawArguments != nil:
		return errors.New(`rawArguments": not together with arguments`)
	case c.Arguments != nil && c.Arguments[0] != '{':
		return errors.New(`arguments": not an object; use rawArguments`)
	}
	return nil
}

// known says whether a kind is one of the constants.
func (k ErrorKind) known() bool {
	return k.retryable() || k == KindContextOverflow || k == KindAuth || k == KindInvalidRequest
}

// Name implements Provider.
func (p *scripted) Name() string { return "scripted" }

// Stream implements Provider: the n-th call plays the n-th reply, and those
// after the last play the last.
func (p *scripted) Stream(ctx context.Context, _ *Request, sink Sink) (*Reply, error) {
	n := p.played.Add(1) - 1
	r := &p.replies[min(n, int64(len(p.replies)-1))]
	a := &assembly{sink: sink}
	cause := r.play(ctx, a)
	var failure *Error
	if cause != nil && !errors.As(cause, &failure) {
		failure = &Error{Kind: KindTransport, Message: "the request was cancelled", cause: context.Cause(ctx)}
	}
	reply, err := a.conclude(failure)
	if err != nil {
		return reply, err
	}
	return reply, nil
}

// play feeds the reply to the assembly.
func (r *scriptReply) play(ctx context.Context, a *assembly) error {
	if err := r.pieces(ctx, a); err != nil {
		return err
	}
	if r.Error != nil {
		return r.Error.failure()
	}
	if r.Cut {
		return nil // no end mark
	}
	for _, sc := range r.ToolCalls {
		c := a.calls.open(sc.ID, -1)
		c.name = sc.Name
		if sc.RawArguments != nil {
			c.args.b = []byte(*sc.RawArguments)
		} else {
			c.args.b = sc.Arguments
		}
	}
	a.usage = r.Usage
	a.ended = true
	a.finish = FinishReason(r.FinishReason)
	return nil
}

// pieces shows reasoning and text, each piece after the delay. A reply without
// any waits once.
func (r *scriptReply) pieces(ctx context.Context, a *assembly) error {
	if len(r.Reasoning)+len(r.Text) == 0 {
		return pause(ctx, r.DelayMs)
	}
	for _, part := range []struct {
		kind   DeltaKind
		pieces []string
	}{{DeltaReasoning, r.Reasoning}, {DeltaText, r.Text}} {
		for _, piece := range part.pieces {
			if err := pause(ctx, r.DelayMs); err != nil {
				return err
			}
			if err := a.add(part.kind, Quote(piece)); err != nil {
				return err
			}
		}
	}
	return nil
}

// failure returns the error that a reply ends in.
func (e *scriptError) failure() *Error {
	kind := e.Kind
	r := report{message: e.Message}
	if e.Status != 0 {
		kind = kindByStatus(e.Status, &r)
	}
	err := newError(kind, redactor{}.clean(e.Message))
	err.Status = e.Status
	if e.RetryAfterMs != nil {
		err.RetryAfter = min(time.Duration(*e.RetryAfterMs)*time.Millisecond, defaultMaxRetryAfter)
		err.HasRetryAfter = true
	}
	return err
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, ms int64) error {
	if ms == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
