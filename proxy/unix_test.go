//go:build unix

package proxy

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestConnectTimeout bounds a dial that nobody answers. The target's backlog
// is full, so that the kernel drops further handshakes.
func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	_, addr := fullBacklog(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, addr)}, ConnectTimeout: 300 * time.Millisecond})
	began := time.Now()
	r := refused(t, h.addr, "CONNECT "+addr+" HTTP/1.1\r\n\r\n", "502")
	if r.fields["x-proxy-error"] != "connection_timeout" {
		t.Errorf("got %v", r.fields)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

// fullBacklog returns an address whose connections do not complete until the
// descriptor, which listens there, accepts some.
func fullBacklog(t *testing.T) (fd int, addr string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(sa.(*syscall.SockaddrInet4).Port))
	for range 8 {
		conn, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		if err != nil {
			return fd, addr
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Skip("this kernel does not drop connections beyond the backlog")
	return 0, ""
}

func TestListenFD(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Close(), ln.Close()
	inherited, err := ListenFD(uintptr(fd))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inherited.Close() }()
	if inherited.Addr().String() != ln.Addr().String() {
		t.Errorf("listens on %s", inherited.Addr())
	}
	if _, err := ListenFD(9999); err == nil {
		t.Error("listened on nothing")
	}
}
