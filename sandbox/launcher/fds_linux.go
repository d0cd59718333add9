package launcher

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Descriptors at fixed numbers in the children. Everything of our own is kept
// at firstOwn and above, so that moving to these numbers overwrites nothing
// that is still needed.
const (
	fdControl = 3  // socket to the launcher
	fdStderr  = 4  // the command's standard error, while bwrap has a pipe there
	fdImage   = 5  // the program that bwrap executes
	fdRules   = 6  // the command's Landlock rule set
	fdText    = 7  // the command's script, until it is at fdScript
	fdScript  = 9  // the command's script; the only one a command inherits
	fdBlock   = 10 // the pipe on which bwrap waits for the image
	firstOwn  = 20
)

// own moves fd to a high number, closed on exec.
func own(fd int) (int, error) {
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, firstOwn)
	_ = unix.Close(fd)
	return high, err
}

// controlPair makes the control socket: ours, which learns the sender's pid in
// our own pid namespace, and the children's.
func controlPair() (ours, theirs int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	if err := unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		return -1, -1, err
	}
	if ours, err = own(pair[0]); err != nil {
		return -1, -1, err
	}
	theirs, err = own(pair[1])
	return ours, theirs, err
}

// memory returns a descriptor of an anonymous file that holds data and cannot
// be changed any more.
func memory(name string, data []byte) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, err
	}
	for rest := data; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		rest = rest[n:]
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return own(fd)
}

func itoa(n int) string { return strconv.Itoa(n) }
