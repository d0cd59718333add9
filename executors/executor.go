package executors

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/steerable-go/sidecar/protocol"
)

// ToolExecutor runs tool calls. Implementations are safe for concurrent use.
type ToolExecutor interface {
	// Execute runs the call to its end and returns its result, which is never
	// nil unless the error is set. Refusals and failures of the tool are
	// results. Errors are an *[AbortError], or the context's.
	Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error)
	// ConcurrencySafe reports whether the call may run beside others. Unknown
	// is false.
	ConcurrencySafe(call *Call) bool
}

// Middleware decorates an executor.
type Middleware func(next ToolExecutor) ToolExecutor

// Chain returns inner decorated by layers, the first of which is outermost and
// sees a call first. Nil layers are left out.
func Chain(inner ToolExecutor, layers ...Middleware) ToolExecutor {
	for _, layer := range slices.Backward(layers) {
		if layer != nil {
			inner = layer(inner)
		}
	}
	return inner
}

// Turn is what the calls of one chat turn share. It does not change while the
// turn runs.
type Turn struct {
	// StreamID and ChatID identify the turn; ChatID may be empty.
	StreamID string
	ChatID   string
	// ProjectRoot is the folder the chat works in; may be empty.
	ProjectRoot string
	// Context is what every reverse call carries as its context; see
	// [MergeContext]. nil is null.
	Context json.RawMessage
}

// Call is one tool call with what the layers need to know about it. Layers
// that change a call pass a copy on.
type Call struct {
	protocol.ToolCall
	// Turn is never nil.
	Turn *Turn
	// Round counts the turn's model requests from 0.
	Round int
	// ArgumentsError is set when the model's arguments are not one JSON
	// object: then RawArguments holds what it sent, and the call must not run.
	ArgumentsError string
	RawArguments   string
	// Facts are what [Inspect] found out about the call.
	Facts Facts
	// MustAsk, if not empty, is why only a person can allow the call.
	MustAsk string
}

// ErrTurnCancelled is the cause with which a host's cancel ends a turn's
// context.
var ErrTurnCancelled = errors.New("cancelled by host request")

// AbortError ends the turn: a person, or a limit, said so.
type AbortError struct {
	// Reason is shown to the host.
	Reason string
	// Result, if not nil, is what the aborted call is answered with.
	Result *protocol.ToolResult
}

// Error implements error.
func (e *AbortError) Error() string { return e.Reason }

// MergeContext builds the context of reverse calls: the members of
// toolContext, a JSON object or nil, then chatId and projectRoot, which
// toolContext can never override. It returns nil when there is nothing to say.
func MergeContext(toolContext json.RawMessage, chatID, projectRoot string) (json.RawMessage, error) {
	own := []struct{ key, value string }{{"chatId", chatID}, {"projectRoot", projectRoot}}
	members := map[string]json.RawMessage{}
	out := []byte{'{'}
	for _, m := range own {
		if m.value == "" {
			continue
		}
		out = appendKey(out, m.key)
		out = protocol.AppendString(out, m.value)
		members[m.key] = nil
	}
	err := eachMember(toolContext, func(key string, value json.RawMessage) {
		if _, taken := members[key]; taken {
			return
		}
		members[key] = nil
		out = append(appendKey(out, key), value...)
	})
	if err != nil || len(out) == 1 {
		return nil, err
	}
	return append(out, '}'), nil
}

// asAbort finds an abort in an error.
func asAbort(err error) (*AbortError, bool) { return errors.AsType[*AbortError](err) }
