package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// DefaultTimeout is how long a step waits for its event.
const DefaultTimeout = 10 * time.Second

// Player plays transcripts against a command. Its methods may be used by
// several goroutines at once: every session has its own process.
type Player struct {
	// Command is the program and its arguments; the transcript's own arguments
	// follow.
	Command []string
	// Env is the command's whole environment. Empty means an empty one.
	Env []string
	// Timeout is how long a step waits for its event. 0 means DefaultTimeout.
	Timeout time.Duration
	// CleanExit demands exit code 0 also from transcripts that do not mention
	// the exit.
	CleanExit bool
	// Check is a further rule for every frame the command sends. Nil means
	// none. It may be called by several sessions at once.
	Check func(frame []byte) error
}

// Play plays one session. The mismatch is nil when everything was as expected.
// The error says why the session could not be played: the command does not
// start, the transcript is wrong in itself, or the context ended. The command
// does not outlive the call.
func (p *Player) Play(ctx context.Context, t *Transcript) (*Mismatch, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := p.open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	return split(s.run(ctx))
}

// open starts the model and the command.
func (p *Player) open(ctx context.Context, t *Transcript) (*session, error) {
	if len(p.Command) == 0 {
		return nil, errors.New("no command to play against")
	}
	timeout := p.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	s := &session{
		t:         t,
		timeout:   timeout,
		cleanExit: p.CleanExit,
		check:     p.Check,
		scope:     &scope{ids: map[string]string{}},
	}
	if err := s.start(ctx, p); err != nil {
		s.clean()
		return nil, err
	}
	return s, nil
}

// start makes what the command needs, then starts it.
func (s *session) start(ctx context.Context, p *Player) (err error) {
	t := s.t
	if t.usesDir {
		if s.scope.dir, err = makeDir(t.files); err != nil {
			return err
		}
	}
	if t.hasModel {
		replies := t.replies
		if t.usesDir {
			replies = nil
			if err := decodeStrict(s.inDir(t.model), &replies); err != nil {
				return fmt.Errorf("%s: model: %w", t.path, err)
			}
		}
		if s.model, err = startModel(ctx, replies); err != nil {
			return err
		}
	}
	command := append([]string(nil), p.Command...)
	for _, arg := range t.args {
		command = append(command, s.inDir(arg))
	}
	env := append([]string{}, p.Env...) // not nil: that would be our own environment
	for _, entry := range t.env {
		env = append(env, s.inDir(entry))
	}
	s.peer, err = startPeer(ctx, command, env)
	return err
}

// session is one transcript being played.
type session struct {
	t         *Transcript
	timeout   time.Duration // of one step
	cleanExit bool
	check     func(frame []byte) error

	peer  *peer
	model *model
	scope *scope
	trace []string

	nextOut int  // the next line of stdout to read
	nextErr int  // the next line of stderr to read
	ended   bool // an exit step has been met

	recorder *recorder // nil unless expectations are being rewritten
}

// close ends the command and what it needed.
func (s *session) close(ctx context.Context) {
	s.peer.stop(ctx)
	s.clean()
}

// clean ends the model and removes the session's files.
func (s *session) clean() {
	if s.model != nil {
		s.model.close()
	}
	if s.scope.dir != "" {
		_ = os.RemoveAll(s.scope.dir)
	}
}

// limit is the context of one step.
func (s *session) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}

// run plays the steps, then the end that every session has.
func (s *session) run(ctx context.Context) error {
	steps := s.t.steps
	for i := 0; i < len(steps); {
		run := expectations(steps[i:])
		if len(run) > 0 {
			if err := s.expect(ctx, run); err != nil {
				return err
			}
			i += len(run)
			continue
		}
		if err := s.play(ctx, steps[i]); err != nil {
			return err
		}
		i++
	}
	if err := s.finish(ctx); err != nil {
		return err
	}
	return s.checkRequests()
}

// expectations returns the run of frames that steps start with.
func expectations(steps []numbered) []*expectation {
	var run []*expectation
	for _, n := range steps {
		e, ok := n.step.(*expectation)
		if !ok {
			break
		}
		run = append(run, e)
	}
	return run
}

// play carries out one step that is not an expected frame.
func (s *session) play(ctx context.Context, n numbered) error {
	switch st := n.step.(type) {
	case sendStep:
		return s.send(n, st)
	case stderrStep:
		return s.expectStderr(ctx, n, st)
	case quietStep:
		return s.expectNothing(ctx, n, st)
	case stallStep:
		s.stall(ctx, st)
	case fileStep:
		return s.playFile(n, st)
	case signalStep:
		if err := s.peer.signal(st.name); err != nil {
			return s.mismatch(n, "", err.Error())
		}
	case eofStep:
		s.log("! eof")
		s.peer.closeStdin()
	case exitStep:
		return s.expectExit(ctx, n, st)
	default:
		panic(fmt.Sprintf("bug: step %T", st))
	}
	return nil
}

func (s *session) send(n numbered, st sendStep) error {
	data := st.raw
	if data == nil {
		url := ""
		if s.model != nil {
			url = s.model.url
		}
		text, err := expand(s.inDir(st.text), url, s.scope.ids)
		if err != nil {
			return s.t.at(n.line, err)
		}
		data = []byte(text)
	}
	s.log("> " + string(data))
	if st.newline {
		data = append(data, '\n')
	}
	if err := s.peer.write(data, time.Now().Add(s.timeout)); err != nil {
		return s.mismatch(n, "", err.Error())
	}
	return nil
}

// log remembers the exchange for a mismatch.
func (s *session) log(line string) { s.trace = append(s.trace, clip(line)) }

// mismatch tells the story of a failure at a step.
func (s *session) mismatch(n numbered, got string, problems ...string) error {
	stderr, _, _ := s.peer.stderr.snapshot()
	return &mismatchError{&Mismatch{
		Transcript: s.t.Name, Path: s.t.path, Line: n.line, Step: n.text, Got: got, Problems: problems,
		Trace: tail(s.trace, 8), Stderr: tail(stderr, 8),
	}}
}
