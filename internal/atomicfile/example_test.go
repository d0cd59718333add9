package atomicfile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/steerable-go/sidecar/internal/atomicfile"
)

// A read-modify-write takes the lock on a file of its own.
func Example() {
	dir, err := os.MkdirTemp("", "atomicfile")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	lock, err := atomicfile.Acquire(context.Background(), filepath.Join(dir, "counter.lock"))
	if err != nil {
		panic(err)
	}
	defer lock.Unlock()

	path := filepath.Join(dir, "counter")
	old, _ := os.ReadFile(path)
	if err := atomicfile.Write(path, append(old, '+'), 0o600); err != nil {
		panic(err)
	}
	now, _ := os.ReadFile(path)
	fmt.Println(string(now))
	// Output: +
}
