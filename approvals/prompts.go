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

// answer is what became of a question.
type answer struct {
	Decision
	why Reason
}

// ask puts one question to an approver and returns an answer in any case: a
// failure is a denial (see [Denied]), and so is the end of the timeout, with
// kind [TimedOut]. asking is ctx with the timeout, which is running already.
// Only when ctx itself ends is there an error, its cause.
func ask(ctx, asking context.Context, a Approver, req Request, timeout time.Duration) (answer, error) {
	if asking.Err() == nil {
		d, err := a.Ask(asking, req)
		if asking.Err() == nil {
			return answerOf(d, err), nil
		}
	}
	return unanswered(ctx, timeout)
}

// unanswered is the answer to a question whose time is up, and an error if that
// is because the turn has ended.
func unanswered(ctx context.Context, timeout time.Duration) (answer, error) {
	if ctx.Err() != nil {
		return answer{Decision{Kind: DenyOnce}, ReasonCancelled}, fmt.Errorf("ask for approval: %w", context.Cause(ctx))
	}
	seconds := strconv.FormatFloat(timeout.Seconds(), 'g', -1, 64)
	return answer{Decision{Kind: TimedOut, Reason: "approval request timed out after " + seconds + "s"}, ReasonTimedOut}, nil
}

// answerOf judges what an approver returned in time.
func answerOf(d Decision, err error) answer {
	if err == nil && !d.Kind.answers() {
		err = &ReplyError{Given: d.Kind.String()}
	}
	if err == nil {
		return answer{d, ReasonAnswered}
	}
	if _, invalid := errors.AsType[*ReplyError](err); invalid {
		return answer{Denied(err), ReasonInvalid}
	}
	return answer{Denied(err), ReasonFailed}
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
		req.SuggestedPrefix, req.Fingerprint, req.Why = v.SuggestedPrefix, v.Fingerprint, v.Message
		if asking.Err() != nil { // while an equal question was open
			a, err := unanswered(ctx, g.opts.Timeout)
			res := answered(req, a)
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
	a, err := ask(ctx, asking, g.opts.Host, req, g.opts.Timeout)
	res := answered(req, a)
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
	res.Stored = g.Record(ctx, req, a.Decision)
	return g.finish(req, res), nil
}

// end finishes a call whose turn has ended, if err says so.
func (g *Gate) end(req Request, res Resolution, err error) (Resolution, error) {
	if err != nil {
		res.Message = err.Error()
	}
	return g.finish(req, res), err
}

// answered turns an answer into a resolution.
func answered(req Request, a answer) Resolution {
	v := Verdict{
		Outcome: OutcomeDeny, Kind: a.Kind, Reason: a.why, Message: a.Reason,
		SuggestedPrefix: req.SuggestedPrefix, Fingerprint: req.Fingerprint,
	}
	if a.Kind.Allows() {
		v.Outcome = OutcomeAllow
	}
	switch {
	case v.Outcome == OutcomeAllow || v.Message != "":
	case a.Kind == Abort:
		v.Message = fmt.Sprintf("tool call '%s' aborted by approval", req.Tool)
	default:
		v.Message = "denied by approval policy"
	}
	return Resolution{Verdict: v, Decision: a.Decision, Stored: Stored{Scope: ScopeOnce, Where: WhereNowhere}}
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
