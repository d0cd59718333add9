//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// operation is one thing a command could try. It is carried out by the test
// binary under the name probe-operations, inside the sandbox.
type operation struct {
	name string
	try  func() error
}

// probeMain tries everything and prints "name ok" or "name denied error".
func probeMain() {
	for _, op := range operations() {
		done := make(chan error, 1)
		go func() { runtime.LockOSThread(); done <- op.try() }()
		var err error
		select {
		case err = <-done:
		case <-time.After(3 * time.Second):
			err = errors.New("timeout")
		}
		if err != nil {
			fmt.Printf("%s\tdenied\t%v\n", op.name, err)
			continue
		}
		fmt.Printf("%s\tok\t\n", op.name)
	}
}

func operations() []operation {
	var all []operation
	for _, group := range [][]operation{networkOperations(), unixOperations(), fileOperations(), deviceOperations(), processOperations(), kernelOperations()} {
		all = append(all, group...)
	}
	return all
}

func number(name string) int { n, _ := strconv.Atoi(os.Getenv(name)); return n }

func local(name string) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: number(name), Addr: [4]byte{127, 0, 0, 1}}
}

// reach connects and sends one byte.
func reach(domain, kind, protocol int, to unix.Sockaddr) func() error {
	return func() error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, to); err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte("x"))
		return err
	}
}

// create makes a socket and closes it.
func create(domain, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

// sends sends one datagram, or data in a SYN, without connect.
func sends(kind, flags int, to unix.Sockaddr) func() error {
	return func() error {
		fd, err := unix.Socket(unix.AF_INET, kind, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, []byte("x"), flags, to)
	}
}

func binds(then func(fd int) error) func() error {
	return func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return then(fd)
	}
}

func networkOperations() []operation {
	mapped := &unix.SockaddrInet6{Port: number("TCP"), Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	return []operation{
		{"tcp_connect", reach(unix.AF_INET, unix.SOCK_STREAM, 0, local("TCP"))},
		{"tcp_connect_second_port", reach(unix.AF_INET, unix.SOCK_STREAM, 0, local("WWW"))},
		{"tcp6_connect", reach(unix.AF_INET6, unix.SOCK_STREAM, 0, mapped)},
		{"tcp_bind", binds(func(fd int) error { return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}) })},
		{"tcp_listen_autobind", binds(func(fd int) error { return unix.Listen(fd, 1) })},
		{"tcp_fast_open", sends(unix.SOCK_STREAM, unix.MSG_FASTOPEN, local("TCP"))},
		{"mptcp_connect", reach(unix.AF_INET, unix.SOCK_STREAM, 262, local("TCP"))},
		{"sctp_socket", create(unix.AF_INET, unix.SOCK_STREAM, 132)},
		{"smc_socket", create(43, unix.SOCK_STREAM, 0)},
		{"udp_connect", reach(unix.AF_INET, unix.SOCK_DGRAM, 0, local("UDP"))},
		{"udp_sendto", sends(unix.SOCK_DGRAM, 0, local("UDP"))},
		{"udplite_connect", reach(unix.AF_INET, unix.SOCK_DGRAM, 136, local("UDP"))},
		{"icmp_socket", create(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)},
		{"raw_icmp_socket", create(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{"raw_ip_socket", create(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW)},
		{"packet_socket", create(unix.AF_PACKET, unix.SOCK_RAW, 0x0300)},
		{"netlink_socket", create(unix.AF_NETLINK, unix.SOCK_RAW, 0)},
		{"vsock_socket", create(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"alg_socket", create(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{"bluetooth_socket", create(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1)},
	}
}

func unixOperations() []operation {
	abstract := &unix.SockaddrUnix{Name: "@" + os.Getenv("ABS")}
	return []operation{
		{"unix_path_connect", reach(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: os.Getenv("SOCK")})},
		{"unix_path_datagram", reach(unix.AF_UNIX, unix.SOCK_DGRAM, 0, &unix.SockaddrUnix{Name: os.Getenv("DSOCK")})},
		{"unix_path_raw_datagram", reach(unix.AF_UNIX, unix.SOCK_RAW, 0, &unix.SockaddrUnix{Name: os.Getenv("DSOCK")})},
		{"unix_abstract_connect", reach(unix.AF_UNIX, unix.SOCK_STREAM, 0, abstract)},
		{"unix_datagram_pair_reconnect", func() error {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Connect(p[0], &unix.SockaddrUnix{Name: os.Getenv("DSOCK")})
		}},
		{"unix_socketpair", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
		{"unix_own_server", func() error {
			l, err := net.Listen("unix", os.Getenv("ROOT")+"/own.sock")
			if err != nil {
				return err
			}
			defer l.Close()
			c, err := net.Dial("unix", os.Getenv("ROOT")+"/own.sock")
			if err == nil {
				c.Close()
			}
			return err
		}},
	}
}

func in(dir, name string) string { return os.Getenv(dir) + "/" + name }

func write(path string) func() error {
	return func() error { return os.WriteFile(path, []byte("x\n"), 0o644) }
}

func opens(path string, flags int) func() error {
	return func() error {
		f, err := os.OpenFile(path, flags, 0)
		if err == nil {
			f.Close()
		}
		return err
	}
}

func fileOperations() []operation {
	victim := in("OUT", "victim")
	then := func(steps ...func() error) func() error {
		return func() error {
			for _, step := range steps {
				if err := step(); err != nil {
					return err
				}
			}
			return nil
		}
	}
	mkdir := func(path string) func() error { return func() error { return os.MkdirAll(path, 0o755) } }
	rename := func(a, b string) func() error { return func() error { return os.Rename(a, b) } }
	link := func(a, b string) func() error { return func() error { return os.Link(a, b) } }
	return []operation{
		{"write_root", write(in("ROOT", "ok"))},
		{"rename_between_directories", then(mkdir(in("ROOT", "a")), mkdir(in("ROOT", "b")), write(in("ROOT", "a/f")), rename(in("ROOT", "a/f"), in("ROOT", "b/f")))},
		{"link_between_directories", then(write(in("ROOT", "a/g")), link(in("ROOT", "a/g"), in("ROOT", "b/g")))},
		{"fifo_in_root", func() error { return unix.Mkfifo(in("ROOT", "fifo"), 0o600) }},
		{"chmod_root", func() error { return os.Chmod(in("ROOT", "ok"), 0o600) }},
		{"utime_root", func() error { return os.Chtimes(in("ROOT", "ok"), time.Unix(1, 0), time.Unix(1, 0)) }},
		{"write_outside", write(in("OUT", "new"))},
		{"append_outside", opens(victim, os.O_APPEND|os.O_WRONLY)},
		{"truncate_outside", func() error { return os.Truncate(in("OUT", "trunc"), 0) }},
		{"unlink_outside", func() error { return os.Remove(in("OUT", "del")) }},
		{"mkdir_outside", func() error { return os.Mkdir(in("OUT", "dir"), 0o755) }},
		{"rename_to_outside", then(write(in("ROOT", "mv")), rename(in("ROOT", "mv"), in("OUT", "mv")))},
		{"rename_from_outside", rename(in("OUT", "mvsrc"), in("ROOT", "mvdst"))},
		{"link_outside_then_write", then(link(victim, in("ROOT", "hl")), write(in("ROOT", "hl")))},
		{"write_through_own_symlink", then(func() error { return os.Symlink(victim, in("ROOT", "sl")) }, write(in("ROOT", "sl")))},
		{"write_through_existing_hard_link", write(in("ROOT", "prelinked"))},
		{"chmod_outside", func() error { return os.Chmod(victim, 0o777) }},
		{"chown_outside", func() error { return os.Chown(victim, os.Getuid(), os.Getgid()) }},
		{"utime_outside", func() error { return os.Chtimes(victim, time.Unix(1, 0), time.Unix(1, 0)) }},
		{"setxattr_outside", func() error { return unix.Setxattr(victim, "user.x", []byte("1"), 0) }},
		{"fchmod_outside", func() error {
			f, err := os.Open(victim)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Chmod(0o777)
		}},
		{"inherited_file_write", func() error { _, err := unix.Write(8, []byte("x")); return err }},
		{"inherited_directory_write", func() error { _, err := unix.Openat(9, "via", unix.O_CREAT|unix.O_WRONLY, 0o644); return err }},
	}
}

func deviceOperations() []operation {
	return []operation{
		{"block_node_in_root", func() error { return unix.Mknod(in("ROOT", "blk"), unix.S_IFBLK|0o600, 254<<8) }},
		{"character_node_in_root", func() error { return unix.Mknod(in("ROOT", "chr"), unix.S_IFCHR|0o600, 1<<8|3) }},
		{"raw_disk_read", func() error {
			for _, path := range []string{"/dev/vda", "/dev/sda", "/dev/nvme0n1"} {
				if opens(path, os.O_RDONLY)() == nil {
					return nil
				}
			}
			return unix.EACCES
		}},
		{"dev_null", opens("/dev/null", os.O_RDWR)},
		{"dev_zero", opens("/dev/zero", os.O_RDWR)},
		{"dev_full", opens("/dev/full", os.O_WRONLY)},
		{"dev_urandom", opens("/dev/urandom", os.O_RDONLY)},
		{"dev_ptmx", func() error {
			f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPTLCK, 0); err != nil {
				return err
			}
			// As C libraries do: by the master, not by a path.
			peer, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.TIOCGPTPEER, uintptr(os.O_RDWR|unix.O_NOCTTY))
			if errno != 0 {
				return errno
			}
			return unix.Close(int(peer))
		}},
		{"dev_shm", write("/dev/shm/probe")},
		{"tmp", func() error {
			f, err := os.CreateTemp("", "probe")
			if err == nil {
				f.Close()
				err = os.Remove(f.Name())
			}
			return err
		}},
		{"self_memory_write", opens("/proc/self/mem", os.O_RDWR)},
		{"oom_score", write("/proc/self/oom_score_adj")},
		{"sysrq", opens("/proc/sysrq-trigger", os.O_WRONLY)},
		{"core_pattern", opens("/proc/sys/kernel/core_pattern", os.O_WRONLY)},
		{"cgroup", func() error { return os.Mkdir("/sys/fs/cgroup/steer-probe", 0o755) }},
		{"sys_file", opens("/sys/kernel/mm/transparent_hugepage/enabled", os.O_WRONLY)},
	}
}

func processOperations() []operation {
	victim := number("VPID")
	of := func(name string) string { return fmt.Sprintf("/proc/%d/%s", victim, name) }
	return []operation{
		{"see_host_process", func() error { _, err := os.Stat(of("status")); return err }},
		{"read_host_environment", func() error {
			b, err := os.ReadFile(of("environ"))
			if err == nil && !bytes.Contains(b, []byte("SECRET")) {
				err = unix.ESRCH
			}
			return err
		}},
		{"write_through_host_root", write(of("root") + os.Getenv("OUT") + "/new2")},
		{"write_through_host_cwd", write(of("cwd") + "/steer-probe")},
		{"ptrace_host", func() error { return unix.PtraceAttach(victim) }},
		{"host_memory", opens(of("mem"), os.O_RDWR)},
		{"process_vm_readv", func() error {
			b := make([]byte, 8)
			_, err := unix.ProcessVMReadv(victim, []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
			if errors.Is(err, unix.EFAULT) {
				err = nil
			}
			return err
		}},
		{"pidfd_getfd_host", func() error {
			p, err := unix.PidfdOpen(victim, 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(p, 1, 0)
			return err
		}},
		{"signal_host", func() error { return unix.Kill(victim, 0) }},
		{"signal_launcher", func() error { return unix.Kill(os.Getppid(), 0) }},
		{"prlimit_host", func() error { var r unix.Rlimit; return unix.Prlimit(victim, unix.RLIMIT_NOFILE, nil, &r) }},
		{"priority_host", func() error { return unix.Setpriority(unix.PRIO_PROCESS, victim, 19) }},
		{"affinity_host", func() error { var s unix.CPUSet; s.Set(0); return unix.SchedSetaffinity(victim, &s) }},
		{"setuid_program", func() error {
			out, err := exec.Command(os.Getenv("SUID")).Output()
			if err == nil && (strings.TrimSpace(string(out)) != "euid=0" || os.Getuid() == 0) {
				err = unix.EPERM
			}
			return err
		}},
		{"setns_host", func() error {
			f, err := os.Open(of("ns/net"))
			if err != nil {
				return err
			}
			return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		}},
		{"own_child_ptrace", func() error {
			cmd := exec.Command("true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
			if err := cmd.Start(); err != nil {
				return err
			}
			return cmd.Process.Kill()
		}},
		{"memfd_exec", func() error {
			fd, err := unix.MemfdCreate("x", 0)
			if err != nil {
				return err
			}
			b, err := os.ReadFile("/bin/true")
			if err != nil {
				return err
			}
			f := os.NewFile(uintptr(fd), "x")
			if _, err := f.Write(b); err != nil {
				return err
			}
			return exec.Command(fmt.Sprintf("/proc/self/fd/%d", fd)).Run()
		}},
	}
}

// raw makes a system call that fails with EINVAL, EFAULT or ENOTTY where the
// arguments are looked at at all.
func raw(nr uintptr, args ...uintptr) func() error {
	return func() error {
		args = append(args, 0, 0, 0, 0, 0, 0)
		_, _, e := unix.Syscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
		looked := []syscall.Errno{0, unix.EINVAL, unix.EFAULT, unix.ENOTTY, unix.EBADF, unix.ENOENT, unix.ENOKEY}
		if slices.Contains(looked, e) {
			return nil
		}
		return e
	}
}

func kernelOperations() []operation {
	zero := make([]byte, 128)
	at := uintptr(unsafe.Pointer(&zero[0]))
	userns := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return []operation{
		{"user_namespace", func() error { c := exec.Command("true"); c.SysProcAttr = userns; return c.Run() }},
		{"user_namespace_mount", func() error { return exec.Command("unshare", "-Urm", "mount", "-t", "tmpfs", "t", "/mnt").Run() }},
		{"mount", func() error { return unix.Mount("t", os.Getenv("ROOT"), "tmpfs", 0, "") }},
		{"remount_root", func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		{"umount", func() error { return unix.Unmount("/proc", unix.MNT_DETACH) }},
		{"chroot", func() error { return unix.Chroot("/") }},
		{"open_by_handle", raw(unix.SYS_OPEN_BY_HANDLE_AT, 0, at, 0)},
		{"tiocsti", raw(unix.SYS_IOCTL, 0, 0x5412, at)},
		{"tioclinux", raw(unix.SYS_IOCTL, 0, 0x541c, at)},
		{"keyring_read", raw(unix.SYS_KEYCTL, unix.KEYCTL_DESCRIBE, ^uintptr(2), 0, 0)},
		{"add_key", raw(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0)},
		{"bpf", raw(unix.SYS_BPF, 0, at, 48)},
		{"perf_event", raw(unix.SYS_PERF_EVENT_OPEN, at, 0, ^uintptr(0), ^uintptr(0), 0)},
		{"userfaultfd", raw(unix.SYS_USERFAULTFD, 0)},
		{"kexec", raw(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff)},
		{"sethostname", func() error { n, _ := os.Hostname(); return unix.Sethostname([]byte(n)) }},
		{"settimeofday", raw(unix.SYS_SETTIMEOFDAY, 0, 0)},
		{"io_uring", raw(unix.SYS_IO_URING_SETUP, 8, at)},
		{"sysv_shared_memory", raw(unix.SYS_SHMGET, 0x1234, 4096, 0)},
	}
}
