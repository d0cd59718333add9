//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoAuthority looks at the capabilities of the launcher that root started:
// the thread that stands by the command has none from the start, and no thread
// has any once something was done for the command.
func TestNoAuthority(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has capabilities to lose")
	}
	root := users()[0]
	for _, backend := range []string{"bwrap", "native", "landlock"} {
		t.Run(backend, func(t *testing.T) {
			if !available(t, root, backend) {
				t.Skip("the rung does not work here")
			}
			cmd := call{u: root, backend: backend, dir: root.home(t), command: "echo started; read x; touch f && chmod 600 f && echo changed; read x"}.cmd(t)
			stdin, err := cmd.StdinPipe()
			must(t, err)
			stdout, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			said := bufio.NewScanner(stdout)
			expect := func(want string) {
				t.Helper()
				if !said.Scan() || said.Text() != want {
					t.Fatalf("the command said %q, %v; want %q", said.Text(), said.Err(), want)
				}
			}
			proc := fmt.Sprintf("/proc/%d", cmd.Process.Pid)
			expect("started")
			powerless(t, filepath.Join(proc, "status"))
			_, err = io.WriteString(stdin, "\n")
			must(t, err)
			expect("changed")
			threads, err := filepath.Glob(filepath.Join(proc, "task", "*", "status"))
			if err != nil || len(threads) < 2 {
				t.Fatalf("threads: %v, %v", threads, err)
			}
			for _, thread := range threads {
				powerless(t, thread)
			}
			must(t, stdin.Close())
			_ = cmd.Wait() // read fails at end of file
		})
	}
}

// powerless fails the test if the thread has a capability. The bounding set is
// no authority without one.
func powerless(t *testing.T, status string) {
	t.Helper()
	text, err := os.ReadFile(status)
	must(t, err)
	for _, set := range []string{"CapEff", "CapPrm", "CapAmb"} {
		if !strings.Contains(string(text), set+":\t0000000000000000\n") {
			t.Errorf("%s: %s is not empty", status, set)
		}
	}
}
