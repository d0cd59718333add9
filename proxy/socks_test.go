package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// socksRequest builds a CONNECT to a name, or to raw address bytes.
func socksRequest(cmd, kind byte, addr []byte, port uint16) []byte {
	b := []byte{5, cmd, 0, kind}
	if kind == socksName {
		b = append(b, byte(len(addr)))
	}
	return binary.BigEndian.AppendUint16(append(b, addr...), port)
}

func TestSOCKS(t *testing.T) {
	t.Parallel()
	target := echo(t)
	port := addrPort(t, target).Port()
	h := start(t, Options{
		SOCKS: true, Hosts: strings.NewReader("127.0.0.1 a.example"),
		Policy: Policy{Allow: entries(t, target, "a.example:"+portOf(t, target), "127.0.0.1:1", "b.example:1"), Deny: entries(t, "no.example")},
	})
	mapped := append(append(make([]byte, 10), 0xff, 0xff), 127, 0, 0, 1)
	for name, tc := range map[string]struct {
		send []byte
		code byte
	}{
		"IPv4":              {socksRequest(1, socksIPv4, []byte{127, 0, 0, 1}, port), 0},
		"mapped":            {socksRequest(1, socksIPv6, mapped, port), 0},
		"name":              {socksRequest(1, socksName, []byte("A.Example."), port), 0},
		"address as a name": {socksRequest(1, socksName, []byte("127.0.0.1"), port), 0},
		"not listed":        {socksRequest(1, socksName, []byte("evil.example"), 443), socksNotAllowed},
		"denied":            {socksRequest(1, socksName, []byte("no.example"), 443), socksNotAllowed},
		"own port":          {socksRequest(1, socksIPv4, []byte{127, 0, 0, 1}, addrPort(t, h.addr).Port()), socksNotAllowed},
		"refused":           {socksRequest(1, socksIPv4, []byte{127, 0, 0, 1}, 1), socksRefused},
		"unknown name":      {socksRequest(1, socksName, []byte("b.example"), 1), socksHostUnreachable},
		"NUL in a name":     {socksRequest(1, socksName, []byte("evil.example\x00.a.example"), port), socksFailure},
		"short quad":        {socksRequest(1, socksName, []byte("127.1"), port), socksFailure},
		"empty name":        {socksRequest(1, socksName, nil, port), socksFailure},
		"port zero":         {socksRequest(1, socksName, []byte("a.example"), 0), socksFailure},
		"BIND":              {socksRequest(2, socksIPv4, []byte{127, 0, 0, 1}, port), socksBadCommand},
		"UDP":               {socksRequest(3, socksIPv4, []byte{127, 0, 0, 1}, port), socksBadCommand},
		"address type 2":    {[]byte{5, 1, 0, 2, 0, 0, 0, 0, 0, 0}, socksBadAddress},
		"reserved not zero": {[]byte{5, 1, 1, 1, 127, 0, 0, 1, 0, 80}, socksFailure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, pipelined := range []bool{false, true} {
				conn := dial(t, h.addr)
				if pipelined {
					_, _ = conn.Write(append(append([]byte{5, 2, 0, 2}, tc.send...), "early"...))
				} else {
					_, _ = conn.Write([]byte{5, 1, 0})
				}
				wantBytes(t, conn, "\x05\x00")
				if !pipelined {
					_, _ = conn.Write(tc.send)
				}
				wantBytes(t, conn, string([]byte{5, tc.code, 0, 1, 0, 0, 0, 0, 0, 0}))
				if tc.code != 0 {
					if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
						t.Errorf("%q, %v", rest, err)
					}
					continue
				}
				if pipelined {
					wantBytes(t, conn, "early")
				}
				wantEcho(t, conn, "socks")
			}
		})
	}
	conn := dial(t, h.addr)
	_, _ = conn.Write([]byte{5, 1, 2})
	wantBytes(t, conn, "\x05\xff")
	wantEcho(t, tunnel(t, h.addr, target), "HTTP on the same port")
}

func FuzzSOCKSRequest(f *testing.F) {
	f.Add(socksRequest(1, socksName, []byte("a.example"), 443))
	f.Add(socksRequest(1, socksIPv4, []byte{127, 0, 0, 1}, 80))
	f.Fuzz(func(t *testing.T, in []byte) {
		host, port, err := readSOCKSRequest(bytes.NewReader(in))
		if err == nil && (!host.IsValid() || port == 0 || in[1] != socksConnect) {
			t.Fatalf("%q gave %q port %d", in, host, port)
		}
	})
}

// TestChain uses a second server as the proxy behind the first, in two of the
// protocols it speaks.
func TestChain(t *testing.T) {
	t.Parallel()
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "banner")
		_, _ = io.Copy(onlyWriter{c}, c)
	}).String()
	port := portOf(t, target)
	up := start(t, Options{SOCKS: true, Policy: Policy{Allow: entries(t, "127.0.0.1:"+port, "remote.example:"+port)}, Hosts: strings.NewReader("127.0.0.1 remote.example")})
	for _, scheme := range []string{"http", "socks5"} {
		t.Run(scheme, func(t *testing.T) {
			h := start(t, Options{
				Upstream: mustURL(t, scheme+"://"+up.addr), UpstreamNames: entries(t, "**.example"), UpstreamBypass: entries(t, "direct.example"),
				Policy: Policy{Allow: entries(t, "remote.example:"+port, "other.example:"+port, "direct.example:"+port, "local.test:"+port, "meta.test:"+port, target)},
				Hosts:  strings.NewReader("127.0.0.1 local.test direct.example\n169.254.169.254 meta.test"),
			})
			before := len(up.events.all(t))
			conn := tunnel(t, h.addr, "remote.example:"+port)
			wantBytes(t, conn, "banner")
			wantEcho(t, conn, "through two")
			_ = conn.Close()
			up.events.nth(t, before+1)
			// What the upstream proxy refuses is a failure here, not a question.
			if r := refused(t, h.addr, "CONNECT other.example:"+port+" HTTP/1.1\r\n\r\n", "502"); r.fields["x-proxy-error"] != "upstream_proxy" {
				t.Errorf("fields %v", r.fields)
			}
			up.events.nth(t, before+2)
			// Names that are resolved here are judged here, and passed on as
			// the address that was judged; the bypass list is dialled directly.
			if r := refused(t, h.addr, "CONNECT meta.test:"+port+" HTTP/1.1\r\n\r\n", "403"); r.fields["x-proxy-error"] != "blocked_address" {
				t.Errorf("fields %v", r.fields)
			}
			wantBytes(t, tunnel(t, h.addr, "direct.example:"+port), "banner")
			if n := len(up.events.all(t)); n != before+2 {
				t.Errorf("the upstream proxy saw %d requests, want 2", n-before)
			}
			for i, through := range []string{"local.test", "127.0.0.1"} {
				conn := tunnel(t, h.addr, through+":"+port)
				wantBytes(t, conn, "banner")
				_ = conn.Close()
				if e := up.events.nth(t, before+3+i); e.Host != "127.0.0.1" {
					t.Errorf("%s reached the upstream proxy as %s", through, e.Host)
				}
			}
		})
	}
}

// TestChainToItself is refused when it starts or, for a name that leads back
// here, at each request, instead of going round until descriptors end.
func TestChainToItself(t *testing.T) {
	t.Parallel()
	ln, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := portOf(t, ln.Addr().String())
	named, err := New(Options{Upstream: mustURL(t, "http://localhost:"+port), Policy: Policy{Allow: entries(t, "192.0.2.1")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- named.Serve(ctx, Listeners{Data: []Listener{{Listener: ln}}}) }()
	r := refused(t, ln.Addr().String(), "CONNECT 192.0.2.1:443 HTTP/1.1\r\n\r\n", "502")
	if r.fields["x-proxy-error"] != "upstream_proxy" {
		t.Errorf("fields %v", r.fields)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := named.sink.counts[ReasonUpstreamProxy].Load(); n != 1 {
		t.Errorf("one request became %d", n)
	}
}

// TestChainBypass keeps loopback on this machine when the upstream proxy is on
// another one.
func TestChainBypass(t *testing.T) {
	loopback, public := []netip.Addr{netip.MustParseAddr("127.0.0.1")}, []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	for upstream, want := range map[string]bool{
		"http://proxy.example:3128": true, "socks5://192.0.2.9": true, "http://127.0.0.1:3128": false, "http://[::1]:3128": false, "https://localhost": false,
	} {
		c, err := newChain(Options{Upstream: mustURL(t, upstream), UpstreamBypass: entries(t, "near.example")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		far := target{host: host(t, "far.example"), port: 443}
		if got := c.bypassed(far, loopback); got != want {
			t.Errorf("%s: loopback bypassed: %v", upstream, got)
		}
		if c.bypassed(far, public) || !c.bypassed(target{host: host(t, "near.example"), port: 1}, public) {
			t.Errorf("%s: the bypass list is not what decides", upstream)
		}
	}
}

// TestChainTLS reaches an upstream proxy over TLS, and only one it trusts.
func TestChainTLS(t *testing.T) {
	t.Parallel()
	cert, pool := testCA(t)
	target := echo(t)
	up := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	front := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		tc := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
		inner, err := net.Dial("tcp", up.addr)
		if err != nil {
			return
		}
		defer func() { _ = inner.Close() }()
		go func() {
			_, _ = io.Copy(inner, tc)
			_ = inner.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(tc, inner)
		_ = tc.CloseWrite()
	}).String()
	opt := Options{Upstream: mustURL(t, "https://"+front), RootCAs: pool, Policy: Policy{Allow: entries(t, target)}}
	h := start(t, opt)
	conn := tunnel(t, h.addr, target)
	wantEcho(t, conn, strings.Repeat("over TLS ", 20000))
	_ = conn.CloseWrite()
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
	opt.RootCAs = nil
	h = start(t, opt)
	if r := refused(t, h.addr, "CONNECT "+target+" HTTP/1.1\r\n\r\n", "502"); r.fields["x-proxy-error"] != "tls_error" {
		t.Errorf("fields %v", r.fields)
	}
}

func TestChainAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ scheme, answer string }{
		"no HTTP":         {"http", "SSH-2.0-x\r\n\r\n"},
		"refusal":         {"http", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"},
		"status 2000":     {"http", "HTTP/1.1 2000 OK\r\n\r\n"},
		"closes":          {"http", ""},
		"no end":          {"http", "HTTP/1.1 200 OK\r\n"},
		"endless head":    {"http", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 40<<10)},
		"no SOCKS":        {"socks5", "HTTP/1.1 400 Bad Request\r\n\r\n"},
		"no method":       {"socks5", "\x05\xff"},
		"wants a login":   {"socks5", "\x05\x02"},
		"socks refusal":   {"socks5", "\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"},
		"socks cut short": {"socks5", "\x05\x00\x05\x00\x00\x04\x00\x00"},
		"socks nonsense":  {"socks5", "\x05\x00\x05\x00\x00\x09\x00\x00\x00\x00\x00\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
				buf := make([]byte, 1024)
				_, _ = c.Read(buf)
				_, _ = io.WriteString(c, tc.answer)
				_ = c.CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			}).String()
			h := start(t, Options{Upstream: mustURL(t, tc.scheme+"://u:p@"+up), UpstreamNames: entries(t, "a.example"), Policy: Policy{Allow: entries(t, "a.example")}})
			if r := refused(t, h.addr, "CONNECT a.example:443 HTTP/1.1\r\n\r\n", "502"); r.fields["x-proxy-error"] != "upstream_proxy" {
				t.Errorf("fields %v", r.fields)
			}
		})
	}
}

// TestChainLogin sends the credential to the proxy it belongs to.
func TestChainLogin(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	up := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		got <- readAvailable(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nearly")
	}).String()
	h := start(t, Options{Upstream: mustURL(t, "http://user:pass@"+up), UpstreamNames: entries(t, "a.example"), Policy: Policy{Allow: entries(t, "a.example")}})
	wantBytes(t, tunnel(t, h.addr, "a.example:443"), "early")
	want := "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n"
	if text := <-got; text != want {
		t.Errorf("got %q, want %q", text, want)
	}

	login := make(chan string, 2)
	socks := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		login <- readAvailable(c)
		_, _ = io.WriteString(c, "\x05\x02")
		login <- readAvailable(c)
		_, _ = io.WriteString(c, "\x01\x00")
		_ = readAvailable(c)
		_, _ = io.WriteString(c, "\x05\x00\x00\x03\x01x\x00\x00early")
	}).String()
	h = start(t, Options{Upstream: mustURL(t, "socks5://user:pass@"+socks), UpstreamNames: entries(t, "a.example"), Policy: Policy{Allow: entries(t, "a.example")}})
	wantBytes(t, tunnel(t, h.addr, "a.example:443"), "early")
	if a, b := <-login, <-login; a != "\x05\x02\x00\x02" || b != "\x01\x04user\x04pass" {
		t.Errorf("got %q, then %q", a, b)
	}
}

// readAvailable returns what one read gives.
func readAvailable(c net.Conn) string {
	buf := make([]byte, 4096)
	n, _ := c.Read(buf)
	return string(buf[:n])
}
