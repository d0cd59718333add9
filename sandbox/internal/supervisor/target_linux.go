package supervisor

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// maxPath is PATH_MAX, the longest path the kernel reads.
const maxPath = 4096

// target is the thread that made a call.
type target struct {
	*request

	from listener
}

// memory copies n bytes at addr. It fails rather than return fewer.
func (t target) memory(addr uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := t.peek(addr, b)
	if err != nil || got != n {
		return nil, unix.EFAULT
	}
	return b, t.from.check(t.id)
}

func (t target) peek(addr uint64, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	return unix.ProcessVMReadv(int(t.pid), local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
}

// text copies a NUL-terminated string of at most limit bytes.
func (t target) text(addr uint64, limit int) (string, error) {
	const page = 4096
	var s []byte
	for len(s) < limit {
		// Up to the end of a page: the next one may not be mapped.
		n := min(page-int(addr%page), limit-len(s))
		b := make([]byte, n)
		if got, err := t.peek(addr, b); err != nil || got != n {
			return "", unix.EFAULT
		}
		if head, _, found := bytes.Cut(b, []byte{0}); found {
			return string(append(s, head...)), t.from.check(t.id)
		}
		s, addr = append(s, b...), addr+uint64(n)
	}
	return "", unix.ENAMETOOLONG
}

// descriptor duplicates a descriptor of the caller's process.
func (t target) descriptor(fd int32) (int, error) {
	// Before Linux 6.9 a pidfd names a process, and notifications name a
	// thread.
	pidfd, err := unix.PidfdOpen(int(t.pid), 0)
	if err != nil {
		pidfd, err = unix.PidfdOpen(t.process(), 0)
	}
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(pidfd) }()
	dup, err := unix.PidfdGetfd(pidfd, int(fd), 0)
	if err != nil {
		return -1, err
	}
	if err := t.from.check(t.id); err != nil {
		_ = unix.Close(dup)
		return -1, err
	}
	return dup, nil
}

// process returns the process that the calling thread belongs to, 0 if it
// cannot be read, which no call accepts.
func (t target) process() int {
	status, err := os.ReadFile(t.proc("status"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nTgid:")
	line, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0
	}
	return pid
}

func (t target) proc(name string) string {
	return "/proc/" + strconv.Itoa(int(t.pid)) + "/" + name
}

// open resolves path as the caller would and returns an O_PATH descriptor.
// dir is the caller's directory descriptor or AT_FDCWD.
func (t target) open(dir int32, path string, follow bool) (int, error) {
	if path == "" {
		return -1, unix.ENOENT
	}
	if fd, rest, ok := ownDescriptor(path); ok {
		if rest == "" {
			return t.descriptor(fd)
		}
		dir, path = fd, rest
	}
	if !filepath.IsAbs(path) {
		base, err := os.Readlink(t.proc(base(dir)))
		if err != nil || !filepath.IsAbs(base) {
			return -1, unix.EBADF
		}
		path = base + "/" + path
	}
	root, err := unix.Open(t.proc("root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, unix.EPERM
	}
	defer func() { _ = unix.Close(root) }()
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	if !follow {
		how.Flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat2(root, path, &how)
	if err != nil {
		return -1, err
	}
	if err := t.from.check(t.id); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// ownDescriptor recognises the paths by which a process names its descriptors,
// and what follows them. C libraries build them: chmod without following links
// is a chmod of /proc/self/fd/N there.
func ownDescriptor(path string) (fd int32, rest string, ok bool) {
	for _, prefix := range []string{"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"} {
		if name, found := strings.CutPrefix(path, prefix); found {
			number, rest, _ := strings.Cut(name, "/")
			n, err := strconv.ParseUint(number, 10, 31)
			return int32(n), rest, err == nil
		}
	}
	return 0, "", false
}

// base is the name in /proc of what a relative path starts from.
func base(dir int32) string {
	if dir == unix.AT_FDCWD {
		return "cwd"
	}
	return "fd/" + strconv.Itoa(int(dir))
}

// self is the path of one of our own descriptors.
func self(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// within fails unless fd names something in one of dirs. The kernel's own
// text for the descriptor is compared, after every link was resolved. On a
// foreign mount the same text names another file.
func (s *Supervisor) within(fd int, dirs []string) error {
	if len(s.Foreign) > 0 {
		var st unix.Statx_t
		err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
		if err != nil || st.Mask&unix.STATX_MNT_ID == 0 || slices.Contains(s.Foreign, st.Mnt_id) {
			return unix.EPERM
		}
	}
	path, err := os.Readlink(self(fd))
	if err != nil || !policy.InRoots(path, dirs) {
		return unix.EPERM
	}
	return nil
}
