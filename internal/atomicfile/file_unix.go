//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SyncDir flushes the directory at path, which makes renames, creations and
// removals in it survive a power failure. It does nothing on Windows, where
// the file system journals them itself.
func SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	// Some network file systems cannot flush a directory; what they promise
	// about renames does not get better by refusing to work.
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return errors.Join(fmt.Errorf("flush directory: %w", err), d.Close())
	}
	return d.Close()
}

// lockFile takes the lock without waiting. flock(2), not fcntl(2): the latter
// belongs to the process and is lost when any descriptor of the file closes.
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		default:
			return err
		}
	}
}
