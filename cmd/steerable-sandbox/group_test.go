//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestProcessGroup: the command starts in the process group of whoever started
// the launcher, and cannot use that to reach the others in it.
func TestProcessGroup(t *testing.T) {
	const attempts = `import ctypes, os, signal
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
libc = ctypes.CDLL(None)
libc.setpriority(1, 0, 7)
libc.syscall({'x86_64': 251, 'aarch64': 30}[os.uname().machine], 2, 0, (2 << 13) | 7)
os.kill(0, signal.SIGUSR1)
libc.syscall(424, os.pidfd_open(os.getpid()), int(signal.SIGUSR1), None, 4)`
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		c := call{u: u, backend: backend, dir: dir, env: []string{"ATTEMPTS=" + attempts}, flags: []string{"--env", "ATTEMPTS"}, command: `python3 -c "$ATTEMPTS"`}
		inner := c.cmd(t)
		script := `sleep 300 & neighbour=$!
"$@" || echo "exit $?"
awk '{ print "nice", $19 }' /proc/$neighbour/stat
ionice -p $neighbour
kill $neighbour`
		cmd := exec.CommandContext(t.Context(), "bash", append([]string{"-c", script, "bash"}, inner.Args...)...)
		cmd.Env, cmd.Dir = inner.Env, inner.Dir
		u.as(cmd)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != "nice 0\nnone: prio 0" {
			t.Errorf("the neighbour in the process group: %v, %s", err, got)
		}
	})
}
