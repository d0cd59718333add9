//go:build linux && (amd64 || arm64)

package signals

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipe is where the handler writes. The handler has no other way to know: the
// kernel gives it the signal alone.
var pipe int32 //nolint:gochecknoglobals,unused // see above; set once, before there is a handler, which reads it

// action is the kernel's struct sigaction on amd64 and arm64.
type action struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// Flags of a handler (asm-generic/signal.h). It runs on the runtime's signal
// stack, since the stack of a goroutine is too small for the kernel's frame.
const (
	saSiginfo  = 0x4
	saRestorer = 0x04000000
	saOnStack  = 0x08000000
	saRestart  = 0x10000000

	sigsetBytes = 8
	ignore      = 1 // SIG_IGN
)

// handlers returns the addresses of the handler and of what the kernel goes on
// with afterwards, 0 where it brings that itself.
func handlers() (handler, restorer uintptr)

// Catch makes sigs arrive in a pipe and returns its reading end; see [Next].
// SIGHUP and SIGINT go on being ignored if they were, so that nohup works. Catch
// is called at most once in a process, and takes the signals from package
// os/signal.
func Catch(sigs ...syscall.Signal) (fd int, err error) {
	var ends [2]int
	// The writing end must not block: the handler may interrupt the reader.
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return -1, err
	}
	if err := unix.SetNonblock(ends[0], false); err != nil {
		return -1, err
	}
	pipe = int32(ends[1])
	handler, restorer := handlers()
	for _, sig := range sigs {
		if Ignored(sig) {
			continue
		}
		a := action{handler: handler, flags: saSiginfo | saOnStack | saRestart, mask: ^uint64(0)}
		if restorer != 0 {
			a.flags, a.restorer = a.flags|saRestorer, restorer
		}
		if errno := sigaction(sig, &a, nil); errno != 0 {
			return -1, errno
		}
	}
	return ends[0], nil
}

// Ignored reports whether sig is ignored. The Go runtime leaves SIGHUP and
// SIGINT alone if the process was started so, and handles all others.
func Ignored(sig syscall.Signal) bool {
	var old action
	return sigaction(sig, nil, &old) == 0 && old.handler == ignore
}

func sigaction(sig syscall.Signal, set, old *action) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), sigsetBytes, 0, 0)
	return errno
}

// Next waits for a signal and returns it.
func Next(fd int) (syscall.Signal, error) {
	var number [4]byte // an int32, written at once
	for {
		_, err := unix.Read(fd, number[:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		default:
			return syscall.Signal(*(*int32)(unsafe.Pointer(&number))), nil
		}
	}
}
