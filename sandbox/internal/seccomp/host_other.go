//go:build !amd64 && !arm64

package seccomp

// Host returns the architecture of this program. ok is false for those without
// a table. Unlike [ArchOf] it links no other table.
func Host() (arch Arch, ok bool) { return Arch{}, false }
