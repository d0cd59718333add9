//go:build linux && (amd64 || arm64)

// The test is in a package of its own: within nofile its imports would make
// nofile initialise as late as they do.
package nofile_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/steerable-go/sidecar/sandbox/internal/nofile"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "print" {
		limit, ok := nofile.Original()
		fmt.Println(limit.Cur, ok)
		return
	}
	os.Exit(m.Run())
}

// TestOriginal starts this test binary under a low soft limit, which package
// syscall raises before main runs.
func TestOriginal(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -S -n 123 && exec "$0" print`, exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != "123 true\n" {
		t.Errorf("Original gives %q, want the inherited 123", out)
	}
}
