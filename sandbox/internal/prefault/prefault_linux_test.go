//go:build linux && (amd64 || arm64)

package prefault

import (
	"errors"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestAdvise lets the kernel provide fresh memory and asks it which pages are
// there.
func TestAdvise(t *testing.T) {
	memory, err := unix.Mmap(-1, 0, pages*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	if n := resident(t, memory); n != 0 {
		t.Fatalf("%d pages are there beforehand", n)
	}
	switch result := advise(uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory))); {
	case errors.Is(unix.Errno(-result), unix.EINVAL):
		t.Skip("the kernel does not provide pages in advance (before Linux 5.14)")
	case result != 0:
		t.Fatal(unix.Errno(-result))
	}
	if n := resident(t, memory); n*pageSize != len(memory) {
		t.Errorf("%d pages are there, want %d", n, pages)
	}
}

func resident(t *testing.T, memory []byte) int {
	t.Helper()
	there := make([]byte, len(memory)/pageSize)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&memory[0])), uintptr(len(memory)), uintptr(unsafe.Pointer(&there[0])))
	if errno != 0 {
		t.Fatal(errno)
	}
	n := 0
	for _, b := range there {
		n += int(b & 1)
	}
	return n
}

// TestHeap checks that the heap is what was asked for. It may end before.
func TestHeap(t *testing.T) {
	if done != 0 {
		t.Logf("the kernel said %v", unix.Errno(-done))
	}
	if again := populate(); again != 0 && !errors.Is(unix.Errno(-again), unix.ENOMEM) && !errors.Is(unix.Errno(-again), unix.EINVAL) {
		t.Errorf("the heap cannot be provided: %v", unix.Errno(-again))
	}
}
