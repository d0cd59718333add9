package auditlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync flushes data and length, but not times.
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
