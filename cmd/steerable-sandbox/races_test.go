//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// nested is a root in a root, as a command of another call can move and replace
// it, with a file outside of both.
type nested struct{ outer, inner, victim string }

func newNested(t *testing.T, u user) nested {
	t.Helper()
	dir := u.home(t)
	n := nested{outer: dir + "/a", inner: dir + "/a/b", victim: dir + "/out/victim"}
	must(t, os.MkdirAll(n.inner, 0o755))
	must(t, os.Mkdir(filepath.Dir(n.victim), 0o755))
	must(t, os.WriteFile(n.victim, []byte("data\n"), 0o644))
	u.own(t, dir)
	return n
}

// attack is what a command tries on the file outside.
func (n nested) attack() string {
	return fmt.Sprintf("echo evil > %[1]s; chmod 777 %[1]s; echo evil > %[1]s.new; true", n.victim)
}

// untouched fails the test if the attack had an effect.
func (n nested) untouched(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(n.victim)
	must(t, err)
	info, err := os.Stat(n.victim)
	must(t, err)
	if string(text) != "data\n" || info.Mode() != 0o644 {
		t.Errorf("the file outside is now %q, mode %v", text, info.Mode())
	}
	if _, err := os.Lstat(n.victim + ".new"); err == nil {
		t.Error("there is a new file outside")
	}
}

// TestRootBecomesALink puts a link in the place of a root after the launcher has
// made its policy and before it has confined anything. The launcher reads its
// script in between, and the test keeps it waiting there.
func TestRootBecomesALink(t *testing.T) {
	for _, target := range []string{"/", "..", "../out"} {
		t.Run(strings.ReplaceAll(target, "/", "_"), func(t *testing.T) {
			rungs(t, func(t *testing.T, u user, backend string) {
				n := newNested(t, u)
				fifo := filepath.Join(filepath.Dir(n.outer), "script")
				must(t, unix.Mkfifo(fifo, 0o666))
				u.own(t, fifo)
				cmd := call{u: u, backend: backend, dir: n.outer}.cmd(t)
				cmd.Args = append(cmd.Args[:len(cmd.Args)-5], "--json", "--protect=off", "--root", n.inner, "--script", fifo)
				var stderr strings.Builder
				cmd.Stderr = &stderr
				must(t, cmd.Start())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_ = cmd.Wait()
					if f, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
						_ = f.Close() // nobody waits for a reader that has gone
					}
				}()
				script, err := os.OpenFile(fifo, os.O_WRONLY, 0) // returns when the launcher reads
				must(t, err)
				must(t, os.Rename(n.inner, n.outer+"/aside"))
				must(t, os.Symlink(target, n.inner))
				_, err = io.WriteString(script, n.attack())
				must(t, err)
				must(t, script.Close())
				<-ended
				if code := exitCode(cmd.ProcessState); code != 125 || !strings.Contains(stderr.String(), "symbolic link") {
					t.Errorf("exit %d, %s", code, stderr.String())
				}
				n.untouched(t)
			})
		})
	}
}

// TestRootKeepsBecomingALink lets somebody exchange a root for a link and back
// all the time. A call is refused or confined, whatever it meets.
func TestRootKeepsBecomingALink(t *testing.T) {
	const calls = 25
	rungs(t, func(t *testing.T, u user, backend string) {
		n := newNested(t, u)
		link := n.outer + "/link"
		must(t, os.Symlink("..", link))
		var stop atomic.Bool
		var exchanges int
		done := make(chan error)
		go func() {
			var err error
			for ; err == nil && !stop.Load(); exchanges++ {
				err = unix.Renameat2(unix.AT_FDCWD, n.inner, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
			done <- err
		}()
		ran, refused := 0, 0
		for range calls {
			code, _, stderr := call{
				u: u, backend: backend, dir: n.outer, flags: []string{"--protect=off", "--root", n.inner}, command: n.attack(),
			}.do(t)
			switch code {
			case 0:
				ran++
			case 125:
				refused++
			default:
				t.Errorf("exit %d, %s", code, stderr)
			}
		}
		stop.Store(true)
		must(t, <-done)
		t.Logf("%d exchanges, %d calls ran, %d were refused", exchanges, ran, refused)
		n.untouched(t)
	})
}

// TestParentsStay: a directory between a root and something below it that has
// rules of its own cannot be moved out of the way, where anything is protected.
func TestParentsStay(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		if backend == "landlock" {
			t.Skip("Landlock protects nothing inside a root, and its report says so")
		}
		dir := u.home(t)
		git, secret := dir+"/x/y/.git", dir+"/conf/deep/secret"
		for _, d := range []string{git + "/objects", git + "/refs", git + "/hooks", filepath.Dir(secret)} {
			must(t, os.MkdirAll(d, 0o755))
		}
		for _, f := range []string{git + "/HEAD", git + "/config", secret} {
			must(t, os.WriteFile(f, []byte("original\n"), 0o644))
		}
		u.own(t, dir)
		c := call{u: u, backend: backend, dir: dir, flags: []string{"--require", "full", "--root", dir + "/x/y", "--read-deny", secret}}
		c.command = `mv x z; mv x/y x/z; mv conf con2; mv conf/deep conf/dee2; mkdir -p x/y/.git; echo evil > x/y/.git/config`
		if code, _, stderr := c.do(t); code == 125 {
			t.Fatal(stderr)
		}
		c.command = `cat conf*/dee*/secret con*/deep/secret`
		if _, stdout, stderr := c.do(t); strings.Contains(stdout, "original") || strings.Contains(stderr, "steerable-sandbox:") {
			t.Errorf("the next call reads %q, %s", stdout, stderr)
		}
		text, err := os.ReadFile(git + "/config")
		must(t, err)
		if string(text) != "original\n" {
			t.Errorf("the configuration is now %q", text)
		}
	})
}

// TestLauncherInARoot: a command cannot replace the program that will confine
// the next one.
func TestLauncherInARoot(t *testing.T) {
	image, err := os.ReadFile(program)
	must(t, err)
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		local := filepath.Join(dir, "modules", "bin", "steerable-sandbox")
		must(t, os.MkdirAll(filepath.Dir(local), 0o755))
		must(t, os.WriteFile(local, image, 0o755))
		u.own(t, dir)
		c := call{u: u, backend: backend, dir: dir, flags: []string{"--json"}}
		c.command = "echo evil > modules/bin/steerable-sandbox; cp /bin/true new; mv new modules/bin/steerable-sandbox; mv modules/bin modules/x; mv modules x"
		cmd := c.cmd(t)
		cmd.Path = local
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run()
		report, _, _ := strings.Cut(stderr.String(), "\n")
		if backend == "landlock" {
			if !strings.Contains(report, `"notEnforced":["protect"]`) {
				t.Errorf("the report is %s", report)
			}
			return
		}
		if !strings.Contains(report, `"enforcement":"full"`) {
			t.Errorf("the report is %s", report)
		}
		if now, err := os.ReadFile(local); err != nil || string(now) != string(image) {
			t.Errorf("the launcher is another one now, %v", err)
		}
	})
}

// TestNothingElseIsRemoved: the launcher removes files that undermine a
// repository, and lets nobody turn that against another directory.
func TestNothingElseIsRemoved(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		other := filepath.Join(filepath.Dir(dir), "other")
		for _, d := range []string{"objects", "refs", "hooks"} {
			must(t, os.MkdirAll(filepath.Join(dir, ".git", d), 0o755))
		}
		must(t, os.WriteFile(filepath.Join(dir, ".git", "HEAD"), nil, 0o644))
		must(t, os.Mkdir(other, 0o755))
		for _, name := range []string{"config", "commondir"} {
			must(t, os.WriteFile(filepath.Join(other, name), nil, 0o644))
		}
		u.own(t, filepath.Dir(dir))
		c := call{u: u, backend: backend, dir: dir, command: "echo evil > .git/commondir; mv .git aside && ln -s ../other .git; true"}
		if code, _, stderr := c.do(t); code != 0 {
			t.Fatalf("exit %d, %s", code, stderr)
		}
		for _, name := range []string{"config", "commondir"} {
			if _, err := os.Lstat(filepath.Join(other, name)); err != nil {
				t.Error(err)
			}
		}
		_, err := os.Lstat(filepath.Join(dir, ".git", "commondir"))
		if backend != "landlock" && err == nil { // where .git could not be moved
			t.Error("the file that undermines the repository is still there")
		}
	})
}

// TestManySubmodules: a repository with more git directories than bwrap takes
// arguments for is protected all the same.
func TestManySubmodules(t *testing.T) {
	const submodules = 5000
	u := users()[len(users())-1]
	dir := u.home(t)
	git := filepath.Join(dir, ".git")
	for i := range submodules {
		must(t, os.MkdirAll(fmt.Sprintf("%s/modules/m%d/hooks", git, i), 0o755))
		must(t, os.WriteFile(fmt.Sprintf("%s/modules/m%d/config", git, i), []byte("original\n"), 0o644))
	}
	must(t, os.WriteFile(git+"/config", []byte("original\n"), 0o644))
	u.own(t, dir)
	last := fmt.Sprintf("%s/modules/m%d/config", git, submodules-1)
	for _, backend := range []string{"auto", "bwrap", "native"} {
		t.Run(backend, func(t *testing.T) {
			if backend != "auto" && !available(t, u, backend) {
				t.Skip("the rung does not work here")
			}
			c := call{u: u, backend: backend, dir: dir, flags: []string{"--require", "full"}}
			c.command = fmt.Sprintf("echo evil > %s; echo evil > .git/config; mv .git/modules/m1 .git/modules/x; mv .git x; touch made", last)
			if code, _, stderr := c.do(t); code != 0 {
				t.Fatalf("exit %d, %s", code, stderr)
			}
			for _, file := range []string{last, git + "/config", git + "/modules/m1/config"} {
				text, err := os.ReadFile(file)
				if err != nil || string(text) != "original\n" {
					t.Errorf("%s is now %q, %v", file, text, err)
				}
			}
			must(t, os.Remove(filepath.Join(dir, "made")))
		})
	}
}
