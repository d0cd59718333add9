//go:build unix

package auditlog

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate refuses a file or directory that anybody else may change, or
// that belongs to somebody else.
func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: %s belongs to somebody else", ErrExposed, path)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%w: others may write to %s", ErrExposed, path)
	}
	return nil
}

// checkSecret refuses a file that anybody else may even read.
func checkSecret(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: %s must be a file of mode 0600", ErrExposed, path)
	}
	return checkPrivate(path)
}
