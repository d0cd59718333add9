package supervisor

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// request is struct seccomp_notif (linux/seccomp.h).
type request struct {
	id    uint64
	pid   uint32 // a thread id, seen from our pid namespace
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32 // negative
	flags uint32
}

// The ioctls of a listener, from the sizes above.
const (
	ioctlReceive = 0xc0502100
	ioctlSend    = 0xc0182101
	ioctlValid   = 0x40082102
	ioctlAddFD   = 0x40182103
)

// flagContinue is SECCOMP_USER_NOTIF_FLAG_CONTINUE.
const flagContinue = 1

// errUndecided lets the kernel carry out a call of which nothing was judged, and
// which something else than the supervisor judges: after the answer, its
// arguments may be others than those that were read.
var errUndecided = errors.New("left to the kernel")

// listener is the descriptor that notifications arrive on.
type listener int

// receive blocks for the next notification. It fails once no process with the
// filter is left.
func (l listener) receive() (*request, error) {
	for {
		r := new(request)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), ioctlReceive, uintptr(unsafe.Pointer(r)))
		switch {
		case errno == 0:
			return r, nil
		case errno == unix.EINTR:
		// The caller was killed before we looked, or there is none any more.
		// In the second case the kernel answers so at once and for ever.
		case errno == unix.ENOENT && !l.ended():
		default:
			return nil, fmt.Errorf("receive notification: %w", errno)
		}
	}
}

// ended reports whether no process with the filter is left.
func (l listener) ended() bool {
	fds := []unix.PollFd{{Fd: int32(l)}}
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents&unix.POLLHUP != 0
}

// send answers a request. ENOENT means that the caller is gone, which is not
// our concern.
func (l listener) send(id uint64, val int64, err error) {
	resp := response{id: id, val: val}
	if errors.Is(err, errUndecided) {
		resp = response{id: id, flags: flagContinue}
	} else if err != nil {
		var errno syscall.Errno
		if !errors.As(err, &errno) || errno == 0 {
			errno = unix.EPERM
		}
		resp.val, resp.errno = 0, -int32(errno)
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(l), ioctlSend, uintptr(unsafe.Pointer(&resp)))
}

// addFD is struct seccomp_notif_addfd.
type addFD struct {
	id       uint64
	flags    uint32
	source   uint32
	number   uint32
	newFlags uint32
}

// give puts a duplicate of fd into the caller's table and returns its number
// there. It needs Linux 5.9.
func (l listener) give(id uint64, fd int, closeOnExec bool) (int64, error) {
	a := addFD{id: id, source: uint32(fd)}
	if closeOnExec {
		a.newFlags = unix.O_CLOEXEC
	}
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), ioctlAddFD, uintptr(unsafe.Pointer(&a)))
	return int64(n), result(errno)
}

// check fails if the caller of request id is gone. Its pid may then belong to
// another process, and whatever was read or opened by pid is not to be used.
func (l listener) check(id uint64) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), ioctlValid, uintptr(unsafe.Pointer(&id))); errno != 0 {
		return unix.EINTR
	}
	return nil
}
