//go:build linux && !amd64 && !arm64

package signals

import "syscall"

// Catch is not there: the launcher has no rung for this architecture.
func Catch(...syscall.Signal) (int, error) { return -1, syscall.ENOSYS }

// Ignored reports that nothing is known.
func Ignored(syscall.Signal) bool { return false }

// Next has nothing to wait for.
func Next(int) (syscall.Signal, error) { return 0, syscall.ENOSYS }
