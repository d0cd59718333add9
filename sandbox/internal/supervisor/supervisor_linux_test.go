package supervisor

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
)

// TestLayout compares our structures with the kernel's, whose sizes are part
// of the ioctl numbers.
func TestLayout(t *testing.T) {
	if s := unsafe.Sizeof(request{}); s != 80 || ioctlReceive>>16&0x3fff != 80 {
		t.Errorf("struct seccomp_notif has %d bytes", s)
	}
	if s := unsafe.Sizeof(response{}); s != 24 || ioctlSend>>16&0x3fff != 24 {
		t.Errorf("struct seccomp_notif_resp has %d bytes", s)
	}
}

func inet4(a, b, c, d byte) []byte {
	addr := make([]byte, sizeInet4)
	copy(addr[offInet4Addr:], []byte{a, b, c, d})
	return addr
}

func inet6(ip [16]byte) []byte {
	addr := make([]byte, sizeInet6)
	copy(addr[offInet6Addr:], ip[:])
	return addr
}

func TestLoopback(t *testing.T) {
	tests := map[string]struct {
		addr   []byte
		family uint16
		want   bool
	}{
		"127.0.0.1":           {inet4(127, 0, 0, 1), unix.AF_INET, true},
		"127.0.0.2":           {inet4(127, 0, 0, 2), unix.AF_INET, false},
		"any":                 {inet4(0, 0, 0, 0), unix.AF_INET, false},
		"remote":              {inet4(93, 184, 216, 34), unix.AF_INET, false},
		"::1":                 {inet6([16]byte{15: 1}), unix.AF_INET6, true},
		"mapped":              {inet6([16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}), unix.AF_INET6, true},
		"mapped remote":       {inet6([16]byte{10: 0xff, 11: 0xff, 12: 8, 13: 8, 14: 8, 15: 8}), unix.AF_INET6, false},
		"compatible":          {inet6([16]byte{12: 127, 15: 1}), unix.AF_INET6, false},
		"NAT64":               {inet6([16]byte{0: 0, 1: 0x64, 2: 0xff, 3: 0x9b, 12: 127, 15: 1}), unix.AF_INET6, false},
		"short":               {inet4(127, 0, 0, 1)[:8], unix.AF_INET, false},
		"short IPv6":          {inet6([16]byte{15: 1})[:20], unix.AF_INET6, false},
		"family and address":  {inet4(127, 0, 0, 1), unix.AF_INET6, false},
		"nothing":             {nil, unix.AF_INET, false},
		"another family":      {inet4(127, 0, 0, 1), unix.AF_VSOCK, false},
		"::1 as IPv4 address": {inet6([16]byte{15: 1}), unix.AF_INET, false},
	}
	for name, tt := range tests {
		if got := loopback(tt.addr, tt.family); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func FuzzLoopback(f *testing.F) {
	f.Add(inet4(127, 0, 0, 1), uint16(unix.AF_INET))
	f.Add(inet6([16]byte{15: 1}), uint16(unix.AF_INET6))
	f.Fuzz(func(t *testing.T, addr []byte, family uint16) {
		if loopback(addr, family) && family != unix.AF_INET && family != unix.AF_INET6 {
			t.Fatalf("family %d is loopback", family)
		}
	})
}

func TestRelayAddr(t *testing.T) {
	for _, family := range []uint16{unix.AF_INET, unix.AF_INET6} {
		addr := relayAddr(family, 4711)
		if !loopback(addr, family) || binary.BigEndian.Uint16(addr[offPort:]) != 4711 || binary.NativeEndian.Uint16(addr) != family {
			t.Errorf("family %d: %x", family, addr)
		}
	}
}

func TestOwnDescriptor(t *testing.T) {
	for path, want := range map[string]struct {
		fd   int32
		rest string
		ok   bool
	}{
		"/proc/self/fd/7":           {7, "", true},
		"/proc/thread-self/fd/0":    {0, "", true},
		"/dev/fd/12/a/b":            {12, "a/b", true},
		"/proc/self/fd/":            {0, "", false},
		"/proc/self/fd/-1":          {0, "", false},
		"/proc/self/fd/7x":          {0, "", false},
		"/proc/1/fd/7":              {0, "", false},
		"/tmp/x":                    {0, "", false},
		"/proc/self/fd/99999999999": {0, "", false},
	} {
		fd, rest, ok := ownDescriptor(path)
		if ok != want.ok || ok && (fd != want.fd || rest != want.rest) {
			t.Errorf("ownDescriptor(%s) = %d %q %v", path, fd, rest, ok)
		}
	}
}

func TestWithin(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root/in", "rootless/out"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../rootless/out", filepath.Join(dir, "root", "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"root/in": true, "root": true, "rootless/out": false, "root/link": false, "root/../rootless": false} {
		fd, err := unix.Open(filepath.Join(dir, name), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := new(Supervisor).within(fd, []string{filepath.Join(dir, "root")}) == nil; got != want {
			t.Errorf("within(%s) = %v, want %v", name, got, want)
		}
		_ = unix.Close(fd)
	}
}

func TestRelayServesAnnouncedConnectionsOnce(t *testing.T) {
	s := &Supervisor{}
	peer := &unix.SockaddrInet4{Port: 4000, Addr: [4]byte{127, 0, 0, 1}}
	if s.Connected(peer) {
		t.Error("an unannounced connection is served")
	}
	s.expect(4000, true)
	if !s.Connected(peer) || s.Connected(peer) {
		t.Error("an announced connection is served once")
	}
	s.expect(4000, true)
	s.expect(4000, false)
	if s.Connected(peer) || s.Connected(&unix.SockaddrUnix{}) {
		t.Error("a withdrawn announcement counts")
	}
}

func TestUnknownCallsAreRefused(t *testing.T) {
	arch, ok := seccomp.Host()
	if !ok {
		t.Fatal("no system call table for " + runtime.GOARCH)
	}
	s := &Supervisor{Arch: arch}
	for name, r := range map[string]request{
		"another architecture": {arch: 0x40000003, nr: 42},
		"negative":             {arch: arch.Audit, nr: -1},
		"unknown":              {arch: arch.Audit, nr: 100000},
		"not asked for":        {arch: arch.Audit, nr: int32(arch.Numbers["mount"])},
	} {
		if _, err := s.handle(target{request: &r}); err == nil || !strings.Contains(err.Error(), "not permitted") {
			t.Errorf("%s: %v, want EPERM", name, err)
		}
	}
}

// TestRunEndsWithTheLastProcess gives a child a filter, shares its table of
// descriptors to get at the listener, and lets it end. A Run that went on
// asking would take a processor from whatever happens next.
func TestRunEndsWithTheLastProcess(t *testing.T) {
	arch, ok := seccomp.Host()
	if !ok {
		t.Fatal("no system call table for " + runtime.GOARCH)
	}
	filter := seccomp.Build(arch, seccomp.Options{Supervised: true})
	var p spawn.Program
	listening := new(spawn.Slot)
	prog := &unix.SockFprog{Len: uint16(len(filter)), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))}
	p.Keep(filter)
	p.Call("no_new_privs", unix.SYS_PRCTL, []spawn.Arg{
		spawn.Val(unix.PR_SET_NO_NEW_PRIVS), spawn.Val(1), spawn.Val(0), spawn.Val(0), spawn.Val(0),
	})
	p.Call("seccomp", unix.SYS_SECCOMP, []spawn.Arg{
		spawn.Val(unix.SECCOMP_SET_MODE_FILTER), spawn.Val(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER), spawn.Pointer(&p, prog),
	}, spawn.Into(listening))
	p.Call("exit", unix.SYS_EXIT_GROUP, []spawn.Arg{spawn.Val(0)})

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := spawn.Start(&p, unix.CLONE_FILES, -1)
	if err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || status.ExitStatus() != 0 {
		t.Fatalf("child: status %d, %v", status.ExitStatus(), err)
	}
	fd := int(*listening)
	defer func() { _ = unix.Close(fd) }()
	if err := (&Supervisor{Arch: arch}).Run(fd); !errors.Is(err, unix.ENOENT) {
		t.Errorf("Run: %v, want the end", err)
	}
}
