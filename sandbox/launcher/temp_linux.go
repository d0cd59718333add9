package launcher

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
)

// tempParent holds the private temporary directories of this user's calls on
// the rung without mounts: a directory per user, so that the names of one
// call's files are not for everybody to see or to take first.
func tempParent() string {
	tmp := "/tmp"
	if resolved, err := filepath.EvalSymlinks(tmp); err == nil {
		tmp = resolved
	}
	return filepath.Join(tmp, "steerable-"+strconv.Itoa(os.Getuid()))
}

// makeTemp makes a directory for one call.
func makeTemp() (string, error) {
	parent := tempParent()
	if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Lstat(parent, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Getuid() || st.Mode&0o077 != 0 {
		return "", &wrapperError{what: parent + " belongs to somebody else"}
	}
	return os.MkdirTemp(parent, strconv.Itoa(os.Getpid())+"-")
}

// sweepTemp removes the directories beside temp whose launcher is gone, which
// only a SIGKILL leaves behind: their name begins with the pid of no process.
func sweepTemp(temp string) {
	parent := filepath.Dir(temp)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry.Name(), "-")
		pid, err := strconv.Atoi(name)
		if err == nil && pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			removeTemp(filepath.Join(parent, entry.Name()))
		}
	}
}

// removeTemp removes a call's directory. Module caches are read-only trees, so
// directories are made writable first.
func removeTemp(dir string) {
	if dir == "" || os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			openUp(path)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// openUp makes a directory writable for us, unless it is one somewhere else:
// where all of /tmp is a root, other calls can put a link in its place.
func openUp(dir string) {
	fd, err := ruleset.OpenReal(dir)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	_ = unix.Chmod("/proc/self/fd/"+itoa(fd), 0o700)
}
