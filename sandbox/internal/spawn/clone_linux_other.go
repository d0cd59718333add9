//go:build linux && !amd64 && !arm64

package spawn

import "syscall"

// cloneOnStack is not there: the launcher has no rung for this architecture.
func cloneOnStack(uintptr, uintptr, uintptr, *childArgs) int64 { return -int64(syscall.ENOSYS) }
