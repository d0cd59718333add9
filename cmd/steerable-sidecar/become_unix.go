//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// become replaces this process by the program at path, so that its parent's
// signals and descriptors are the program's. It returns only with an error.
func become(path string, args []string) (int, error) {
	err := syscall.Exec(path, append([]string{path}, args...), os.Environ())
	return 0, fmt.Errorf("start %s: %w", path, err)
}
