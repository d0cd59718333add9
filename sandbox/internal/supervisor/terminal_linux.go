package supervisor

import (
	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
)

// terminalPeer performs ioctl(master, TIOCGPTPEER, flags). The kernel opens
// the other end of that very terminal and refuses whatever is no master. It
// never becomes the controlling terminal, which would be ours.
func (t target) terminalPeer() (int64, error) {
	master, err := t.descriptor(int32(t.args[0]))
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(master) }()
	flags := t.args[2] & (unix.O_ACCMODE | unix.O_NONBLOCK)
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), seccomp.TerminalPeer, uintptr(flags|unix.O_NOCTTY|unix.O_CLOEXEC))
	if errno != 0 {
		return 0, errno
	}
	defer func() { _ = unix.Close(int(peer)) }()
	return t.from.give(t.id, int(peer), t.args[2]&unix.O_CLOEXEC != 0)
}
