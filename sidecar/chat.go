package sidecar

import (
	"bytes"
	"context"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/loop"
	"github.com/steerable-go/sidecar/protocol"
)

// chatStream starts a turn. The request is validated as a whole and the stream
// registered on the reader's goroutine, so that a cancel that follows at once
// finds it; the turn itself runs on a goroutine of its own.
func (s *Server) chatStream(ctx context.Context, req *protocol.Request) (any, error) {
	spec, err := s.parseTurn(bytes.Clone(req.Params))
	if err != nil {
		return nil, err
	}
	st := &stream{id: spec.id, peer: s.peer, out: s.out.NewStream(spec.id), registry: s.streams}
	st.trace = s.traces.start(s.opts.Now, spec.id, spec.chatID)
	st.steer.Interrupt = spec.interrupt
	if spec.plain && !spec.interrupt {
		st.steer.Close() // one reply, no boundary at which a message could be read
	}
	ctx, st.cancel = context.WithCancelCause(ctx)
	if err := s.streams.add(st); err != nil {
		st.cancel(nil)
		return nil, err
	}
	// Order is the contract here: the response in a write of its own, then an
	// empty chunk in its own, then whatever the provider sends. A host that
	// finds response and stream.done in one read, with no chunk between them,
	// never settles.
	req.Respond(protocol.ChatStreamResult{StreamID: spec.id})
	st.out.Alone(st.frame(protocol.NotifyChunk, protocol.ChatStreamResult{StreamID: spec.id}))
	return protocol.Deferred(func(context.Context) (any, error) {
		defer st.cancel(nil)
		st.end(s.runTurn(ctx, st, spec))
		return nil, nil
	}), nil
}

// toolSchemaNotice tells the host that calls of a tool will be refused.
type toolSchemaNotice struct {
	Kind    string `json:"kind"` // "tool_schema"
	Tool    string `json:"tool"`
	Message string `json:"message"`
}

// runTurn runs a turn to its end. A panic becomes its failure: a stream that
// was started must end.
func (s *Server) runTurn(ctx context.Context, st *stream, spec *turnSpec) (out loop.Outcome) {
	defer func() {
		if r := recover(); r != nil {
			s.opts.Log.Error().Str("streamId", st.id).Interface("panic", r).Msg("turn panicked")
			failure := &loop.Failure{Kind: "LoopError", Message: "internal error"}
			out = loop.Outcome{Status: loop.StatusFailed, Reason: failure.Message, Failure: failure}
		}
	}()
	opts := spec.options
	opts.Turn = spec.turn
	opts.Steer = &st.steer
	opts.Events = &emitter{stream: st, now: s.opts.Now, calls: map[string]time.Time{}}
	auth := s.authorization(&spec.layers)
	if auth.GuardsReplies() {
		opts.Events = &guardedReplies{Events: opts.Events, ctx: ctx, auth: auth}
	}
	opts.Executor = s.executor(ctx, spec, auth)
	opts.Retry = s.opts.Retry
	opts.Now, opts.Rand = s.opts.Now, s.opts.Rand
	opts.OnPanic = func(tool string, value any, stack []byte) {
		s.opts.Log.Error().Str("streamId", st.id).Str("tool", tool).Interface("panic", value).Bytes("stack", stack).Msg("tool call panicked")
	}
	for name, err := range spec.catalog.Unusable() {
		s.opts.Log.Warn().Str("tool", name).Err(err).Msg("schema cannot be used")
		opts.Events.Notice(toolSchemaNotice{"tool_schema", name, err.Error()})
	}
	opts.Spill = s.spill
	return loop.Run(ctx, opts)
}

// executor builds the chain of one turn.
func (s *Server) executor(ctx context.Context, spec *turnSpec, auth *executors.Authorization) executors.ToolExecutor {
	var inner executors.ToolExecutor = s.router
	if spec.viaHost {
		inner = executors.NewHostToolExecutor(s.peer)
	}
	return s.chain(ctx, inner, spec, auth)
}
