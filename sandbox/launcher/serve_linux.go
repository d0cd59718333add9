package launcher

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/signals"
)

// serve lets the command run, stands by it, and returns its exit status. What
// the command asks for before somebody listens waits.
func (s *session) serve(caught int) (int, error) {
	if err := s.proceed(); err != nil {
		s.abandon()
		return 0, &wrapperError{what: "start the command", err: err}
	}
	if s.supervisor != nil {
		// It ends with the process: the listener has no end of file that
		// could be waited for on all kernels.
		go func() { _ = s.supervisor.Run(s.notify) }()
	}
	if s.relay != nil {
		s.relay.start()
	}
	status, err := s.attend(caught)
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

// attend passes signals on until our child ends, then ends and reaps what was
// left to us, so that no process of the call is alive when its status is
// known. Its end is a signal too, so there is one thing to wait for.
func (s *session) attend(caught int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(s.pid, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case pid == s.pid:
			reapOrphans(s.spared)
			return status, nil
		}
		sig, err := signals.Next(caught)
		if err != nil {
			return 0, err
		}
		if sig != unix.SIGCHLD {
			s.forward(sig)
		}
	}
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

// catchSignals starts to collect the signals that ask the launcher to end, and
// those of children that end, and returns where they can be read.
func catchSignals() (caught int, err error) {
	caught, err = signals.Catch(append(groupSignals(), unix.SIGCHLD)...)
	if err == nil {
		caught, err = own(caught)
	}
	if err != nil {
		return -1, &wrapperError{what: "catch signals", err: err}
	}
	return caught, nil
}

// forward sends one signal. What a terminal sends, it sends to the whole
// foreground group, and the command is in it.
func (s *session) forward(sig syscall.Signal) {
	if (sig == unix.SIGINT || sig == unix.SIGQUIT) && foreground() {
		return
	}
	_ = unix.PidfdSendSignal(s.pidfd, sig, nil, 0)
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

// dropOwnCapabilities takes every capability from the calling thread and
// reports whether there was one.
func dropOwnCapabilities() (had bool, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now, none [2]unix.CapUserData
	if err := unix.Capget(&header, &now[0]); err != nil {
		return false, err
	}
	if now == none {
		return false, nil
	}
	return true, unix.Capset(&header, &none[0])
}

// dropCapabilities takes every capability from every thread of the launcher.
// What it does for the command, it does with the command's own authority. It
// still owns the user namespaces it made, which is enough to duplicate
// descriptors of processes in them.
//
// Interrupting all threads takes longer than many a command, so it happens
// when the command first asks for something, before that is looked at.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, ptr(&header), ptr(&none[0]), 0)
	switch {
	case errno == 0:
		return nil
	case errors.Is(errno, syscall.ENOTSUP): // built with cgo, which only tests are
		return unix.Capset(&header, &none[0])
	}
	return errno
}

// disarm makes before happen before the launcher does anything that the
// command asks for. If it fails, nothing is done.
func (s *session) disarm(before func() error) {
	if s.supervisor != nil {
		s.supervisor.Before = before
	}
	if s.relay != nil {
		s.relay.before = before
	}
}
