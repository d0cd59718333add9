//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// call is one confined command of an ordinary test.
type call struct {
	u       user
	backend string
	flags   []string
	dir     string
	env     []string
	command string
}

// cmd builds the launcher's command line.
func (c call) cmd(t *testing.T) *exec.Cmd {
	t.Helper()
	args := append([]string{"exec", "--backend", c.backend, "--root", c.dir}, c.flags...)
	cmd := exec.CommandContext(t.Context(), program, append(args, "--", "bash", "-c", "--", c.command)...)
	cmd.Env = append([]string{"PATH=" + path, "HOME=" + c.dir, "LANG=C.UTF-8"}, c.env...)
	cmd.Dir = c.dir
	c.u.as(cmd)
	return cmd
}

// do runs the command and returns its status and both outputs.
func (c call) do(t *testing.T) (code int, stdout, stderr string) {
	t.Helper()
	cmd := c.cmd(t)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return exitCode(cmd.ProcessState), out.String(), errOut.String()
}

// rungs runs a test for every user and every rung that works.
func rungs(t *testing.T, test func(t *testing.T, u user, backend string)) {
	t.Helper()
	for _, u := range users() {
		for _, backend := range []string{"bwrap", "native", "landlock"} {
			t.Run(u.name+"/"+backend, func(t *testing.T) {
				if !available(t, u, backend) {
					t.Skip("the rung does not work here")
				}
				test(t, u, backend)
			})
		}
	}
}

// home makes a directory that u owns, in one that u owns too.
func (u user) home(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(u.folder(t), "root")
	must(t, os.Mkdir(dir, 0o755))
	u.own(t, dir)
	return dir
}
