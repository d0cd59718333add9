//go:build linux && (amd64 || arm64)

package nofile

// Limit is a soft and a hard limit, in the layout of struct rlimit64.
type Limit struct {
	Cur, Max uint64
}

// original is read once, before package syscall changes the limit; see doc.go.
var original = read() //nolint:gochecknoglobals // the value exists only at this moment of start-up and never changes after

// prlimit is prlimit64(0, RLIMIT_NOFILE, NULL, old). It returns the kernel's
// result, negative on error.
//
//go:noescape
func prlimit(old *Limit) int64

func read() (limit Limit) {
	if prlimit(&limit) != 0 {
		return Limit{}
	}
	return limit
}

// Original returns the limit on open files as this process inherited it. ok
// is false if it could not be read.
func Original() (limit Limit, ok bool) {
	return original, original.Max != 0
}
