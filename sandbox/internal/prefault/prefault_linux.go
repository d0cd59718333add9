//go:build linux && (amd64 || arm64)

package prefault

import "unsafe"

const (
	pageSize = 4096
	// pages is what was touched between here and the end of the launcher's
	// preparations, measured on Linux amd64.
	pages = 72
)

// done is the kernel's answer, negative where it knows no such call (before
// Linux 5.14). Then pages are provided one by one, as ever.
var done = populate() //nolint:gochecknoglobals // the moment of its initialisation is its purpose

// advise is madvise(at, length, MADV_POPULATE_WRITE).
//
//go:noescape
func advise(at, length uintptr) int64

// object is on the heap, and what is allocated next lies behind it.
type object struct{ _ [256]byte }

//go:noinline
func allocate() *object { return new(object) }

// populate asks for the pages from that of a new object on. They belong to the
// heap or to nothing: the call changes no content and fails at the end of a
// mapping.
func populate() int64 {
	at := uintptr(unsafe.Pointer(allocate()))
	return advise(at&^(pageSize-1), pages*pageSize)
}
