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
}

// Build returns the filter for arch.
func Build(arch Arch, o Options) []Instruction {
	a := &assembler{}
	a.emit(opLoad, offArch, 0, 0)
	a.emit(opEqual, arch.Audit, 1, 0)
	// Calls made through another architecture's entry have other numbers;
	// nothing below would match them.
	a.ret(actKill)
	a.emit(opLoad, offNumber, 0, 0)
	if arch.X32 {
		a.emit(opAtMost, x32Bit, 0, 1)
		a.errno(eNoSys)
	}
	f := filter{assembler: a, arch: arch, o: o}
	f.kernel()
	f.namespaces()
	f.terminals()
	f.nodes()
	if o.HostVisible {
		f.otherProcesses()
	}
	f.sockets()
	if o.Metadata {
		f.notifyAll(metadataCalls())
	}
	a.allow()
	return a.code
}

// filter adds rules by the names of system calls. A name that an architecture
// does not have is a call that cannot be made there.
type filter struct {
	*assembler

	arch Arch
	o    Options
}

func (f *filter) on(name string, body func(*assembler)) {
	if nr, ok := f.arch.Numbers[name]; ok {
		f.when(nr, body)
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

// Terminal and file ioctls that are closed, by the 32 bit command.
const (
	tiocSTI          = 0x5412     // types into the terminal, past the sandbox
	tiocLinux        = 0x541c     // pastes on a console
	fsSetFlags       = 0x40086602 // FS_IOC_SETFLAGS, metadata by another road
	fsSetFlags32     = 0x40046602
	fsSetXattr       = 0x401c5820 // FS_IOC_FSSETXATTR
	mknodFormatMask  = 0o170000
	mknodBlock       = 0o060000
	mknodCharacter   = 0o020000
	priorityProcess  = 0 // PRIO_PROCESS
	ioPriorityThread = 1 // IOPRIO_WHO_PROCESS
)

func (f *filter) terminals() {
	closed := []uint32{tiocSTI, tiocLinux}
	if f.o.Metadata || f.o.HostVisible {
		closed = append(closed, fsSetFlags, fsSetFlags32, fsSetXattr)
	}
	f.on("ioctl", func(b *assembler) {
		b.low(1)
		b.whenAny(closed, func(c *assembler) { c.errno(ePerm) })
		b.allow()
	})
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
		"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr",
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
