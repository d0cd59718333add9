package supervisor

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
)

// terminal performs the calls by which a process opens a terminal it has made.
func (t target) terminal(call string) (int64, error) {
	switch {
	case call == "open":
		return t.openTerminal(t.args[0], t.args[1])
	case call == "openat":
		return t.openTerminal(t.args[1], t.args[2])
	case uint32(t.args[1]) == seccomp.TerminalPeer: // ioctl
		return t.terminalPeer(int32(t.args[0]), t.args[2])
	}
	return 0, unix.EPERM
}

// terminalPeer performs ioctl(master, TIOCGPTPEER, flags). The kernel opens
// the other end of that very terminal and refuses whatever is no master. It
// never becomes the controlling terminal, which would be ours.
func (t target) terminalPeer(fd int32, flags uint64) (int64, error) {
	master, err := t.descriptor(fd)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(master) }()
	kept := flags & (unix.O_ACCMODE | unix.O_NONBLOCK)
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), seccomp.TerminalPeer, uintptr(kept|unix.O_NOCTTY|unix.O_CLOEXEC))
	if errno != 0 {
		return 0, errno
	}
	defer func() { _ = unix.Close(int(peer)) }()
	return t.from.give(t.id, int(peer), flags&unix.O_CLOEXEC != 0)
}

// openTerminal performs open(path, O_RDWR|O_NOCTTY) of a terminal whose master
// the caller holds, as programs do that know no TIOCGPTPEER: Landlock closes the
// directory of all terminals to them. Every other open goes on to Landlock.
func (t target) openTerminal(addr, flags uint64) (int64, error) {
	path, err := t.text(addr, maxPath)
	if err != nil {
		return 0, errUndecided
	}
	name, ok := strings.CutPrefix(path, "/dev/pts/")
	if !ok {
		return 0, errUndecided
	}
	number, err := strconv.ParseUint(name, 10, 31)
	if err != nil {
		return 0, errUndecided
	}
	master, ok := t.master(int(number))
	if !ok {
		return 0, errUndecided
	}
	return t.terminalPeer(master, flags)
}

// maxDescriptors bounds how many descriptors are looked through for a master.
const maxDescriptors = 1024

// master finds the caller's descriptor of the master of a terminal.
func (t target) master(number int) (fd int32, ok bool) {
	dir, err := os.Open(t.proc("fd"))
	if err != nil {
		return 0, false
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(maxDescriptors) // what was read before an error is still there
	for _, name := range names {
		n, err := strconv.ParseInt(name, 10, 32)
		if err != nil {
			continue
		}
		if link, err := os.Readlink(t.proc("fd/" + name)); err != nil || !strings.HasSuffix(link, "ptmx") {
			continue
		}
		dup, err := t.descriptor(int32(n))
		if err != nil {
			continue
		}
		got, err := unix.IoctlGetInt(dup, unix.TIOCGPTN)
		_ = unix.Close(dup)
		if err == nil && got == number {
			return int32(n), true
		}
	}
	return 0, false
}
