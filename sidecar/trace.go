package sidecar

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/loop"
	"github.com/steerable-go/sidecar/protocol"
)

const (
	maxTraces = 64        // turns kept until persistence exists
	maxSpans  = 1000      // of one turn; later ones are left out
	maxEvents = 256 << 10 // bytes of one turn's events; later ones are left out
)

// traces keeps the last turns.
type traces struct {
	mu    sync.Mutex // guards following
	turns []*tracer  // oldest first
}

// tracer records one turn: a span for each round and each tool call.
type tracer struct {
	id  string
	now func() time.Time

	mu     sync.Mutex // guards following
	info   protocol.TraceInfo
	spans  []protocol.Span
	events []json.RawMessage
	size   int // bytes in events
	parent string
	serial int
}

// start begins a trace and forgets the oldest.
func (t *traces) start(now func() time.Time, streamID, chatID string) *tracer {
	tr := &tracer{id: newID("trace_"), now: now}
	tr.info = protocol.TraceInfo{ID: tr.id, StreamID: streamID, ChatID: chatID, Status: "executing", StartMs: now().UnixMilli()}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns = append(t.turns, tr)
	if len(t.turns) > maxTraces {
		t.turns = append(t.turns[:0], t.turns[1:]...)
	}
	return tr
}

func (t *traces) get(id string) *tracer {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, tr := range t.turns {
		if tr.id == id {
			return tr
		}
	}
	return nil
}

// round begins the span of a round; the calls of the round are its children.
func (t *tracer) round(n int) func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serial++
	t.parent = fmt.Sprintf("round_%d", n)
	span := protocol.Span{ID: t.parent, Name: t.parent, StartMs: t.now().UnixMilli()}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		span.EndMs = t.now().UnixMilli()
		t.add(span)
	}
}

// call records a tool call.
func (t *tracer) call(call *executors.Call, result *protocol.ToolResult, m markers, start, end time.Time) {
	attrs := protocol.SpanAttrs{
		CallID: protocol.Truncate(call.ID, maxSpanText), Tool: protocol.Truncate(call.Name, maxSpanText),
		Decision: decisionOf(result, m), Error: protocol.Truncate(result.Error, maxSpanText),
	}
	var sandbox protocol.SandboxReport
	if len(m.sandbox) > 0 && json.Unmarshal(m.sandbox, &sandbox) == nil {
		attrs.Sandbox = sandbox.Backend + "/" + sandbox.Enforcement
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serial++
	t.add(protocol.Span{
		ID: fmt.Sprintf("call_%d", t.serial), ParentID: t.parent, Name: protocol.Truncate(call.Name, maxSpanText),
		StartMs: start.UnixMilli(), EndMs: end.UnixMilli(), Attrs: attrs,
	})
}

// decisionOf says who let a call run: the answer somebody gave, "allowed" when
// no layer objected, "denied" when one did, and nothing for a call that never
// came before one.
func decisionOf(result *protocol.ToolResult, m markers) string {
	var approval struct {
		Kind string `json:"kind"`
	}
	if len(m.approval) > 0 && json.Unmarshal(m.approval, &approval) == nil && approval.Kind != "" {
		return approval.Kind
	}
	switch result.Error {
	case executors.ErrorInvalidArguments, executors.ErrorInvalidSchema, executors.ErrorCancelled, executors.ErrorAborted,
		executors.ErrorDuplicate, executors.ErrorNotExecuted:
		return ""
	}
	switch {
	case result.Refused:
		return "denied"
	case strings.HasPrefix(result.Error, executors.ErrorUnknownTool):
		return ""
	}
	return "allowed"
}

// event records a notice.
func (t *tracer) event(raw json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) < maxSpans && t.size+len(raw) <= maxEvents {
		t.events = append(t.events, raw)
		t.size += len(raw)
	}
}

func (t *tracer) add(span protocol.Span) {
	if len(t.spans) < maxSpans {
		t.spans = append(t.spans, span)
	}
}

// finish records how the turn ended.
func (t *tracer) finish(out loop.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.info.Status, t.info.Reason, t.info.EndMs = string(out.Status), out.Reason, t.now().UnixMilli()
}

func (t *tracer) report() protocol.Trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	return protocol.Trace{
		Trace: t.info,
		Spans: append([]protocol.Span{}, t.spans...), Events: append([]json.RawMessage{}, t.events...),
	}
}

func (s *Server) traceFetch(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.TraceFetchParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	tr := s.traces.get(p.TraceID)
	if tr == nil {
		return nil, protocol.NotFound("trace %q not found", p.TraceID)
	}
	return tr.report(), nil
}

// maxSpanText bounds a text in a span, in bytes, so that a whole trace fits into
// one frame.
const maxSpanText = 128
