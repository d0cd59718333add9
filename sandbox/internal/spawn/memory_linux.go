package spawn

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// imageBase is the address at which an image is made and at which it runs. It
// is the same so that no address in it has to be changed. It lies far from
// where the kernel and the Go runtime put things by themselves.
const imageBase = 0x10_0000_0000

// imageData is where the data of an image starts, a multiple of the largest
// page size. Before it lies the code, which cannot be written.
const imageData = 0x1_0000

// memory is the data of an image while it is made. Whatever the system calls
// of the program are given must lie in it, other memory does not exist there.
type memory struct {
	bytes []byte // at imageBase
	used  int
	full  bool
}

// newMemory maps memory for size bytes of data.
func newMemory(size int) (*memory, error) {
	length := imageData + size
	at, _, errno := syscall.Syscall6(syscall.SYS_MMAP, imageBase, uintptr(length), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uintptr(0), 0)
	switch {
	case errno != 0:
		return nil, &StepError{Step: "map the image", Errno: errno}
	case at != imageBase: // before Linux 4.17 the flag was a hint
		_, _, _ = syscall.Syscall(syscall.SYS_MUNMAP, at, uintptr(length), 0)
		return nil, &StepError{Step: "map the image", Errno: syscall.EEXIST}
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&at))
	m := &memory{bytes: unsafe.Slice((*byte)(start), length), used: imageData}
	_ = m.take(unsafe.Sizeof(imageArgs{}))
	return m, nil
}

// take returns size bytes, aligned for any type, or nil if they do not fit.
func (m *memory) take(size uintptr) unsafe.Pointer {
	const align = 16
	from := (m.used + align - 1) &^ (align - 1)
	if size > uintptr(len(m.bytes)-from) {
		m.full = true
		return nil
	}
	m.used = from + int(size)
	return unsafe.Pointer(&m.bytes[from])
}

// holds reports whether p lies in what was taken.
func (m *memory) holds(p unsafe.Pointer) bool {
	at := uintptr(p)
	return at >= imageBase+imageData && at < imageBase+uintptr(m.used)
}

// release unmaps the memory. The program is of no use afterwards.
func (m *memory) release() {
	_, _, _ = syscall.Syscall(syscall.SYS_MUNMAP, uintptr(unsafe.Pointer(&m.bytes[0])), uintptr(len(m.bytes)), 0)
	m.bytes = nil
}

// Place returns a copy of v that the child of p can see and that lives as long
// as p. Pointers in v must come from Place as well.
func Place[T any](p *Program, v T) *T {
	if p.memory != nil {
		if at := (*T)(p.memory.take(unsafe.Sizeof(v))); at != nil {
			*at = v
			return at
		}
	}
	at := new(T)
	*at = v
	p.keep = append(p.keep, at)
	return at
}

// PlaceSlice is Place for a list; it returns the address of the first element.
func PlaceSlice[T any](p *Program, list []T) *T {
	if len(list) == 0 {
		return Place(p, *new(T))
	}
	if p.memory != nil {
		if at := (*T)(p.memory.take(uintptr(len(list)) * unsafe.Sizeof(list[0]))); at != nil {
			copy(unsafe.Slice(at, len(list)), list)
			return at
		}
	}
	list = append([]T(nil), list...)
	p.keep = append(p.keep, list)
	return &list[0]
}
