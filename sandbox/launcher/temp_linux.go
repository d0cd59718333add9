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
	"github.com/steerable-go/sidecar/sandbox/policy"
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
	names, err := policy.Subdirectories(parent)
	if err != nil {
		return
	}
	for _, name := range names {
		number, _, _ := strings.Cut(name, "-")
		pid, err := strconv.Atoi(number)
		if err == nil && pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			removeTemp(filepath.Join(parent, name))
		}
	}
}

// removeTemp removes a call's directory. Module caches are read-only trees, so
// directories are made writable first.
func removeTemp(dir string) {
	if dir == "" || os.RemoveAll(dir) == nil {
		return
	}
	openUp(dir)
	_ = os.RemoveAll(dir)
}

// openUp makes a directory and those below it writable for us, unless it is one
// somewhere else: where all of /tmp is a root, other calls can put a link in its
// place.
func openUp(dir string) {
	fd, err := ruleset.OpenReal(dir)
	if err != nil {
		return
	}
	_ = unix.Chmod("/proc/self/fd/"+itoa(fd), 0o700)
	names, _ := policy.Subdirectories("/proc/self/fd/" + itoa(fd))
	_ = unix.Close(fd)
	for _, name := range names {
		openUp(filepath.Join(dir, name))
	}
}
