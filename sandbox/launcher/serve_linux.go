package launcher

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// serve lets the command run, stands by it, and returns its exit status.
func (s *session) serve(signals <-chan os.Signal) (int, error) {
	if s.supervisor != nil {
		// It ends with the process: the listener has no end of file that
		// could be waited for on all kernels.
		go func() { _ = s.supervisor.Run(s.notify) }()
	}
	if s.relay != nil {
		s.relay.start()
	}
	go func() {
		for sig := range signals {
			s.forward(sig)
		}
	}()
	if err := s.proceed(); err != nil {
		s.abandon()
		return 0, &wrapperError{what: "start the command", err: err}
	}
	status, err := s.wait()
	if err != nil {
		return 0, &wrapperError{what: "wait for the command", err: err}
	}
	if err := s.notExecuted(); err != nil {
		return 0, err
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// notExecuted returns the failure of the last step before the command, if
// that is what ended the child.
func (s *session) notExecuted() error {
	_ = unix.SetNonblock(s.control, true)
	m, err := s.receive()
	if err != nil || len(m.data) == 0 {
		return nil //nolint:nilerr // nothing was sent: the command did run
	}
	f := s.decode(m.data)
	switch {
	case f == nil:
		return nil
	case f.Step == stepExec:
		return commandFailure(s.name, f.Errno)
	}
	return &wrapperError{what: f.Step, err: f.Errno}
}

// catchSignals starts to collect the signals that ask the launcher to end.
// Turning each of them on takes the Go runtime a round trip between threads,
// so it happens beside the other preparations. The collecting ends with the
// process: giving it up would take longer than the command.
func catchSignals() <-chan os.Signal {
	signals := make(chan os.Signal, len(groupSignals()))
	go func() {
		for _, sig := range groupSignals() {
			if !ignored(sig) {
				signal.Notify(signals, sig)
			}
		}
	}()
	return signals
}

// forward sends one signal. What a terminal sends, it sends to the whole
// foreground group, and the command is in it.
func (s *session) forward(sig os.Signal) {
	n, ok := sig.(syscall.Signal)
	if !ok || (n == unix.SIGINT || n == unix.SIGQUIT) && foreground() {
		return
	}
	_ = unix.PidfdSendSignal(s.pidfd, n, nil, 0)
}

// foreground reports whether our process group is the one that the
// controlling terminal sends its signals to.
func foreground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(tty) }()
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// dropCapabilities takes every capability from every thread of the launcher.
// What it does for the command from now on, it does with the command's own
// authority. It still owns the user namespaces it made, which is enough to
// duplicate descriptors of processes in them.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now, none [2]unix.CapUserData
	if err := unix.Capget(&header, &now[0]); err != nil {
		return err
	}
	if now == none {
		return nil
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, ptr(&header), ptr(&none[0]), 0)
	switch {
	case errno == 0:
		return nil
	case errors.Is(errno, syscall.ENOTSUP): // built with cgo, which only tests are
		return unix.Capset(&header, &none[0])
	}
	return errno
}
