package launcher

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/steerable-go/sidecar/sandbox/internal/mount"
)

// TestCheckBindings looks at the mounts of the test itself: /proc is one, and
// an ordinary directory is none.
func TestCheckBindings(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	of := func(path string) []binding {
		t.Helper()
		list, err := bindings(mount.Plan{Entries: []mount.Entry{{Kind: mount.Bind, Path: path}, {Kind: mount.ReadOnly, Path: "/missing"}}})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list
	}
	if err := checkBindings(os.Getpid(), of("/proc")); err != nil {
		t.Errorf("a mount at its place: %v", err)
	}
	if err := checkBindings(os.Getpid(), of(dir)); err == nil {
		t.Error("a directory on which nothing is mounted passes")
	}
	wrong := of(dir)
	wrong[0].path = "/proc"
	if err := checkBindings(os.Getpid(), wrong); err == nil {
		t.Error("another directory passes")
	}
	linked := of("/proc")
	linked[0].path = link
	if err := checkBindings(os.Getpid(), linked); err == nil {
		t.Error("a link to a mount passes")
	}
	if _, err := bindings(mount.Plan{Entries: []mount.Entry{{Kind: mount.Bind, Path: link}}}); err == nil {
		t.Error("a link is taken for a directory")
	}
}
