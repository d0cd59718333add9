//go:build linux

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestHelp: help goes to standard output, names every flag and is no failure.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help"}, {"exec", "--help"}, {"exec", "-h"}, {"exec", "--root", "/none", "--help"}} {
		cmd := exec.CommandContext(t.Context(), program, args...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%q: %v, stderr %q", args, err, &stderr)
		}
		for _, part := range []string{"usage: steerable-sandbox exec", "--root", "--require", "--script", "--cpu-seconds", "--supervise"} {
			if !strings.Contains(stdout.String(), part) {
				t.Errorf("%q does not mention %s: %.80q", args, part, &stdout)
			}
		}
	}
}

// TestStreams: streams that are closed, empty or cannot be read make one clear
// line or the command's own status, never a hang and never a command that was
// not given.
func TestStreams(t *testing.T) {
	tests := []struct {
		name  string
		shell string // runs "$S", the launcher
		code  int
		out   string // part of both streams
	}{
		{"empty script", `"$S" exec --script - < /dev/null`, 125, "steerable-sandbox: the script is empty"},
		{"blank script", `printf ' \n\n' | "$S" exec --script -`, 125, "steerable-sandbox: the script is empty"},
		{"no standard input for a script", `"$S" exec --script - <&-`, 125, "steerable-sandbox: "},
		{"a directory for a script", `"$S" exec --script /etc`, 125, "steerable-sandbox: read script"},
		{"a script above the limit", `head -c 16777217 /dev/zero | tr '\0' '#' | "$S" exec --script -`, 125, "steerable-sandbox: read script: file too large"},
		{"a script at the limit", `{ head -c 16777209 /dev/zero | tr '\0' '#'; printf '\nexit 7'; } | "$S" exec --script -`, 7, ""},
		{"no standard input", `"$S" exec -- cat <&-`, 0, ""},
		// A closed stream becomes /dev/null, so that no file of ours or of the
		// command's takes its number.
		{"no standard output", `"$S" exec -- sh -c 'echo x && test "$(readlink /proc/self/fd/1)" && exit 9' >&-`, 9, ""},
		{"no standard error", `"$S" exec -- sh -c 'exit 8' 2>&-`, 8, ""},
		{"no stream at all", `"$S" exec -- sh -c 'exit 6' <&- >&- 2>&-`, 6, ""},
		{"nobody to complain to", `"$S" exec --root /none -- true 2>&-`, 125, ""},
		{"a reader that goes away", `"$S" exec -- yes | head -n 1`, 0, "y\n"},
		{"an empty root", `"$S" exec --root '' -- true`, 125, "steerable-sandbox: "},
		{"a root that is a file", `"$S" exec --root /etc/passwd -- true`, 125, "steerable-sandbox: "},
		{"an empty command", `"$S" exec -- ''`, 127, "steerable-sandbox: "},
		{"a flag's value that is none", `"$S" exec --root -- true`, 125, "steerable-sandbox: --root needs a value"},
		{"a shell without a script", `"$S" exec --shell bash -- true`, 125, "steerable-sandbox: --shell and --unlink go with --script"},
	}
	rungs(t, func(t *testing.T, u user, backend string) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				script := strings.ReplaceAll(tt.shell, `"$S" exec`, `"$S" exec --backend `+backend)
				cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
				cmd.Env, cmd.Dir = []string{"PATH=" + path, "S=" + program}, "/"
				u.as(cmd)
				out, _ := cmd.CombinedOutput()
				if code := exitCode(cmd.ProcessState); code != tt.code || !strings.Contains(string(out), tt.out) {
					t.Errorf("exit %d, %.200q; want %d and %q", code, out, tt.code, tt.out)
				}
				if tt.code == 125 && tt.out != "" && strings.Count(string(out), "\n") != 1 {
					t.Errorf("not one line: %q", out)
				}
			})
		}
	})
}

// TestUnlink: the script is gone before its command runs, and stays when it is
// not run.
func TestUnlink(t *testing.T) {
	u := users()[0]
	dir := u.home(t)
	file := filepath.Join(dir, "script")
	for text, gone := range map[string]bool{`test ! -e script`: true, " \n": false} {
		must(t, os.WriteFile(file, []byte(text), 0o644))
		cmd := exec.CommandContext(t.Context(), program, "exec", "--root", dir, "--script", file, "--unlink")
		cmd.Env, cmd.Dir = []string{"PATH=" + path}, dir
		err := cmd.Run()
		if _, statErr := os.Stat(file); (err == nil) != gone || (statErr != nil) != gone {
			t.Errorf("script %q: %v, and then %v", text, err, statErr)
		}
	}
}

// TestKilledCaller: whoever started the launcher is killed. The command goes on
// as it would without a sandbox, and still ends with its launcher.
func TestKilledCaller(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		marker := mark("63")
		cmd := exec.CommandContext(t.Context(), "bash", "-c", `"$S" exec --backend `+backend+` --root . -- bash -c 'echo ready; sleep `+marker+`' & echo $!; wait`)
		cmd.Env, cmd.Dir = []string{"PATH=" + path, "S=" + program}, u.home(t)
		u.as(cmd)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		launcher := 0
		for range 2 { // "ready" and the launcher's pid, in any order
			lines.Scan()
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				launcher = n
			}
		}
		if launcher == 0 {
			t.Fatal("the launcher did not start")
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if processes(program) == nil {
			t.Error("the launcher died of its caller's death")
		}
		must(t, syscall.Kill(launcher, syscall.SIGTERM))
		if left := lingering(t, "sleep\x00"+marker); left != nil {
			t.Errorf("still running after its launcher was told to end: %v", left)
		}
	})
}
