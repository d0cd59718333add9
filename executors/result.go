package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/steerable-go/sidecar/protocol"
)

// Stable error codes of results that the sidecar itself makes. A model, a host
// and a log may rely on them.
const (
	ErrorInvalidArguments = "invalid_arguments"
	ErrorInvalidSchema    = "invalid_tool_schema"
	ErrorToolTimeout      = "tool_timeout"
	ErrorToolError        = "tool_error"
	ErrorCancelled        = "cancelled"
	ErrorAborted          = "aborted"
	ErrorDuplicate        = "duplicate_call"
	ErrorNotExecuted      = "not_executed"
	ErrorUnknownTool      = "Unknown tool: " // the name follows, as in the reference
)

// refusal is the data of a result that the sidecar made.
type refusal struct {
	Message string          `json:"message,omitempty"`
	Raw     string          `json:"rawArguments,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Tools   []string        `json:"tools,omitempty"`
}

// fail returns a failed result with a stable code and a sentence for the model.
func fail(code, format string, args ...any) *protocol.ToolResult {
	return failWith(code, refusal{Message: fmt.Sprintf(format, args...)})
}

// refused is fail for a call that a layer did not let run.
func refused(code, format string, args ...any) *protocol.ToolResult {
	result := fail(code, format, args...)
	result.Refused = true
	return result
}

func failWith(code string, data any) *protocol.ToolResult {
	raw, err := json.Marshal(data)
	if err != nil {
		raw = nil
	}
	return &protocol.ToolResult{Error: code, Data: raw}
}

// Cancelled is the result of a call that was stopped, or never started, because
// its turn was cancelled.
func Cancelled() *protocol.ToolResult { return &protocol.ToolResult{Error: ErrorCancelled} }

// hostReply turns a host's answer to tool.invoke into a result: an object with
// "success" is a ToolResult whose unknown members go into data, anything else
// is the value of a success. A ToolResult with members of hopeless types is a
// failure, never a success.
func hostReply(raw json.RawMessage) *protocol.ToolResult {
	if len(raw) == 0 || raw[0] != '{' || member(raw, "success") == nil {
		if len(raw) == 0 {
			raw = json.RawMessage("null")
		}
		data := append(append(json.RawMessage(`{"value":`), raw...), '}')
		return &protocol.ToolResult{Success: true, Data: data}
	}
	r := &replyReader{result: &protocol.ToolResult{}}
	if err := eachMember(raw, r.member); err != nil {
		return fail(ErrorToolError, "the host's tool result is not valid JSON: %s", err)
	}
	if r.fault != "" {
		return fail(ErrorToolError, "the host returned an invalid tool result: %s", r.fault)
	}
	for _, m := range r.extra {
		if member(r.result.Data, m.key) != nil {
			continue
		}
		if data, err := setMember(r.result.Data, m.key, m.value); err == nil {
			r.result.Data = data
		}
	}
	return r.result
}

// replyReader collects the members of a host's ToolResult.
type replyReader struct {
	result *protocol.ToolResult
	extra  []keyValue // unknown members, in order
	fault  string     // the first member of a hopeless type
}

type keyValue struct {
	key   string
	value json.RawMessage
}

func (r *replyReader) member(key string, value json.RawMessage) {
	null := string(value) == "null"
	switch key {
	case "success":
		r.flag(key, value, &r.result.Success)
	case "needsFollowup":
		if !null {
			r.flag(key, value, &r.result.NeedsFollowup)
		}
	case "terminal":
		if !null {
			r.flag(key, value, &r.result.Terminal)
		}
	case "error":
		r.text(key, value, &r.result.Error)
	case "message":
		r.text(key, value, &r.result.Message)
	case "nextAction":
		r.text(key, value, &r.result.NextAction)
	case "data":
		switch {
		case null:
		case value[0] == '{':
			r.result.Data = append(json.RawMessage(nil), value...)
		default:
			r.bad(key, "an object")
		}
	default:
		r.extra = append(r.extra, keyValue{key, append(json.RawMessage(nil), value...)})
	}
}

// flag reads a boolean in any of the spellings the reference coerces.
func (r *replyReader) flag(key string, value json.RawMessage, dst *bool) {
	text := strings.ToLower(strings.Trim(string(value), `"`))
	switch text {
	case "true", "1", "yes", "y", "on", "t", "1.0":
		*dst = true
	case "false", "0", "no", "n", "off", "f", "0.0":
		*dst = false
	default:
		r.bad(key, "a boolean")
	}
}

func (r *replyReader) text(key string, value json.RawMessage, dst *string) {
	if string(value) == "null" {
		return
	}
	if value[0] != '"' || json.Unmarshal(value, dst) != nil {
		r.bad(key, "a string")
	}
}

func (r *replyReader) bad(key, want string) {
	if r.fault == "" {
		r.fault = key + " must be " + want
	}
}

// callFailed is the result of a reverse call that came back with an error: the
// host refused or failed, the frame did not fit, or the pipe closed.
func callFailed(ctx context.Context, err error) (*protocol.ToolResult, error) {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil, err
	}
	if errors.Is(err, protocol.ErrFrameTooLarge) {
		result := fail(protocol.ErrFrameTooLarge.Error(), "%s", err)
		result.NeedsFollowup = true
		return result, nil
	}
	return &protocol.ToolResult{Error: err.Error(), NeedsFollowup: true}, nil
}
