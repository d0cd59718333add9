//go:build linux && !amd64 && !arm64

package spawn

const elfMachine = 0

// imageCodeAt says that there is no code for this architecture.
func imageCodeAt() uintptr { return 0 }
