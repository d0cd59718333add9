package spawn

import (
	"errors"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// report is a socket pair on which a child reports.
func report(t *testing.T) (ours, theirs int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fds[0]) })
	return fds[0], fds[1]
}

// launch runs p and returns its wait status and its message, if any.
func launch(t *testing.T, p *Program) (syscall.WaitStatus, *StepError) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, theirs := report(t)
	pid, err := Start(p, 0, theirs)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(theirs)
	var b [64]byte
	n, err := unix.Read(ours, b[:])
	if err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	stepErr, _ := p.Failure(b[:n])
	return ws, stepErr
}

func TestExec(t *testing.T) {
	var p Program
	argv, err := p.Strings([]string{"sh", "-c", "exit 7"})
	if err != nil {
		t.Fatal(err)
	}
	envp, err := p.Strings(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Call("execve", syscall.SYS_EXECVE, []Arg{p.String("/bin/sh"), argv, envp})
	ws, stepErr := launch(t, &p)
	if stepErr != nil || ws.ExitStatus() != 7 {
		t.Errorf("status %d, error %v; want 7 and none", ws.ExitStatus(), stepErr)
	}
}

func TestFailureNamesTheStep(t *testing.T) {
	var child, p Program
	child.Call("getpid", syscall.SYS_GETPID, nil)
	child.Call("execve", syscall.SYS_EXECVE, []Arg{child.String("/nonexistent"), Val(0), Val(0)})
	p.Call("getuid", syscall.SYS_GETUID, nil)
	var pid, self Slot
	p.Call("getppid", syscall.SYS_GETPPID, nil, Into(&self))
	p.Fork(&child, &pid)
	p.Guard(&pid, &self, false)
	ws, stepErr := launch(t, &p)
	if stepErr == nil || stepErr.Step != "execve" || !errors.Is(stepErr, syscall.ENOENT) {
		t.Errorf("error %v, want execve: ENOENT", stepErr)
	}
	if ws.ExitStatus() != exitWrapper {
		t.Errorf("status %d, want the child's %d mirrored", ws.ExitStatus(), exitWrapper)
	}
}

func TestSlotsSkipsAndStores(t *testing.T) {
	var p Program
	var s, same Slot
	p.Call("getpid", syscall.SYS_GETPID, nil, Into(&s))
	p.Equal("getpid again", syscall.SYS_GETPID, &s)
	p.Call("close", syscall.SYS_CLOSE, []Arg{Val(-1)}, SkipOnError(1))
	p.Call("must be skipped", syscall.SYS_EXIT_GROUP, []Arg{Val(3)})
	p.Call("close", syscall.SYS_CLOSE, []Arg{Val(-1)}, Accept(syscall.EBADF))
	stored := new(int32)
	p.Store(stored, &s)
	p.Call("getpid", syscall.SYS_GETPID, nil, Into(&same))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if int(s) != syscall.Getpid() || s != same || int(*stored) != syscall.Getpid() {
		t.Errorf("slots %d %d, stored %d, want %d in all", s, same, *stored, syscall.Getpid())
	}
}

func TestEqualRefusesAnotherValue(t *testing.T) {
	var p Program
	wrong := Slot(1)
	p.Equal("getpid", syscall.SYS_GETPID, &wrong)
	if err := p.Run(); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("error %v, want ESRCH", err)
	}
}

func TestProceedStopsWhenTheParentIsGone(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fds[0])
	defer unix.Close(fds[1])
	var p Program
	p.Proceed("wait for the launcher", Val(fds[1]))
	if err := p.Run(); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("error %v, want EPIPE", err)
	}
}

// TestGuardKillsWhatIsLeft runs a guardian as pid 1 of a pid namespace, where
// kill(-1) reaches its own processes only.
func TestGuardKillsWhatIsLeft(t *testing.T) {
	var ns, command Program
	argv, _ := command.Strings([]string{"sh", "-c", "setsid sleep 1000 & kill -TERM $$"})
	envp, _ := command.Strings([]string{"PATH=/usr/bin:/bin"})
	var mask sigset
	command.DefaultSignals()
	command.Call("rt_sigprocmask", syscall.SYS_RT_SIGPROCMASK, []Arg{Val(unix.SIG_SETMASK), Pointer(&command, &mask), Val(0), Val(sigsetBytes)})
	command.Call("execve", syscall.SYS_EXECVE, []Arg{command.String("/bin/sh"), argv, envp})
	var pid, parent Slot
	ns.Fork(&command, &pid)
	ns.Call("close_range", unix.SYS_CLOSE_RANGE, []Arg{Val(0), Val(uint32(1<<32 - 1)), Val(0)})
	ns.Guard(&pid, &parent, true)

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, theirs := report(t)
	child, err := Start(&ns, unix.CLONE_NEWUSER|unix.CLONE_NEWPID, theirs)
	if errors.Is(err, syscall.EPERM) {
		t.Skip("user namespaces are not available here")
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(theirs)
	var b [64]byte
	if n, err := unix.Read(ours, b[:]); n != 0 || err != nil {
		t.Fatalf("message %q, error %v; want end of file at exec", b[:n], err)
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(child, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	if ws.ExitStatus() != 128+int(syscall.SIGTERM) {
		t.Errorf("status %d, want 143", ws.ExitStatus())
	}
}

func TestExitCode(t *testing.T) {
	for status, want := range map[uint32]uintptr{0: 0, 1 << 8: 1, 0xff00: 255, 9: 137, 0x80 | 11: 139} {
		if got := exitCode(status); got != want {
			t.Errorf("exitCode(%#x) = %d, want %d", status, got, want)
		}
	}
}

func TestFailureOfForeignBytes(t *testing.T) {
	var p Program
	for _, b := range [][]byte{nil, []byte("L"), make([]byte, FailureSize), make([]byte, FailureSize+1)} {
		if _, ok := p.Failure(b); ok {
			t.Errorf("Failure(%q) claims a failure", b)
		}
	}
	if unsafe.Sizeof(sigset(0)) != sigsetBytes {
		t.Error("the signal set has another size")
	}
}
