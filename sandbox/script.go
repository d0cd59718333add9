package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNoRunDir is returned for a command too long to be an argument when
// [Options.RunDir] is not set.
var ErrNoRunDir = errors.New("a command this long needs a directory for its script")

// writeScript stores command in a new file that only this user can read. The
// launcher removes it as soon as it is open.
func writeScript(dir, command string) (path string, err error) {
	if dir == "" {
		return "", ErrNoRunDir
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make script directory: %w", err)
	}
	f, err := os.CreateTemp(dir, "command-*.sh") // mode 0600, O_EXCL
	if err != nil {
		return "", fmt.Errorf("create script: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err := f.WriteString(command); err != nil {
		return "", errors.Join(fmt.Errorf("write script: %w", err), f.Close())
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("write script: %w", err)
	}
	return filepath.Abs(f.Name())
}
