//go:build unix

package approvals_test

import (
	"os"
	"syscall"
)

// restrict takes from this process what the verb says it has to do without.
func restrict(verb string) error {
	switch verb {
	case "set-limited": // a full disk, as far as one process can have its own
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64, Max: 64})
	case "set-as-nobody", "check-as-nobody": // for whom a directory of root is read-only
		if os.Getuid() == 0 {
			return syscall.Setuid(65534)
		}
	}
	return nil
}
