package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// SyncDir does nothing: NTFS journals renames, and Windows cannot flush a
// directory handle that was opened for reading.
func SyncDir(string) error { return nil }

// lockFile takes the lock without waiting.
func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
