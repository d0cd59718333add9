package spawn

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// failure is the message a child sends when a step fails. It lives in memory
// prepared before the fork.
type failure [FailureSize + 7]byte

// sigset is the kernel's signal set: 64 signals on every architecture we
// build for.
type sigset uint64

const (
	allSignals  sigset = ^sigset(0)
	sigsetBytes        = 8
)

// exitWrapper is the exit status of a child that could not do its job. The
// launcher reads the message and never the number.
const exitWrapper = 125

// Start forks a child that runs p and returns its pid. flags are added to
// clone's; report is a socket on which a failing child sends its message.
//
// The calling goroutine must be locked to its thread, and the thread must
// outlive the child's setup: the parent-death signal follows the thread
// (golang/go#27505).
func Start(p *Program, flags uintptr, report int) (pid int, err error) {
	msg := new(failure)
	defer runtime.KeepAlive(p)
	defer runtime.KeepAlive(msg)
	child, errno := fork(p, flags, msg, report)
	if errno != 0 {
		return 0, &StepError{Step: "clone", Errno: errno}
	}
	return int(child), nil
}

// fork is the moment of the fork itself. Signals stay blocked in the child:
// a handler of the Go runtime must never run there.
//
//go:norace
//go:noinline
func fork(p *Program, flags uintptr, msg *failure, report int) (uintptr, syscall.Errno) {
	block, old := allSignals, sigset(0)
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(&block)), uintptr(unsafe.Pointer(&old)), sigsetBytes, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		child(p.steps, msg, report)
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(&old)), 0, sigsetBytes, 0, 0)
	return pid, errno
}

// child runs steps and, in a process forked by one of them, the steps of that
// process instead. It never returns. The second child's steps are numbered
// after those of the program that forks it, as in [Program.names].
//
//go:norace
//go:nosplit
func child(steps []step, msg *failure, report int) {
	base := 0
	for {
		at, errno := walk(steps)
		if errno == errInChild {
			base, steps = base+len(steps), steps[at].child.steps
			continue
		}
		tell(msg, report, base+at, errno)
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, exitWrapper, 0, 0)
	}
}

// tell sends the failure message. A report below zero means nobody listens.
//
//go:norace
//go:nosplit
func tell(msg *failure, report, at int, errno syscall.Errno) {
	if report < 0 {
		return
	}
	msg[0] = FailureTag
	for i := range 4 {
		msg[1+i] = byte(at >> (8 * i))
		msg[5+i] = byte(uint32(errno) >> (8 * i))
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(report), uintptr(unsafe.Pointer(msg)), FailureSize)
}

// errInChild is what the fork step returns in the new process, outside the range
// of real errors.
const errInChild syscall.Errno = 0xffff

// walk runs steps until one fails and returns its index and error, or the
// number of steps and no error.
//
//go:norace
//go:nosplit
func walk(steps []step) (int, syscall.Errno) {
	for i := 0; i < len(steps); i++ {
		s := &steps[i]
		r, errno := perform(s)
		switch {
		case errno == 0 || errno == s.accept:
			if s.out != nil {
				*s.out = Slot(r)
			}
		case s.skip > 0:
			i += s.skip - 1
		default:
			return i, errno
		}
	}
	return len(steps), 0
}

// perform runs one step.
//
//go:norace
//go:nosplit
func perform(s *step) (uintptr, syscall.Errno) {
	switch s.kind {
	case kindStore:
		*s.store = int32(arg(&s.args[0]))
		return 0, 0
	case kindEqual:
		r, _, errno := syscall.RawSyscall(s.nr, 0, 0, 0)
		if errno == 0 && r != arg(&s.args[0]) {
			errno = syscall.ESRCH
		}
		return r, errno
	case kindFork:
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid == 0 {
			errno = errInChild
		}
		return pid, errno
	case kindGuard:
		guard(arg(&s.args[0]), arg(&s.args[1]), arg(&s.args[2]) != 0)
		return 0, 0
	case kindProceed:
		return proceed(s)
	case kindEach:
		for i := uintptr(0); i <= arg(&s.args[1]); i++ {
			_, _, _ = syscall.RawSyscall6(s.nr, arg(&s.args[0]), i, 0, 0, 0, 0)
		}
		return 0, 0
	case kindCall:
	}
	r, _, errno := syscall.RawSyscall6(s.nr, arg(&s.args[0]), arg(&s.args[1]), arg(&s.args[2]),
		arg(&s.args[3]), arg(&s.args[4]), arg(&s.args[5]))
	return r, errno
}

//go:norace
//go:nosplit
func arg(a *Arg) uintptr {
	if a.slot != nil {
		return uintptr(*a.slot)
	}
	return a.value
}

// proceed reads one byte, through interruptions.
//
//go:norace
//go:nosplit
func proceed(s *step) (uintptr, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall(s.nr, arg(&s.args[0]), arg(&s.args[1]), arg(&s.args[2]))
		switch {
		case errno == syscall.EINTR:
		case errno == 0 && n == 0:
			return 0, syscall.EPIPE
		default:
			return n, errno
		}
	}
}

// guard is the rest of a guardian's life; see [Program.Guard]. Every signal
// is blocked and taken from the queue, so group-wide signals meant for the
// command pass it by and SIGCHLD wakes it.
//
//go:norace
//go:nosplit
func guard(pid, parent uintptr, contained bool) {
	status, code := uint32(0), uintptr(exitWrapper)
	set := allSignals
	for done := false; !done; {
		for {
			got, _, errno := syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0),
				uintptr(unsafe.Pointer(&status)), syscall.WNOHANG, 0, 0, 0)
			if errno != 0 || got == 0 {
				break
			}
			if got == pid {
				done, code = true, exitCode(status)
			}
		}
		if done {
			break
		}
		if ppid, _, _ := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0); ppid != parent {
			break
		}
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0, 0, sigsetBytes, 0, 0)
	}
	if contained {
		killRest(&status)
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, code, 0, 0)
}

// killRest kills every process the kernel lets this one signal and reaps
// until none is left. Processes that are being forked meanwhile see the
// signal pending and do not complete the fork; the loop covers the rest.
//
//go:norace
//go:nosplit
func killRest(status *uint32) {
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_KILL, ^uintptr(0), uintptr(syscall.SIGKILL), 0)
		_, _, errno := syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(status)), 0, 0, 0, 0)
		if errno != 0 && errno != syscall.EINTR {
			return // ECHILD: nobody is left
		}
	}
}

// exitCode turns a wait status into a shell's exit status.
//
//go:norace
//go:nosplit
func exitCode(status uint32) uintptr {
	if sig := status & 0x7f; sig != 0 {
		return uintptr(128 + sig)
	}
	return uintptr(status >> 8 & 0xff)
}
