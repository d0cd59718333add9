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
// sockets are made non-blocking; any other kind of file is used as it is.
func Claim(stdin, stdout, stderr *os.File) (io.Reader, io.Writer, error) {
	fd, err := unix.FcntlInt(stdout.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, fmt.Errorf("duplicate standard output: %w", err)
	}
	if err := unix.Dup2(int(stderr.Fd()), int(stdout.Fd())); err != nil {
		return nil, nil, fmt.Errorf("point fd 1 at standard error: %w", err)
	}
	if !streaming(fd) {
		return stdin, directFile{os.NewFile(uintptr(fd), "protocol")}, nil
	}
	out, err := newPipe(fd)
	return stdin, out, err
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

// streaming reports whether fd is a pipe or a socket.
func streaming(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}

// directFile is a regular file or a terminal.
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
