package executors

import (
	"context"

	"github.com/steerable-go/sidecar/protocol"
)

// HostToolExecutor hands calls to the host: the reverse call tool.invoke. It
// has no time limit of its own; see [Timeout].
type HostToolExecutor struct {
	caller protocol.Caller
}

var _ ToolExecutor = (*HostToolExecutor)(nil)

// NewHostToolExecutor returns an executor that reaches the host through caller.
func NewHostToolExecutor(caller protocol.Caller) *HostToolExecutor {
	return &HostToolExecutor{caller: caller}
}

// Execute implements [ToolExecutor].
func (e *HostToolExecutor) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	params := protocol.InvokeParams{
		ID: call.ID, Name: call.Name, Arguments: call.Arguments, Context: call.Turn.Context,
	}
	size := len(call.ID) + len(call.Name) + len(call.Arguments) + len(call.Turn.Context) + 64
	reply, err := e.caller.CallHost(ctx, protocol.ReverseToolInvoke, params.AppendJSON(make([]byte, 0, size)), nil)
	if err != nil {
		return callFailed(ctx, err)
	}
	return hostReply(reply), nil
}

// ConcurrencySafe implements [ToolExecutor]: what a host's tool does is unknown.
func (e *HostToolExecutor) ConcurrencySafe(*Call) bool { return false }
