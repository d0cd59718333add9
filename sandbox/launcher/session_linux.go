package launcher

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/signals"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
	"github.com/steerable-go/sidecar/sandbox/internal/supervisor"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// Messages on the control socket, by their first byte. Others are a failed
// step of a prepared child or of an image.
//
//	child → launcher   'L' + descriptor   a listener on the pinned port
//	                   'R' [+ descriptor] ready; the notification listener
//	launcher → child   one byte           go on
//
// The kernel adds the sender's pid to every message (SCM_CREDENTIALS).
const (
	tagListener = 'L'
	tagReady    = 'R'
)

// session is a started child and what is needed to serve it.
type session struct {
	pid     int    // our child: guardian, init of the namespaces, or bwrap
	name    string // the command's, for messages
	control int    // our end of the control socket, -1 once closed
	program *spawn.Program
	image   *spawn.Program // what bwrap executes, nil elsewhere
	applied policy.Dimension

	supervisor *supervisor.Supervisor // nil if nothing is suspended
	relay      *relay                 // nil without a pinned endpoint to carry

	notify  int // listener of the filter, -1 for none
	command int // pid of the command in our pid namespace
	pidfd   int
	stderr  int       // pipe with the words of bwrap, -1 for none
	bound   []binding // what bwrap was told to bind writable, nil elsewhere
	temp    string    // private temporary directory to remove, "" for none
	spared  []int     // children that do not belong to the call

	data [512]byte // of the last message received
	oob  [256]byte
}

func newSession(pid, control int, program *spawn.Program) *session {
	return &session{pid: pid, control: control, program: program, notify: -1, pidfd: -1, stderr: -1}
}

// proceed lets the child go on.
func (s *session) proceed() error {
	if _, err := unix.SendmsgN(s.control, []byte{0}, nil, nil, unix.MSG_NOSIGNAL); err != nil {
		return &startError{err: err}
	}
	return nil
}

// handshake receives messages until the child is ready. Errors are startErrors
// or say that the command does not exist: nothing of it has run.
//
// A signal to end that arrives on caught before that is a signalError.
func (s *session) handshake(caught int) error {
	for {
		if err := s.await(caught); err != nil {
			return err
		}
		m, err := s.receive()
		if err != nil {
			return &startError{err: err}
		}
		switch m.tag() {
		case tagListener:
			if s.relay == nil || m.fd < 0 {
				return &startError{err: errors.New("unexpected listener")}
			}
			s.relay.listeners = append(s.relay.listeners, m.fd)
		case tagReady:
			s.notify, s.command = m.fd, m.pid
			if (s.supervisor != nil) != (s.notify >= 0) {
				return &startError{err: errors.New("the filter has no listener")}
			}
			s.pidfd, err = unix.PidfdOpen(s.command, 0)
			if err == nil && len(s.bound) > 0 {
				err = checkBindings(s.command, s.bound)
			}
			if err != nil {
				return &startError{err: err}
			}
			return nil
		default:
			err := s.failure(m)
			if _, ok := errors.AsType[*commandError](err); ok {
				return err
			}
			return &startError{err: err}
		}
	}
}

// signalError is a signal that ends the launcher before the command has run.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string { return "ended by signal " + itoa(int(e.signal)) }

// await waits until there is a message. The end of our child need not close the
// socket: where bwrap is killed early, what it has forked still holds it.
func (s *session) await(caught int) error {
	for {
		fds := []unix.PollFd{{Fd: int32(s.control), Events: unix.POLLIN}, {Fd: int32(caught), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return &startError{err: err}
		case fds[0].Revents != 0:
			return nil
		}
		sig, err := signals.Next(caught)
		switch {
		case err != nil:
			return &startError{err: err}
		case sig != unix.SIGCHLD:
			return &signalError{signal: sig}
		case s.dead():
			return &startError{err: s.failure(message{})}
		}
	}
}

// dead reports whether our child has ended; it is not reaped.
func (s *session) dead() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, s.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}

// failure explains a message that ends the start, or its absence.
func (s *session) failure(m message) error {
	if f := s.decode(m.data); f != nil && f.Step == stepExec {
		return commandFailure(s.name, f.Errno)
	} else if f != nil {
		return f
	}
	if said := s.said(); said != "" {
		return errors.New(said)
	}
	return errors.New("ended before it was ready")
}

// decode reads a failure message of either program, nil if b is none.
func (s *session) decode(b []byte) *spawn.StepError {
	for _, p := range []*spawn.Program{s.program, s.image} {
		if p == nil {
			continue
		}
		if f, ok := p.Failure(b); ok {
			return f
		}
	}
	return nil
}

// said returns the last line that bwrap wrote, "" if there is none.
func (s *session) said() string {
	if s.stderr < 0 {
		return ""
	}
	var b [4096]byte
	_ = unix.SetNonblock(s.stderr, true)
	n, err := unix.Read(s.stderr, b[:])
	if err != nil || n <= 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(b[:n])), "\n")
	return lines[len(lines)-1]
}

// message is one received datagram.
type message struct {
	data []byte
	fd   int // -1 for none
	pid  int
}

func (m message) tag() byte {
	if len(m.data) == 0 {
		return 0
	}
	return m.data[0]
}

// receive reads one message, valid until the next. End of file gives an empty
// one.
func (s *session) receive() (message, error) {
	for {
		n, oobn, _, _, err := unix.Recvmsg(s.control, s.data[:], s.oob[:], unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil && !errors.Is(err, unix.ECONNRESET) {
			return message{}, err
		}
		m := message{data: s.data[:max(n, 0)], fd: -1}
		return m, m.attachments(s.oob[:max(oobn, 0)])
	}
}

// attachments reads descriptors and credentials.
func (m *message) attachments(oob []byte) error {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return err
	}
	for i := range list {
		switch list[i].Header.Type {
		case unix.SCM_RIGHTS:
			fds, err := unix.ParseUnixRights(&list[i])
			if err != nil || len(fds) != 1 {
				return errors.Join(errors.New("descriptors in a control message"), err)
			}
			if m.fd, err = own(fds[0]); err != nil {
				return err
			}
		case unix.SCM_CREDENTIALS:
			cred, err := unix.ParseUnixCredentials(&list[i])
			if err != nil {
				return err
			}
			m.pid = int(cred.Pid)
		}
	}
	return nil
}

// abandon ends a child that must not go on: it never gets its go-ahead.
func (s *session) abandon() {
	_ = unix.Close(s.control)
	s.control = -1
	_ = unix.Kill(s.pid, unix.SIGKILL)
	_, _ = s.wait()
}

// wait waits for our child, then ends and reaps everything that was left to
// us, so that no process of the call is alive when its status is known.
func (s *session) wait() (unix.WaitStatus, error) {
	status, err := waitFor(s.pid)
	if err != nil {
		return 0, err
	}
	reapOrphans(s.spared)
	return status, nil
}

func waitFor(pid int) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return status, err
	}
}

// reapOrphans kills and reaps the processes that were re-parented to us as
// their subreaper. With a guardian or a pid namespace there are only its
// remains: the init of bwrap's namespaces, or a command whose guardian was
// killed. Children in spared are not the call's: what ran in the background of
// a shell that became the launcher, and the launcher's own cleaner.
func reapOrphans(spared []int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && pid > 0:
			continue
		case err != nil:
			return // ECHILD: none left
		}
		killed := false
		for _, child := range children() {
			if slices.Contains(spared, child) {
				continue
			}
			killed = unix.Kill(child, unix.SIGKILL) == nil || killed
		}
		if !killed {
			return
		}
		_, _ = unix.Wait4(-1, &status, 0, nil)
	}
}

// children lists our children. Orphans come to the main thread, which also
// makes all of our own; the other threads are looked at if it has none.
func children() []int {
	if pids := childrenOf(strconv.Itoa(os.Getpid())); pids != nil {
		return pids
	}
	tasks, err := policy.Subdirectories("/proc/self/task")
	if err != nil {
		return nil
	}
	var pids []int
	for _, task := range tasks {
		pids = append(pids, childrenOf(task)...)
	}
	return pids
}

// childrenOf lists the children of one thread, or some of them. Package os
// would set up its poller first, which takes longer than the rest.
func childrenOf(thread string) []int {
	fd, err := unix.Open("/proc/self/task/"+thread+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	var b [4096]byte
	n, err := unix.Read(fd, b[:])
	if err != nil || n < 0 {
		return nil
	}
	// A space follows every number: one without it may be cut off, and would
	// be another process.
	text := string(b[:n])
	text = text[:strings.LastIndexByte(text, ' ')+1]
	var pids []int
	for field := range strings.FieldsSeq(text) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// close releases what the session holds. The process exits soon after; only
// the temporary directory would outlive it.
func (s *session) close() {
	removeTemp(s.temp)
	for _, fd := range []int{s.control, s.notify, s.pidfd, s.stderr} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}
