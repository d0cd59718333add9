//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openPTY returns both ends of a new terminal.
func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	if attr := os.Getuid(); attr == 0 {
		must(t, os.Chmod(slave.Name(), 0o666))
	}
	return master, slave
}

// runPTY runs cmd on a terminal of its own, which is its controlling one.
func runPTY(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	master, slave := openPTY(t)
	defer master.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	must(t, cmd.Start())
	slave.Close()
	var out bytes.Buffer
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(&out, master) }()
	_ = cmd.Wait()
	<-done
	return exitCode(cmd.ProcessState), out.String(), ""
}

// TestTerminals: the command may use terminals that it makes and the one it
// was given, and no other program's.
func TestTerminals(t *testing.T) {
	master, other := openPTY(t)
	defer func() { _, _ = master.Close(), other.Close() }()
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		must(t, other.Chmod(0o666))
		for _, attempt := range []string{": > $T", ": < $T", "python3 -c \"import os; os.open('$T', os.O_RDWR|os.O_NOCTTY)\""} {
			c := call{u: u, backend: backend, dir: dir, flags: []string{"--env", "T=" + other.Name()}, command: attempt}
			if code, _, stderr := c.do(t); code == 0 || code == 125 {
				t.Errorf("%s: exit %d, %s", attempt, code, stderr)
			}
		}
		c := call{u: u, backend: backend, dir: dir, command: `python3 -c "
import pty, sys
sys.exit(pty.spawn(['sh', '-c', 'stty size < /dev/tty && echo made']))"`}
		if code, stdout, stderr := c.do(t); code != 0 || !strings.Contains(stdout, "made") {
			t.Errorf("a terminal of its own: exit %d, %q, %s", code, stdout, stderr)
		}
		// As musl and Go libraries do it.
		c.command = `python3 -c "
import fcntl, os, struct
master = os.open('/dev/ptmx', os.O_RDWR|os.O_NOCTTY)
fcntl.ioctl(master, 0x40045431, struct.pack('i', 0))
n, = struct.unpack('i', fcntl.ioctl(master, 0x80045430, bytes(4)))
for flags in os.O_RDWR|os.O_NOCTTY, os.O_RDWR|os.O_NOCTTY|os.O_CLOEXEC|os.O_NONBLOCK:
    slave = os.open('/dev/pts/%d' % n, flags)
    assert os.get_inheritable(slave) == False and os.get_blocking(slave) == (not flags & os.O_NONBLOCK)
    os.write(slave, b'said\\n')
    assert os.read(master, 10) == b'said\\r\\n'
with open(os.open('file', os.O_RDWR|os.O_NOCTTY|os.O_CREAT), 'w') as f: f.write('x')
for path in '/dev/pts/x', '/dev/pts/', '/dev/pts/../pts', '/dev/pts/99999999999', '/dev/pts/4000':
    try: os.open(path, os.O_RDWR|os.O_NOCTTY)
    except OSError: continue
    raise SystemExit(path + ' opens')
print('by path')"`
		if code, stdout, stderr := c.do(t); code != 0 || !strings.Contains(stdout, "by path") {
			t.Errorf("a terminal of its own by path: exit %d, %q, %s", code, stdout, stderr)
		}
		c.command = "echo given > /proc/self/fd/1 && echo too > /dev/tty"
		if code, stdout, _ := runPTY(t, c.cmd(t)); code != 0 || !strings.Contains(stdout, "given") || !strings.Contains(stdout, "too") {
			t.Errorf("the given terminal: exit %d, %q", code, stdout)
		}
	})
}
