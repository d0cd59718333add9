package loop

import (
	"context"
	"errors"
	"time"

	"github.com/steerable-go/sidecar/llm"
)

// maxRetryWait bounds what one turn waits between attempts, in all, so that a
// server that keeps asking for patience cannot hold a turn for ever.
const maxRetryWait = 10 * time.Minute

// sink passes deltas on and remembers whether the host has seen any.
type sink struct {
	ctx     context.Context // the sink lives for one request, whose context it is
	events  Events
	mute    bool // text is held back until it is known to be final
	visible bool
}

// Delta implements [llm.Sink].
func (s *sink) Delta(kind llm.DeltaKind, quoted []byte, more bool) error {
	if s.mute && kind == llm.DeltaText {
		return nil
	}
	s.visible = s.visible || len(quoted) > 2
	return s.events.Delta(s.ctx, kind, quoted, more)
}

// ask sends the transcript to the model, again where that makes sense. After a
// failed attempt that the host has seen part of, it says that the text is void
// before it streams again. The reply is never nil.
func (r *run) ask(ctx context.Context, round int) (*llm.Reply, error) {
	req := r.Request
	req.Messages = r.script.messages
	if r.Plain {
		req.Tools = nil
	}
	var waited time.Duration
	seen := false
	reqCtx, release := r.Steer.request(ctx)
	defer release()
	for attempt := 1; ; attempt++ {
		reply, visible, err := r.attempt(ctx, reqCtx, &req)
		seen = seen || visible
		failure, ok := errors.AsType[*llm.Error](err)
		if err == nil || !ok || ctx.Err() != nil || errors.Is(err, ErrInterrupted) {
			return reply, err
		}
		delay, again := r.Retry.Next(attempt, failure, r.Rand)
		if !again || waited+delay > maxRetryWait {
			return reply, err
		}
		waited += delay
		r.Events.Notice(hookAction{"hook_action", "retry", "retry", failure.Error(), round, delay.Milliseconds()})
		if err := pause(reqCtx, delay); err != nil {
			return reply, interruption(ctx, reqCtx, err)
		}
		if seen {
			r.Events.Reset(attempt + 1)
			seen = false
		}
	}
}

// attempt sends one request; reqCtx is ctx, or what a steering message may end
// of it.
func (r *run) attempt(ctx, reqCtx context.Context, req *llm.Request) (reply *llm.Reply, visible bool, err error) {
	s := &sink{ctx: reqCtx, events: r.Events, mute: r.FinalOnly}
	reply, err = r.Provider.Stream(reqCtx, req, s)
	return reply, s.visible, interruption(ctx, reqCtx, err)
}

// interruption is err, or ErrInterrupted where that is behind it.
func interruption(ctx, reqCtx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(reqCtx), ErrInterrupted) {
		return ErrInterrupted
	}
	return err
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
