//go:build linux

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilledLauncherLeavesNoNewcomer ends a call as a host does that has lost
// its patience: SIGKILL for the process group. A file that git would obey must
// not stay behind.
func TestKilledLauncherLeavesNoNewcomer(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		r := newRig(t, u)
		must(t, r.shell(u, `git init -q "$ROOT"`))
		marker := mark("63")
		c := call{u: u, backend: backend, dir: r.root, command: "trap '' TERM; mkdir evil; echo ../evil > .git/commondir; " +
			"mkdir .git/config.worktree; python3 -c '" + connects + "'; echo written; sleep " + marker + "; sleep " + marker}
		// The launcher collects garbage as often as it can, and spoils it.
		c.env = []string{"GOGC=1", "GODEBUG=clobberfree=1"}
		cmd := c.cmd(t)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		line := make([]byte, len("written\n"))
		_, err = io.ReadFull(out, line)
		must(t, err)
		must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		_ = cmd.Wait()
		for _, name := range []string{"commondir", "config.worktree"} {
			until(t, name+" is gone", func() bool {
				_, err := os.Lstat(filepath.Join(r.root, ".git", name))
				return os.IsNotExist(err)
			})
		}
		if left := lingering(t, "sleep\x00"+marker); left != nil {
			t.Errorf("still running: %v", left)
		}
		must(t, r.shell(u, `git -C "$ROOT" status`))
	})
}

// connects asks the supervisor for something often enough to fill the heap.
const connects = `
import socket
for i in range(5000):
    s = socket.socket(socket.AF_UNIX)
    s.connect_ex("/nonexistent")
    s.close()
`

// TestGitDirNewcomer: a git directory that was named is watched like that of a
// root.
func TestGitDirNewcomer(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		r := newRig(t, u)
		must(t, r.shell(u, `cd "$ROOT" && git init -q main && git -C main -c user.name=a -c user.email=b commit -q --allow-empty -m x && git -C main worktree add -q ../lw`))
		c := call{u: u, backend: backend, dir: r.root + "/lw", flags: []string{"--git-dir", r.root + "/main/.git"}, command: "echo ../evil > ../main/.git/commondir && echo written"}
		_, out, stderr := c.do(t)
		if _, err := os.Lstat(r.root + "/main/.git/commondir"); err == nil || out != "written\n" {
			t.Errorf("output %q, %s, and commondir is %v", out, stderr, err)
		}
	})
}

// TestFifoConfig: what a command puts in the place of a configuration must not
// stop the next call.
func TestFifoConfig(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		for _, command := range []string{"mkdir .git && mkfifo .git/config", "true"} {
			if code, _, stderr := (call{u: u, backend: backend, dir: dir, command: command}).do(t); code != 0 {
				t.Errorf("%s: exit %d, %s", command, code, stderr)
			}
		}
	})
}

// TestMisledRepository: what an earlier call left behind is not called
// protected.
func TestMisledRepository(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		r := newRig(t, u)
		must(t, r.shell(u, `git init -q "$ROOT" && echo ../evil > "$ROOT/.git/commondir"`))
		c := call{u: u, backend: backend, dir: r.root, flags: []string{"--json"}, command: "true"}
		if code, _, stderr := c.do(t); code != 0 || !strings.Contains(stderr, `"notEnforced":["protect"]`) {
			t.Errorf("exit %d, %s", code, stderr)
		}
		c.flags = []string{"--require", "full"}
		if code, _, stderr := c.do(t); code != 125 {
			t.Errorf("exit %d where full is required, %s", code, stderr)
		}
	})
}

// until waits up to five seconds for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Errorf("not in five seconds: %s", what)
			return
		}
	}
}

// TestStuckStart stops bwrap while it starts. A signal must end the launcher
// all the same, and so must the death of bwrap, though what bwrap has forked
// keeps the control socket open.
func TestStuckStart(t *testing.T) {
	for _, u := range users() {
		if !available(t, u, "bwrap") {
			t.Skip("the rung does not work here")
		}
		t.Run(u.name+"/signal", func(t *testing.T) {
			stuck(t, u, func(launcher, _ int) { must(t, syscall.Kill(launcher, syscall.SIGTERM)) }, 128+int(syscall.SIGTERM))
		})
		t.Run(u.name+"/death", func(t *testing.T) {
			stuck(t, u, func(_, bwrap int) { must(t, syscall.Kill(bwrap, syscall.SIGKILL)) }, 125)
		})
	}
}

// stuck catches bwrap in its start, lets end happen and expects a status. What
// takes too long is caught too late and tried again.
func stuck(t *testing.T, u user, end func(launcher, bwrap int), want int) {
	t.Helper()
	const tries = 50
	dir := u.home(t)
	for range tries {
		cmd := call{u: u, backend: "bwrap", dir: dir, command: "echo ran"}.cmd(t)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		bwrap := caught(cmd)
		if bwrap == 0 {
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
			continue
		}
		end(cmd.Process.Pid, bwrap)
		text, _ := io.ReadAll(out) // to the end: nobody may go on holding it
		_ = cmd.Wait()
		if len(text) > 0 { // it was stopped after the command had started
			continue
		}
		if code := exitCode(cmd.ProcessState); code != want {
			t.Errorf("exit %d, want %d", code, want)
		}
		return
	}
	t.Skipf("bwrap was never caught in its start in %d tries", tries)
}

// caught stops the launcher's bwrap and returns its pid, 0 if it came too late.
func caught(cmd *exec.Cmd) int {
	file := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/task/" + strconv.Itoa(cmd.Process.Pid) + "/children"
	for {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0
		}
		for field := range strings.FieldsSeq(string(text)) {
			comm, err := os.ReadFile("/proc/" + field + "/comm")
			if err != nil || string(comm) != "bwrap\n" {
				continue
			}
			pid, err := strconv.Atoi(field)
			if err != nil || syscall.Kill(pid, syscall.SIGSTOP) != nil {
				return 0
			}
			return pid
		}
		if state, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat"); err != nil || strings.Contains(string(state), ") Z ") {
			return 0
		}
	}
}

// TestSparesOthers: a shell that becomes the launcher may have children, which
// are not the command's.
func TestSparesOthers(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		marker := mark("64")
		c := call{u: u, backend: backend, dir: u.home(t), command: "setsid sleep 65 & exit 3"}
		inner := c.cmd(t)
		shell := append([]string{"-c", `sleep ` + marker + ` > /dev/null & exec "$@"`, "sh"}, inner.Args...)
		cmd := exec.CommandContext(t.Context(), "/bin/sh", shell...)
		cmd.Env, cmd.Dir = inner.Env, inner.Dir
		u.as(cmd)
		_ = cmd.Run()
		left := processes("sleep\x00" + marker)
		if exitCode(cmd.ProcessState) != 3 || len(left) != 1 {
			t.Errorf("%v; the shell's own child: %v", cmd.ProcessState, left)
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
}

// TestConfiguredHooks: hooks may be kept in the tree, and are hooks there.
func TestConfiguredHooks(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		if backend == "landlock" {
			t.Skip("Landlock only allows: the rung reports partial, without protect")
		}
		r := newRig(t, u)
		must(t, r.shell(u, `git init -q "$ROOT" && mkdir -p "$ROOT/tools/hooks" && git -C "$ROOT" config core.hooksPath tools/hooks`))
		c := call{u: u, backend: backend, dir: r.root, command: "echo evil > tools/hooks/pre-commit; mv tools x; echo fine > tools/script && ls -A tools/hooks"}
		if code, out, stderr := c.do(t); code != 0 || out != "" {
			t.Errorf("exit %d, %q, %s", code, out, stderr)
		}
	})
}
