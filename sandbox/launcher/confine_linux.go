package launcher

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/nofile"
	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// confinement is everything a process does to itself between being a copy of
// the launcher and being the command.
type confinement struct {
	ruleset int // Landlock rule set, -1 for none
	filter  []seccomp.Instruction
	notify  bool // the filter suspends calls for the supervisor
	control int
	limits  policy.Limits
	script  int // -1 for none
	cwd     string
	paths   []string // where the command may be; the first that can be executed is it
	argv    []string
	env     []string
	// defaults are signals that bwrap was told to ignore and that the command
	// is to see as usual.
	defaults []syscall.Signal
}

// appendTo adds the steps to p. The order is the point:
//
// Limits, capabilities and the working directory come first, since the
// restrictions that follow would forbid or complicate them. Landlock precedes
// the filter, because the filter's last act hands the descriptor of its
// listener to the launcher, after which nothing may happen that the launcher
// has not agreed to. Then the process waits for that agreement, and execs.
func (c *confinement) appendTo(p *spawn.Program) error {
	p.Call("enter working directory", syscall.SYS_CHDIR, []spawn.Arg{p.String(c.cwd)})
	c.resources(p)
	capabilities(p)
	p.Call("set no_new_privs", syscall.SYS_PRCTL, []spawn.Arg{
		spawn.Val(unix.PR_SET_NO_NEW_PRIVS), spawn.Val(1), spawn.Val(0), spawn.Val(0), spawn.Val(0),
	})
	if c.ruleset >= 0 {
		p.Call("restrict with landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, []spawn.Arg{spawn.Val(c.ruleset), spawn.Val(0)})
	}
	listener := p.Slot(0)
	if len(c.filter) > 0 {
		c.load(p, listener)
	}
	c.sendReady(p, listener)
	p.Proceed("wait for the launcher", spawn.Val(c.control))
	c.descriptors(p)
	c.signals(p)
	argv, err := p.Strings(c.argv)
	if err != nil {
		return err
	}
	env, err := p.Strings(c.env)
	if err != nil {
		return err
	}
	for i, path := range c.paths {
		var opts []spawn.Option
		if i < len(c.paths)-1 {
			opts = append(opts, spawn.SkipOnError(0))
		}
		p.Call(stepExec, syscall.SYS_EXECVE, []spawn.Arg{p.String(path), argv, env}, opts...)
	}
	return nil
}

// stepExec is the step whose failure is the command's own.
const stepExec = "execute"

// resources sets the limits. Core dumps are off: where core_pattern names a
// pipe, the handler runs outside with content from inside. One byte is the
// limit at which the kernel starts none (do_coredump in fs/coredump.c); it is
// too little for a file as well, and the filter keeps it there.
func (c *confinement) resources(p *spawn.Program) {
	set := func(what string, resource int, limit unix.Rlimit) {
		p.Call("limit "+what, unix.SYS_PRLIMIT64, []spawn.Arg{
			spawn.Val(0), spawn.Val(resource), spawn.Pointer(p, &limit), spawn.Val(0),
		})
	}
	set("core dumps", unix.RLIMIT_CORE, unix.Rlimit{Cur: 1, Max: 1})
	if limit, ok := nofile.Original(); ok {
		set("open files", unix.RLIMIT_NOFILE, unix.Rlimit{Cur: limit.Cur, Max: limit.Max})
	}
	for _, l := range []struct {
		what     string
		resource int
		value    int64
	}{
		{"processor time", unix.RLIMIT_CPU, c.limits.CPUSeconds},
		{"file size", unix.RLIMIT_FSIZE, c.limits.FileSizeBytes},
		{"processes", unix.RLIMIT_NPROC, c.limits.Processes},
		{"address space", unix.RLIMIT_AS, c.limits.AddressSpaceBytes},
	} {
		if l.value > 0 && !weakened(policy.DimLimits) {
			v := uint64(l.value)
			set(l.what, l.resource, unix.Rlimit{Cur: v, Max: v})
		}
	}
}

// lastCapability is above every capability there is; dropping one that does
// not exist fails and changes nothing.
const lastCapability = 63

// capabilities drops all of them, from the bounding set too where that is
// allowed, so that even exec as uid 0 brings none back.
func capabilities(p *spawn.Program) {
	p.Call("clear ambient capabilities", syscall.SYS_PRCTL, []spawn.Arg{
		spawn.Val(unix.PR_CAP_AMBIENT), spawn.Val(unix.PR_CAP_AMBIENT_CLEAR_ALL), spawn.Val(0), spawn.Val(0), spawn.Val(0),
	}, spawn.SkipOnError(0))
	p.Each("drop capabilities for good", syscall.SYS_PRCTL, spawn.Val(unix.PR_CAPBSET_DROP), lastCapability)
	p.Call("drop capabilities", syscall.SYS_CAPSET, []spawn.Arg{
		spawn.Pointer(p, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}), spawn.Pointer(p, &[2]unix.CapUserData{}),
	})
}

// load installs the filter on this thread.
func (c *confinement) load(p *spawn.Program, listener *spawn.Slot) {
	program := &unix.SockFprog{
		Len: uint16(len(c.filter)),
		// Instruction has the layout of struct sock_filter.
		Filter: (*unix.SockFilter)(unsafe.Pointer(spawn.PlaceSlice(p, c.filter))),
	}
	flags := 0
	if c.notify {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	p.Call("load the system call filter", unix.SYS_SECCOMP, []spawn.Arg{
		spawn.Val(unix.SECCOMP_SET_MODE_FILTER), spawn.Val(flags), spawn.Pointer(p, program),
	}, spawn.Into(listener))
}

// sendReady tells the launcher that everything is in place, and hands over
// the listener if there is one.
func (c *confinement) sendReady(p *spawn.Program, listener *spawn.Slot) {
	if c.notify {
		sendDescriptor(p, c.control, tagReady, listener)
		return
	}
	p.Call("report ready", syscall.SYS_WRITE, []spawn.Arg{
		spawn.Val(c.control), spawn.Pointer(p, &[1]byte{tagReady}), spawn.Val(1),
	})
}

// rights is a control message with one descriptor (unix(7), SCM_RIGHTS).
type rights struct {
	header unix.Cmsghdr
	fd     int32
	_      int32 // padding to the alignment of the next header
}

// sendDescriptor adds the steps that send one descriptor with a tag.
func sendDescriptor(p *spawn.Program, control int, tag byte, fd *spawn.Slot) {
	iov := spawn.Place(p, unix.Iovec{Base: spawn.Place(p, tag)})
	iov.SetLen(1)
	cmsg := spawn.Place(p, rights{header: unix.Cmsghdr{Level: unix.SOL_SOCKET, Type: unix.SCM_RIGHTS}})
	cmsg.header.SetLen(unix.CmsgLen(4))
	msg := &unix.Msghdr{Iov: iov, Control: (*byte)(unsafe.Pointer(cmsg))}
	msg.SetIovlen(1)
	msg.SetControllen(unix.CmsgSpace(4))
	p.Store(&cmsg.fd, fd)
	p.Call("hand over a descriptor", syscall.SYS_SENDMSG, []spawn.Arg{
		spawn.Val(control), spawn.Pointer(p, msg), spawn.Val(unix.MSG_NOSIGNAL),
	})
}

// descriptors leaves the command its standard streams and its script. They
// are marked instead of closed: a failing exec still has to be reported.
func (c *confinement) descriptors(p *spawn.Program) {
	mark := func(first, last uint) {
		p.Call("close descriptors", unix.SYS_CLOSE_RANGE, []spawn.Arg{
			spawn.Val(first), spawn.Val(last), spawn.Val(unix.CLOSE_RANGE_CLOEXEC),
		})
	}
	const all = 1<<32 - 1
	if c.script >= 0 {
		p.Call("place the script", unix.SYS_DUP3, []spawn.Arg{spawn.Val(c.script), spawn.Val(fdScript), spawn.Val(0)})
		mark(3, fdScript-1)
		mark(fdScript+1, all)
		return
	}
	if weakened(policy.DimDescriptors) {
		return
	}
	mark(3, all)
}

// signals undoes what protected the setup: the blocked signals of the fork and
// those bwrap ignores.
func (c *confinement) signals(p *spawn.Program) {
	for _, sig := range c.defaults {
		p.Call("reset signal", syscall.SYS_RT_SIGACTION, []spawn.Arg{
			spawn.Val(int(sig)), spawn.Pointer(p, new(sigaction)), spawn.Val(0), spawn.Val(sigsetBytes),
		})
	}
	p.DefaultSignals()
	p.Call("unblock signals", syscall.SYS_RT_SIGPROCMASK, []spawn.Arg{
		spawn.Val(unix.SIG_SETMASK), spawn.Pointer(p, new(uint64)), spawn.Val(0), spawn.Val(sigsetBytes),
	})
}

// sigaction is the kernel's struct sigaction on amd64 and arm64.
type sigaction struct {
	handler uintptr   // 0 is SIG_DFL, 1 is SIG_IGN
	_       [3]uint64 // flags, restorer and mask
}

const (
	sigsetBytes = 8
	ignore      = 1 // SIG_IGN
)

// childStart adds the first steps of every child: let go of the launcher's end
// of the control socket, and die with the parent, checking that it has not
// died already.
func childStart(p *spawn.Program, ours int, death syscall.Signal, parent *spawn.Slot) {
	letGo(p, ours)
	p.Call("die with the parent", syscall.SYS_PRCTL, []spawn.Arg{spawn.Val(unix.PR_SET_PDEATHSIG), spawn.Val(int(death))})
	if parent != nil {
		p.Equal("find the parent alive", syscall.SYS_GETPPID, parent)
	}
}

// letGo closes the launcher's end of the control socket in a child.
func letGo(p *spawn.Program, ours int) {
	p.Call("close the launcher's end", syscall.SYS_CLOSE, []spawn.Arg{spawn.Val(ours)}, spawn.Accept(syscall.EBADF))
}
