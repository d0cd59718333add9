package launcher

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/seatbelt"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// fdScript is where the shell finds its script.
const fdScript = 9

// run applies a Seatbelt profile by becoming sandbox-exec. It returns only if
// that fails: signals then reach the command by themselves, and its status is
// ours.
func (l *launch) run() (int, error) {
	if b := l.command.Backend; b != policy.BackendAuto && b != policy.BackendSeatbelt {
		return 0, &wrapperError{what: "backend " + b + " does not exist here"}
	}
	if err := l.openScript(); err != nil {
		return 0, err
	}
	temp, _ := policy.Lookup(l.env, "TMPDIR")
	if resolved, err := filepath.EvalSymlinks(temp); err == nil && filepath.IsAbs(resolved) {
		temp = resolved
	} else {
		temp = ""
	}
	profile, err := seatbelt.Profile(l.policy, seatbelt.Options{
		TempDir: temp, Protected: policy.ProtectedPaths(l.policy.Roots, l.policy.GitDirs),
	})
	if err != nil {
		return 0, err
	}
	report := policy.Assess(policy.BackendSeatbelt, 0, seatbelt.Enforced(l.policy), l.policy)
	if err := l.checkReport(report); err != nil {
		return 0, err
	}
	if err := l.limit(); err != nil {
		return 0, &wrapperError{what: "set limits", err: err}
	}
	closeDescriptors()
	writable := []string{"/tmp", "/private/tmp", "/var/tmp", "/private/var/tmp", temp}
	argv := append([]string{seatbelt.Path, "-p", profile, "--"}, l.command.Argv...)
	err = syscall.Exec(seatbelt.Path, argv, l.withTemp("/tmp", writable))
	return 0, &wrapperError{what: "start " + seatbelt.Path, err: err}
}

// openScript puts the script at a fixed descriptor and makes the command a
// shell that reads it from there.
func (l *launch) openScript() error {
	path := l.command.Script
	if path == "" {
		return nil
	}
	text, err := readScript(path)
	if err != nil {
		return err
	}
	if err := placeScript(text); err != nil {
		return &wrapperError{what: "hold script", err: err}
	}
	if l.command.Unlink && l.command.Script != "-" {
		if err := os.Remove(path); err != nil {
			return &wrapperError{what: "remove script", err: err}
		}
	}
	shell := l.command.Shell
	if shell == "" {
		shell = "sh"
	}
	l.script = fdScript
	l.command.Argv = []string{shell, "--", "/dev/fd/9"}
	return nil
}

// placeScript puts the script at fdScript, in a file that has no name.
func placeScript(text []byte) error {
	f, err := os.CreateTemp("", "steerable-script-*") // mode 0600, O_EXCL
	if err != nil {
		return err
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	high := -1 // f may have the number itself
	if err == nil {
		high, err = unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, fdScript+1)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return errors.Join(unix.Dup2(high, fdScript), unix.Close(high))
}

// limit sets the limits on this process; exec keeps them.
func (l *launch) limit() error {
	var errs []error
	for _, limit := range []struct {
		resource int
		value    int64
	}{
		{unix.RLIMIT_CPU, l.policy.Limits.CPUSeconds},
		{unix.RLIMIT_FSIZE, l.policy.Limits.FileSizeBytes},
		{unix.RLIMIT_NPROC, l.policy.Limits.Processes},
		{unix.RLIMIT_AS, l.policy.Limits.AddressSpaceBytes},
	} {
		if limit.value > 0 {
			v := uint64(limit.value)
			errs = append(errs, unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: v, Max: v}))
		}
	}
	return errors.Join(errs...)
}

// closeDescriptors marks everything above the standard streams, but the
// script, to be closed by exec.
func closeDescriptors() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		fd := 0
		for _, c := range entry.Name() {
			fd = 10*fd + int(c-'0')
		}
		if strings.Trim(entry.Name(), "0123456789") == "" && fd > 2 && fd != fdScript {
			unix.CloseOnExec(fd)
		}
	}
}
