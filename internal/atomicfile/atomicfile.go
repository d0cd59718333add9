package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path with data and gives it exactly the
// permission bits of mode, whatever the umask and whatever the old file had.
// The directory must exist. A symbolic link at path is replaced, not followed.
// When Write returns nil the new contents survive a power failure; when it
// returns an error the old file is untouched, except that after a failed flush
// of the directory the new one is visible but may not survive.
//
// Concurrent writers of one path are safe, the last rename wins; hold a [Lock]
// where a read-modify-write must not lose updates.
func Write(path string, data []byte, mode fs.FileMode) (err error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	// O_EXCL with an unpredictable name: a file or link planted at a
	// guessable name would otherwise receive the contents.
	tmp := filepath.Join(dir, "."+base+"."+rand.Text()+".tmp")
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create %s: %w", tmp, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	if err := fill(f, data, mode); err != nil {
		return fmt.Errorf("write %s: %w", tmp, errors.Join(err, f.Close()))
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", tmp, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return SyncDir(dir)
}

// fill writes, sets the mode and flushes, in that order: the mode is part of
// what must be on disk before the rename.
func fill(f *os.File, data []byte, mode fs.FileMode) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Chmod(mode.Perm()); err != nil {
		return err
	}
	return f.Sync()
}
