package sidecar

import (
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/loop"
	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/schemas"
)

// Bounds of what is shown, so that every frame stays under the outbound cap.
const (
	maxShown = 512 << 10 // bytes of a call's arguments
	maxText  = 4 << 10   // bytes of a text that a host or server chose
)

// maxPreview is the length of a result's preview, in characters.
const maxPreview = 300

// emitter turns the events of a turn into stream.chunk notifications and trace
// spans.
type emitter struct {
	stream *stream
	now    func() time.Time
	calls  map[string]time.Time // when each call began, by its id
}

var _ loop.Events = (*emitter)(nil)

// chunk sends a stream.chunk whose second member is given encoded.
func (e *emitter) chunk(member string, value []byte) {
	params := make([]byte, 0, len(value)+len(e.stream.id)+len(member)+24)
	params = protocol.AppendString(append(params, `{"streamId":`...), e.stream.id)
	params = append(append(params, member...), value...)
	e.stream.out.Control(e.stream.peer.Notification(protocol.NotifyChunk, append(params, '}')))
}

// Delta implements [loop.Events].
func (e *emitter) Delta(ctx context.Context, kind llm.DeltaKind, quoted []byte, more bool) error {
	k := protocol.DeltaText
	if kind == llm.DeltaReasoning {
		k = protocol.DeltaReasoning
	}
	return e.stream.out.Delta(ctx, k, quoted, more)
}

// Reset implements [loop.Events].
func (e *emitter) Reset(attempt int) {
	e.chunk(`,"reset":true,"attempt":`, encode(attempt))
}

// ToolCall implements [loop.Events].
func (e *emitter) ToolCall(call *executors.Call) {
	e.calls[call.ID] = e.now()
	shown := call.ToolCall
	if len(shown.Arguments) > maxShown {
		// The host sees what it must know; the call itself is never cut.
		shown.Arguments = encode(map[string]any{"_truncated": true, "bytes": len(shown.Arguments)})
	}
	shown.ID, shown.Name = protocol.Truncate(shown.ID, maxText), protocol.Truncate(shown.Name, maxText)
	e.chunk(`,"toolCall":`, shown.AppendJSON(nil))
}

// ToolResult implements [loop.Events].
func (e *emitter) ToolResult(call *executors.Call, result *protocol.ToolResult, took time.Duration) {
	markers := markersOf(result.Data)
	out := &protocol.ChunkResult{
		ID: protocol.Truncate(call.ID, maxText), Name: protocol.Truncate(call.Name, maxText), Success: result.Success, DurationMs: took.Milliseconds(),
		Error: protocol.Truncate(result.Error, maxText), ResultPreview: preview(result),
		Sandbox: markers.sandbox, Safety: markers.safety, Approval: markers.approval,
	}
	e.chunk(`,"toolResult":`, out.AppendJSON(nil))
	start, ok := e.calls[call.ID]
	if !ok {
		start = e.now()
	}
	delete(e.calls, call.ID)
	e.stream.trace.call(call, result, markers, start, start.Add(took))
}

// Notice implements [loop.Events].
func (e *emitter) Notice(notice any) {
	raw := encode(notice)
	e.stream.trace.event(raw)
	e.chunk(`,"notice":`, raw)
}

// Round implements [loop.Events].
func (e *emitter) Round(n int) func() { return e.stream.trace.round(n) }

// Reply implements [loop.Events].
func (e *emitter) Reply(finish string, usage *protocol.Usage) {
	member := `,"usage":`
	if finish != "" {
		member = string(append(protocol.AppendString([]byte(`,"finishReason":`), finish), `,"usage":`...))
	}
	e.chunk(member, encode(usage))
}

// markers are what layers wrote into a result's data.
type markers struct {
	sandbox, safety, approval json.RawMessage
}

func markersOf(data json.RawMessage) markers {
	var m markers
	if len(data) == 0 {
		return m
	}
	err := schemas.Scan(data, func(key, value []byte) bool {
		switch string(key) {
		case "_sandbox":
			m.sandbox = value
		case "safety":
			if len(value) > 0 && value[0] == '{' {
				m.safety = value
			}
		case "_approval":
			m.approval = value
		}
		return true
	})
	if err != nil {
		return markers{}
	}
	return m
}

// preview is the beginning of what a tool returned.
func preview(result *protocol.ToolResult) string {
	text := result.Message
	if len(result.Data) > 0 {
		text = string(result.Data)
	}
	end, n := 0, 0
	for end < len(text) && n < maxPreview {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
		n++
	}
	if end < len(text) {
		return text[:end] + "…"
	}
	return text
}

// encode marshals a value of ours, which cannot fail.
func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("bug: encode " + err.Error())
	}
	return raw
}

// decode reads params that have passed their schema.
func decode(raw []byte, into any) error {
	if err := protocol.Decode(raw, into); err != nil {
		return protocol.InvalidParams("invalid params: %s", err)
	}
	return nil
}
