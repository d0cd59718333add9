package loop

import (
	"context"
	"errors"
	"sync"
)

// MaxSteer is the longest steering message, in characters; the reference's.
const MaxSteer = 32000

// ErrInterrupted is the cause of a model request that a steering message ended.
var ErrInterrupted = errors.New("interrupted by a steering message")

// Steer holds messages that a person sends into a running turn. The zero value
// is ready; it is safe for concurrent use.
type Steer struct {
	// Interrupt asks that a message ends the model request that is running,
	// instead of waiting for the end of the round.
	Interrupt bool

	mu      sync.Mutex // guards following
	waiting []string
	closed  bool
	cancel  context.CancelCauseFunc // of the running request; nil outside one
}

// Add queues a message and reports whether the turn will still read it.
func (s *Steer) Add(content string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.waiting = append(s.waiting, content)
	if s.Interrupt && s.cancel != nil {
		s.cancel(ErrInterrupted)
	}
	return true
}

// take returns the queued messages.
func (s *Steer) take() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.waiting
	s.waiting = nil
	return out
}

// finish closes the queue unless messages wait, which it reports: a message
// that was accepted is never lost.
func (s *Steer) finish() (more bool) {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		return true
	}
	s.closed = true
	return false
}

// Close refuses further messages.
func (s *Steer) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// request derives the context of one model request, which a message may end in
// interrupt mode.
func (s *Steer) request(ctx context.Context) (context.Context, context.CancelFunc) {
	if s == nil || !s.Interrupt {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.cancel = cancel
	if len(s.waiting) > 0 {
		cancel(ErrInterrupted)
	}
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		s.cancel = nil
		s.mu.Unlock()
		cancel(nil)
	}
}
