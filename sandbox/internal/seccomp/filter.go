package seccomp

import "slices"

// Sockets says which sockets a command may create. The zero value is the
// strictest.
type Sockets uint8

// The socket rules.
const (
	// SocketsNone allows no IP socket at all.
	SocketsNone Sockets = iota
	// SocketsTCP allows plain TCP. Used where connect is decided elsewhere:
	// every other protocol, MPTCP included, passes by the hooks that decide.
	SocketsTCP
	// SocketsPrivate allows what a network namespace of its own contains.
	SocketsPrivate
	// SocketsOpen is for policies that leave the network open.
	SocketsOpen
)

// Options choose the rules of a filter. The zero value is the strictest filter
// that needs no supervisor.
type Options struct {
	Sockets Sockets
	// Supervised hands connect, and listen where it matters, to the
	// supervisor. Without it unix sockets cannot be created at all, since
	// nobody could tell which of them lead out.
	Supervised bool
	// Metadata hands chmod, chown, utime and the extended attribute calls to
	// the supervisor. Needed where no read-only mount answers them.
	Metadata bool
	// HostVisible closes the calls that act on processes and shared objects
	// by number. Needed where there is no pid or ipc namespace.
	HostVisible bool
	// Unscoped closes signals to the caller's process group. Needed in a pid
	// namespace where Landlock scopes no signals: the group that a command
	// starts in has members outside.
	Unscoped bool
}

// room is more instructions than a filter has.
const room = 640

// Build returns the filter for arch.
func Build(arch Arch, o Options) []Instruction {
	a := &assembler{code: make([]Instruction, 0, room)}
	a.emit(opLoad, offArch, 0, 0)
	a.emit(opEqual, arch.Audit, 1, 0)
	// Calls made through another architecture's entry have other numbers;
	// nothing below would match them.
	a.ret(actKill)
	a.emit(opLoad, offNumber, 0, 0)
	// Nobody has looked at calls that are newer than the tables. Those of x32,
	// with bit 30 set, have numbers of their own.
	a.emit(opAtLeast, lastCall+1, 0, 1)
	a.errno(eNoSys)
	f := filter{arch: arch, o: o, rules: make([]rule, 0, len(arch.Numbers))}
	f.kernel()
	f.namespaces()
	f.terminals()
	f.nodes()
	f.limits()
	if o.HostVisible {
		f.otherProcesses()
	} else {
		f.ownGroup()
	}
	if o.HostVisible && o.Supervised {
		f.terminalPaths()
	}
	f.sockets()
	if o.Metadata {
		f.notifyAll(metadataCalls())
	}
	a.search(f.rules)
	return a.code
}

// filter collects rules by the names of system calls. A name that an
// architecture does not have is a call that cannot be made there.
type filter struct {
	arch  Arch
	o     Options
	rules []rule // by number
}

func (f *filter) on(name string, body func(*assembler)) {
	if nr, ok := f.arch.Numbers[name]; ok {
		f.rules = insert(f.rules, rule{nr: nr, body: body})
	}
}

func (f *filter) deny(errno uint32, names ...string) {
	for _, name := range names {
		f.on(name, func(b *assembler) { b.errno(errno) })
	}
}

func (f *filter) notifyAll(names []string) {
	for _, name := range names {
		f.on(name, (*assembler).notify)
	}
}

// kernel closes calls that no build or test needs and that reach past the
// file system and the network.
func (f *filter) kernel() {
	// io_uring performs connect, open and send without system calls that a
	// filter sees. ENOSYS makes libraries fall back.
	f.deny(eNoSys, "io_uring_setup", "io_uring_enter", "io_uring_register")
	// The session keyring is inherited through every namespace; its keys are
	// the user's.
	f.deny(ePerm, "keyctl", "add_key", "request_key")
	f.deny(ePerm, "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load",
		"init_module", "finit_module", "delete_module", "open_by_handle_at",
		"swapon", "swapoff", "reboot", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
		"acct", "quotactl", "quotactl_fd", "iopl", "ioperm", "syslog", "sethostname", "setdomainname",
		"fanotify_init", "vhangup", "nfsservctl", "lookup_dcookie", "uselib")
	// Reading another process needs no such call inside (ptrace works), and
	// outside it is what must not happen.
	f.deny(ePerm, "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp")
}

// namespaceFlags are the CLONE_NEW* bits. In a user namespace of its own a
// process regains every capability, and with them the mount calls and the
// kernel's largest attack surface.
const namespaceFlags = 0x00020000 | // NEWNS
	0x02000000 | // NEWCGROUP
	0x04000000 | // NEWUTS
	0x08000000 | // NEWIPC
	0x10000000 | // NEWUSER
	0x20000000 | // NEWPID
	0x40000000 // NEWNET

// newTime is CLONE_NEWTIME. It is a flag of unshare only: in clone the same
// bit belongs to the exit signal.
const newTime = 0x00000080

func (f *filter) namespaces() {
	f.deny(ePerm, "mount", "umount2", "pivot_root", "fsopen", "fsmount", "fsconfig", "fspick",
		"move_mount", "open_tree", "open_tree_attr", "mount_setattr", "setns", "chroot")
	// clone3 takes its flags in memory. C libraries fall back to clone.
	f.deny(eNoSys, "clone3")
	flags := func(mask uint32) func(*assembler) {
		return func(b *assembler) {
			b.low(0)
			b.whenSet(mask, func(c *assembler) { c.errno(ePerm) })
			b.allow()
		}
	}
	f.on("clone", flags(namespaceFlags))
	f.on("unshare", flags(namespaceFlags|newTime))
}

// TerminalPeer is TIOCGPTPEER, which opens the other end of a pseudo terminal.
// Where Landlock closes the directory of all terminals, the supervisor opens
// the one whose master the caller holds.
const TerminalPeer = 0x5441

// Terminal and file ioctls that are closed, by the 32 bit command.
const (
	tiocSTI          = 0x5412 // types into the terminal, past the sandbox
	tiocLinux        = 0x541c // pastes on a console
	ioctlTypeMask    = 0xff00
	mknodFormatMask  = 0o170000
	mknodBlock       = 0o060000
	mknodCharacter   = 0o020000
	priorityProcess  = 0 // PRIO_PROCESS
	ioPriorityThread = 1 // IOPRIO_WHO_PROCESS
)

func (f *filter) terminals() {
	f.on("ioctl", func(b *assembler) {
		b.low(1)
		b.whenAny([]uint32{tiocSTI, tiocLinux}, func(c *assembler) { c.errno(ePerm) })
		if f.o.HostVisible && f.o.Supervised {
			b.when(TerminalPeer, (*assembler).notify)
		}
		if f.o.Metadata || f.o.HostVisible {
			b.whenAny(fileReads(), (*assembler).allow)
			b.and(ioctlTypeMask)
			b.whenAny(fileTypes(), func(c *assembler) { c.errno(ePerm) })
		}
		b.allow()
	})
}

// Flags of open, the same on every architecture here.
const (
	openReadWrite   = 0o2
	openAccessMode  = 0o3
	openNoTerminal  = 0o400 // O_NOCTTY
	openTerminalSet = openAccessMode | openNoTerminal
)

// TerminalCalls are the calls that open a terminal.
func TerminalCalls() []string { return []string{"ioctl", "open", "openat"} }

// terminalPaths hands opens to the supervisor that have the flags by which
// programs open the terminal they have just made. Hardly anything else has them.
func (f *filter) terminalPaths() {
	flags := func(arg uint32) func(*assembler) {
		return func(b *assembler) {
			b.low(arg)
			b.and(openTerminalSet)
			b.when(openReadWrite|openNoTerminal, (*assembler).notify)
			b.allow()
		}
	}
	f.on("open", flags(1))
	f.on("openat", flags(2))
}

// fileTypes are the types of ioctls that file systems answer. Many change a
// file or make one through a descriptor that was opened for reading, and no
// right of Landlock covers them: FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY,
// BTRFS_IOC_SUBVOL_CREATE.
func fileTypes() []uint32 {
	return []uint32{'f' << 8, 'v' << 8, 'X' << 8, 0x94 << 8, 0xf5 << 8} // ext4 and all, versions, XFS and all, btrfs, F2FS
}

// fileReads are those that only read, or write to a descriptor that was opened
// for it.
func fileReads() []uint32 {
	return []uint32{
		0x80086601, 0x80046601, // FS_IOC_GETFLAGS
		0x80087601, 0x80047601, // FS_IOC_GETVERSION
		0x801c581f, // FS_IOC_FSGETXATTR
		0xc020660b, // FS_IOC_FIEMAP
		0x81009431, // FS_IOC_GETFSLABEL
		0x40049409, // FICLONE
		0x4020940d, // FICLONERANGE
	}
}

// nodes denies device nodes: as root in the initial namespace a node is the
// disk itself. Regular files, fifos and sockets stay.
func (f *filter) nodes() {
	device := func(arg uint32) func(*assembler) {
		return func(b *assembler) {
			b.low(arg)
			b.and(mknodFormatMask)
			b.whenAny([]uint32{mknodBlock, mknodCharacter}, func(c *assembler) { c.errno(ePerm) })
			b.allow()
		}
	}
	f.on("mknod", device(1))
	f.on("mknodat", device(2))
}

// rlimitCore is RLIMIT_CORE on every architecture.
const rlimitCore = 4

// limits keeps the limit of core dumps at the one byte that the launcher set:
// at any other, 0 included, the kernel still starts the host's handler where
// core_pattern names a pipe. Programs that set it to 0 get what they want, and
// are told so.
func (f *filter) limits() {
	f.on("setrlimit", func(b *assembler) {
		b.low(0)
		b.when(rlimitCore, func(c *assembler) { c.errno(0) })
		b.allow()
	})
	f.on("prlimit64", func(b *assembler) {
		b.low(1)
		b.when(rlimitCore, func(c *assembler) {
			c.low(2)
			c.when(0, func(d *assembler) {
				d.high(2)
				d.when(0, f.ownLimit) // only reads
				d.errno(0)
			})
			c.errno(0)
		})
		f.ownLimit(b)
	})
}

// ownLimit allows a prlimit64 of the caller's own, or of any process where no
// other is visible.
func (f *filter) ownLimit(b *assembler) {
	if f.o.HostVisible {
		b.low(0)
		b.when(0, (*assembler).allow)
		b.errno(ePerm)
	}
	b.allow()
}

// ownGroup closes calls for a process group where a pid namespace does the rest.
// It hides numbers, not members: the group that the command starts in is the
// launcher's, and "my group" needs no number. A user's processes, by contrast,
// are only those in the namespace (kernel/sys.c).
func (f *filter) ownGroup() {
	const priorityGroup, ioPriorityGroup, signalGroup = 1, 2, 4
	f.on("setpriority", func(b *assembler) {
		b.low(0)
		b.when(priorityGroup, func(c *assembler) { c.errno(ePerm) })
		b.allow()
	})
	f.on("ioprio_set", func(b *assembler) {
		b.low(0)
		b.when(ioPriorityGroup, func(c *assembler) { c.errno(ePerm) })
		b.allow()
	})
	if !f.o.Unscoped {
		return
	}
	f.on("kill", func(b *assembler) {
		b.low(0)
		b.when(0, func(c *assembler) { c.errno(ePerm) })
		b.allow()
	})
	f.on("pidfd_send_signal", func(b *assembler) {
		b.low(3)
		b.whenSet(signalGroup, func(c *assembler) { c.errno(ePerm) })
		b.allow()
	})
}

// otherProcesses limits calls that name a process to the caller itself, and
// closes objects that all processes of a user share by number.
func (f *filter) otherProcesses() {
	selfOnly := func(arg uint32) func(*assembler) {
		return func(b *assembler) {
			b.low(arg)
			b.when(0, (*assembler).allow)
			b.errno(ePerm)
		}
	}
	for _, name := range []string{
		"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr",
		"migrate_pages", "move_pages",
	} {
		f.on(name, selfOnly(0))
	}
	f.deny(ePerm, "process_madvise", "process_mrelease")
	// A process group or a user would include processes outside.
	priority := func(which uint32) func(*assembler) {
		return func(b *assembler) {
			b.low(0)
			b.when(which, func(c *assembler) {
				c.low(1)
				c.when(0, (*assembler).allow)
				c.errno(ePerm)
			})
			b.errno(ePerm)
		}
	}
	f.on("setpriority", priority(priorityProcess))
	f.on("ioprio_set", priority(ioPriorityThread))
	f.deny(eNoSys, "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop",
		"msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink")
}

// metadataCalls change mode, owner, times or attributes of a file without
// opening it, which Landlock has no right for (its documented limit).
func metadataCalls() []string {
	return slices.Concat(ChmodCalls(), ChownCalls(), TimeCalls(), XattrCalls(), []string{"file_setattr"})
}

// ChmodCalls are the calls that change a mode.
func ChmodCalls() []string { return []string{"chmod", "fchmod", "fchmodat", "fchmodat2"} }

// ChownCalls are the calls that change an owner.
func ChownCalls() []string { return []string{"chown", "lchown", "fchown", "fchownat"} }

// TimeCalls are the calls that change times.
func TimeCalls() []string { return []string{"utime", "utimes", "futimesat", "utimensat"} }

// XattrCalls are the calls that change extended attributes.
func XattrCalls() []string {
	return []string{
		"setxattr", "lsetxattr", "fsetxattr", "setxattrat",
		"removexattr", "lremovexattr", "fremovexattr", "removexattrat",
	}
}
