package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const mib4 = 4 << 20

// TestHalfCloseByClient delivers an answer that begins after the client's FIN.
func TestHalfCloseByClient(t *testing.T) {
	t.Parallel()
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		if got, err := io.ReadAll(c); err == nil && string(got) == "request" {
			_, _ = c.Write(bytes.Repeat([]byte("a"), mib4))
		}
	}).String()
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	for range 5 {
		conn := dial(t, h.addr)
		_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\nrequest")
		_ = conn.CloseWrite()
		wantEstablished(t, conn)
		if n, err := io.Copy(io.Discard, conn); n != mib4 || err != nil {
			t.Fatalf("%d of %d bytes, %v", n, mib4, err)
		}
	}
	e := h.events.nth(t, 5)
	if e.Verdict != VerdictAllow || e.Reason != ReasonListed || e.BytesUp != 7 || e.BytesDown != mib4 || e.Cause != "eof" || e.Status != 200 {
		t.Errorf("event %+v", e)
	}
}

// TestHalfCloseByTarget keeps the other direction open until the client ends.
func TestHalfCloseByTarget(t *testing.T) {
	t.Parallel()
	uploaded := make(chan string, 1)
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		_, _ = c.Write(bytes.Repeat([]byte("a"), mib4))
		_ = c.CloseWrite()
		got, _ := io.ReadAll(c)
		uploaded <- string(got)
	}).String()
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	conn := tunnel(t, h.addr, target)
	if n, err := io.Copy(io.Discard, conn); n != mib4 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	_, _ = io.WriteString(conn, "late words")
	_ = conn.CloseWrite()
	if got := <-uploaded; got != "late words" {
		t.Errorf("the target got %q", got)
	}
}

// sendUntilError keeps a client talking; the channel closes when it no longer can.
func sendUntilError(conn net.Conn) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := conn.Write(make([]byte, 1024)); err != nil {
				return
			}
			<-time.After(time.Millisecond)
		}
	}()
	return done
}

// TestTargetClosesWhileClientSends must not cost the client a byte of what the
// target sent and ended, although the client's own bytes hit a closed socket.
func TestTargetClosesWhileClientSends(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	closed := make(chan struct{})
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		defer close(closed)
		_, _ = c.Write(make([]byte, size))
		_ = c.CloseWrite()
		<-time.After(50 * time.Millisecond) // let it arrive; closing with unread bytes drops the rest
	}).String()
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	conn := tunnel(t, h.addr, target)
	done := sendUntilError(conn)
	<-closed
	<-time.After(20 * time.Millisecond)
	if n, err := io.Copy(io.Discard, conn); n != size || err != nil {
		t.Errorf("%d of %d bytes, %v", n, size, err)
	}
	_ = conn.Close()
	<-done
	eventually(t, "the tunnel's end", func() bool { return h.srv.tunnels.Open() == 0 })
}

// TestResetWhileClientSends is never taken for an end: the kernel tells a
// reset to one system call, which may be the other direction's. The client of
// this test sends and reads as well, so that what it sees proves nothing; the
// decision log does.
func TestResetWhileClientSends(t *testing.T) {
	t.Parallel()
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		_, _ = c.Write(make([]byte, 100<<10))
		_, _ = io.ReadFull(c, make([]byte, 4096))
		_ = c.SetLinger(0)
	}).String()
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	const rounds = 30
	for range rounds {
		conn := tunnel(t, h.addr, target)
		done := sendUntilError(conn)
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
		<-done
	}
	h.events.nth(t, rounds)
	for _, e := range h.events.all(t) {
		if e.Cause != "upstream_reset" {
			t.Errorf("a reset was recorded as %+v", e)
		}
	}
}

// TestBannerFirst does not wait for the client to speak.
func TestBannerFirst(t *testing.T) {
	t.Parallel()
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "220 ready\r\n")
		_, _ = io.Copy(io.Discard, c)
	}).String()
	for _, mode := range []SNI{SNIOff, SNIObserve, SNIEnforce} {
		h := start(t, Options{Policy: Policy{Allow: entries(t, target)}, SNI: mode})
		wantBytes(t, tunnel(t, h.addr, target), "220 ready\r\n")
	}
}

// TestResetsStayResets in both directions.
func TestResetsStayResets(t *testing.T) {
	t.Parallel()
	cut := make(chan struct{})
	seen := make(chan error, 1)
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		var b [1]byte
		_, _ = io.ReadFull(c, b[:])
		if b[0] == 'r' {
			_, _ = io.WriteString(c, "half an ans")
			<-cut
			_ = c.SetLinger(0)
			return
		}
		_, err := c.Read(b[:])
		seen <- err
	}).String()
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})

	conn := tunnel(t, h.addr, target)
	_, _ = io.WriteString(conn, "r")
	wantBytes(t, conn, "half an ans")
	close(cut)
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a target's reset became %v", err)
	}
	if e := h.events.nth(t, 1); e.Cause != "upstream_reset" {
		t.Errorf("event %+v", e)
	}

	conn = tunnel(t, h.addr, target)
	_, _ = io.WriteString(conn, "c")
	<-time.After(20 * time.Millisecond)
	_ = conn.SetLinger(0)
	_ = conn.Close()
	if err := <-seen; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a client's reset became %v", err)
	}
	if e := h.events.nth(t, 2); e.Cause != "client_reset" {
		t.Errorf("event %+v", e)
	}
}

// TestKilledClients free both descriptors of each tunnel.
func TestKilledClients(t *testing.T) {
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		for {
			if _, err := c.Write(make([]byte, 1024)); err != nil {
				return
			}
		}
	}).String()
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	base := descriptors(t)
	for range 50 {
		conn := tunnel(t, h.addr, target)
		_ = conn.SetLinger(0)
		_ = conn.Close()
	}
	eventually(t, "return of the descriptors", func() bool { return h.srv.tunnels.Open() == 0 && descriptors(t) <= base+2 })
}

// TestUnreachableTargets are answered with 502, after the dial and never
// before, with an error type of RFC 9209.
func TestUnreachableTargets(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := ln.Addr().String()
	_ = ln.Close()
	h := start(t, Options{
		Policy: Policy{Allow: entries(t, closed, "unknown.example", "localhost:"+portOf(t, closed))},
		Hosts:  strings.NewReader("192.0.2.7 known.example"),
	})
	for target, want := range map[string]string{
		closed:                           "connection_refused",
		"unknown.example:443":            "dns_error",
		"localhost:" + portOf(t, closed): "connection_refused",
	} {
		r := refused(t, h.addr, "CONNECT "+target+" HTTP/1.1\r\n\r\n", "502")
		if r.line != "HTTP/1.1 502 Bad Gateway" || r.fields["x-proxy-error"] != want || !strings.HasSuffix(r.fields["proxy-status"], "error="+want) {
			t.Errorf("%s: %q %v, want %s", target, r.line, r.fields, want)
		}
		if strings.Contains(r.line+r.fields["proxy-status"], "127.0.0.1") {
			t.Errorf("%s: the reply names an address", target)
		}
	}
	if e := h.events.nth(t, 3); e.Verdict != VerdictFail {
		t.Errorf("event %+v", e)
	}
}

// TestIdleAndHalfCloseBounds end silent tunnels with a reset, each after its
// own time, and leave tunnels alone that carry bytes one way.
func TestIdleAndHalfCloseBounds(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		var b [1]byte
		_, _ = io.ReadFull(c, b[:])
		for b[0] == 's' { // a one-way stream
			if _, err := c.Write([]byte("tick")); err != nil {
				return
			}
			<-time.After(50 * time.Millisecond)
		}
		<-release
	}).String()
	t.Cleanup(func() { close(release) }) // before the server waits for its connections
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}, IdleTimeout: 600 * time.Millisecond, HalfCloseTimeout: 200 * time.Millisecond})

	stream := tunnel(t, h.addr, target)
	_, _ = io.WriteString(stream, "s")
	idle := tunnel(t, h.addr, target)
	_, _ = io.WriteString(idle, "i")
	half := tunnel(t, h.addr, target)
	_, _ = io.WriteString(half, "h")
	_ = half.CloseWrite()

	began := time.Now()
	if _, err := half.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("half-closed: %v", err)
	}
	if took := time.Since(began); took > 500*time.Millisecond+200*time.Millisecond {
		t.Errorf("half-closed tunnel ended after %v", took)
	}
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("idle: %v", err)
	}
	for range 10 {
		wantBytes(t, stream, "tick")
	}
	_ = stream.Close()
	causes := map[string]int{}
	eventually(t, "three events", func() bool { return len(h.events.all(t)) == 3 })
	for _, e := range h.events.all(t) {
		causes[string(e.Cause)]++
	}
	if causes["half_close_timeout"] != 1 || causes["idle_timeout"] != 1 {
		t.Errorf("causes %v", causes)
	}
}

// TestIdleTunnels hold two descriptors each, and give them back.
func TestIdleTunnels(t *testing.T) {
	const n = 2000
	h := start(t, Options{Policy: Policy{Allow: entries(t, "127.0.0.1:1")}, SNI: SNIOff})
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) { _, _ = io.Copy(onlyWriter{c}, c) }).String()
	if err := h.srv.Reload(Policy{Allow: entries(t, target)}); err != nil {
		t.Fatal(err)
	}
	base := descriptors(t)
	conns := make([]net.Conn, 0, n)
	for range n {
		conn := tunnel(t, h.addr, target)
		wantEcho(t, conn, "once")
		conns = append(conns, conn)
	}
	// Four of each tunnel's descriptors are in this process: the client's, the
	// target's and the proxy's two.
	// Tests before this one may still be giving some back.
	if got := descriptors(t) - base; got > 4*n || got < 4*n-20 {
		t.Errorf("%d tunnels hold %d descriptors, want %d", n, got, 4*n)
	}
	for _, c := range conns {
		_ = c.SetDeadline(time.Now().Add(15 * time.Second)) // opening all of them may have taken that long
		wantEcho(t, c, "twice")
		_ = c.Close()
	}
	eventually(t, "return of the descriptors", func() bool { return descriptors(t) <= base+2 })
}

// TestIdleAfterBulk holds no pipe once the bulk has passed.
func TestIdleAfterBulk(t *testing.T) {
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		_, _ = c.Write(make([]byte, 64<<20))
		_, _ = io.Copy(io.Discard, c)
	}).String()
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}, SNI: SNIOff})
	base := descriptors(t)
	conn := tunnel(t, h.addr, target)
	if n, err := io.CopyN(io.Discard, conn, 64<<20); err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	eventually(t, "return of the pipes", func() bool { return descriptors(t)-base <= 4 })
}

// TestTunnelIdle leaves a tunnel alone for longer than other proxies' bounds. It
// waits beside the other tests.
func TestTunnelIdle(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 90 seconds")
	}
	t.Parallel()
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) { _, _ = io.Copy(c, c) }).String()
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	conn := tunnel(t, h.addr, target)
	const alone = 90 * time.Second
	_ = conn.SetDeadline(time.Now().Add(alone))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("while nothing was said: %d bytes, %v", n, err)
	}
	_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
	wantEcho(t, conn, "x")
}
