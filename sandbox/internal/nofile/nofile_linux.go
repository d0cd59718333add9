package nofile

import "syscall"

// original is read once, before package os changes the limit; see doc.go.
var original = read() //nolint:gochecknoglobals // the value exists only at this moment of start-up and never changes after

func read() (limit syscall.Rlimit) {
	// An error leaves zero, which Original reports as unknown.
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return limit
}

// Original returns the limit on open files as this process inherited it. ok
// is false if it could not be read.
func Original() (limit syscall.Rlimit, ok bool) {
	return original, original.Max != 0
}
