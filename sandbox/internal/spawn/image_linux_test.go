package spawn

import (
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// imageReport is where an image of a test reports.
const imageReport = 3

// image returns a program for an image, with space for a few texts.
func image(t *testing.T) *Program {
	t.Helper()
	p, err := NewImage(4 << 10)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// execute executes p as an image and returns its status and the messages it
// sent, up to the end of file.
func execute(t *testing.T, p *Program) (syscall.WaitStatus, []string) {
	t.Helper()
	writable, file, err := NewImageFile("test")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(file) }()
	if err := p.Complete(writable, imageReport); err != nil {
		t.Fatal(err)
	}
	ours, theirs := report(t)
	var starter Program
	starter.Call("dup3", unix.SYS_DUP3, []Arg{Val(theirs), Val(imageReport), Val(0)}, Accept(syscall.EINVAL))
	argv, _ := starter.Strings([]string{"image"})
	envp, _ := starter.Strings(nil)
	starter.DefaultSignals()
	starter.Call("execve", syscall.SYS_EXECVE, []Arg{starter.String("/proc/self/fd/" + strconv.Itoa(file)), argv, envp})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := Start(&starter, 0, theirs)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(theirs)
	var messages []string
	for {
		var b [64]byte
		n, err := unix.Read(ours, b[:])
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		if f, ok := starter.Failure(b[:n]); ok {
			t.Fatal(f)
		}
		messages = append(messages, string(b[:n]))
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		t.Fatal(err)
	}
	return ws, messages
}

// write adds a step that sends text.
func write(p *Program, text string) {
	p.Call("write "+text, syscall.SYS_WRITE, []Arg{Val(imageReport), p.String(text), Val(len(text))})
}

func exit(p *Program, code int) { p.Call("exit", syscall.SYS_EXIT_GROUP, []Arg{Val(code)}) }

func TestImageCarriesOutItsSteps(t *testing.T) {
	p := image(t)
	pid, stored := p.Slot(0), Place(p, [2]int32{-1, -1})
	p.Call("getpid", syscall.SYS_GETPID, nil, Into(pid))
	p.Store(&stored[0], pid)
	p.Call("close", syscall.SYS_CLOSE, []Arg{Val(-1)}, SkipOnError(1))
	write(p, "must be skipped")
	p.Call("close", syscall.SYS_CLOSE, []Arg{Val(-1)}, Accept(syscall.EBADF))
	p.Call("write pid", syscall.SYS_WRITE, []Arg{Val(imageReport), Pointer(p, stored), Val(8)})
	p.Call("kill nobody", syscall.SYS_KILL, []Arg{Result(pid), Val(0)})
	p.DefaultSignals()
	write(p, "done")
	exit(p, 7)
	ws, messages := execute(t, p)
	if ws.ExitStatus() != 7 || len(messages) != 2 || messages[1] != "done" {
		t.Fatalf("status %d, messages %q; want 7, a pid and done", ws.ExitStatus(), messages)
	}
	// Only the low half was stored.
	if m := messages[0]; !strings.HasSuffix(m, "\xff\xff\xff\xff") || m[:4] == "\xff\xff\xff\xff" {
		t.Errorf("stored %q, want 32 bits of a pid and ones", m)
	}
}

func TestImagePassesSixArguments(t *testing.T) {
	p := image(t)
	// The kernel takes all six of mmap and fails if the last two are not what
	// they should be; write then needs what the first gave.
	at := p.Slot(0)
	p.Call("mmap", syscall.SYS_MMAP, []Arg{
		Val(0), Val(4096), Val(unix.PROT_READ | unix.PROT_WRITE), Val(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS), Val(-1), Val(0),
	}, Into(at))
	p.Call("write", syscall.SYS_WRITE, []Arg{Val(imageReport), Result(at), Val(3)})
	p.Call("mmap badly", syscall.SYS_MMAP, []Arg{
		Val(0), Val(4096), Val(unix.PROT_READ), Val(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS), Val(-1), Val(1),
	})
	_, messages := execute(t, p)
	if len(messages) != 2 || messages[0] != "\x00\x00\x00" {
		t.Fatalf("messages %q, want zeroes and a failure", messages)
	}
	if f, ok := p.Failure([]byte(messages[1])); !ok || f.Step != "mmap badly" || f.Errno != syscall.EINVAL {
		t.Errorf("failure %v, want mmap badly: EINVAL", f)
	}
}

func TestImageRepeats(t *testing.T) {
	p := image(t)
	// Signals end at 64: the next one fails, which is the end and no failure.
	p.Each("die with the parent", syscall.SYS_PRCTL, Val(unix.PR_SET_PDEATHSIG), 70)
	last := Place(p, int32(0))
	p.Call("read back", syscall.SYS_PRCTL, []Arg{Val(unix.PR_GET_PDEATHSIG), Pointer(p, last)})
	p.Call("write", syscall.SYS_WRITE, []Arg{Val(imageReport), Pointer(p, last), Val(1)})
	exit(p, 0)
	ws, messages := execute(t, p)
	if ws.ExitStatus() != 0 || !slices.Equal(messages, []string{"\x40"}) {
		t.Errorf("status %d, messages %q; want the last signal, 64", ws.ExitStatus(), messages)
	}
}

func TestImageFailureNamesTheStep(t *testing.T) {
	p := image(t)
	p.Call("getuid", syscall.SYS_GETUID, nil)
	p.Call("execve", syscall.SYS_EXECVE, []Arg{p.String("/nonexistent"), Val(0), Val(0)})
	exit(p, 0)
	ws, messages := execute(t, p)
	if ws.ExitStatus() != exitWrapper || len(messages) != 1 {
		t.Fatalf("status %d, messages %q; want %d and one", ws.ExitStatus(), messages, exitWrapper)
	}
	f, ok := p.Failure([]byte(messages[0]))
	if !ok || f.Step != "execve" || !errors.Is(f, syscall.ENOENT) {
		t.Errorf("failure %v, want execve: ENOENT", f)
	}
	var other Program
	if _, ok := other.Failure([]byte(messages[0])); ok {
		t.Error("another program takes the failure for its own")
	}
}

func TestImageWithoutLastCallFails(t *testing.T) {
	p := image(t)
	p.Call("getuid", syscall.SYS_GETUID, nil)
	if ws, _ := execute(t, p); ws.ExitStatus() != exitWrapper {
		t.Errorf("status %d, want %d", ws.ExitStatus(), exitWrapper)
	}
}

func TestImageStopsWhenTheParentIsGone(t *testing.T) {
	p := image(t)
	empty := p.Slot(0)
	p.Call("open", syscall.SYS_OPENAT, []Arg{Val(unix.AT_FDCWD), p.String("/dev/null"), Val(unix.O_RDONLY), Val(0)}, Into(empty))
	p.Proceed("wait for the launcher", Result(empty))
	exit(p, 0)
	_, messages := execute(t, p)
	if len(messages) != 1 {
		t.Fatalf("messages %q, want one", messages)
	}
	if f, ok := p.Failure([]byte(messages[0])); !ok || f.Step != "wait for the launcher" || f.Errno != syscall.EPIPE {
		t.Errorf("failure %v, want EPIPE", f)
	}
}

func TestImageBecomesTheCommand(t *testing.T) {
	p := image(t)
	argv, err := p.Strings([]string{"sh", "-c", `test "$A" = b && test "$0" = sh && echo $# $1 >&3`, "sh", "one"})
	if err != nil {
		t.Fatal(err)
	}
	envp, err := p.Strings([]string{"A=b"})
	if err != nil {
		t.Fatal(err)
	}
	p.Call("execve", syscall.SYS_EXECVE, []Arg{p.String("/bin/sh"), argv, envp})
	if ws, messages := execute(t, p); ws.ExitStatus() != 0 || !slices.Equal(messages, []string{"1 one\n"}) {
		t.Errorf("status %d, messages %q", ws.ExitStatus(), messages)
	}
}

func TestImageRefusesWhatItCannotHold(t *testing.T) {
	tests := map[string]func(*Program){
		"a fork":            func(p *Program) { p.Fork(&Program{}, p.Slot(0)) },
		"a killer":          func(p *Program) { p.Guard(p.Slot(0), p.Slot(0), true) },
		"a comparison":      func(p *Program) { p.Equal("getppid", syscall.SYS_GETPPID, p.Slot(1)) },
		"another's slot":    func(p *Program) { p.Call("getpid", syscall.SYS_GETPID, nil, Into(new(Slot))) },
		"another's value":   func(p *Program) { p.Call("exit", syscall.SYS_EXIT_GROUP, []Arg{Result(new(Slot))}) },
		"another's storage": func(p *Program) { p.Store(new(int32), p.Slot(1)) },
		"too much":          func(p *Program) { p.String(strings.Repeat("x", imageSpace+8<<10)) },
	}
	for name, build := range tests {
		p := image(t)
		build(p)
		if err := complete(t, p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := complete(t, &Program{}); err == nil {
		t.Error("a program of another kind: no error")
	}
}

func complete(t *testing.T, p *Program) error {
	t.Helper()
	file, executable, err := NewImageFile("test")
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(executable)
	return p.Complete(file, imageReport)
}

// TestImageForks lets an image stand by a child: it ends as the child does,
// whatever other children it has, and the child's failures have names.
func TestImageForks(t *testing.T) {
	tests := map[string]struct {
		script   string // "" executes what is not there
		status   int
		messages int
	}{
		"exit":    {"exit 7", 7, 0},
		"signal":  {"kill -KILL $$", 137, 0},
		"orphans": {"( (exit 9) & ); ( (exit 8) & ); echo here >&3; sleep 0.1; exit 3", 3, 1},
		"failure": {"", exitWrapper, 1},
	}
	for name, tt := range tests {
		p := image(t)
		p.Call("adopt", syscall.SYS_PRCTL, []Arg{Val(unix.PR_SET_CHILD_SUBREAPER), Val(1)})
		pid, child := p.Slot(0), p.Child()
		path := "/bin/sh"
		if tt.script == "" {
			path = "/nonexistent"
		}
		argv, _ := child.Strings([]string{"sh", "-c", tt.script})
		envp, _ := child.Strings([]string{"PATH=/usr/bin:/bin"})
		child.Call("getuid", syscall.SYS_GETUID, nil)
		child.Call("execve", syscall.SYS_EXECVE, []Arg{child.String(path), argv, envp})
		p.Fork(child, pid)
		p.Call("close", syscall.SYS_CLOSE, []Arg{Val(0)}, Accept(syscall.EBADF))
		p.Guard(pid, p.Slot(0), false)
		ws, messages := execute(t, p)
		if ws.ExitStatus() != tt.status || len(messages) != tt.messages {
			t.Errorf("%s: status %d, messages %q", name, ws.ExitStatus(), messages)
		}
		if tt.script != "" {
			continue
		}
		if f, ok := p.Failure([]byte(messages[0])); !ok || f.Step != "execve" || !errors.Is(f, syscall.ENOENT) {
			t.Errorf("%s: failure %v, want execve: ENOENT", name, f)
		}
	}
}

func TestStringsRefuseNUL(t *testing.T) {
	if _, err := (&Program{}).Strings([]string{"a\x00b"}); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("error %v, want EINVAL", err)
	}
}
