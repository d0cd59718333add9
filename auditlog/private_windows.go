package auditlog

import (
	"fmt"
	"os"
)

// checkPrivate only checks that path exists: Windows keeps access in lists
// that mode bits do not show, and user directories are private by default.
func checkPrivate(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	return nil
}

func checkSecret(path string) error { return checkPrivate(path) }
