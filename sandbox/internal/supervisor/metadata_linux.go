package supervisor

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setIDBits are masked out of every mode: a set-id program made here would
// carry the user's identity to whoever runs it.
const setIDBits = 0o6000

// maxXattr bounds a value (XATTR_SIZE_MAX) and a name (XATTR_NAME_MAX).
const (
	maxXattr     = 64 << 10
	maxXattrName = 256
)

// file is what a metadata call names.
type file struct {
	fd     int
	path   bool // fd is an O_PATH descriptor that we opened
	follow bool
}

// named opens the file that path names and checks that it may be changed.
func (s *Supervisor) named(t target, dir int32, addr uint64, follow bool) (file, error) {
	path, err := t.text(addr, maxPath)
	if err != nil {
		return file{}, err
	}
	fd, err := t.open(dir, path, follow)
	if err != nil {
		return file{}, err
	}
	return s.checked(file{fd: fd, path: true, follow: follow})
}

// held duplicates a descriptor of the caller's.
func (s *Supervisor) held(t target, fd int32) (file, error) {
	dup, err := t.descriptor(fd)
	if err != nil {
		return file{}, err
	}
	return s.checked(file{fd: dup, follow: true})
}

// at is a call with a directory, a path and flags.
func (s *Supervisor) at(t target, flags uint64) (file, error) {
	dir := int32(t.args[0])
	if flags&unix.AT_EMPTY_PATH != 0 {
		if path, err := t.text(t.args[1], maxPath); err == nil && path == "" {
			return s.held(t, dir)
		}
	}
	return s.named(t, dir, t.args[1], flags&unix.AT_SYMLINK_NOFOLLOW == 0)
}

func (s *Supervisor) checked(f file) (file, error) {
	if err := s.within(f.fd, s.Writable); err != nil {
		f.close()
		return file{}, err
	}
	return f, nil
}

func (f file) close() { _ = unix.Close(f.fd) }

// chmod performs the four calls that set a mode.
func (s *Supervisor) chmod(t target, call string) (int64, error) {
	var f file
	var err error
	mode := uint32(t.args[1])
	switch call {
	case "chmod":
		f, err = s.named(t, unix.AT_FDCWD, t.args[0], true)
	case "fchmod":
		f, err = s.held(t, int32(t.args[0]))
	case "fchmodat":
		mode = uint32(t.args[2])
		f, err = s.at(t, 0)
	default: // fchmodat2
		mode = uint32(t.args[2])
		f, err = s.at(t, t.args[3])
	}
	if err != nil {
		return 0, err
	}
	defer f.close()
	if !f.follow {
		var st unix.Stat_t
		if err := unix.Fstat(f.fd, &st); err != nil {
			return 0, err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return 0, unix.EOPNOTSUPP // as the kernel answers for links
		}
	}
	return 0, unix.Chmod(self(f.fd), mode&^setIDBits)
}

// chown performs the four calls that set an owner.
func (s *Supervisor) chown(t target, call string) (int64, error) {
	var f file
	var err error
	uid, gid := t.args[1], t.args[2]
	switch call {
	case "chown":
		f, err = s.named(t, unix.AT_FDCWD, t.args[0], true)
	case "lchown":
		f, err = s.named(t, unix.AT_FDCWD, t.args[0], false)
	case "fchown":
		f, err = s.held(t, int32(t.args[0]))
	default: // fchownat
		uid, gid = t.args[2], t.args[3]
		f, err = s.at(t, t.args[4])
	}
	if err != nil {
		return 0, err
	}
	defer f.close()
	return 0, unix.Fchownat(f.fd, "", int(int32(uid)), int(int32(gid)), unix.AT_EMPTY_PATH)
}

// times performs the four calls that set access and modification time.
func (s *Supervisor) times(t target, call string) (int64, error) {
	var f file
	var err error
	stamps := t.args[1]
	switch call {
	case "utime", "utimes":
		f, err = s.named(t, unix.AT_FDCWD, t.args[0], true)
	default: // futimesat, utimensat
		stamps = t.args[2]
		flags := t.args[3]
		if call == "futimesat" {
			flags = 0
		}
		if t.args[1] == 0 { // the descriptor itself: futimens
			f, err = s.held(t, int32(t.args[0]))
		} else {
			f, err = s.at(t, flags)
		}
	}
	if err != nil {
		return 0, err
	}
	defer f.close()
	ts, err := t.timespecs(call, stamps)
	if err != nil {
		return 0, err
	}
	empty := [1]byte{}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(f.fd), uintptr(unsafe.Pointer(&empty)),
		uintptr(unsafe.Pointer(ts)), unix.AT_EMPTY_PATH, 0, 0)
	return 0, result(errno)
}

// timespecs reads the times of a call in its own format; nil means now.
func (t target) timespecs(call string, addr uint64) (*[2]unix.Timespec, error) {
	if addr == 0 {
		return nil, nil
	}
	words, unit := 4, int64(1)
	switch call {
	case "utime": // seconds only
		words = 2
	case "utimes", "futimesat": // microseconds
		unit = 1000
	}
	b, err := t.memory(addr, 8*words)
	if err != nil {
		return nil, err
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(b[8*i:])) }
	if words == 2 {
		return &[2]unix.Timespec{{Sec: word(0)}, {Sec: word(1)}}, nil
	}
	return &[2]unix.Timespec{{Sec: word(0), Nsec: word(1) * unit}, {Sec: word(2), Nsec: word(3) * unit}}, nil
}

// xattr performs the calls that set or remove an extended attribute.
func (s *Supervisor) xattr(t target, call string) (int64, error) {
	var f file
	var err error
	switch call {
	case "setxattr", "removexattr":
		f, err = s.named(t, unix.AT_FDCWD, t.args[0], true)
	case "lsetxattr", "lremovexattr":
		f, err = s.named(t, unix.AT_FDCWD, t.args[0], false)
	case "fsetxattr", "fremovexattr":
		f, err = s.held(t, int32(t.args[0]))
	default: // the *at forms of Linux 6.13, which nothing depends on yet
		return 0, unix.ENOSYS
	}
	if err != nil {
		return 0, err
	}
	defer f.close()
	name, err := t.text(t.args[1], maxXattrName)
	if err != nil {
		return 0, err
	}
	if call[0] == 'r' || call[1] == 'r' {
		return 0, unix.Removexattr(self(f.fd), name)
	}
	size := t.args[3]
	if size > maxXattr {
		return 0, unix.E2BIG
	}
	value, err := t.memory(t.args[2], int(size))
	if err != nil {
		return 0, err
	}
	return 0, unix.Setxattr(self(f.fd), name, value, int(int32(t.args[4])))
}

func result(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}
