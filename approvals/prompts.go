package approvals

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// ErrTimedOut is the cause (see [context.Cause]) with which the context of an
// [Approver] ends when the question has been open for too long. Any other
// cause means that the turn ended or was cancelled.
var ErrTimedOut = errors.New("approval request timed out")

// Prompts keeps equal questions from being open at the same time. One value
// serves all turns of a process; it is safe for concurrent use. The zero
// Prompts is ready.
type Prompts struct {
	mu   sync.Mutex // guards following
	open map[promptKey]chan struct{}
}

// promptKey says when two questions are equal.
type promptKey struct {
	chat, category string
	arguments      Fingerprint
}

// enter opens a question. If an equal one is open it returns a channel that is
// closed when that one ends, and the question is not opened.
func (p *Prompts) enter(key promptKey) (busy <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done, ok := p.open[key]; ok {
		return done
	}
	if p.open == nil {
		p.open = map[promptKey]chan struct{}{}
	}
	p.open[key] = make(chan struct{})
	return nil
}

// leave ends a question that enter opened.
func (p *Prompts) leave(key promptKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.open[key])
	delete(p.open, key)
}

// Ask puts one question to an approver and returns an answer in any case: a
// failure is a denial (see [Denied]), and so is the end of the timeout, with
// kind [TimedOut]. A timeout of zero waits for ever, a negative one has passed
// already. Only when ctx itself ends is there an error, its cause.
func Ask(ctx context.Context, a Approver, req Request, timeout time.Duration) (Decision, error) {
	asking, cancel := withTimeout(ctx, timeout)
	defer cancel()
	return ask(ctx, asking, a, req, timeout)
}

// ask is Ask under a timeout that is running already: asking is ctx with it.
func ask(ctx, asking context.Context, a Approver, req Request, timeout time.Duration) (Decision, error) {
	if asking.Err() == nil {
		d, err := a.Ask(asking, req)
		if asking.Err() == nil {
			return answer(d, err), nil
		}
	}
	return unanswered(ctx, timeout)
}

// unanswered is the decision about a question whose time is up, and an error
// if that is because the turn has ended.
func unanswered(ctx context.Context, timeout time.Duration) (Decision, error) {
	if ctx.Err() != nil {
		return Decision{Kind: DenyOnce}, fmt.Errorf("ask for approval: %w", context.Cause(ctx))
	}
	seconds := strconv.FormatFloat(timeout.Seconds(), 'g', -1, 64)
	return Decision{Kind: TimedOut, Reason: "approval request timed out after " + seconds + "s"}, nil
}

// answer turns what an approver returned in time into a decision.
func answer(d Decision, err error) Decision {
	switch {
	case err != nil:
		return Denied(err)
	case !d.Kind.answers():
		return Denied(&ReplyError{Given: d.Kind.String()})
	}
	return d
}

func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, ErrTimedOut)
}

// Resolve takes a call through the whole gate: what is stored decides, or a
// person is asked and the answer is kept. The error is that of ctx; the
// resolution denies then. Abort is a denial with Kind [Abort].
func (g *Gate) Resolve(ctx context.Context, req Request) (Resolution, error) {
	req = req.normalized()
	start := g.opts.Now()
	asking, cancel := withTimeout(ctx, g.opts.Timeout)
	defer cancel()
	for {
		v := g.Check(req)
		if v.Outcome != OutcomeAsk {
			return g.finish(req, Resolution{Verdict: v, Decision: Decision{Kind: v.Kind, Reason: v.Message}}), nil
		}
		req.SuggestedPrefix, req.Fingerprint = v.SuggestedPrefix, v.Fingerprint
		if asking.Err() != nil { // while an equal question was open
			d, err := unanswered(ctx, g.opts.Timeout)
			res := g.answered(req, d)
			res.Wait = g.opts.Now().Sub(start)
			return g.end(req, res, err)
		}
		key := promptKey{req.ChatID, req.Category, v.Fingerprint}
		busy := g.prompts.enter(key)
		if busy == nil {
			return g.lead(ctx, asking, req, key, start)
		}
		select {
		case <-busy: // the answer may be good for this call too
		case <-asking.Done():
		}
	}
}

// lead asks while this call holds the open question for its key.
func (g *Gate) lead(ctx, asking context.Context, req Request, key promptKey, start time.Time) (Resolution, error) {
	defer g.prompts.leave(key)
	d, err := ask(ctx, asking, g.opts.Host, req, g.opts.Timeout)
	res := g.answered(req, d)
	res.Asked, res.Wait = true, g.opts.Now().Sub(start)
	if err != nil {
		return g.end(req, res, err)
	}
	if v, denied := g.denied(g.facts(req)); denied && res.Allowed() {
		v.Fingerprint = req.Fingerprint
		res.Verdict, res.Decision = v, Decision{Kind: v.Kind, Reason: v.Message}
		res.Stored.Reason = "a denial was stored while the question was open"
		return g.finish(req, res), nil
	}
	res.Stored = g.Record(ctx, req, d)
	return g.finish(req, res), nil
}

// end finishes a call whose turn has ended, if err says so.
func (g *Gate) end(req Request, res Resolution, err error) (Resolution, error) {
	if err != nil {
		res.Reason, res.Message = ReasonCancelled, err.Error()
	}
	return g.finish(req, res), err
}

// answered turns an answer into a resolution.
func (g *Gate) answered(req Request, d Decision) Resolution {
	v := Verdict{
		Outcome: OutcomeDeny, Kind: d.Kind, Reason: ReasonAnswered, Message: d.Reason,
		SuggestedPrefix: req.SuggestedPrefix, Fingerprint: req.Fingerprint,
	}
	switch {
	case d.Kind.Allows():
		v.Outcome = OutcomeAllow
	case d.Kind == TimedOut:
		v.Reason = ReasonTimedOut
	}
	switch {
	case v.Outcome == OutcomeAllow || v.Message != "":
	case d.Kind == Abort:
		v.Message = fmt.Sprintf("tool call '%s' aborted by approval", req.Tool)
	default:
		v.Message = "denied by approval policy"
	}
	return Resolution{Verdict: v, Decision: d, Stored: Stored{Scope: ScopeOnce, Where: WhereNowhere}}
}

// finish logs the decision, without arguments: they may hold secrets.
func (g *Gate) finish(req Request, res Resolution) Resolution {
	g.opts.Logger.Info().
		Str("tool", req.Tool).Str("category", req.Category).Str("callId", req.CallID).
		Str("outcome", res.Outcome.String()).Str("kind", res.Kind.String()).Str("reason", string(res.Reason)).
		Bool("asked", res.Asked).Dur("wait", res.Wait).Str("stored", string(res.Stored.Scope)).
		Msg("approval decided")
	return res
}
