//go:build unix

package protocol

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Claim takes the process's standard input and output for the protocol. fd 1
// becomes private to the returned writer and afterwards leads to standard
// error, so that a stray print anywhere can never damage a frame. Pipes and
// sockets are never written to in a way that blocks the caller; any other kind of file is used as it is.
func Claim(stdin, stdout, stderr *os.File) (io.Reader, io.Writer, error) {
	fd, err := unix.FcntlInt(stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, fmt.Errorf("duplicate standard output: %w", err)
	}
	if err := unix.Dup2(int(stderr.Fd()), int(stdout.Fd())); err != nil {
		return nil, nil, fmt.Errorf("point fd 1 at standard error: %w", err)
	}
	switch fileKind(fd) {
	case unix.S_IFREG:
		return stdin, directFile{os.NewFile(uintptr(fd), "protocol")}, nil
	case unix.S_IFIFO:
		out, err := newPipe(fd)
		return stdin, out, err
	case unix.S_IFSOCK:
		return stdin, &socket{fd: fd}, nil
	}
	return stdin, os.NewFile(uintptr(fd), "protocol"), nil // a terminal: writes may block
}

// newPipe makes fd non-blocking and hands it to Go's poller.
func newPipe(fd int) (*pipe, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("make standard output non-blocking: %w", err)
	}
	f := os.NewFile(uintptr(fd), "protocol")
	rc, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("reach standard output: %w", err)
	}
	return &pipe{File: f, rc: rc, fd: fd}, nil
}

// fileKind returns the type bits of a descriptor's mode, 0 if unknown.
func fileKind(fd int) uint32 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return uint32(st.Mode) & unix.S_IFMT
}

// directFile is a regular file.
type directFile struct{ *os.File }

func (directFile) direct() {}

// pipe is a non-blocking pipe or socket known to Go's poller.
type pipe struct {
	*os.File
	rc syscall.RawConn
	fd int
}

func (p *pipe) try(b []byte) (n int, again bool, err error) {
	for n < len(b) {
		m, err := unix.Write(p.fd, b[n:])
		n += max(m, 0)
		switch {
		case err == nil:
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return n, true, nil
		default:
			return n, false, fmt.Errorf("write to the host: %w", err)
		}
	}
	return n, false, nil
}

func (p *pipe) wait(deadline time.Time, step func() bool) error {
	if err := p.SetWriteDeadline(deadline); err != nil {
		return fmt.Errorf("set write deadline: %w", err)
	}
	err := p.rc.Write(func(uintptr) bool { return step() })
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrBlocked
	}
	return err
}

// socket is a socket whose open file description may be shared with standard
// input (socketpair, inetd), so that it must not be made non-blocking: each
// write asks for that by a flag instead.
type socket struct{ fd int }

// Write implements [io.Writer]; [Out] uses try.
func (s *socket) Write(b []byte) (int, error) { return unix.Write(s.fd, b) }

func (s *socket) try(b []byte) (n int, again bool, err error) {
	for n < len(b) {
		m, err := unix.SendmsgN(s.fd, b[n:], nil, nil, unix.MSG_DONTWAIT)
		n += max(m, 0)
		switch {
		case err == nil, errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
			return n, true, nil
		default:
			return n, false, fmt.Errorf("write to the host: %w", err)
		}
	}
	return n, false, nil
}

func (s *socket) wait(deadline time.Time, step func() bool) error {
	for !step() {
		left := time.Until(deadline)
		if left <= 0 {
			return ErrBlocked
		}
		ready := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}} //nolint:gosec // a descriptor is a small number
		if _, err := unix.Poll(ready, int(left.Milliseconds())+1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for the host: %w", err)
		}
	}
	return nil
}
