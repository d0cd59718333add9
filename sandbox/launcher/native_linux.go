package launcher

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/mount"
	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// startNative makes the namespaces itself. The child is pid 1 in them: it
// builds the mounts, forks the command, and reaps. Its end takes the whole
// namespace down.
func (l *launch) startNative(m machine) (*session, error) {
	plan, err := l.plan()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(theirs) }()
	init := &spawn.Program{}
	childStart(init, ours, unix.SIGKILL, nil)
	init.Proceed("wait for the id maps", spawn.Val(theirs))
	plan.Append(init)
	private := privateDirs(plan)
	env := l.withTemp("/tmp", slices.Concat(l.writable(), private))
	command, carried, err := l.nativeCommand(m, theirs, private, env)
	if err != nil {
		return nil, err
	}
	if l.policy.Pinnable() && !weakened(policy.DimEgress) {
		loopbackUp(init)
	}
	if port := l.policy.Egress.Port; port != 0 {
		pinnedListeners(init, theirs, port)
	}
	var pid, nobody spawn.Slot
	init.Fork(command, &pid)
	init.Call("close descriptors", unix.SYS_CLOSE_RANGE, []spawn.Arg{spawn.Val(0), spawn.Val(uint32(1<<32 - 1)), spawn.Val(0)})
	// In a pid namespace of its own, the init has no parent: getppid is 0.
	init.Guard(&pid, &nobody, l.cloneFlags()&unix.CLONE_NEWPID != 0)

	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	child, err := spawn.Start(init, l.cloneFlags(), theirs)
	if err != nil {
		return nil, err
	}
	s := newSession(child, ours, init)
	s.applied = l.namespaceDimensions() | carried
	if filterDimensions() != 0 {
		s.supervisor = l.namespaceSupervisor(m, private)
	}
	s.relay = l.namespaceRelay()
	if err := errors.Join(mapIDs(child), s.proceed()); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

func (l *launch) cloneFlags() uintptr {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)
	if !weakened(policy.DimSignals) {
		flags |= unix.CLONE_NEWPID
	}
	if l.policy.Pinnable() && !weakened(policy.DimEgress) {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// mapIDs maps the user and the group to themselves. Giving up setgroups is the
// kernel's condition for a map that an ordinary user may write.
func mapIDs(pid int) error {
	dir := "/proc/" + itoa(pid) + "/"
	for _, file := range []struct{ name, text string }{
		{"setgroups", "deny"},
		{"uid_map", mount.MapIDs(os.Getuid())},
		{"gid_map", mount.MapIDs(os.Getgid())},
	} {
		if err := os.WriteFile(dir+file.name, []byte(file.text), 0); err != nil {
			return err
		}
	}
	return nil
}

// nativeCommand is the program of the command.
func (l *launch) nativeCommand(m machine, control int, private, env []string) (*spawn.Program, policy.Dimension, error) {
	p := &spawn.Program{}
	// In its pid namespace the parent is 1.
	one := spawn.Slot(1)
	p.Call("die with the parent", syscall.SYS_PRCTL, []spawn.Arg{spawn.Val(unix.PR_SET_PDEATHSIG), spawn.Val(int(unix.SIGKILL))})
	p.Equal("find the parent alive", syscall.SYS_GETPPID, &one)
	c := &confinement{control: control, limits: l.policy.Limits, script: l.script, cwd: l.cwd, argv: l.command.Argv, env: env}
	var err error
	if c.ruleset, err = l.namespaceRules(m); err != nil {
		return nil, 0, err
	}
	return p, l.namespaceCarried(m), l.confineInNamespaces(p, m, c, private)
}

// namespaceCarried are the dimensions that the filter and the rule set of a
// rung with namespaces carry.
func (l *launch) namespaceCarried(m machine) policy.Dimension {
	if m.abi < ruleset.MinABI {
		// Without Landlock the command may trace the init of its namespaces,
		// which no filter binds.
		return 0
	}
	return filterDimensions()
}

// namespaceRules makes the rule set of a command in namespaces, -1 without
// Landlock. Its directories are the host's; those that exist only inside are
// added there.
func (l *launch) namespaceRules(m machine) (int, error) {
	if m.abi < ruleset.MinABI {
		return -1, nil
	}
	fd, err := ruleset.New(m.abi, ruleset.Layout{Writable: l.namespaceWritable()})
	if err != nil {
		return -1, err
	}
	return own(fd)
}

// confineInNamespaces adds the steps of a command inside namespaces to p. The
// descriptors in c are numbers inside.
func (l *launch) confineInNamespaces(p *spawn.Program, m machine, c *confinement, private []string) error {
	var err error
	if c.paths, err = find(c.argv[0], c.env); err != nil {
		return err
	}
	c.filter = filter(m, seccomp.Options{
		Sockets: l.namespaceSockets(), Supervised: true, Metadata: l.namespaceMetadata(),
		Unscoped: m.abi < ruleset.ScopeABI,
	})
	c.notify = len(c.filter) > 0
	if c.ruleset >= 0 {
		for _, dir := range private {
			addRule(p, c.ruleset, dir, ruleset.Writable(m.abi))
		}
		addRule(p, c.ruleset, "/dev/pts", ruleset.Terminals(m.abi))
	}
	return c.appendTo(p)
}

// addRule adds the steps that grant rights below a directory which exists in
// the child's mount namespace.
func addRule(p *spawn.Program, set int, dir string, rights ruleset.Rights) {
	fd, rule := p.Slot(0), spawn.Place(p, *ruleset.NewPathBeneath(rights))
	p.Call("open "+dir, syscall.SYS_OPENAT, []spawn.Arg{
		spawn.Val(unix.AT_FDCWD), p.String(dir), spawn.Val(unix.O_PATH | unix.O_CLOEXEC), spawn.Val(0),
	}, spawn.Into(fd))
	p.Store(&rule.Parent, fd)
	p.Call("grant "+dir, unix.SYS_LANDLOCK_ADD_RULE, []spawn.Arg{
		spawn.Val(set), spawn.Val(unix.LANDLOCK_RULE_PATH_BENEATH), spawn.Pointer(p, rule), spawn.Val(0),
	})
}

// ifreq is struct ifreq with flags (netdevice(7)).
type ifreq struct {
	name  [unix.IFNAMSIZ]byte
	flags uint16
	_     [22]byte
}

// loopbackUp brings up the loopback device of a new network namespace.
func loopbackUp(p *spawn.Program) {
	fd := p.Slot(0)
	p.Call("open a socket", unix.SYS_SOCKET, []spawn.Arg{
		spawn.Val(unix.AF_INET), spawn.Val(unix.SOCK_DGRAM | unix.SOCK_CLOEXEC), spawn.Val(0),
	}, spawn.Into(fd))
	request := &ifreq{flags: unix.IFF_UP | unix.IFF_RUNNING}
	copy(request.name[:], "lo")
	p.Call("bring up loopback", unix.SYS_IOCTL, []spawn.Arg{
		spawn.Result(fd), spawn.Val(unix.SIOCSIFFLAGS), spawn.Pointer(p, request),
	})
}

// pinnedListeners makes listeners on the pinned port inside and hands them
// out. IPv6 may be missing.
func pinnedListeners(p *spawn.Program, control int, port uint16) {
	four := &unix.RawSockaddrInet4{Family: unix.AF_INET, Port: swap(port), Addr: [4]byte{127, 0, 0, 1}}
	fd := p.Slot(0)
	socket := func(family int, opts ...spawn.Option) {
		p.Call("open a listener", unix.SYS_SOCKET, []spawn.Arg{
			spawn.Val(family), spawn.Val(unix.SOCK_STREAM | unix.SOCK_CLOEXEC), spawn.Val(0),
		}, append(opts, spawn.Into(fd))...)
	}
	bind := func(addr spawn.Arg, size int, opts ...spawn.Option) {
		p.Call("bind the pinned port", unix.SYS_BIND, []spawn.Arg{spawn.Result(fd), addr, spawn.Val(size)}, opts...)
	}
	listen := func() {
		p.Call("listen on the pinned port", unix.SYS_LISTEN, []spawn.Arg{spawn.Result(fd), spawn.Val(unix.SOMAXCONN)})
	}
	socket(unix.AF_INET)
	bind(spawn.Pointer(p, four), unix.SizeofSockaddrInet4)
	listen()
	sendDescriptor(p, control, tagListener, fd)

	six := &unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: swap(port), Addr: [16]byte{15: 1}}
	on := new(int32)
	*on = 1
	const rest = 5 // steps after socket: setsockopt, bind, listen, and the two that send
	socket(unix.AF_INET6, spawn.SkipOnError(rest))
	p.Call("bind IPv6 alone", unix.SYS_SETSOCKOPT, []spawn.Arg{
		spawn.Result(fd), spawn.Val(unix.IPPROTO_IPV6), spawn.Val(unix.IPV6_V6ONLY), spawn.Pointer(p, on), spawn.Val(4),
	}, spawn.SkipOnError(rest-1))
	bind(spawn.Pointer(p, six), unix.SizeofSockaddrInet6, spawn.SkipOnError(rest-2))
	listen()
	sendDescriptor(p, control, tagListener, fd)
}

// swap turns a port into network byte order; both architectures are little
// endian.
func swap(port uint16) uint16 { return port<<8 | port>>8 }
