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

// stackSize is the stack of a child. Its deepest chain of calls is checked by
// the linker to stay below a kilobyte.
const stackSize = 16 << 10

// stackRoom leaves what the child's first call puts above its frame.
const stackRoom = stackSize - 64

// childArgs is what a child starts from. It is reached through its program
// only, which whoever started it keeps.
type childArgs struct {
	entry  uintptr // code of childMain, first for the assembly to find
	steps  []step
	msg    failure
	report int
	base   int     // number of the first step in failure messages
	stack  uintptr // top of the child's stack
	clone  cloneArgs
}

// cloneArgs is the kernel's struct clone_args in its first version.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID uint64
	exitSignal                        uint64
	stack, stackSize, tls             uint64
}

// newChild prepares a child that runs p.
func newChild(p *Program, report, base int) (*childArgs, error) {
	stack, err := unix.Mmap(-1, 0, stackSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_STACK)
	if err != nil {
		return nil, err
	}
	top := uintptr(unsafe.Pointer(&stack[0])) + stackRoom
	main := childMain
	// A function value points to its code. The assembly calls through it: to
	// the linker, which adds up stacks, a direct call would be a recursion.
	entry := **(**uintptr)(unsafe.Pointer(&main))
	c := &childArgs{entry: entry, steps: p.steps, report: report, base: base, stack: top}
	p.keep = append(p.keep, c)
	base += len(p.steps)
	for i := range p.steps {
		if s := &p.steps[i]; s.child != nil {
			if s.fork, err = newChild(s.child, report, base); err != nil {
				return nil, err
			}
			base += len(s.child.names())
		}
	}
	return c, nil
}

// Start makes a child that runs p and returns its pid. flags are added to
// clone's; report is a socket on which a failing child sends its message. The
// caller keeps p as long as the child may run.
//
// The calling goroutine must be locked to its thread, and the thread must
// outlive the child's setup: the parent-death signal follows the thread
// (golang/go#27505).
func Start(p *Program, flags uintptr, report int) (pid int, err error) {
	c, err := newChild(p, report, 0)
	if err != nil {
		return 0, err
	}
	c.clone = cloneArgs{
		flags: uint64(flags) | syscall.CLONE_VM | unix.CLONE_CLEAR_SIGHAND, exitSignal: uint64(syscall.SIGCHLD),
		stack: uint64(c.stack) - stackRoom, stackSize: stackRoom,
	}
	child := start(c, flags)
	runtime.KeepAlive(p)
	if child < 0 {
		return 0, &StepError{Step: "clone", Errno: syscall.Errno(-child)}
	}
	return int(child), nil
}

// start is the moment of the clone. Signals stay blocked in the child: a
// handler of the Go runtime must never run there.
//
//go:norace
//go:noinline
func start(c *childArgs, flags uintptr) int64 {
	block, old := allSignals, sigset(0)
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(&block)), uintptr(unsafe.Pointer(&old)), sigsetBytes, 0, 0)
	if errno != 0 {
		return -int64(errno)
	}
	pid := cloneOnStack(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&c.clone)), unsafe.Sizeof(c.clone), c)
	if pid < 0 { // before Linux 5.5, or not allowed; with fewer flags the child does the rest
		pid = cloneOnStack(syscall.SYS_CLONE, flags|syscall.CLONE_VM|uintptr(syscall.SIGCHLD), c.stack, c)
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK,
		uintptr(unsafe.Pointer(&old)), 0, sigsetBytes, 0, 0)
	return pid
}

// childMain is the child's whole life. It never returns.
//
//go:norace
//go:nosplit
func childMain(c *childArgs) {
	for {
		at, errno := walk(c.steps)
		tell(&c.msg, c.report, c.base+at, errno)
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
		pid := cloneOnStack(syscall.SYS_CLONE, syscall.CLONE_VM|uintptr(syscall.SIGCHLD), s.fork.stack, s.fork)
		if pid < 0 {
			return 0, syscall.Errno(-pid)
		}
		return uintptr(pid), 0
	case kindGuard:
		guard(arg(&s.args[0]), arg(&s.args[1]), arg(&s.args[2]) != 0)
		return 0, 0
	case kindProceed:
		return proceed(s)
	case kindDefaults:
		defaults(s.action)
		return 0, 0
	case kindEach:
		for i := uintptr(0); i <= arg(&s.args[1]); i++ {
			if _, _, errno := syscall.RawSyscall6(s.nr, arg(&s.args[0]), i, 0, 0, 0, 0); errno != 0 {
				break
			}
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

// action is the kernel's struct sigaction on amd64 and arm64.
type action struct {
	handler  uintptr // 0 is SIG_DFL, 1 is SIG_IGN
	flags    uint64
	restorer uintptr
	mask     uint64
}

// lastSignal is the highest signal number of Linux.
const lastSignal = 64

// defaults gives every signal with a handler its default action, if clone has
// not done it (CLONE_CLEAR_SIGHAND). The handlers are the Go runtime's: in this
// process they would work on the launcher's memory as if they were the
// launcher. The runtime always has one for its own SIGURG.
//
//go:norace
//go:nosplit
func defaults(scratch *action) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGURG), 0, uintptr(unsafe.Pointer(scratch)), sigsetBytes, 0, 0)
	if errno == 0 && scratch.handler == 0 {
		return
	}
	for sig := uintptr(1); sig <= lastSignal; sig++ {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(scratch)), sigsetBytes, 0, 0)
		if errno != 0 || scratch.handler <= 1 {
			continue
		}
		*scratch = action{}
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(scratch)), 0, sigsetBytes, 0, 0)
	}
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
