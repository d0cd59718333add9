//go:build unix

package conformance

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group, so that what it
// starts can be ended with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// killGroup ends a process and its descendants that stayed in its group.
func killGroup(p *os.Process) error {
	return syscall.Kill(-p.Pid, syscall.SIGKILL)
}
