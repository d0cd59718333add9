package launcher

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
	"github.com/steerable-go/sidecar/sandbox/internal/supervisor"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// startLandlock confines without namespaces: Landlock for files and signals, a
// filter for sockets and the kernel, and the supervisor for addresses, unix
// sockets and metadata. Between the launcher and the command stands a
// guardian, to which orphans return and which ends them with the call.
func (l *launch) startLandlock(m machine) (*session, error) {
	if m.abi < ruleset.MinABI {
		return nil, errUnsupported
	}
	temp, err := makeTemp()
	if err != nil {
		return nil, err
	}
	s, err := l.landlockSession(m, temp)
	if err != nil {
		removeTemp(temp)
		return nil, err
	}
	s.temp = temp
	sweepTemp(temp) // while the child confines itself
	return s, nil
}

func (l *launch) landlockSession(m machine, temp string) (*session, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(theirs) }()
	var self spawn.Slot
	command, opts, err := l.landlockCommand(m, theirs, temp, &self)
	if err != nil {
		return nil, err
	}
	guardian, err := l.guardian(m, ours, command, &self)
	if err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	pid, err := spawn.Start(guardian, 0, theirs)
	if err != nil {
		return nil, err
	}
	s := newSession(pid, ours, guardian)
	s.applied = l.landlockDimensions(m, opts)
	if opts.Supervised && s.applied&policy.DimKernel != 0 {
		if err := l.landlockSupervisor(m, s, temp); err != nil {
			s.abandon()
			return nil, err
		}
	}
	return s, nil
}

// guardian is the program of the process that reaps. In a Landlock domain of
// its own that scopes signals, kill(-1) reaches exactly the processes that
// descend from it, however they hid from their parents: the domain is the set.
func (l *launch) guardian(m machine, ours int, command *spawn.Program, self *spawn.Slot) (*spawn.Program, error) {
	g := &spawn.Program{}
	parent := new(spawn.Slot)
	*parent = spawn.Slot(os.Getpid())
	childStart(g, ours, unix.SIGTERM, parent)
	g.Call("adopt orphans", syscall.SYS_PRCTL, []spawn.Arg{spawn.Val(unix.PR_SET_CHILD_SUBREAPER), spawn.Val(1)})
	scoped := m.abi >= ruleset.ScopeABI
	if scoped {
		fd, err := ruleset.NewScope()
		if err != nil {
			return nil, err
		}
		if fd, err = own(fd); err != nil {
			return nil, err
		}
		g.Call("set no_new_privs", syscall.SYS_PRCTL, []spawn.Arg{
			spawn.Val(unix.PR_SET_NO_NEW_PRIVS), spawn.Val(1), spawn.Val(0), spawn.Val(0), spawn.Val(0),
		})
		g.Call("scope the guardian's signals", unix.SYS_LANDLOCK_RESTRICT_SELF, []spawn.Arg{spawn.Val(fd), spawn.Val(0)})
	}
	g.Call("getpid", syscall.SYS_GETPID, nil, spawn.Into(self))
	pid := new(spawn.Slot)
	g.Fork(command, pid)
	g.Call("close descriptors", unix.SYS_CLOSE_RANGE, []spawn.Arg{spawn.Val(0), spawn.Val(uint32(1<<32 - 1)), spawn.Val(0)})
	g.Guard(pid, parent, scoped)
	return g, nil
}

// landlockCommand is the program of the command and the filter options it was
// built with.
func (l *launch) landlockCommand(m machine, control int, temp string, guardian *spawn.Slot) (*spawn.Program, seccomp.Options, error) {
	opts := seccomp.Options{
		Sockets: l.landlockSockets(), Supervised: !l.command.Unsupervised,
		Metadata: !l.command.Unsupervised && !weakened(policy.DimMetadata), HostVisible: !weakened(policy.DimSignals),
	}
	layout := ruleset.Layout{Writable: append(l.landlockWritable(), temp), HostDevices: true, Terminals: l.streams.terminals}
	if l.command.Unsupervised && l.policy.Egress.Mode == policy.EgressPinned && l.policy.Egress.Socket == "" {
		layout.ConnectPort = l.policy.Egress.Port
	}
	p := &spawn.Program{}
	p.Call("die with the parent", syscall.SYS_PRCTL, []spawn.Arg{spawn.Val(unix.PR_SET_PDEATHSIG), spawn.Val(int(unix.SIGKILL))})
	p.Equal("find the parent alive", syscall.SYS_GETPPID, guardian)
	c := &confinement{
		control: control, limits: l.policy.Limits, script: l.script, cwd: l.cwd,
		argv: l.command.Argv, env: l.withTemp(temp, l.policy.Roots), ruleset: -1,
	}
	var err error
	if c.paths, err = find(c.argv[0], c.env); err != nil {
		return nil, opts, err
	}
	if !weakened(policy.DimWrites) {
		fd, err := ruleset.New(m.abi, layout)
		if err != nil {
			return nil, opts, err
		}
		if c.ruleset, err = own(fd); err != nil {
			return nil, opts, err
		}
	}
	c.filter = filter(m, opts)
	c.notify = opts.Supervised && len(c.filter) > 0
	return p, opts, c.appendTo(p)
}

// landlockSockets is the socket rule where the network is the host's.
func (l *launch) landlockSockets() seccomp.Sockets {
	if weakened(policy.DimEgress) {
		return seccomp.SocketsOpen
	}
	switch l.policy.Egress.Mode {
	case policy.EgressPinned:
		return seccomp.SocketsTCP
	case policy.EgressLoopback, policy.EgressListed, policy.EgressOpen:
		return seccomp.SocketsOpen
	case policy.EgressClosed:
	}
	return seccomp.SocketsNone
}

// landlockWritable are the writable directories in Landlock's terms. A
// writable "/" becomes what lies in it, without /dev, /proc and /sys: there is
// no mount here that would keep root's hands off the kernel's files.
func (l *launch) landlockWritable() []string {
	if !slices.Contains(l.policy.Roots, "/") {
		return l.writable()
	}
	dirs := slices.DeleteFunc(l.writable(), func(dir string) bool { return dir == "/" })
	names, err := policy.Subdirectories("/")
	if err != nil {
		return dirs
	}
	for _, name := range names {
		if name != "dev" && name != "proc" && name != "sys" {
			dirs = append(dirs, "/"+name)
		}
	}
	return dirs
}

// landlockDimensions are what this rung carries. Protected paths and hidden
// files inside granted directories are beyond it: Landlock only allows.
func (l *launch) landlockDimensions(m machine, o seccomp.Options) policy.Dimension {
	d := filterDimensions()
	filtered := d != 0
	d |= common() | unless(policy.DimWrites)
	if m.abi >= ruleset.ScopeABI {
		d |= unless(policy.DimSignals)
	}
	if !filtered {
		return d
	}
	if o.Metadata {
		d |= policy.DimMetadata
	}
	pinned := l.policy.Egress.Mode == policy.EgressPinned && o.Supervised
	if pinned || l.policy.Egress.Mode == policy.EgressClosed {
		d |= unless(policy.DimEgress)
	}
	return d
}

// landlockSupervisor sets up the supervisor and, for a proxy on a unix socket,
// the relay on the host's loopback address. Other processes can reach that
// relay too, so it serves only connections that the supervisor has just made.
func (l *launch) landlockSupervisor(m machine, s *session, temp string) error {
	writable := append(l.landlockWritable(), temp)
	s.supervisor = &supervisor.Supervisor{
		Arch: m.arch, Sockets: append(l.socketDirs(nil), temp), Writable: writable,
	}
	switch e := l.policy.Egress; e.Mode {
	case policy.EgressLoopback, policy.EgressListed, policy.EgressOpen:
		s.supervisor.IP = supervisor.IPAny
	case policy.EgressPinned:
		s.supervisor.IP, s.supervisor.Port = supervisor.IPPinned, e.Port
		if e.Socket == "" {
			return nil
		}
		fd, port, err := listenLoopback(0)
		if err != nil {
			return err
		}
		s.supervisor.Relay = port
		s.relay = &relay{listeners: []int{fd}, socket: e.Socket, accept: s.supervisor.Connected}
	case policy.EgressClosed:
	}
	if weakened(policy.DimEgress) {
		s.supervisor.IP = supervisor.IPAny
	}
	return nil
}
