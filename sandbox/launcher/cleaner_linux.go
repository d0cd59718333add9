package launcher

import (
	"errors"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
)

// cleaner is a process that removes newcomers if the launcher is killed before
// it could: a host that loses its patience kills the launcher's whole process
// group, and a file that git obeys must not stay behind. So the cleaner has a
// session of its own. It holds nothing of the call but the paths.
type cleaner struct {
	pid     int
	socket  int            // its end of file is the launcher's death
	program *spawn.Program // what it carries out, in this process' memory
}

// Descriptors of the cleaner, which has no others.
const (
	cleanerSocket = 3
	cleanerChild  = 4 // of the launcher's child; see [pidfd_open](2)
)

// startCleaner starts the cleaner for paths; child is the process whose end is
// that of the command.
func startCleaner(paths []string, child int) (*cleaner, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, &wrapperError{what: "start the cleaner", err: err}
	}
	ours, errOurs := own(pair[0])
	theirs, errTheirs := own(pair[1])
	pidfd, errChild := unix.PidfdOpen(child, 0)
	if err := errors.Join(errOurs, errTheirs, errChild); err != nil {
		return nil, &wrapperError{what: "start the cleaner", err: err}
	}
	pidfd, err = own(pidfd)
	if err != nil {
		return nil, &wrapperError{what: "start the cleaner", err: err}
	}
	program := cleanerProgram(paths, theirs, pidfd)
	pid, err := spawn.Start(program, 0, -1)
	_ = unix.Close(theirs)
	_ = unix.Close(pidfd)
	if err != nil {
		return nil, &wrapperError{what: "start the cleaner", err: err}
	}
	return &cleaner{pid: pid, socket: ours, program: program}, nil
}

// cleanerProgram waits for a byte, which dismisses it, or for the end of file.
// Then the command is being killed; when the launcher's child has ended, the
// kernel needs a moment for the rest.
func cleanerProgram(paths []string, socket, child int) *spawn.Program {
	p := &spawn.Program{}
	p.Call("start a session", syscall.SYS_SETSID, nil)
	p.Call("place descriptors", unix.SYS_DUP3, []spawn.Arg{spawn.Val(socket), spawn.Val(cleanerSocket), spawn.Val(0)})
	p.Call("place descriptors", unix.SYS_DUP3, []spawn.Arg{spawn.Val(child), spawn.Val(cleanerChild), spawn.Val(0)})
	p.Call("close descriptors", unix.SYS_CLOSE_RANGE, []spawn.Arg{spawn.Val(0), spawn.Val(cleanerSocket - 1), spawn.Val(0)})
	p.Call("close descriptors", unix.SYS_CLOSE_RANGE, []spawn.Arg{spawn.Val(cleanerChild + 1), spawn.Val(uint32(1<<32 - 1)), spawn.Val(0)})
	capabilities(p)
	exit := func() { p.Call("exit", syscall.SYS_EXIT_GROUP, []spawn.Arg{spawn.Val(0)}) }
	p.Call("report ready", syscall.SYS_WRITE, []spawn.Arg{
		spawn.Val(cleanerSocket), spawn.Pointer(p, &[1]byte{tagReady}), spawn.Val(1),
	})
	p.Proceed("wait for the launcher", spawn.Val(cleanerSocket), spawn.SkipOnError(1))
	exit()
	// Whoever stopped the group would keep the guardian from its work.
	p.Call("wake the launcher's child", unix.SYS_PIDFD_SEND_SIGNAL, []spawn.Arg{
		spawn.Val(cleanerChild), spawn.Val(int(unix.SIGCONT)), spawn.Val(0), spawn.Val(0),
	}, spawn.SkipOnError(0))
	p.Call("wait for the command", unix.SYS_PPOLL, []spawn.Arg{
		spawn.Pointer(p, &unix.PollFd{Fd: cleanerChild, Events: unix.POLLIN}), spawn.Val(1), spawn.Val(0), spawn.Val(0),
	}, spawn.SkipOnError(0))
	const moment = 50_000_000 // ns
	p.Call("wait a moment", syscall.SYS_NANOSLEEP, []spawn.Arg{
		spawn.Pointer(p, &unix.Timespec{Nsec: moment}), spawn.Val(0),
	}, spawn.SkipOnError(0))
	how := spawn.Place(p, ruleset.RealPath())
	for _, path := range paths {
		removal(p, path, how)
	}
	exit()
	return p
}

// removal adds the steps that remove one newcomer, a file or an empty directory.
func removal(p *spawn.Program, path string, how *unix.OpenHow) {
	const rest = 3 // the steps that follow the first
	dir, name := p.Slot(0), p.String(filepath.Base(path))
	at := unix.AT_FDCWD
	p.Call("open a directory", unix.SYS_OPENAT2, []spawn.Arg{
		spawn.Val(at), p.String(filepath.Dir(path)), spawn.Pointer(p, how), spawn.Val(unix.SizeofOpenHow),
	}, spawn.Into(dir), spawn.SkipOnError(rest))
	p.Call("remove a newcomer", syscall.SYS_UNLINKAT, []spawn.Arg{spawn.Result(dir), name, spawn.Val(0)}, spawn.SkipOnError(0))
	p.Call("remove a newcomer", syscall.SYS_UNLINKAT, []spawn.Arg{spawn.Result(dir), name, spawn.Val(unix.AT_REMOVEDIR)}, spawn.SkipOnError(0))
	p.Call("close a directory", syscall.SYS_CLOSE, []spawn.Arg{spawn.Result(dir)})
}

// ready waits until the cleaner is out of reach of what kills the launcher.
func (c *cleaner) ready() error {
	if c == nil {
		return nil
	}
	var b [1]byte
	for {
		n, err := unix.Read(c.socket, b[:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n != 1 || b[0] != tagReady:
			return &wrapperError{what: "the cleaner did not start", err: err}
		default:
			return nil
		}
	}
}

// dismiss ends the cleaner: the launcher has done its work.
func (c *cleaner) dismiss() {
	if c == nil {
		return
	}
	_, _ = unix.SendmsgN(c.socket, []byte{0}, nil, nil, unix.MSG_NOSIGNAL)
	_, _ = waitFor(c.pid)
	runtime.KeepAlive(c.program)
}
