//go:build linux

package main

import (
	"bytes"
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

// TestWork does what people's commands do. Each must work inside.
func TestWork(t *testing.T) {
	tests := []struct {
		name    string
		slow    bool   // compiles, or starts npm
		needs   string // a program, or nothing
		skip    string // a rung on which it cannot work, and why
		flags   []string
		setup   string
		command string
		want    string // in standard output
	}{
		{
			name: "commit beside protected hooks", needs: "git", setup: "git init -q . && echo 1 > f",
			command: `git add -A && git -c user.name=a -c user.email=b@c commit -qm x && git log --oneline | wc -l; echo x > .git/hooks/pre-commit || echo protected`,
			want:    "1\nprotected", skip: "landlock",
		},
		{
			name: "init and commit", needs: "git",
			command: `git init -q r && cd r && echo 1 > f && git add f && git -c user.name=a -c user.email=b@c commit -qm x && git status -sb`,
			want:    "## ",
		},
		{
			name: "commit in a worktree", needs: "git", flags: []string{"--git-dir", "../main/.git"},
			setup: `git init -q ../main && cd ../main && git -c user.name=a -c user.email=b@c commit -q --allow-empty -m x &&
				rm -rf ../root && git worktree add -q ../root && cd ../root && echo 1 > f`,
			command: `git add f && git -c user.name=a -c user.email=b@c commit -qm y && git log --oneline | wc -l`,
			want:    "2",
		},
		{
			name: "npm pack", slow: true, needs: "npm",
			command: `npm init -y > /dev/null && npm pack 2>/dev/null`, want: ".tgz",
		},
		{
			name: "go build", slow: true, needs: "go", setup: `printf 'module m\ngo 1.21\n' > go.mod; printf 'package main\nfunc main(){print("built")}\n' > m.go`,
			command: `go build -o m . && ./m 2>&1`, want: "built",
		},
		{
			name: "node unix server", needs: "node",
			command: `node -e "const n=require('net');const s=n.createServer(c=>c.end('pong')).listen('./x.pipe',()=>n.connect('./x.pipe').on('data',d=>{console.log(String(d));s.close()}))"`,
			want:    "pong",
		},
		{name: "python venv", needs: "python3", command: `python3 -m venv --without-pip v && v/bin/python -c "print(1+1)"`, want: "2"},
		{name: "strace", needs: "strace", command: `strace -o t true && grep -c execve t`, want: "1"},
		{name: "here document", command: "cat <<E\nhi\nE", want: "hi"},
		{name: "pipe and status", command: `echo a | grep -q b || echo status $?`, want: "status 1"},
		{name: "temporary file", command: `f=$(mktemp) && echo x > $f && cat $f`, want: "x"},
		{name: "touch and chmod", command: `touch -d 2001-01-01 f && chmod 640 f && stat -c '%a %y' f`, want: "640 2001-01-01"},
		{name: "tar keeps times", command: `mkdir d && touch -d 2001-01-01 d/f && tar cf a.tar d && rm -r d && tar xpf a.tar && stat -c %y d/f`, want: "2001-01-01"},
	}
	rungs(t, func(t *testing.T, u user, backend string) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if tt.needs != "" {
					if _, err := os.Stat("/usr/bin/" + tt.needs); err != nil && tt.needs != "go" {
						t.Skipf("%s is not installed", tt.needs)
					}
				}
				if tt.slow && (backend != "bwrap" || u.uid != 0) && !*long {
					t.Skip("slow; -long runs it on every rung")
				}
				if tt.skip == backend {
					t.Skip("Landlock cannot take away what it granted")
				}
				t.Parallel()
				r := newRig(t, u)
				if tt.setup != "" {
					must(t, r.shell(u, `cd "$ROOT" && `+tt.setup))
				}
				c := call{u: u, backend: backend, flags: tt.flags, dir: r.root, command: tt.command}
				code, stdout, stderr := c.do(t)
				if code != 0 || !strings.Contains(stdout, tt.want) {
					t.Errorf("exit %d\nstdout %.300q\nstderr %.300q\nwant   %q", code, stdout, stderr, tt.want)
				}
			})
		}
	})
}

// TestLargeOutput passes 200 MiB through.
func TestLargeOutput(t *testing.T) {
	u := users()[0]
	c := call{u: u, backend: "auto", dir: u.home(t), command: "head -c 209715200 /dev/zero"}
	cmd := c.cmd(t)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	n, err := io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if n != 200<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestLongScript runs a command of 1 MiB from a file and from standard input.
func TestLongScript(t *testing.T) {
	script := ": " + strings.Repeat("x", 1<<20) + "\necho end"
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		file := filepath.Join(dir, "script")
		must(t, os.WriteFile(file, []byte(script), 0o644))
		for _, from := range []string{file, "-"} {
			cmd := exec.CommandContext(t.Context(), program, "exec", "--backend", backend, "--root", dir, "--script", from)
			cmd.Env, cmd.Dir = []string{"PATH=" + path}, dir
			if from == "-" {
				cmd.Stdin = strings.NewReader(script)
			}
			u.as(cmd)
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != "end\n" {
				t.Errorf("script %q: %v, %.200q", from, err, out)
			}
		}
	})
}

// TestTermArrives: the command handles the signal itself, and the status is
// the command's.
func TestTermArrives(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		c := call{u: u, backend: backend, dir: u.home(t), command: `trap 'echo got; exit 9' TERM; echo ready; sleep 600 & wait`}
		cmd := c.cmd(t)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		line := make([]byte, 6)
		_, err = io.ReadFull(out, line)
		must(t, err)
		must(t, cmd.Process.Signal(syscall.SIGTERM))
		rest, _ := io.ReadAll(out)
		_ = cmd.Wait()
		if string(rest) != "got\n" || cmd.ProcessState.ExitCode() != 9 {
			t.Errorf("output %q, %v", rest, cmd.ProcessState)
		}
	})
}

// TestKilledLauncherLeavesNothing kills the launcher with SIGKILL while the
// command has a daemon that left its session.
func TestKilledLauncherLeavesNothing(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		marker := mark("61")
		c := call{u: u, backend: backend, dir: u.home(t), command: "setsid sleep " + marker + " & (setsid sleep " + marker + " &) ; echo ready; sleep " + marker}
		cmd := c.cmd(t)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		line := make([]byte, 6)
		_, err = io.ReadFull(out, line)
		must(t, err)
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if left := lingering(t, "sleep\x00"+marker); left != nil {
			t.Errorf("still running: %v", left)
		}
	})
}

// mark is a number of seconds that only one test sleeps for.
func mark(seconds string) string {
	return seconds + "." + strconv.FormatInt(time.Now().UnixNano()%1e9, 10)
}

// lingering waits up to five seconds for processes with that command line to
// disappear and returns those that do not.
func lingering(t *testing.T, cmdline string) []string {
	t.Helper()
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := processes(cmdline)
		if left == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return left
		}
	}
}

func processes(cmdline string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(append([]byte{0}, text...), []byte(cmdline)) {
			found = append(found, file)
		}
	}
	return found
}

// TestBackgroundDiesWithTheCall: when the launcher returns, nothing is left,
// without any waiting.
func TestBackgroundDiesWithTheCall(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		marker := mark("62")
		c := call{u: u, backend: backend, dir: u.home(t), command: "setsid sleep " + marker + " & (trap '' TERM HUP; setsid sleep " + marker + " & disown) ; exit 4"}
		code, _, stderr := c.do(t)
		if code != 4 {
			t.Errorf("exit %d, %s", code, stderr)
		}
		if left := processes("sleep\x00" + marker); left != nil {
			t.Errorf("still running: %v", left)
		}
	})
}

// TestTerminal: a full-screen program's needs, and an interrupt from the
// keyboard that reaches the command once.
func TestTerminal(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		c := call{u: u, backend: backend, dir: u.home(t), command: `test -t 0 && stty size && echo tty > /dev/tty && python3 -c "import os;os.open('/dev/tty',os.O_RDWR);print('job',os.tcgetpgrp(0)==os.getpgrp())"`}
		code, out, _ := runPTY(t, c.cmd(t))
		if code != 0 || !strings.Contains(out, "tty") || !strings.Contains(out, "job True") {
			t.Errorf("exit %d, %q", code, out)
		}
	})
}

// TestEnvironment: the command sees the allow-list and what was named, and no
// process it can look at shows more.
func TestEnvironment(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		c := call{
			u: u, backend: backend, dir: u.home(t), flags: []string{"--env", "KEEP", "--env", "SET=v", "--protect=off"},
			env:     []string{"KEEP=k", "OPENAI_API_KEY=s3cret", "LC_TIME=C"},
			command: `env | sort | cut -d= -f1 | tr '\n' ' '; cat /proc/*/environ 2>/dev/null | tr '\0' '\n' | grep -c s3cret`,
		}
		code, out, _ := c.do(t)
		if code != 1 || !strings.HasSuffix(out, "0\n") {
			t.Errorf("exit %d, output %q: want no secret anywhere", code, out)
		}
		for _, name := range []string{"KEEP", "SET", "LC_TIME", "PATH"} {
			if !strings.Contains(out, name+" ") {
				t.Errorf("%s is missing from %q", name, out)
			}
		}
	})
}

// TestOpenFilesLimit: the command gets the limit the launcher was given, not
// the one the Go runtime raised it to.
func TestOpenFilesLimit(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		cmd := exec.CommandContext(t.Context(), "bash", "-c", `ulimit -S -n 300 && exec "$0" exec --backend `+backend+` --root . -- bash -c 'ulimit -S -n; ulimit -c'`, program)
		cmd.Env, cmd.Dir = []string{"PATH=" + path}, dir
		u.as(cmd)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "300\n0\n" {
			t.Errorf("%v, %q", err, out)
		}
	})
}

// TestGitFile: a .git that is a file cannot be pointed at another directory,
// nor can the directory it names be replaced.
func TestGitFile(t *testing.T) {
	protects(t, []string{"--separate-git-dir", "apart/data"}, []string{
		"echo gitdir: evil > .git", "mv .git x", "rm -f .git", "git config core.fsmonitor evil",
		`python3 -c "import os; os.rename('apart', 'x')"`, `python3 -c "import os; os.rename('apart/data', 'x')"`,
		"echo evil > apart/data/hooks/pre-commit",
	}, "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m works")
}

// TestGitInTwoCalls: what one command makes unrecognisable stays protected from
// the next.
func TestGitInTwoCalls(t *testing.T) {
	protects(t, nil, []string{
		"mv .git/HEAD .git/x; rm -rf .git/objects; exit 1", "echo evil > .git/hooks/pre-commit", "echo evil > .git/config",
		`python3 -c "import os; os.rename('.git', 'x')"`,
	}, "mv .git/x .git/HEAD")
}

// TestSubmodules: the git directory of a submodule cannot be changed or
// replaced either.
func TestSubmodules(t *testing.T) {
	const plant = "mkdir -p .git/modules/a && git init -q --bare .git/modules/a/b && exit 1"
	protects(t, nil, []string{
		plant, "echo evil > .git/modules/a/b/config", `python3 -c "import os; os.rename('.git/modules', '.git/x')"`,
		`python3 -c "import os; os.rename('.git/modules/a', 'x')"`, `python3 -c "import os; os.rename('.git/modules/a/b', '.git/modules/a/x')"`,
	}, "touch .git/modules/a/new")
}

// protects makes a repository, demands that each attempt fails in a call of its
// own that reports "full", and then that works succeeds.
func protects(t *testing.T, init, attempts []string, works string) {
	t.Helper()
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		must(t, os.Mkdir(filepath.Join(dir, "apart"), 0o755))
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"init", "-q"}, init...)...)
		cmd.Dir = dir
		must(t, cmd.Run())
		u.own(t, dir)
		for _, attempt := range attempts {
			c := call{u: u, backend: backend, dir: dir, flags: []string{"--json"}, command: attempt}
			switch code, _, stderr := c.do(t); {
			case backend == "landlock" && strings.Contains(stderr, `"notEnforced":["protect"]`):
				return // says so, and the attempts succeed
			case code == 0 || code == 125 || !strings.Contains(stderr, `"full"`):
				t.Errorf("%s: exit %d, %s", attempt, code, stderr)
			}
		}
		c := call{u: u, backend: backend, dir: dir, command: works}
		if code, _, stderr := c.do(t); code != 0 {
			t.Errorf("%s: exit %d, %s", works, code, stderr)
		}
	})
}

// TestCoreLimit: the limit of core dumps stays where no handler of the host's
// is started, which 0 is not.
func TestCoreLimit(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		c := call{u: u, backend: backend, dir: u.home(t), command: `python3 -c "
import resource as r, os
r.setrlimit(r.RLIMIT_CORE, (0, 0)); r.prlimit(0, r.RLIMIT_CORE, (0, 0))
print(r.getrlimit(r.RLIMIT_CORE)); r.setrlimit(r.RLIMIT_NOFILE, (99, 99)); print(r.getrlimit(r.RLIMIT_NOFILE))"`}
		if code, stdout, stderr := c.do(t); code != 0 || stdout != "(1, 1)\n(99, 99)\n" {
			t.Errorf("exit %d, %q, %s", code, stdout, stderr)
		}
	})
}

// TestFailures: exit statuses and the one line.
func TestFailures(t *testing.T) {
	u := users()[0]
	dir := u.home(t)
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"missing root":    {[]string{"--root", dir + "/none", "--", "true"}, 125, "does not exist"},
		"no command":      {[]string{"--root", dir}, 125, "no command"},
		"unknown flag":    {[]string{"--rot", dir, "--", "true"}, 125, "unknown flag --rot"},
		"hidden cwd":      {[]string{"--backend", "native", "--read-deny", dir, "--", "true"}, 125, "not visible"},
		"required full":   {[]string{"--network", "on", "--require", "full", "--", "true"}, 125, "full is required (not enforced: egress)"},
		"missing script":  {[]string{"--script", dir + "/none"}, 125, "read script"},
		"missing proxy":   {[]string{"--egress-socket", dir + "/none", "--egress-port", "8080", "--", "true"}, 125, "egress socket"},
		"wrong backend":   {[]string{"--backend", "seatbelt", "--", "true"}, 125, "does not exist here"},
		"no such command": {[]string{"--root", dir, "--", "no-such-command-here"}, 127, "not found"},
		"not executable":  {[]string{"--root", dir, "--", "/etc/passwd"}, 126, "permission denied"},
		"own status 125":  {[]string{"--root", dir, "--", "sh", "-c", "exit 125"}, 125, ""},
		"own status 0":    {[]string{"--root", dir, "--", "true"}, 0, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, append([]string{"exec"}, tt.args...)...)
			cmd.Env, cmd.Dir = []string{"PATH=" + path}, dir
			u.as(cmd)
			out, _ := cmd.CombinedOutput()
			text := string(out)
			if code := exitCode(cmd.ProcessState); code != tt.code || !strings.Contains(text, tt.want) {
				t.Errorf("exit %d, %q; want %d and %q", code, text, tt.code, tt.want)
			}
			if tt.want != "" && (strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "steerable-sandbox: ")) {
				t.Errorf("not one line of ours: %q", text)
			}
		})
	}
}

// TestCommonDir: a commondir file would give a repository other hooks, and no
// mount can hold the place of a file that is not there.
func TestCommonDir(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		r := newRig(t, u)
		must(t, r.shell(u, `git init -q "$ROOT"`))
		c := call{u: u, backend: backend, dir: r.root, command: "mkdir evil && echo ../evil > .git/commondir && echo written"}
		_, out, _ := c.do(t)
		if _, err := os.Lstat(r.root + "/.git/commondir"); err == nil || out != "written\n" {
			t.Errorf("output %q, and commondir is %v", out, err)
		}
		must(t, r.shell(u, `git -C "$ROOT" status`))
	})
}

// TestSize keeps the launcher small enough to read and to start.
func TestSize(t *testing.T) {
	info, err := os.Stat(program)
	must(t, err)
	if limit := int64(5 << 19); info.Size() >= limit {
		t.Errorf("%d bytes, the limit is %d", info.Size(), limit)
	}
}
