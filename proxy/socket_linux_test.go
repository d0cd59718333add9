package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestConnectWaits waits for a target that answers late: until it does, until
// the context is cancelled, and not at all with one that was.
func TestConnectWaits(t *testing.T) {
	fd, target := fullBacklog(t)
	addr := netip.MustParseAddrPort(target)
	before := descriptors(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := connect(ctx, addr); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it waited: %v", err)
	}
	if _, err := connect(ctx, addr); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	if n := descriptors(t); n != before {
		t.Errorf("%d descriptors, %d before", n, before)
	}

	time.AfterFunc(50*time.Millisecond, func() {
		if accepted, _, err := unix.Accept(fd); err == nil {
			_ = unix.Close(accepted)
		}
	})
	conn, err := connect(t.Context(), addr) // the second SYN follows after a second
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if got := conn.RemoteAddr().String(); got != addr.String() {
		t.Errorf("connected to %s, want %s", got, addr)
	}
}

// TestConnectNotSelf asks for a port that the kernel gives to sockets on its
// own, until it would have given a socket that very one.
func TestConnectNotSelf(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().(*net.TCPAddr).AddrPort()
	_ = ln.Close()
	// Linux gives even ports to sockets that connect, odd ones to those that bind.
	addr = netip.AddrPortFrom(addr.Addr(), addr.Port()&^1)
	for range 33_000 { // more than there are such ports
		conn, err := connect(t.Context(), addr)
		if err == nil {
			t.Fatalf("%s is connected to %s", conn.LocalAddr(), conn.RemoteAddr())
		}
		if !errors.Is(err, unix.ECONNREFUSED) {
			t.Fatal(err)
		}
	}
}

func TestConnectSockets(t *testing.T) {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	defer func() { _ = ln.Close() }()
	addr := ln.Addr().(*net.TCPAddr).AddrPort()
	conn, err := connect(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	if peer.RemoteAddr().String() != conn.LocalAddr().String() || peer.LocalAddr().String() != conn.RemoteAddr().String() {
		t.Errorf("%s to %s, the peer has %s to %s", conn.LocalAddr(), conn.RemoteAddr(), peer.RemoteAddr(), peer.LocalAddr())
	}
	if _, err := connect(t.Context(), netip.AddrPortFrom(addr.Addr().WithZone("lo"), addr.Port())); !errors.Is(err, unix.EAFNOSUPPORT) {
		t.Errorf("with a zone: %v", err)
	}
}
