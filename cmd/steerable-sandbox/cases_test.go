//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sandboxCase is one row of testdata/cases.tsv.
type sandboxCase struct {
	id, policy, setup, command, expect, check string
}

func loadCases(t *testing.T) []sandboxCase {
	t.Helper()
	text, err := os.ReadFile("testdata/cases.tsv")
	must(t, err)
	var cases []sandboxCase
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 6 || f[0] == "id" || strings.HasPrefix(f[0], "#") {
			continue
		}
		cases = append(cases, sandboxCase{f[0], f[1], f[2], f[3], f[4], f[5]})
	}
	if len(cases) < 80 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

// outside names the cases that a rung cannot satisfy by its nature. What would
// be less than the case demands must show in the rung's report: missing names
// the dimension. Without one, the rung denies more than the case wants.
func outside(backend string, c sandboxCase) (why, missing string) {
	if backend != "landlock" {
		return "", ""
	}
	writesProtected := c.policy == "protect" && c.expect == "denied"
	switch {
	case c.policy == "default+ns":
		return "needs namespaces of its own", ""
	case writesProtected:
		return "Landlock grants by directory", "protect"
	case c.id == "I10" || c.id == "I13":
		return "POSIX semaphores and shared memory need a private /dev/shm", ""
	}
	return "", ""
}

func TestCases(t *testing.T) {
	seed := sync.OnceValues(seedCache)
	for _, u := range users() {
		for _, backend := range []string{"bwrap", "native", "landlock"} {
			t.Run(u.name+"/"+backend, func(t *testing.T) {
				if !available(t, u, backend) {
					t.Skip("the rung does not work here")
				}
				for _, c := range loadCases(t) {
					t.Run(c.id, func(t *testing.T) {
						t.Parallel()
						if u.uid == 0 && c.policy == "user" {
							t.Skip("only for an ordinary user")
						}
						why, missing := outside(backend, c)
						switch {
						case missing != "":
							runExcused(t, u, backend, c, missing)
						case why != "":
							t.Skip(why)
						default:
							runCase(t, u, backend, c, seed)
						}
					})
				}
			})
		}
	}
}

// shell runs a script of the case outside the sandbox, as its user.
func (r *rig) shell(u user, script string) error {
	cmd := exec.Command("bash", "-c", script)
	cmd.Env, cmd.Dir = r.env, r.dir
	u.as(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.New(err.Error() + ": " + string(out))
	}
	return nil
}

func runCase(t *testing.T, u user, backend string, c sandboxCase, seed func() (string, error)) {
	r := newRig(t, u)
	if _, dir, ok := strings.Cut(c.policy, "TMPDIR="); ok {
		// One for each user: runs must not meet in a directory of /tmp.
		own := dir + "-" + u.name + "-" + backend
		c.policy, c.setup = "TMPDIR="+own, strings.ReplaceAll(c.setup, dir, own)
		defer os.RemoveAll(own)
	}
	c = c.alone()
	if c.setup != "" {
		must(t, r.shell(u, c.setup))
	}
	if strings.HasPrefix(c.command, "go build") && !*long {
		cache, err := seed()
		must(t, err)
		must(t, os.CopyFS(r.root+"/seed", os.DirFS(cache)))
		u.own(t, r.root+"/seed")
		c.command = `mv seed "$GOCACHE" && ` + c.command
	}
	cmd := r.command(t, backend, c)
	u.as(cmd)
	code, stdout, stderr := r.run(t, u, cmd, c)
	ok := matches(t, c.expect, code, stdout)
	checked := error(nil)
	if c.check != "" {
		r.settle(t)
		checked = r.shell(u, c.check)
	}
	if !ok || checked != nil {
		t.Errorf("exit %d, check %v\nwant   %s\nstdout %.300q\nstderr %.300q", code, checked, c.expect, stdout, stderr)
	}
}

// runExcused runs a case that the rung cannot satisfy for a caller that
// requires all of it: it is refused, for that reason, and nothing happens.
func runExcused(t *testing.T, u user, backend string, c sandboxCase, missing string) {
	r := newRig(t, u)
	if c.setup != "" {
		must(t, r.shell(u, c.setup))
	}
	cmd := r.command(t, backend, c)
	i := slices.Index(cmd.Args, "--backend")
	cmd.Args = slices.Insert(cmd.Args, i, "--require", "full")
	u.as(cmd)
	code, _, stderr := r.run(t, u, cmd, c)
	if code != 125 || !strings.Contains(stderr, "(not enforced: "+missing+")") {
		t.Errorf("exit %d, stderr %.300q; want 125 and %s", code, stderr, missing)
	}
	if c.check != "" {
		must(t, r.shell(u, c.check))
	}
}

// alone gives the sleeps that a case looks for afterwards a length that no
// other run on the machine has.
func (c sandboxCase) alone() sandboxCase {
	for _, length := range regexp.MustCompile(`\b30\d\.\d+\b`).FindAllString(c.command, -1) {
		own := length + strconv.FormatInt(time.Now().UnixNano()%1e9, 10)
		c.command, c.check = strings.ReplaceAll(c.command, length, own), strings.ReplaceAll(c.check, length, own)
	}
	return c
}

// seedCache compiles the standard library once, for the cases that build a Go
// program with caches of their own. Compiling it anew on every rung would take
// most of the time of all cases and say nothing about the rung; TestWork does
// it once, and -long everywhere.
func seedCache() (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(program), "go-build-")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(dir+"/m.go", []byte("package main\n\nfunc main() { println(1) }\n"), 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", dir+"/m", dir+"/m.go")
	cmd.Env = []string{"PATH=" + path, "HOME=" + dir, "GOCACHE=" + dir + "/cache"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir + "/cache", nil
}

// command builds the launcher's command line for a case's policy.
func (r *rig) command(t *testing.T, backend string, c sandboxCase) *exec.Cmd {
	t.Helper()
	root, dir := r.root, r.root
	args := append([]string{"exec", "--backend", backend}, r.passed()...)
	env := append([]string{"STEERABLE_EGRESS_CONTROL_TOKEN=tok"}, r.env...)
	protect := "off"
	name, value, _ := strings.Cut(c.policy, "=")
	switch name {
	case "protect":
		protect = "on"
	case "root":
		root = "/"
		args = append(args, "--allow-root-fs")
	case "cwd":
		root, dir = value, value
	case "rootname":
		root = filepath.Join(r.dir, value)
		dir = root
		must(t, os.MkdirAll(root, 0o777))
	case "symlinkroot":
		root = r.root + ".lnk"
		dir = root
		must(t, os.Symlink(r.root, root))
	case "worktree":
		args = append(args, "--git-dir", filepath.Join(r.dir, "main/.git"))
	case "proxy":
		args = append(args, "--egress-socket", r.proxy, "--egress-port", strconv.Itoa(int(r.port)))
	case "TMPDIR":
		env = append(env, "TMPDIR="+value)
	}
	if name != "cache" {
		args = append(args, "--caches", "host")
	}
	args = append(args, "--root", root, "--protect", protect)
	command := c.command
	if name == "long" {
		n, err := strconv.Atoi(value)
		must(t, err)
		script := filepath.Join(r.dir, "script")
		must(t, os.WriteFile(script, []byte(strings.Replace(command, "LONG", strings.Repeat("a", n), 1)), 0o644))
		args = append(args, "--script", script)
	} else {
		args = append(args, "--", "bash", "-c", "--", command)
	}
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir = env, dir
	return cmd
}

// run starts cmd the way the policy asks and returns how it ended.
func (r *rig) run(t *testing.T, u user, cmd *exec.Cmd, c sandboxCase) (code int, stdout, stderr string) {
	t.Helper()
	if c.policy == "pty" {
		return runPTY(t, cmd)
	}
	if c.policy == "stdin" {
		cmd.Stdin = strings.NewReader("from-stdin\n")
	}
	if c.policy == "fdleak" {
		leak(t, cmd, r.out)
	}
	out, errOut := u.pipe(t), u.pipe(t)
	cmd.Stdout, cmd.Stderr = out.w, errOut.w
	must(t, cmd.Start())
	out.w.Close()
	errOut.w.Close()
	for policy, sig := range map[string]syscall.Signal{"term": syscall.SIGTERM, "timeout": syscall.SIGTERM, "kill9": syscall.SIGKILL} {
		if c.policy == policy {
			awaitCommand(t, c)
			must(t, cmd.Process.Signal(sig))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })()
	_ = cmd.Wait()
	if ctx.Err() != nil {
		t.Errorf("timed out")
	}
	if c.policy == "kill9" { // nobody is left to wait for the command
		lingering(t, asArgv(c.command))
	}
	return exitCode(cmd.ProcessState), out.text(), errOut.text()
}

// asArgv is how a simple command stands in /proc/PID/cmdline.
func asArgv(command string) string { return "\x00" + strings.ReplaceAll(command, " ", "\x00") + "\x00" }

// awaitCommand waits until the command of a case, a simple one, runs.
func awaitCommand(t *testing.T, c sandboxCase) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for processes(asArgv(c.command)) == nil {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%q does not start", c.command)
		}
	}
}

// pipe is a pipe that u owns, so that opening /dev/stderr works for u, and
// everything that was written to it.
type pipe struct {
	w    *os.File
	text func() string
}

func (u user) pipe(t *testing.T) pipe {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	must(t, w.Chown(int(u.uid), int(u.gid)))
	var buf bytes.Buffer
	done := make(chan struct{})
	go func() { defer close(done); defer r.Close(); _, _ = buf.ReadFrom(r) }()
	t.Cleanup(func() { w.Close(); <-done })
	return pipe{w: w, text: func() string { <-done; return buf.String() }}
}

// leak opens a file for appending as descriptor 8 and a directory as 9.
func leak(t *testing.T, cmd *exec.Cmd, dir string) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(dir, "inherit"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	must(t, err)
	d, err := os.Open(dir)
	must(t, err)
	t.Cleanup(func() { file.Close(); d.Close() })
	cmd.ExtraFiles = []*os.File{d, d, d, d, d, file, d} // 3 to 9
}

// exitCode is the status as a shell would give it.
func exitCode(s *os.ProcessState) int {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}

func matches(t *testing.T, expect string, code int, stdout string) bool {
	t.Helper()
	kind, value, _ := strings.Cut(expect, "=")
	switch {
	case expect == "allowed":
		return code == 0
	case expect == "denied":
		return code != 0 && code != 125
	case expect == "any":
		return true
	case kind == "exit":
		return strconv.Itoa(code) == value
	case kind == "len":
		return code == 0 && strconv.Itoa(len(stdout)) == value
	case strings.HasPrefix(expect, "out~"):
		text := strings.TrimRight(strings.ReplaceAll(stdout, "\r", ""), "\n")
		return regexp.MustCompile("(?m)" + expect[len("out~"):]).MatchString(text)
	}
	t.Fatalf("unknown expectation %q", expect)
	return false
}
