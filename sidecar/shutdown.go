package sidecar

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/loop"
	"github.com/steerable-go/sidecar/protocol"
)

// Time limits of ending. Together they stay under the two seconds after which
// desktop supervisors kill.
const (
	drainTurns = 1200 * time.Millisecond // for cancelled turns to let go
	drainOut   = 500 * time.Millisecond  // at least, for the last frames to reach the host
	endLimit   = 1800 * time.Millisecond // for all of it
)

// stopRequest is a host's wish to end.
type stopRequest struct{ now bool }

// ErrHostGone is returned by [Server.Run] when the host's pipe stayed full for
// the limit or failed in a way that is not its closing.
var ErrHostGone = errors.New("the host is gone")

// Run serves until the host closes either of its ends or asks for a shutdown, or
// ctx ends; these return nil. Ending has one order:
//
//  1. no new stream is accepted and every turn is cancelled;
//  2. calls that wait for the host fail, and turns get a moment to end with
//     their stream.done;
//  3. lifecycle.shutdown is sent, the last frame;
//  4. the writer is drained and stopped.
//
// Only the goroutine that reads the host's pipe may be left behind: a blocked
// read cannot be interrupted, and the process ends next.
func (s *Server) Run(ctx context.Context) error {
	turns, cancelTurns := context.WithCancelCause(ctx)
	defer cancelTurns(nil)
	if err := s.announce(ctx); err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() { read <- s.peer.Run(turns) }() // ends with the host's pipe or the process
	reason, patience, failure := "normal", drainTurns, error(nil)
	select {
	case err := <-read:
		reason = "eof"
		if err != nil {
			s.opts.Log.Warn().Err(err).Msg("reading from the host ended")
		}
	case req := <-s.stop:
		if req.now {
			patience = 0
		}
	case err := <-s.outFail:
		reason = "eof"
		if !errors.Is(err, syscall.EPIPE) {
			failure = fmt.Errorf("%w: %w", ErrHostGone, err)
		}
	case <-ctx.Done():
	}
	began := time.Now()
	s.streams.close()
	cancelTurns(executors.ErrTurnCancelled)
	_ = s.peer.Close() // fails what waits for the host; it has no error of its own
	s.awaitTurns(patience)
	s.out.Last(s.peer.Notification(protocol.NotifyShutdown, []byte(`{"reason":"`+reason+`"}`)))
	s.authorizer.close()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(drainOut, endLimit-time.Since(began)))
	defer cancel()
	if err := s.out.Close(drain); err != nil && failure == nil && !errors.Is(err, syscall.EPIPE) {
		failure = fmt.Errorf("%w: the last frames were not read: %w", ErrHostGone, err)
	}
	return failure
}

// awaitTurns waits for handlers, then ends the streams that are left.
func (s *Server) awaitTurns(patience time.Duration) {
	if patience > 0 {
		done := make(chan struct{})
		go func() { // ends with the handlers or the process
			s.peer.Wait()
			close(done)
		}()
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			s.opts.Log.Warn().Msg("turns did not end in time")
		}
	}
	for _, st := range s.streams.all() {
		st.end(loop.Outcome{Status: loop.StatusCancelled, Reason: loop.ReasonCancelled})
	}
}

func (s *Server) shutdown(_ context.Context, req *protocol.Request) (any, error) {
	return s.askToStop(req, stopRequest{})
}

func (s *Server) shutdownNow(_ context.Context, req *protocol.Request) (any, error) {
	return s.askToStop(req, stopRequest{now: true})
}

func (s *Server) askToStop(req *protocol.Request, stop stopRequest) (any, error) {
	req.Respond(protocol.Raw(`{"ok":true}`))
	select {
	case s.stop <- stop:
	default:
	}
	return nil, nil
}
