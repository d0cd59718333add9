package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/steerable-go/sidecar/protocol"
)

// Timeout returns the layer that bounds a tool's running time. It stands inside
// approval, so that waiting for a person never counts as tool time. limit must
// be positive.
func Timeout(limit time.Duration) Middleware {
	return func(next ToolExecutor) ToolExecutor { return &timeout{next: next, limit: limit} }
}

type timeout struct {
	next  ToolExecutor
	limit time.Duration
}

// errToolTimeout is the cause of the context of a call that ran out of time.
var errToolTimeout = errors.New("tool time limit")

// Execute implements [ToolExecutor].
func (t *timeout) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, t.limit, errToolTimeout)
	defer cancel()
	result, err := t.next.Execute(bounded, call)
	if err == nil || ctx.Err() != nil || !errors.Is(context.Cause(bounded), errToolTimeout) {
		return result, err
	}
	if _, abort := errors.AsType[*AbortError](err); abort {
		return result, err
	}
	ms := t.limit.Milliseconds()
	data, err := json.Marshal(struct {
		Timeout   float64 `json:"timeout"` // seconds
		TimeoutMs int64   `json:"timeoutMs"`
		Message   string  `json:"message"`
	}{t.limit.Seconds(), ms, fmt.Sprintf("Tool '%s' did not answer within %d ms; it may still be running.", call.Name, ms)})
	if err != nil {
		return nil, fmt.Errorf("encode timeout: %w", err)
	}
	return &protocol.ToolResult{Error: ErrorToolTimeout, NeedsFollowup: true, Data: data}, nil
}

// ConcurrencySafe implements [ToolExecutor].
func (t *timeout) ConcurrencySafe(call *Call) bool { return t.next.ConcurrencySafe(call) }
