package spawn

import (
	"slices"
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

// memory is the data of a program. For an image, while it is made, it lies at
// imageBase; whatever the system calls of the program are given must be in it,
// other memory does not exist there. For a child it is a piece of the heap, or
// several: small objects of all sizes would touch many pages for the first
// time. The collector does not see the pointers in it, which lead to other data
// of the same program.
type memory struct {
	bytes  []byte
	used   int
	filled [][]byte // a child's pieces before bytes
	image  bool
	full   bool // an image does not grow
}

// piece is the size of a piece of a child's memory.
const piece = 40 << 10

// take returns size bytes for p, or nil if they do not fit into an image.
func (p *Program) take(size uintptr) unsafe.Pointer {
	if p.memory == nil {
		p.memory = &memory{bytes: make([]byte, piece)}
	}
	return p.memory.take(size)
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
	m := &memory{bytes: unsafe.Slice((*byte)(start), length), used: imageData, image: true}
	_ = m.take(unsafe.Sizeof(imageArgs{}))
	return m, nil
}

// take returns size bytes, aligned for any type, or nil if they do not fit.
func (m *memory) take(size uintptr) unsafe.Pointer {
	const align = 16
	from := (m.used + align - 1) &^ (align - 1)
	if from > len(m.bytes) || size > uintptr(len(m.bytes)-from) {
		if m.image {
			m.full = true
			return nil
		}
		m.filled, m.bytes, from = append(m.filled, m.bytes), make([]byte, max(size, piece)), 0
	}
	m.used = from + int(size)
	return unsafe.Pointer(&m.bytes[from])
}

// holds reports whether p lies in what was taken.
func (m *memory) holds(p unsafe.Pointer) bool {
	in := func(b []byte) bool {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		return uintptr(p) >= start && uintptr(p) < start+uintptr(len(b))
	}
	return in(m.bytes[:m.used]) || slices.ContainsFunc(m.filled, in)
}

// release unmaps the memory. The program is of no use afterwards.
func (m *memory) release() {
	_, _, _ = syscall.Syscall(syscall.SYS_MUNMAP, uintptr(unsafe.Pointer(&m.bytes[0])), uintptr(len(m.bytes)), 0)
	m.bytes, m.used = nil, 0
}

// Place returns a copy of v that the child of p can see and that lives as long
// as p. Pointers in v must come from Place as well.
func Place[T any](p *Program, v T) *T {
	return (*T)(p.place(unsafe.Pointer(&v), unsafe.Sizeof(v)))
}

// PlaceSlice is Place for a list; it returns the address of the first element.
func PlaceSlice[T any](p *Program, list []T) *T {
	return (*T)(p.place(unsafe.Pointer(unsafe.SliceData(list)), uintptr(len(list))*unsafe.Sizeof(*new(T))))
}

// place copies size bytes. It is one function for all types: copies of it for
// each were a part of the launcher that could be seen.
func (p *Program) place(from unsafe.Pointer, size uintptr) unsafe.Pointer {
	const least = 8 // also for a list of nothing
	at := p.take(max(size, least))
	if at == nil { // the image is refused
		at = unsafe.Pointer(unsafe.SliceData(make([]byte, max(size, least))))
	}
	copy(unsafe.Slice((*byte)(at), size), unsafe.Slice((*byte)(from), size))
	return at
}
