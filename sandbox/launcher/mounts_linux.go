package launcher

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/mount"
	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
)

// binding is a writable directory as it was before bwrap bound it.
type binding struct {
	path string
	is   identity
}

// identity tells one file from every other.
type identity struct {
	major, minor uint32
	inode        uint64
}

// bindings looks at what a plan leaves writable. bwrap follows links, and what
// it finds under a name may not be what was there when the policy was made: a
// command of another call may have put a link in its place.
func bindings(plan mount.Plan) ([]binding, error) {
	var list []binding
	for _, e := range plan.Entries {
		if e.Kind != mount.Bind {
			continue
		}
		fd, err := ruleset.OpenReal(e.Path)
		if err != nil {
			return nil, err
		}
		is, _, err := identify(fd)
		if err != nil {
			return nil, err
		}
		list = append(list, binding{path: e.Path, is: is})
	}
	return list, nil
}

// checkBindings fails unless the mounts of a process are those directories, each
// at its own path.
func checkBindings(pid int, list []binding) error {
	root, err := unix.Open("/proc/"+itoa(pid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &wrapperError{what: "look at the mounts", err: err}
	}
	defer func() { _ = unix.Close(root) }()
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS}
	for _, b := range list {
		fd, err := unix.Openat2(root, b.path, how)
		if err != nil {
			return &wrapperError{what: "look at the mount of " + b.path, err: err}
		}
		is, mounted, err := identify(fd)
		if err != nil {
			return err
		}
		if !mounted || is != b.is {
			return &wrapperError{what: b.path + " was replaced while it was mounted"}
		}
	}
	return nil
}

// identify closes fd. mounted says that a mount begins there, which the kernel
// tells since Linux 5.8.
func identify(fd int) (is identity, mounted bool, err error) {
	defer func() { _ = unix.Close(fd) }()
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO, &st); err != nil {
		return identity{}, false, &wrapperError{what: "look at a directory", err: err}
	}
	return identity{st.Dev_major, st.Dev_minor, st.Ino}, st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}

// makeHooks makes a hooks directory that a repository lacks.
func makeHooks(path string) error {
	dir, err := ruleset.OpenReal(filepath.Dir(path))
	if err != nil {
		return &wrapperError{what: "make hooks directory", err: err}
	}
	defer func() { _ = unix.Close(dir) }()
	if err := unix.Mkdirat(dir, filepath.Base(path), 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return &wrapperError{what: "make hooks directory", err: err}
	}
	return nil
}

// removeNewcomers removes what the command put there. All of its processes are
// gone. Where nothing pins directories it may have put a link in place of the
// one that they lie in, and they would be those of another directory.
func removeNewcomers(paths []string) {
	for _, path := range paths {
		dir, err := ruleset.OpenReal(filepath.Dir(path))
		if err != nil {
			continue
		}
		// RemoveAll follows no link below the directory that is open.
		_ = os.RemoveAll("/proc/self/fd/" + itoa(dir) + "/" + filepath.Base(path))
		_ = unix.Close(dir)
	}
}
