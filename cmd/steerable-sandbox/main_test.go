//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// program is the built launcher, shared by all tests: in a directory that
// every user can reach, as an installed one would be.
var program string

// setuid is a set-user-id copy of this test binary that prints its effective
// uid, "" unless the tests run as root.
var setuid string

// long asks for the full number of rounds and every slow combination.
var long = flag.Bool("long", false, "run slow combinations and 10,000 rounds of the leak test")

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "print-euid":
		fmt.Printf("euid=%d\n", os.Geteuid())
		return
	case "probe-operations":
		probeMain()
		return
	}
	dir, err := os.MkdirTemp("", "steerable-sandbox-test-")
	if err != nil {
		panic(err)
	}
	code := 1
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else if code = m.Run(); code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// build builds the launcher as it is shipped and copies the test binary under
// the names by which it plays other programs.
func build(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	program = filepath.Join(dir, "steerable-sandbox")
	if err := goBuild(program); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	image, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "probe-operations"), image, 0o755); err != nil {
		return err
	}
	if os.Getuid() != 0 {
		return nil
	}
	setuid = filepath.Join(dir, "print-euid")
	if err := os.WriteFile(setuid, image, 0o755); err != nil {
		return err
	}
	return os.Chmod(setuid, 0o755|os.ModeSetuid)
}

func goBuild(output string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w"}, flags...)
	cmd := exec.CommandContext(context.Background(), "go", append(args, "-o", output, ".")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// user is who runs the launcher.
type user struct {
	name     string
	uid, gid uint32
}

// users are root, if the tests run as root, and an ordinary user.
func users() []user {
	if os.Getuid() != 0 {
		return []user{{name: "user", uid: uint32(os.Getuid()), gid: uint32(os.Getgid())}}
	}
	return []user{{name: "root"}, {name: "user", uid: nobody, gid: nobody}}
}

// nobody owns no files and no other process of a usual system.
const nobody = 65534

// as makes cmd run as u, in a session of its own.
func (u user) as(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.uid, Gid: u.gid}
	}
}

// path is the search path of every test command: system programs only, since
// an ordinary user does not see root's.
const path = "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

// tried holds what available has found out, since every test asks.
var tried sync.Map

// available reports whether a rung works for u here.
func available(t *testing.T, u user, backend string) bool {
	t.Helper()
	if works, ok := tried.Load(u.name + " " + backend); ok {
		return works.(bool)
	}
	cmd := exec.CommandContext(t.Context(), program, "exec", "--backend", backend, "--", "true")
	cmd.Env = []string{"PATH=" + path}
	cmd.Dir = "/"
	u.as(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		if os.Getenv("STEERABLE_E2E_REQUIRED") == "1" {
			t.Fatalf("%s does not work for %s: %s", backend, u.name, out)
		}
		t.Logf("%s does not work for %s: %s", backend, u.name, strings.TrimSpace(string(out)))
	}
	tried.Store(u.name+" "+backend, err == nil)
	return err == nil
}
