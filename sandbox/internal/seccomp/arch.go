package seccomp

// Arch is what a filter needs to know of an architecture.
type Arch struct {
	Name    string            // as in GOARCH
	Audit   uint32            // AUDIT_ARCH_* of linux/audit.h
	Numbers map[string]uint32 // of the calls that filters mention
}

// lastCall is the newest system call that was looked at when the rules were
// written: file_setattr, of Linux 6.17. New ones have the same numbers on every
// architecture.
const lastCall = 469

// CallName returns the name of a system call that a filter mentions, or "".
func (a Arch) CallName(nr uint32) string {
	for name, n := range a.Numbers {
		if n == nr {
			return name
		}
	}
	return ""
}

// amd64: numbers of asm/unistd_64.h.
func amd64() Arch {
	return Arch{Name: "amd64", Audit: 0xc000003e, Numbers: map[string]uint32{
		"open": 2, "ioctl": 16, "shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41, "connect": 42, "sendto": 44,
		"sendmsg": 46, "listen": 50, "socketpair": 53, "setsockopt": 54, "clone": 56, "kill": 62, "semget": 64, "semop": 65, "semctl": 66,
		"shmdt": 67, "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "chmod": 90, "fchmod": 91, "chown": 92,
		"fchown": 93, "lchown": 94, "syslog": 103, "utime": 132, "mknod": 133, "uselib": 134, "setpriority": 141,
		"sched_setparam": 142, "sched_setscheduler": 144, "vhangup": 153, "pivot_root": 155, "adjtimex": 159, "setrlimit": 160,
		"chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
		"reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175,
		"delete_module": 176, "quotactl": 179, "nfsservctl": 180, "setxattr": 188, "lsetxattr": 189,
		"fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "sched_setaffinity": 203,
		"lookup_dcookie": 212, "semtimedop": 220, "clock_settime": 227, "utimes": 235, "mq_open": 240,
		"mq_unlink": 241, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "ioprio_set": 251,
		"migrate_pages": 256, "openat": 257, "mknodat": 259, "fchownat": 260, "futimesat": 261, "fchmodat": 268, "unshare": 272,
		"move_pages": 279, "utimensat": 280, "perf_event_open": 298, "fanotify_init": 300, "prlimit64": 302,
		"open_by_handle_at": 304, "clock_adjtime": 305, "sendmmsg": 307, "setns": 308, "process_vm_readv": 310,
		"process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "sched_setattr": 314, "kexec_file_load": 320,
		"bpf": 321, "userfaultfd": 323, "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
		"open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
		"clone3": 435, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
		"process_mrelease": 448, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467,
		"file_setattr": 469,
	}}
}

// arm64: numbers of asm/unistd_64.h.
func arm64() Arch {
	return Arch{Name: "arm64", Audit: 0xc00000b7, Numbers: map[string]uint32{
		"setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
		"lookup_dcookie": 18, "ioctl": 29, "ioprio_set": 30, "mknodat": 33, "umount2": 39, "mount": 40,
		"pivot_root": 41, "nfsservctl": 42, "chroot": 51, "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55,
		"openat": 56, "vhangup": 58, "quotactl": 60, "utimensat": 88, "acct": 89, "unshare": 97, "kexec_load": 104,
		"init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "sched_setparam": 118,
		"sched_setscheduler": 119, "sched_setaffinity": 122, "kill": 129, "setpriority": 140, "reboot": 142, "sethostname": 161,
		"setdomainname": 162, "setrlimit": 164, "settimeofday": 170, "adjtimex": 171, "mq_open": 180, "mq_unlink": 181, "msgget": 186,
		"msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190, "semctl": 191, "semtimedop": 192, "semop": 193,
		"shmget": 194, "shmctl": 195, "shmat": 196, "shmdt": 197, "socket": 198, "socketpair": 199, "listen": 201,
		"connect": 203, "sendto": 206, "setsockopt": 208, "sendmsg": 211, "add_key": 217, "request_key": 218, "keyctl": 219,
		"clone": 220, "swapon": 224, "swapoff": 225, "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241,
		"prlimit64": 261, "fanotify_init": 262, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
		"sendmmsg": 269, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273,
		"sched_setattr": 274, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294, "pidfd_send_signal": 424, "io_uring_setup": 425,
		"io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
		"fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440,
		"mount_setattr": 442, "quotactl_fd": 443, "process_mrelease": 448, "fchmodat2": 452, "setxattrat": 463,
		"removexattrat": 466, "open_tree_attr": 467, "file_setattr": 469,
	}}
}
