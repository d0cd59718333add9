//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDevicesInRoots: a device node that lies in a root cannot be opened where
// the root is a mount, whoever made it, nor does a set-id bit count there.
func TestDevicesInRoots(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a device node")
	}
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		node := filepath.Join(dir, "sub", "null")
		must(t, os.Mkdir(filepath.Dir(node), 0o755))
		must(t, unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
		must(t, os.Chmod(node, 0o666))
		u.own(t, dir)
		must(t, os.WriteFile(node, nil, 0)) // the node works outside
		c := call{u: u, backend: backend, dir: dir, flags: []string{"--protect=off"}}
		for _, attempt := range []string{": < sub/null", ": > sub/null", `: < "$PWD/sub/null"`} {
			c.command = attempt
			code, _, stderr := c.do(t)
			if denied := code != 0 && strings.Contains(stderr, "Permission denied"); denied != (backend != "landlock") {
				t.Errorf("%s: exit %d, %s", attempt, code, stderr)
			}
		}
		if backend == "landlock" {
			return // it has no mounts; docs/threat-model.md says so
		}
		c.command = "cat /proc/self/mountinfo"
		_, stdout, stderr := c.do(t)
		for line := range strings.Lines(stdout) {
			f := strings.Fields(line)
			if len(f) > 5 && f[4] == dir {
				options := "," + f[5] + ","
				if !strings.Contains(options, ",nosuid,") || !strings.Contains(options, ",nodev,") || !strings.Contains(options, ",rw,") {
					t.Errorf("the root is mounted %s", f[5])
				}
				return
			}
		}
		t.Errorf("the root is no mount: %s%s", stdout, stderr)
	})
}
