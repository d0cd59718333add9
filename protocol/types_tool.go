package protocol

import "encoding/json"

// ToolCall is a call the model asked for.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
}

// AppendJSON implements [Appender].
func (c ToolCall) AppendJSON(dst []byte) []byte {
	dst = AppendString(append(dst, `{"id":`...), c.ID)
	dst = AppendString(append(dst, `,"name":`...), c.Name)
	dst = append(dst, `,"arguments":`...)
	if len(c.Arguments) == 0 {
		return append(dst, "{}}"...)
	}
	return append(append(dst, c.Arguments...), '}')
}

// InvokeParams is the params of the reverse call tool.invoke: a [ToolCall]
// with its context, which is null when empty.
type InvokeParams struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Context   json.RawMessage `json:"context"`
}

// AppendJSON implements [Appender].
func (p InvokeParams) AppendJSON(dst []byte) []byte {
	dst = ToolCall{ID: p.ID, Name: p.Name, Arguments: p.Arguments}.AppendJSON(dst)
	dst = append(dst[:len(dst)-1], `,"context":`...)
	return append(Raw(p.Context).AppendJSON(dst), '}')
}

// ToolInvokeParams is the params of the method tool.invoke, which a host calls
// to run an in-process tool.
type ToolInvokeParams struct {
	ID             string          `json:"id,omitempty"`
	Name           string          `json:"name"`
	Arguments      json.RawMessage `json:"arguments,omitempty"`
	ConsentGranted bool            `json:"consentGranted,omitempty"`
	Context        json.RawMessage `json:"context,omitempty"`
}

// ToolResult is what a tool call came to. The zero value is a failure.
type ToolResult struct {
	Success       bool            `json:"success"`
	Data          json.RawMessage `json:"data,omitempty"` // a JSON object
	Message       string          `json:"message,omitempty"`
	Error         string          `json:"error,omitempty"` // a stable code, or the tool's own text
	NeedsFollowup bool            `json:"needsFollowup,omitempty"`
	Terminal      bool            `json:"terminal,omitempty"` // ends the turn
	NextAction    string          `json:"nextAction,omitempty"`
	// Refused says that a layer of the sidecar refused the call, so that it was
	// not run. It is not on the wire: no host's words can set it.
	Refused bool `json:"-"`
}

// AppendJSON implements [Appender].
func (r *ToolResult) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"success":`...)
	dst = appendBool(dst, r.Success)
	if len(r.Data) > 0 {
		dst = append(append(dst, `,"data":`...), r.Data...)
	}
	dst = appendText(dst, `,"message":`, r.Message)
	dst = appendText(dst, `,"error":`, r.Error)
	if r.NeedsFollowup {
		dst = append(dst, `,"needsFollowup":true`...)
	}
	if r.Terminal {
		dst = append(dst, `,"terminal":true`...)
	}
	dst = appendText(dst, `,"nextAction":`, r.NextAction)
	return append(dst, '}')
}

// ToolDescriptor is one entry of the result of tool.list, in the form the
// chat-completions interface uses.
type ToolDescriptor struct {
	Type     string       `json:"type"` // "function"
	Function ToolFunction `json:"function"`
}

// ToolFunction describes a tool to a model.
type ToolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

// appendText appends a member unless its value is empty.
func appendText(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return AppendString(append(dst, key...), value)
}
