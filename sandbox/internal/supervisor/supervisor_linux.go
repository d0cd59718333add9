package supervisor

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
)

// IP says which IP addresses connect may reach. The zero value is none.
type IP uint8

// The rules.
const (
	IPNone   IP = iota
	IPPinned    // one port on the loopback address
	IPAny       // all: the network namespace is private, or open by policy
)

// maxPending bounds how many calls are carried out at once. A blocking
// connect holds a thread of ours; a command that opens more at a time waits.
const maxPending = 256

// Supervisor decides suspended calls. Its fields are set before Run and not
// changed afterwards. The zero value refuses everything.
type Supervisor struct {
	Arch seccomp.Arch
	IP   IP
	Port uint16 // of IPPinned
	// Relay is the port on the host's loopback address that stands in for
	// Port, 0 if they are the same.
	Relay uint16
	// Sockets are the directories whose unix sockets may be connected to.
	Sockets []string
	// Abstract allows abstract unix sockets, which a private network namespace
	// makes harmless.
	Abstract bool
	// Writable are the directories in which metadata may be changed.
	Writable []string
	// Foreign are the ids of mounts that a caller in a mount namespace of its
	// own holds descriptors on, though they are not in it.
	Foreign []uint64
	// Before is called ahead of every answer, by several goroutines at once.
	// An error refuses the call. nil is nothing.
	Before func() error

	mu     sync.Mutex // guards following
	relays map[uint16]bool
}

// Connected reports whether peer is the local end of a connection that the
// supervisor made to the relay, each time for one connection. The relay asks
// before it serves: its port is open to every process of the machine.
func (s *Supervisor) Connected(peer unix.Sockaddr) bool {
	in, ok := peer.(*unix.SockaddrInet4)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	port := uint16(in.Port)
	known := s.relays[port]
	delete(s.relays, port)
	return known
}

// expect lets the relay serve a connection from port, or no longer.
func (s *Supervisor) expect(port uint16, coming bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relays == nil {
		s.relays = map[uint16]bool{}
	}
	if coming {
		s.relays[port] = true
		return
	}
	delete(s.relays, port)
}

// Run answers the notifications of fd, a listener made by seccomp(2), until
// it fails or nothing is left to notify. It waits for the calls in progress.
func (s *Supervisor) Run(fd int) error {
	from := listener(fd)
	slots := make(chan struct{}, maxPending)
	var pending sync.WaitGroup
	defer pending.Wait()
	for {
		r, err := from.receive()
		if err != nil {
			return err
		}
		slots <- struct{}{}
		pending.Go(func() {
			defer func() { <-slots }()
			val, err := s.handle(target{request: r, from: from})
			from.send(r.id, val, err)
		})
	}
}

// handle dispatches one call by name. Calls that were not asked for, or that
// came through another architecture's entry, are refused.
func (s *Supervisor) handle(t target) (int64, error) {
	if t.arch != s.Arch.Audit || t.nr < 0 || s.Before != nil && s.Before() != nil {
		return 0, unix.EPERM
	}
	call := s.Arch.CallName(uint32(t.nr))
	switch {
	case call == "connect":
		return s.connect(t)
	case call == "listen":
		return s.listen(t)
	case slices.Contains(seccomp.TerminalCalls(), call):
		return t.terminal(call)
	case slices.Contains(seccomp.ChmodCalls(), call):
		return s.chmod(t, call)
	case slices.Contains(seccomp.ChownCalls(), call):
		return s.chown(t, call)
	case slices.Contains(seccomp.TimeCalls(), call):
		return s.times(t, call)
	case slices.Contains(seccomp.XattrCalls(), call):
		return s.xattr(t, call)
	case call == "file_setattr":
		return 0, unix.EOPNOTSUPP
	}
	return 0, unix.EPERM
}
