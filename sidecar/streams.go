package sidecar

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/loop"
	"github.com/steerable-go/sidecar/protocol"
)

// cancelWatchdog is how long a cancelled turn may take to let go before its
// stream is ended without it; the reference's.
const cancelWatchdog = 5 * time.Second

// maxStreams bounds the turns that run at once.
const maxStreams = 64

// streams is the registry of running chat streams.
type streams struct {
	mu     sync.Mutex // guards following
	active map[string]*stream
	closed bool
}

func newStreams() *streams { return &streams{active: map[string]*stream{}} }

// stream is one running chat stream. A stream that was started ends with
// exactly one stream.done, whoever gets to end it first.
type stream struct {
	id     string
	peer   *protocol.Peer
	out    *protocol.Stream
	cancel context.CancelCauseFunc
	steer  loop.Steer
	trace  *tracer
	once   sync.Once // guards the end

	registry *streams
}

// add registers a stream. An active one with the same id is an error.
func (s *streams) add(st *stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &protocol.Error{Code: protocol.CodeNotReady, Kind: protocol.KindTransportClosed, Message: "the sidecar is shutting down"}
	}
	if len(s.active) >= maxStreams {
		return protocol.Overloaded("too many chat streams at once, retry")
	}
	if s.active[st.id] != nil {
		return protocol.InvalidParams("a stream with streamId %q is active", st.id)
	}
	s.active[st.id] = st
	return nil
}

func (s *streams) get(id string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active[id]
}

// release queues a stream's last frames and frees its id in one step: nobody
// can take the id before they are queued, and a host that has seen stream.done
// may use it again.
func (s *streams) release(id string, last func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last()
	delete(s.active, id)
}

func (s *streams) all() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*stream, 0, len(s.active))
	for _, st := range s.active {
		out = append(out, st)
	}
	return out
}

// close refuses new streams.
func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// end sends the terminal frames, once.
func (st *stream) end(out loop.Outcome) {
	st.once.Do(func() {
		frames := st.endFrames(out)
		st.trace.finish(out)
		st.registry.release(st.id, func() { st.out.End(frames) })
	})
}

// endFrames builds stream.done, and stream.error before it if the turn failed.
func (st *stream) endFrames(out loop.Outcome) []byte {
	var frames []byte
	if out.Failure != nil {
		frames = append(frames, st.frame(protocol.NotifyError, protocol.StreamError{
			StreamID: st.id, Kind: out.Failure.Kind, Message: protocol.Truncate(out.Failure.Message, maxText), TraceID: st.trace.id,
		})...)
	}
	usage := out.Usage
	frames = append(frames, st.frame(protocol.NotifyDone, protocol.Done{
		StreamID: st.id, OK: out.Status == loop.StatusCompleted, Status: string(out.Status), Reason: protocol.Truncate(out.Reason, maxText),
		TraceID: st.trace.id, Cancelled: out.Status == loop.StatusCancelled, Aborted: out.Aborted, Usage: &usage,
	})...)
	return frames
}

func (s *Server) chatCancel(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.ChatCancelParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	st := s.streams.get(p.StreamID)
	if st == nil {
		return nil, nil
	}
	st.cancel(executors.ErrTurnCancelled)
	time.AfterFunc(cancelWatchdog, func() { // does nothing if the turn has ended by then
		st.end(loop.Outcome{Status: loop.StatusCancelled, Reason: loop.ReasonCancelled})
	})
	return nil, nil
}

func (s *Server) chatSteer(_ context.Context, req *protocol.Request) (any, error) {
	var p protocol.ChatSteerParams
	if err := decode(req.Params, &p); err != nil {
		return nil, err
	}
	if p.Content == "" {
		return nil, protocol.InvalidParams("content must not be empty")
	}
	if n := len([]rune(p.Content)); n > loop.MaxSteer {
		return nil, protocol.InvalidParams("content has %d characters, the limit is %d", n, loop.MaxSteer)
	}
	st := s.streams.get(p.StreamID)
	if st == nil || !st.steer.Add(p.Content) {
		return protocol.ChatSteerResult{Reason: "stream_not_active"}, nil
	}
	return protocol.ChatSteerResult{OK: true, Accepted: true}, nil
}

// frame builds a notification; params of our own structs always encode.
func (st *stream) frame(method string, params any) []byte {
	return st.peer.Notification(method, encode(params))
}

var _ fmt.Stringer = (*stream)(nil)

// String names the stream in logs.
func (st *stream) String() string { return "stream " + st.id }
