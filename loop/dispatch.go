package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
)

// dispatch runs the calls of one reply in order. Calls that the executor
// declares safe beside each other run at once while they stand together; any
// other call is a barrier. stop says that the turn has ended with out; then the
// calls that did not run have been answered too.
func (r *run) dispatch(ctx context.Context, calls []*executors.Call) (out Outcome, stop bool) {
	for len(calls) > 0 {
		if ctx.Err() != nil {
			r.endCalls(calls, executors.Cancelled)
			return r.stopped(ctx), true
		}
		if out, stop := r.limits(); stop {
			r.endCalls(calls, skipped)
			return out, true
		}
		n := r.batch(calls)
		out, stop := r.runBatch(ctx, calls[:n])
		calls = calls[n:]
		if !stop {
			continue
		}
		end := skipped
		if out.Aborted {
			end = aborted
		} else if out.Status == StatusCancelled {
			end = executors.Cancelled
		}
		r.endCalls(calls, end)
		return out, true
	}
	if r.errors >= r.MaxToolErrors {
		return Outcome{Status: StatusFailed, Reason: ReasonToolErrors}, true
	}
	return Outcome{}, false
}

// limits checks what bounds the calls of a turn.
func (r *run) limits() (Outcome, bool) {
	if r.errors >= r.MaxToolErrors {
		return Outcome{Status: StatusFailed, Reason: ReasonToolErrors}, true
	}
	if r.MaxToolCalls > 0 && r.calls >= r.MaxToolCalls {
		r.Events.Notice(budgetExhausted{"budget_exhausted", "tool_calls", int64(r.MaxToolCalls), int64(r.calls)})
		return Outcome{Status: StatusBudgetExhausted, Reason: ReasonToolCalls}, true
	}
	return Outcome{}, false
}

// batch is how many of calls run at once: one, or the safe ones that lead.
func (r *run) batch(calls []*executors.Call) int {
	n := 0
	for n < len(calls) && r.Executor.ConcurrencySafe(calls[n]) {
		n++
	}
	return max(n, 1)
}

// done is a call that has come back.
type done struct {
	result *protocol.ToolResult
	err    error
	took   time.Duration
}

// runBatch runs calls that may run at once and reports their results in order.
func (r *run) runBatch(ctx context.Context, calls []*executors.Call) (Outcome, bool) {
	results := make([]done, len(calls))
	for _, call := range calls {
		r.Events.ToolCall(call)
	}
	if len(calls) == 1 {
		results[0] = r.execute(ctx, calls[0])
	} else {
		var group sync.WaitGroup
		slots := make(chan struct{}, defaultParallel)
		for i, call := range calls {
			slots <- struct{}{}
			group.Go(func() {
				// Ends with the call; the Wait below collects it.
				defer func() { <-slots }()
				results[i] = r.execute(ctx, call)
			})
		}
		group.Wait()
	}
	return r.collect(ctx, calls, results)
}

// execute runs one call and turns a panic of a layer into an error.
func (r *run) execute(ctx context.Context, call *executors.Call) (d done) {
	start := r.Now()
	defer func() {
		if p := recover(); p != nil {
			if r.OnPanic != nil {
				r.OnPanic(call.Name, p, debug.Stack())
			}
			d = done{err: fmt.Errorf("internal error in tool %q", call.Name)}
		}
		d.took = r.Now().Sub(start)
	}()
	if refused := r.repeats.refuse(&r.Options, call); refused != nil {
		return done{result: refused}
	}
	result, err := r.Executor.Execute(ctx, call)
	return done{result: result, err: err}
}

// collect reports a batch's results and decides whether the turn goes on.
func (r *run) collect(ctx context.Context, calls []*executors.Call, results []done) (Outcome, bool) {
	var out Outcome
	stop := false
	for i, call := range calls {
		d := results[i]
		result, end, ended := r.settle(ctx, call, d)
		r.finish(call, result, d.took)
		if ended && !stop {
			out, stop = end, true
		}
	}
	return out, stop
}

// settle turns what came back from a call into its result, and into the end of
// the turn where it is one.
func (r *run) settle(ctx context.Context, call *executors.Call, d done) (*protocol.ToolResult, Outcome, bool) {
	if abort, ok := errors.AsType[*executors.AbortError](d.err); ok {
		result := abort.Result
		if result == nil {
			result = &protocol.ToolResult{Error: abort.Reason}
		}
		return result, Outcome{Status: StatusFailed, Reason: "approval aborted: " + abort.Reason, Aborted: true}, true
	}
	if d.err != nil && ctx.Err() != nil {
		return executors.Cancelled(), r.stopped(ctx), true
	}
	if d.err != nil || d.result == nil {
		text := "the tool returned nothing"
		if d.err != nil {
			text = d.err.Error()
		}
		return &protocol.ToolResult{Error: executors.ErrorToolError, Message: text}, Outcome{}, false
	}
	if d.result.Terminal {
		return d.result, terminal(call, d.result), true
	}
	if r.repeats.observe(&r.Options, call, d.result) {
		return d.result, Outcome{Status: StatusFailed, Reason: ReasonDoomLoop}, true
	}
	return d.result, Outcome{}, false
}

// terminal is the outcome of a tool that ended the turn.
func terminal(call *executors.Call, result *protocol.ToolResult) Outcome {
	var data struct {
		Status Status `json:"terminal_status"`
	}
	out := Outcome{Status: StatusCompleted, Reason: fmt.Sprintf("tool '%s' ended the turn", call.Name)}
	if !result.Success {
		out.Status = StatusFailed
	}
	if len(result.Data) > 0 && json.Unmarshal(result.Data, &data) == nil {
		switch data.Status {
		case StatusCompleted, StatusFailed, StatusCancelled, StatusBudgetExhausted, StatusWaitingUser:
			out.Status = data.Status
		}
	}
	return out
}

// finish records one call's result: in the transcript, in the breaker, with
// the host.
func (r *run) finish(call *executors.Call, result *protocol.ToolResult, took time.Duration) {
	r.calls++
	if result.Success {
		r.errors = 0
	} else {
		r.errors++
	}
	r.script.result(call, result, r.Spill)
	r.Events.ToolResult(call, result, took)
}

func skipped() *protocol.ToolResult {
	return &protocol.ToolResult{Error: executors.ErrorNotExecuted, Message: "The turn ended before this call was run."}
}

func aborted() *protocol.ToolResult {
	return &protocol.ToolResult{Error: executors.ErrorAborted, Message: "The turn was aborted before this call was run."}
}
