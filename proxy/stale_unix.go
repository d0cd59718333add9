//go:build unix

package proxy

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peerEnded reports whether the other side of c has sent its FIN and nothing
// else is left to read. It reads nothing and does not wait.
func peerEnded(c any) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	_ = rc.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		ended = n == 0 && err == nil
	})
	return ended
}
