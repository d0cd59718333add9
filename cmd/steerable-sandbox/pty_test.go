//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
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
