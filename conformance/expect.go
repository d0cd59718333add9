package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// expect waits for all frames of a run.
func (s *session) expect(ctx context.Context, run []*expectation) error {
	if s.recorder != nil && oneLane(run) {
		return s.record(ctx, run)
	}
	b := newBlock(run)
	for !b.done() {
		f, err := s.nextFrame(ctx)
		if err != nil {
			return s.missing(ctx, b.next(), err)
		}
		if r := b.offer(s.scope, f); r != nil {
			return s.unexpected(r, b.next(), f)
		}
	}
	return nil
}

// nextFrame waits for the next frame that the transcript does not ignore.
func (s *session) nextFrame(ctx context.Context) (*frame, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	for {
		f, err := s.readFrame(ctx)
		if err != nil || !s.ignored(f) {
			return f, err
		}
	}
}

// badFrameError is a line of stdout that is no valid frame.
type badFrameError struct {
	line   string
	reason error
}

func (e *badFrameError) Error() string { return "stdout has an invalid frame: " + e.reason.Error() }

// badFrame is the mismatch for an invalid line of stdout, or nil when err is
// something else.
func (s *session) badFrame(n numbered, err error) error {
	if bad, ok := errors.AsType[*badFrameError](err); ok {
		return s.mismatch(n, bad.line, bad.Error())
	}
	return nil
}

// readFrame waits for the next frame of any kind.
func (s *session) readFrame(ctx context.Context) (*frame, error) {
	line, err := s.peer.stdout.at(ctx, s.nextOut)
	if err != nil {
		return nil, err
	}
	s.nextOut++
	s.log("< " + line)
	f, err := parseFrame(line)
	if err == nil && s.check != nil {
		err = s.check([]byte(line))
	}
	if err != nil {
		return nil, &badFrameError{line, err}
	}
	return f, nil
}

func (s *session) ignored(f *frame) bool {
	for _, e := range s.t.ignore {
		if len(s.scope.clone().matchFrame(e, f)) == 0 {
			return true
		}
	}
	return false
}

// missing is the failure when a frame does not come.
func (s *session) missing(ctx context.Context, e *expectation, err error) error {
	n := numbered{line: e.line, text: e.prefix + " " + e.text}
	if bad := s.badFrame(n, err); bad != nil {
		return bad
	}
	switch {
	case errors.Is(err, io.EOF):
		return s.mismatch(n, "", "stdout ended before this frame"+s.exitNote(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		return s.mismatch(n, "", fmt.Sprintf("no frame within %v", s.timeout))
	}
	return err
}

// exitNote says how the peer ended, if it did.
func (s *session) exitNote(ctx context.Context) string {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	if !s.peer.wait(ctx, time.Second) {
		return ""
	}
	return fmt.Sprintf(" (exit code %d)", s.peer.code)
}

// unexpected is the failure when a frame is not the one that was expected.
func (s *session) unexpected(r *refusal, next *expectation, f *frame) error {
	e := r.step
	if e == nil {
		e = next
	}
	n := numbered{line: e.line, text: e.prefix + " " + e.text}
	problems := make([]string, 0, len(r.problems))
	for _, p := range r.problems {
		problems = append(problems, p.String())
	}
	s.trace = s.trace[:len(s.trace)-1] // the frame is shown as the one that came
	return s.mismatch(n, f.line, problems...)
}

func (s *session) expectStderr(ctx context.Context, n numbered, st stderrStep) error {
	if st.absent {
		all, _, _ := s.peer.stderr.snapshot()
		for _, line := range all {
			if st.pattern.MatchString(line) {
				return s.mismatch(n, "", "stderr has: "+clip(line))
			}
		}
		return nil
	}
	ctx, cancel := s.limit(ctx)
	defer cancel()
	for {
		line, err := s.peer.stderr.at(ctx, s.nextErr)
		if err != nil {
			return s.mismatch(n, "", "no such line on stderr: "+err.Error())
		}
		s.nextErr++
		if st.pattern.MatchString(line) {
			return nil
		}
	}
}

func (s *session) expectNothing(ctx context.Context, n numbered, st quietStep) error {
	short, cancel := context.WithTimeout(ctx, st.wait)
	defer cancel()
	for {
		f, err := s.readFrame(short)
		if bad := s.badFrame(n, err); bad != nil {
			return bad
		}
		switch {
		case err != nil:
			return ctx.Err()
		case !s.ignored(f):
			return s.mismatch(n, f.line, "nothing was expected")
		}
	}
}

// stall is a host that is too busy to read.
func (s *session) stall(ctx context.Context, st stallStep) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	s.peer.stdout.gate.Lock()
	defer s.peer.stdout.gate.Unlock()
	pause(ctx, st.wait)
}

// expectExit waits for the end of the process. Everything it has printed must
// have been expected.
func (s *session) expectExit(ctx context.Context, n numbered, st exitStep) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	if !s.peer.wait(ctx, st.within) {
		return s.mismatch(n, "", fmt.Sprintf("still running after %v", st.within))
	}
	if !s.peer.drain(ctx, drainTime) {
		return s.mismatch(n, "", "a process that outlived the peer holds its output open")
	}
	if err := s.expectEnd(ctx, n); err != nil {
		return err
	}
	if s.peer.code != st.code {
		return s.mismatch(n, "", fmt.Sprintf("exit code %d, want %d", s.peer.code, st.code))
	}
	s.ended = true
	return nil
}

// drainTime is how long after the peer's end its output may stay open.
const drainTime = 2 * time.Second

// expectEnd wants stdout to have ended after a whole line with nothing left.
func (s *session) expectEnd(ctx context.Context, n numbered) error {
	f, err := s.nextFrame(ctx)
	if bad := s.badFrame(n, err); bad != nil {
		return bad
	}
	switch {
	case err == nil && s.recorder != nil:
		s.recorder.surplus(f)
		return s.expectEnd(ctx, n)
	case err == nil:
		return s.mismatch(n, f.line, "one frame more than was expected")
	case !errors.Is(err, io.EOF):
		return err
	}
	_, torn, err := s.peer.stdout.snapshot()
	if err != nil {
		return s.mismatch(n, "", "stdout: "+err.Error())
	}
	if torn {
		return s.mismatch(n, "", "stdout ended within a line")
	}
	return nil
}

// finish ends a session whose script does not do it: the host goes away, the
// peer says at most good-bye and exits.
func (s *session) finish(ctx context.Context) error {
	if s.ended {
		return nil
	}
	n := numbered{line: 0, text: "the end of the session"}
	s.peer.closeStdin()
	s.log("! eof")
	ctx, cancel := s.limit(ctx)
	defer cancel()
	if !s.peer.wait(ctx, s.timeout) {
		return s.mismatch(n, "", fmt.Sprintf("still running %v after its stdin was closed", s.timeout))
	}
	if !s.peer.drain(ctx, drainTime) {
		return s.mismatch(n, "", "a process that outlived the peer holds its output open")
	}
	if err := s.expectGoodbye(ctx, n); err != nil {
		return err
	}
	if s.cleanExit && s.peer.code != 0 {
		return s.mismatch(n, "", fmt.Sprintf("exit code %d after its stdin was closed", s.peer.code))
	}
	return nil
}

// expectGoodbye allows lifecycle.shutdown as the only frame that is left.
func (s *session) expectGoodbye(ctx context.Context, n numbered) error {
	for {
		f, err := s.nextFrame(ctx)
		if err != nil {
			if bad := s.badFrame(n, err); bad != nil {
				return bad
			}
			return s.expectEnd(ctx, n)
		}
		switch method, _ := f.value.get("method"); {
		case method == "lifecycle.shutdown":
			return s.expectEnd(ctx, n)
		case s.recorder == nil:
			return s.mismatch(n, f.line, "one frame more than was expected")
		}
		s.recorder.surplus(f)
	}
}
