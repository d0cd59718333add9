package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/protocol"
)

// errDeadline is the cause of a turn that ran into its hard limit.
var errDeadline = errors.New(ReasonDeadline)

// run is the state of one turn. It belongs to one goroutine.
type run struct {
	Options
	script  transcript
	usage   protocol.Usage
	spent   int64 // tokens that count against the budget
	errors  int   // failed calls in a row
	calls   int   // calls made
	start   time.Time
	softDue bool
	repeats repeats
}

// Run runs one turn to its end. Cancel ctx with
// [executors.ErrTurnCancelled] as the cause to stop it; it then ends as soon as the model and the tools let go. It never
// panics on what a model or tool sends, and is called once for each Options.
func Run(ctx context.Context, opts Options) Outcome {
	r := &run{Options: opts, start: opts.Now(), softDue: opts.SoftTimeout > 0}
	if opts.HardTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.HardTimeout, errDeadline)
		defer cancel()
	}
	r.script.load(opts.Request.Messages)
	out := r.rounds(ctx)
	if opts.Steer != nil {
		opts.Steer.Close()
	}
	out.Usage = r.usage
	return out
}

// rounds is the turn's main loop: one request to the model each time around.
func (r *run) rounds(ctx context.Context) Outcome {
	for round := 0; ; round++ {
		if out, stop := r.before(ctx, round); stop {
			return out
		}
		out, stop := r.round(ctx, round)
		if stop {
			return out
		}
	}
}

// before checks every limit that stands before a request, and adds what people
// said meanwhile.
func (r *run) before(ctx context.Context, round int) (Outcome, bool) {
	if ctx.Err() != nil {
		return r.stopped(ctx), true
	}
	if round >= r.MaxRounds {
		r.Events.Notice(budgetExhausted{"budget_exhausted", "rounds", int64(r.MaxRounds), int64(round)})
		return Outcome{Status: StatusBudgetExhausted, Reason: fmt.Sprintf("reached maxRounds=%d runaway guard", r.MaxRounds)}, true
	}
	if r.errors >= r.MaxToolErrors {
		return Outcome{Status: StatusFailed, Reason: ReasonToolErrors}, true
	}
	if r.Budget > 0 && r.spent > r.Budget {
		r.Events.Notice(budgetExhausted{"budget_exhausted", "tokens", r.Budget, r.spent})
		return Outcome{Status: StatusBudgetExhausted, Reason: ReasonTokens}, true
	}
	if elapsed := r.Now().Sub(r.start); r.softDue && elapsed >= r.SoftTimeout {
		r.softDue = false
		r.Events.Notice(softTimeout{"soft_timeout", round, elapsed.Milliseconds(), r.SoftTimeout.Milliseconds()})
	}
	for _, content := range r.Steer.take() {
		r.script.user(content)
		r.Events.Notice(steered{"steer", content})
	}
	return Outcome{}, false
}

// round makes one request and runs the calls of its reply. stop says that the
// turn has ended with out.
func (r *run) round(ctx context.Context, round int) (out Outcome, stop bool) {
	end := r.Events.Round(round)
	defer end()
	reply, err := r.ask(ctx, round)
	r.count(reply)
	switch {
	case errors.Is(err, ErrInterrupted):
		r.script.interrupted(reply)
		return Outcome{}, false
	case err != nil:
		return r.failed(ctx, err), true
	case r.Plain:
		return r.plain(reply), true
	case len(reply.ToolCalls) == 0:
		return r.answered(ctx, reply)
	}
	calls := r.script.assistant(reply, r.Turn, round)
	if out, stop := r.dispatch(ctx, calls); stop {
		return out, true
	}
	r.Events.Notice(roundEnd{"round_end", "executing", round})
	return Outcome{}, false
}

// answered ends the turn with the model's answer, unless there is none or a
// person has said something meanwhile.
func (r *run) answered(ctx context.Context, reply *llm.Reply) (Outcome, bool) {
	if len(reply.Content) <= 2 {
		reason := ReasonEmpty
		if r.Window > 0 && reply.Usage != nil && reply.Usage.PromptTokens*100 >= r.Window*95 {
			reason += " (the prompt fills the model's context window)"
		}
		return Outcome{Status: StatusFailed, Reason: reason}, true
	}
	if r.FinalOnly {
		if err := r.Events.Delta(ctx, llm.DeltaText, reply.Content, false); err != nil {
			return r.failed(ctx, err), true
		}
	}
	if r.Steer.finish() {
		r.script.assistant(reply, r.Turn, 0)
		return Outcome{}, false
	}
	return Outcome{Status: StatusCompleted, Reason: ReasonAnswered}, true
}

// plain ends a stream without tools.
func (r *run) plain(reply *llm.Reply) Outcome {
	usage := r.usage
	r.Events.Reply(string(reply.FinishReason), &usage)
	if len(reply.ToolCalls) > 0 && len(reply.Content) <= 2 {
		return Outcome{Status: StatusFailed, Reason: ReasonNoTools}
	}
	return Outcome{Status: StatusCompleted, Reason: ReasonAnswered}
}

// stopped is the outcome of a turn whose context has ended.
func (r *run) stopped(ctx context.Context) Outcome {
	if errors.Is(context.Cause(ctx), errDeadline) {
		return Outcome{Status: StatusFailed, Reason: ReasonDeadline, Failure: &Failure{failureKind, ReasonDeadline}}
	}
	return Outcome{Status: StatusCancelled, Reason: ReasonCancelled}
}

// failed is the outcome of a request that failed for good.
func (r *run) failed(ctx context.Context, err error) Outcome {
	if ctx.Err() != nil {
		return r.stopped(ctx)
	}
	return Outcome{Status: StatusFailed, Reason: err.Error(), Failure: &Failure{failureKind, err.Error()}}
}

// count adds a reply's tokens, or an estimate if the provider reports none.
func (r *run) count(reply *llm.Reply) {
	u := reply.Usage
	if u == nil {
		const bytesPerToken = 4
		bytes := int64(len(reply.Content) + len(reply.Reasoning))
		for _, call := range reply.ToolCalls {
			bytes += int64(len(call.Name) + len(call.Arguments))
		}
		if bytes == 0 {
			return
		}
		n := (bytes + bytesPerToken - 1) / bytesPerToken
		r.usage.Estimated = true
		r.add(r.script.size/bytesPerToken, n, 0)
		return
	}
	r.add(u.PromptTokens, u.CompletionTokens, u.CachedPromptTokens)
}

// add counts tokens; a cached one weighs a tenth against the budget, as in the
// reference (budget.py).
func (r *run) add(prompt, completion, cached int64) {
	r.usage.PromptTokens += prompt
	r.usage.CompletionTokens += completion
	r.usage.TotalTokens += prompt + completion
	r.usage.CachedPromptTokens += cached
	r.spent += prompt + completion - cached + cached/10
}

// endCalls answers the calls that will not run and reports them.
func (r *run) endCalls(calls []*executors.Call, result func() *protocol.ToolResult) {
	for _, call := range calls {
		r.finish(call, result(), 0)
	}
}
