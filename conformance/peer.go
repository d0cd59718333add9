package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// peer is the command under test.
type peer struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *lines
	stderr *lines

	readers sync.WaitGroup
	pipes   []*os.File    // our ends of stdout and stderr
	exited  chan struct{} // closed when the process has ended
	code    int           // valid once exited is closed
}

// startPeer starts a command in a process group of its own, with plain pipes
// as a desktop host would give it. The caller ends it with stop.
func startPeer(ctx context.Context, command, env []string) (*peer, error) {
	p := &peer{stdout: newLines(), stderr: newLines(), exited: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	p.cmd.Env = env
	p.cmd.Cancel = func() error { return killGroup(p.cmd.Process) }
	ownGroup(p.cmd)
	in, err := p.connect()
	if err != nil {
		return nil, err
	}
	err = p.cmd.Start()
	for _, f := range in {
		_ = f.Close() // the child has its own copies
	}
	if err != nil {
		for _, f := range append(p.pipes, p.stdin) {
			_ = f.Close()
		}
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	for i, l := range []*lines{p.stdout, p.stderr} {
		p.readers.Go(func() { l.collect(p.pipes[i]) }) // ends with the stream, or when finish closes the pipe
	}
	go func() { // ends with the process
		defer close(p.exited)
		p.code = exitCode(p.cmd.Wait())
	}()
	return p, nil
}

// connect makes the three pipes and returns the child's ends of them.
func (p *peer) connect() (childEnds []*os.File, err error) {
	inRead, inWrite, err1 := os.Pipe()
	outRead, outWrite, err2 := os.Pipe()
	errRead, errWrite, err3 := os.Pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		for _, f := range []*os.File{inRead, inWrite, outRead, outWrite, errRead, errWrite} {
			_ = f.Close() // closing a nil file does nothing
		}
		return nil, fmt.Errorf("make pipes: %w", err)
	}
	p.stdin, p.pipes = inWrite, []*os.File{outRead, errRead}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inRead, outWrite, errWrite
	return []*os.File{inRead, outWrite, errWrite}, nil
}

// exitCode maps the result of Wait to what a shell would say; -1 stands for
// death by signal.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// write sends bytes, and gives up at the deadline when the peer does not read.
func (p *peer) write(data []byte, deadline time.Time) error {
	if err := p.stdin.SetWriteDeadline(deadline); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return fmt.Errorf("write to the peer's stdin: %w", err)
	}
	if _, err := p.stdin.Write(data); err != nil {
		return fmt.Errorf("write to the peer's stdin: %w", err)
	}
	return nil
}

// signal sends TERM or INT. Windows has neither.
func (p *peer) signal(name string) error {
	sig := syscall.SIGTERM
	if name == "INT" {
		sig = syscall.SIGINT
	}
	return p.cmd.Process.Signal(sig)
}

// closeStdin tells the peer that the host is gone. It may be called again.
func (p *peer) closeStdin() { _ = p.stdin.Close() }

// wait waits for the process to end, at most for d.
func (p *peer) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// drain waits until both output streams have ended, and reports false when
// something that outlives the peer still holds them open.
func (p *peer) drain(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	done := make(chan struct{})
	go func() { // ends with the readers, which stop waits for
		p.readers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop ends whatever still runs: first politely, then for good. Nothing of the
// peer is left afterwards.
func (p *peer) stop(ctx context.Context) {
	p.closeStdin()
	if !p.wait(ctx, 0) {
		_ = p.signal("TERM")
		if !p.wait(ctx, time.Second) {
			_ = killGroup(p.cmd.Process)
		}
	}
	<-p.exited
	_ = killGroup(p.cmd.Process) // descendants in the group, if there are any
	for _, f := range p.pipes {
		_ = f.Close()
	}
	p.readers.Wait()
}
