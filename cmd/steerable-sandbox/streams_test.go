//go:build linux

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// with runs c with a standard input of the caller's and returns its status,
// its output and the line on standard error.
func (c call) with(t *testing.T, stdin *os.File) (code int, stdout, stderr string) {
	t.Helper()
	c.flags = append([]string{"--json"}, c.flags...)
	cmd := c.cmd(t)
	cmd.Stdin = stdin
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return exitCode(cmd.ProcessState), out.String(), errOut.String()
}

// TestStreamFile gives the command a file on the host's own, writable mount.
func TestStreamFile(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		victim := filepath.Join(filepath.Dir(dir), "victim")
		must(t, os.WriteFile(victim, []byte("before"), 0o644))
		must(t, os.Chmod(victim, 0o644))
		u.own(t, victim)
		for _, attempt := range []string{
			"os.fchmod(0, 0o600)", "os.chmod('/proc/self/fd/0', 0o600)", "os.utime(0, (1, 1))", "os.utime('/proc/self/fd/0', (1, 1))",
			"os.chown('/proc/self/fd/0', -1, os.getgid())", "os.fchown(0, -1, os.getgid())",
			"os.setxattr(0, 'user.a', b'1')", "os.open('/proc/self/fd/0', os.O_WRONLY)",
			"fcntl.ioctl(0, 0x40087602, bytes(8))", // FS_IOC_SETVERSION
		} {
			f, err := os.Open(victim)
			must(t, err)
			c := call{u: u, backend: backend, dir: dir, command: `python3 -c "import os,fcntl; ` + attempt + `"`}
			code, _, stderr := c.with(t, f)
			must(t, f.Close())
			if code != 1 || !strings.Contains(stderr, "Error") || !strings.Contains(stderr, `"full"`) {
				t.Errorf("%s: exit %d, %s", attempt, code, stderr)
			}
		}
		if info, err := os.Stat(victim); err != nil || info.Mode() != 0o644 || info.ModTime().Unix() == 1 {
			t.Errorf("the file is %v, %v", info, err)
		}
		c := call{u: u, backend: backend, dir: dir, command: "cat && : > own && chmod 600 own && touch -d @1 own"}
		f, err := os.Open(victim)
		must(t, err)
		defer func() { _ = f.Close() }()
		if code, stdout, stderr := c.with(t, f); code != 0 || stdout != "before" {
			t.Errorf("with its own files: exit %d, %q, %s", code, stdout, stderr)
		}
	})
}

// TestSharedDevices changes nodes that the host's /dev shares.
func TestSharedDevices(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		c := call{u: u, backend: backend, dir: u.home(t), command: "chmod 666 /dev/full || exec chmod 666 /proc/self/fd/0"}
		if code, _, stderr := c.do(t); code == 0 {
			t.Errorf("the mode of a device node was set: %s", stderr)
		}
	})
}

// TestStreamDirectory demands that nothing runs with a directory for a stream.
func TestStreamDirectory(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		dir, err := os.Open("/")
		must(t, err)
		defer func() { _ = dir.Close() }()
		c := call{u: u, backend: backend, dir: u.home(t), command: ": > ran"}
		code, _, stderr := c.with(t, dir)
		if code != 125 || stderr != "steerable-sandbox: standard stream 0 is a directory\n" {
			t.Errorf("exit %d, %q", code, stderr)
		}
		if _, err := os.Stat(filepath.Join(c.dir, "ran")); err == nil {
			t.Error("the command ran")
		}
	})
}

// TestStreamProtected demands that nobody is promised protection of a file
// that the command holds on a mount where it can be written.
func TestStreamProtected(t *testing.T) {
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		file := filepath.Join(dir, ".envrc")
		must(t, os.WriteFile(file, nil, 0o644))
		u.own(t, file)
		f, err := os.Open(file)
		must(t, err)
		defer func() { _ = f.Close() }()
		c := call{u: u, backend: backend, dir: dir, command: "true"}
		if code, _, stderr := c.with(t, f); code != 0 || !strings.Contains(stderr, `"notEnforced":["protect"]`) {
			t.Errorf("exit %d, %s", code, stderr)
		}
	})
}

// TestStreamSocket gives the command sockets of the host's network.
func TestStreamSocket(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	conn, err := net.Dial("tcp4", listener.Addr().String())
	must(t, err)
	defer func() { _ = conn.Close() }()
	tcp, err := conn.(*net.TCPConn).File()
	must(t, err)
	defer func() { _ = tcp.Close() }()
	pair := func(kind int) *os.File {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		must(t, unix.Close(fds[1]))
		f := os.NewFile(uintptr(fds[0]), "socket")
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	stream, datagram := pair(unix.SOCK_STREAM), pair(unix.SOCK_DGRAM)
	unixListener, err := net.Listen("unix", filepath.Join(t.TempDir(), "listener"))
	must(t, err)
	defer func() { _ = unixListener.Close() }()
	listening, err := unixListener.(*net.UnixListener).File()
	must(t, err)
	defer func() { _ = listening.Close() }()
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		for want, stdin := range map[string]*os.File{
			`"notEnforced":["egress"]`: tcp, `"notEnforced":["unix"]`: datagram, `"enforcement":"full"`: stream,
		} {
			c := call{u: u, backend: backend, dir: dir, command: "true"}
			if code, _, stderr := c.with(t, stdin); code != 0 || !strings.Contains(stderr, want) {
				t.Errorf("exit %d, %s without %s", code, stderr, want)
			}
			if code, _, stderr := c.with(t, listening); code != 0 || !strings.Contains(stderr, `"notEnforced":["unix"]`) {
				t.Errorf("a listener: exit %d, %s", code, stderr)
			}
			c = call{u: u, backend: backend, dir: dir, flags: []string{"--require", "full"}, command: "true"}
			if code, _, _ := c.with(t, stdin); (code == 0) != (stdin == stream) || code != 0 && code != 125 {
				t.Errorf("%s: exit %d where full is required", want, code)
			}
		}
	})
}

// TestStreamAnonymous gives the command a descriptor that stands for a process.
func TestStreamAnonymous(t *testing.T) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	must(t, err)
	pidfd := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = pidfd.Close() }()
	rungs(t, func(t *testing.T, u user, backend string) {
		c := call{u: u, backend: backend, dir: u.home(t), command: "true"}
		if code, _, stderr := c.with(t, pidfd); code != 125 || !strings.Contains(stderr, "standard stream 0") {
			t.Errorf("exit %d, %s", code, stderr)
		}
	})
}
