//go:build linux && (amd64 || arm64)

package spawn

// imageCode is never called here, only copied; see the assembly.
func imageCode() //nolint:unused // its address is what is used

// imageCodeAt returns the address of imageCode.
func imageCodeAt() uintptr
