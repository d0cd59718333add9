package launcher

import "unsafe"

// ptr is an address as a system call argument. The object must live until the
// call returns.
func ptr[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }
