package seccomp

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	allow  = actAllow
	notify = actNotify
	kill   = actKill
	perm   = actErrno | ePerm
	nosys  = actErrno | eNoSys
)

func archs() []Arch { return []Arch{amd64(), arm64()} }

// The filters the launcher builds.
func variants() map[string]Options {
	return map[string]Options{
		"namespace":  {Sockets: SocketsPrivate, Supervised: true},
		"open":       {Sockets: SocketsOpen, Supervised: true},
		"supervised": {Sockets: SocketsTCP, Supervised: true, Metadata: true, HostVisible: true},
		"closed":     {Sockets: SocketsNone, Supervised: true, Metadata: true, HostVisible: true},
		"plain":      {Sockets: SocketsNone, HostVisible: true},
		"unscoped":   {Sockets: SocketsPrivate, Supervised: true, Unscoped: true},
	}
}

func TestDecisions(t *testing.T) {
	const high = 1 << 32 // bits the kernel throws away
	tests := []struct {
		variants string // empty means all
		call     string
		args     [6]uint64
		want     uint32
	}{
		{"", "io_uring_setup", [6]uint64{}, nosys},
		{"", "io_uring_enter", [6]uint64{}, nosys},
		{"", "clone3", [6]uint64{}, nosys},
		{"", "keyctl", [6]uint64{}, perm},
		{"", "bpf", [6]uint64{}, perm},
		{"", "mount", [6]uint64{}, perm},
		{"", "setns", [6]uint64{}, perm},
		{"", "chroot", [6]uint64{}, perm},
		{"", "open_by_handle_at", [6]uint64{}, perm},
		{"", "pidfd_getfd", [6]uint64{}, perm},
		{"", "process_vm_writev", [6]uint64{}, perm},

		{"", "clone", [6]uint64{0x11}, allow},             // fork
		{"", "clone", [6]uint64{0x3d0f00}, allow},         // pthread_create
		{"", "clone", [6]uint64{0x10000011}, perm},        // a user namespace
		{"", "clone", [6]uint64{high | 0x20000011}, perm}, // a pid namespace behind high bits
		{"", "clone", [6]uint64{0x80 | 0x11}, allow},      // exit signal, not CLONE_NEWTIME
		{"", "unshare", [6]uint64{0x400}, allow},          // CLONE_FILES
		{"", "unshare", [6]uint64{0x80}, perm},            // a time namespace
		{"", "unshare", [6]uint64{0x10020000}, perm},

		{"", "ioctl", [6]uint64{0, 0x5412}, perm},        // TIOCSTI
		{"", "ioctl", [6]uint64{0, high | 0x5412}, perm}, // TIOCSTI behind high bits
		{"", "ioctl", [6]uint64{0, 0x541c}, perm},
		{"", "ioctl", [6]uint64{0, 0x5401}, allow}, // TCGETS
		{"namespace open", "ioctl", [6]uint64{0, 0x40086602}, allow},
		{"supervised closed plain", "ioctl", [6]uint64{0, 0x40086602}, perm},

		{"supervised closed plain", "ioctl", [6]uint64{0, 0x40087602}, perm},        // FS_IOC_SETVERSION
		{"supervised closed plain", "ioctl", [6]uint64{0, high | 0x40806685}, perm}, // FS_IOC_ENABLE_VERITY
		{"supervised closed plain", "ioctl", [6]uint64{0, 0x5000940e}, perm},        // BTRFS_IOC_SUBVOL_CREATE
		{"supervised closed plain", "ioctl", [6]uint64{0, 0x80086601}, allow},       // FS_IOC_GETFLAGS
		{"supervised closed plain", "ioctl", [6]uint64{0, 0x40049409}, allow},       // FICLONE

		{"supervised closed", "ioctl", [6]uint64{0, 0x5441}, notify}, // TIOCGPTPEER
		{"namespace open plain", "ioctl", [6]uint64{0, 0x5441}, allow},

		{"supervised closed", "openat", [6]uint64{0, 0, 0o402}, notify},            // O_RDWR|O_NOCTTY
		{"supervised closed", "openat", [6]uint64{0, 0, high | 0o2100402}, notify}, // and O_CLOEXEC, O_LARGEFILE
		{"supervised closed", "openat", [6]uint64{0, 0, 0o400 | 0o200000}, allow},  // a directory, read
		{"supervised closed", "openat", [6]uint64{0, 0, 0o2}, allow},
		{"namespace open plain", "openat", [6]uint64{0, 0, 0o402}, allow},

		{"", "setrlimit", [6]uint64{4}, actErrno}, // RLIMIT_CORE: told so, not done
		{"", "setrlimit", [6]uint64{7}, allow},
		{"", "prlimit64", [6]uint64{0, 4, 1}, actErrno},
		{"", "prlimit64", [6]uint64{0, 4, high}, actErrno},
		{"", "prlimit64", [6]uint64{0, high | 4, 1}, actErrno},
		{"", "prlimit64", [6]uint64{0, 4, 0}, allow},
		{"", "prlimit64", [6]uint64{0, 7, 1}, allow},
		{"supervised closed plain", "prlimit64", [6]uint64{9, 4, 0}, perm},
		{"supervised closed plain", "prlimit64", [6]uint64{9, 7, 0}, perm},
		{"namespace open", "prlimit64", [6]uint64{9, 7, 0}, allow},

		{"", "mknodat", [6]uint64{0, 0, 0o020666}, perm},
		{"", "mknodat", [6]uint64{0, 0, 0o060600}, perm},
		{"", "mknodat", [6]uint64{0, 0, 0o010600}, allow}, // a fifo
		{"", "mknodat", [6]uint64{0, 0, 0o600}, allow},    // a file

		{"", "socketpair", [6]uint64{afUnix, 1}, allow},
		{"", "socketpair", [6]uint64{afUnix, 0x80000 | 5}, allow},
		{"", "socketpair", [6]uint64{afUnix, 2}, perm},
		{"", "socketpair", [6]uint64{afUnix, 3}, perm}, // SOCK_RAW becomes a datagram socket
		{"", "socketpair", [6]uint64{afInet, 1}, perm},

		{"namespace open supervised closed", "socket", [6]uint64{afUnix, 1}, allow},
		{"namespace open supervised closed", "socket", [6]uint64{afUnix, 0x800 | 2}, perm},
		{"namespace open supervised closed", "socket", [6]uint64{afUnix, 3}, perm},
		{"namespace open supervised closed", "connect", [6]uint64{}, notify},
		{"plain", "socket", [6]uint64{afUnix, 1}, perm},
		{"plain", "listen", [6]uint64{}, perm},

		{"namespace open", "socket", [6]uint64{afInet, 2}, allow},
		{"namespace open", "socket", [6]uint64{afNetlink, 3}, allow},
		{"supervised", "socket", [6]uint64{afInet, 1, 0}, allow},
		{"supervised", "socket", [6]uint64{afInet6, 0x80801, 6}, allow},
		{"supervised", "socket", [6]uint64{afInet, 1, 262}, actErrno | eProtoNoSupport}, // MPTCP
		{"supervised", "socket", [6]uint64{high | afInet, 1, high | 262}, actErrno | eProtoNoSupport},
		{"supervised", "socket", [6]uint64{afInet, 2, 0}, perm},
		{"supervised", "socket", [6]uint64{afInet, 2, 136}, perm}, // UDP-Lite
		{"supervised", "socket", [6]uint64{afNetlink, 3}, perm},
		{"supervised", "listen", [6]uint64{}, notify},
		{"closed plain", "socket", [6]uint64{afInet, 1}, perm},
		{"", "socket", [6]uint64{40, 1}, perm},  // vsock
		{"", "socket", [6]uint64{17, 3}, perm},  // packet
		{"", "socket", [6]uint64{38, 5}, perm},  // kernel crypto
		{"", "socket", [6]uint64{43, 1}, perm},  // SMC
		{"", "socket", [6]uint64{0, 1}, perm},   // unspecified
		{"", "socket", [6]uint64{999, 1}, perm}, // not invented yet

		{"supervised closed plain", "sendto", [6]uint64{0, 0, 0, fastOpen}, actErrno | eOpNotSupp},
		{"supervised closed plain", "sendmsg", [6]uint64{0, 0, fastOpen | 0x4000}, actErrno | eOpNotSupp},
		{"supervised closed plain", "sendmmsg", [6]uint64{0, 0, 0, high | fastOpen}, actErrno | eOpNotSupp},
		{"", "sendto", [6]uint64{0, 0, 0, 0x4000}, allow}, // MSG_NOSIGNAL

		{"supervised closed", "fchmod", [6]uint64{}, notify},
		{"supervised closed", "utimensat", [6]uint64{}, notify},
		{"supervised closed", "setxattrat", [6]uint64{}, notify},
		{"namespace open plain", "fchmod", [6]uint64{}, allow},
		{"supervised closed plain", "prlimit64", [6]uint64{0, 7}, allow},
		{"supervised closed plain", "prlimit64", [6]uint64{42, 7}, perm},
		{"namespace open", "prlimit64", [6]uint64{42, 7}, allow},
		{"supervised closed plain", "setpriority", [6]uint64{0, 0, 5}, allow},
		{"supervised closed plain", "setpriority", [6]uint64{2, 0, 5}, perm}, // every process of the user
		{"supervised closed plain", "ioprio_set", [6]uint64{1, 0}, allow},
		{"supervised closed plain", "ioprio_set", [6]uint64{2, 0}, perm},
		{"", "setpriority", [6]uint64{1, 0, 5}, perm}, // a process group
		{"", "setpriority", [6]uint64{high | 1, 0, 5}, perm},
		{"", "ioprio_set", [6]uint64{2, 0}, perm},
		{"namespace open unscoped", "setpriority", [6]uint64{0, 42, 5}, allow},
		{"namespace open unscoped", "setpriority", [6]uint64{2, 0, 5}, allow},
		{"namespace open unscoped", "ioprio_set", [6]uint64{3, 0}, allow},
		{"unscoped", "kill", [6]uint64{0, 9}, perm},
		{"unscoped", "kill", [6]uint64{high, 9}, perm},
		{"unscoped", "kill", [6]uint64{0xffffffff, 9}, allow},
		{"unscoped", "pidfd_send_signal", [6]uint64{7, 9, 0, 4}, perm},
		{"unscoped", "pidfd_send_signal", [6]uint64{7, 9, 0, 0}, allow},
		{"namespace open supervised closed plain", "kill", [6]uint64{0, 9}, allow},
		{"supervised closed plain", "shmget", [6]uint64{}, nosys},
		{"namespace open", "shmget", [6]uint64{}, allow},
	}
	for name, o := range variants() {
		for _, arch := range archs() {
			prog := Build(arch, o)
			for _, tt := range tests {
				if tt.variants != "" && !strings.Contains(" "+tt.variants+" ", " "+name+" ") {
					continue
				}
				nr, ok := arch.Numbers[tt.call]
				if !ok {
					t.Errorf("%s has no number for %s", arch.Name, tt.call)
					continue
				}
				got, err := interpret(prog, call{arch, nr, tt.args}.data())
				if err != nil || got != tt.want {
					t.Errorf("%s/%s: %s%x = %#x, %v; want %#x", name, arch.Name, tt.call, tt.args, got, err, tt.want)
				}
			}
		}
	}
}

func TestForeignEntryPoints(t *testing.T) {
	for name, o := range variants() {
		for _, arch := range archs() {
			prog := Build(arch, o)
			other := arch
			other.Audit = 0x40000003 // i386
			if got, err := interpret(prog, call{arch: other, nr: 1}.data()); err != nil || got != kill {
				t.Errorf("%s/%s: i386 call gives %#x, %v; want kill", name, arch.Name, got, err)
			}
			const x32 = 0x40000000
			for _, nr := range []uint32{lastCall + 1, 1000, x32, x32 | 41, 0xffffffff} {
				if got, err := interpret(prog, call{arch: arch, nr: nr}.data()); err != nil || got != nosys {
					t.Errorf("%s/%s: call %#x gives %#x, %v; want ENOSYS", name, arch.Name, nr, got, err)
				}
			}
			if got, err := interpret(prog, call{arch: arch, nr: lastCall - 1}.data()); err != nil || got != allow {
				t.Errorf("%s/%s: file_getattr gives %#x, %v; want allow", name, arch.Name, got, err)
			}
		}
	}
}

// TestEveryPathReturns walks each filter from every number with every
// argument pattern that a rule looks at, and checks what the kernel's checker
// demands: all jumps forward and inside, a return at the end.
func TestEveryPathReturns(t *testing.T) {
	for name, o := range variants() {
		for _, arch := range archs() {
			prog := Build(arch, o)
			if len(prog) > 4096 {
				t.Errorf("%s/%s: %d instructions, the kernel takes 4096", name, arch.Name, len(prog))
			}
			for pc, in := range prog {
				if in.Code == opReturn || in.Code == opLoad || in.Code == opAnd {
					continue
				}
				skip := int(max(in.Jt, in.Jf))
				if in.Code == opJump {
					skip = int(in.K)
				}
				if pc+1+skip >= len(prog) {
					t.Fatalf("%s/%s: jump at %d leaves the program", name, arch.Name, pc)
				}
			}
			for nr := range uint32(600) {
				for _, v := range []uint64{0, 1, 2, 10, 0xffffffffffffffff} {
					args := [6]uint64{v, v, v, v, v, v}
					if _, err := interpret(prog, call{arch, nr, args}.data()); err != nil {
						t.Fatalf("%s/%s: call %d(%d…): %v", name, arch.Name, nr, v, err)
					}
				}
			}
		}
	}
}

// TestNumbers compares both tables with those of golang.org/x/sys, which are
// generated from the kernel's headers.
func TestNumbers(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range archs() {
		file := filepath.Join(strings.TrimSpace(string(out)), "unix", "zsysnum_linux_"+arch.Name+".go")
		want := constants(t, file)
		for name, nr := range arch.Numbers {
			if got, ok := want["SYS_"+strings.ToUpper(name)]; !ok || got != nr {
				t.Errorf("%s: %s is %d here and %d (%v) in x/sys", arch.Name, name, nr, got, ok)
			}
		}
	}
	for name := range amd64().Numbers {
		if _, ok := arm64().Numbers[name]; !ok && constantsHave(t, string(out), name) {
			t.Errorf("arm64 has %s and the table does not", name)
		}
	}
}

func constantsHave(t *testing.T, dir, name string) bool {
	t.Helper()
	file := filepath.Join(strings.TrimSpace(dir), "unix", "zsysnum_linux_arm64.go")
	_, ok := constants(t, file)["SYS_"+strings.ToUpper(name)]
	return ok
}

func constants(t *testing.T, file string) map[string]uint32 {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]uint32{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
			n, err := strconv.ParseUint(lit.Value, 10, 32)
			if err == nil {
				values[spec.Names[0].Name] = uint32(n)
			}
		}
		return true
	})
	return values
}

func ExampleBuild() {
	arch := arm64()
	prog := Build(arch, Options{Sockets: SocketsPrivate, Supervised: true})
	fmt.Println(arch.Name, prog[0].K == 4, len(prog) < 300)
	// Output: arm64 true true
}
