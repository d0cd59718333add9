package proxy

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// paddedHead is a CONNECT head of exactly size bytes.
func paddedHead(target string, size int) string {
	head := "CONNECT " + target + " HTTP/1.1\r\nX-Pad: \r\n\r\n"
	return strings.Replace(head, "X-Pad: ", "X-Pad: "+strings.Repeat("p", size-len(head)), 1)
}

func TestHeadSizes(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	for name, tc := range map[string]struct {
		send, want string
	}{
		"exactly at the limit":           {paddedHead(target, 16384), "200"},
		"just over the first buffer":     {paddedHead(target, 4097), "200"},
		"exactly the first buffer":       {paddedHead(target, 4096), "200"},
		"one byte over":                  {paddedHead(target, 16385), "431"},
		"a field of 32 KiB":              {paddedHead(target, 32768), "431"},
		"no end at all":                  {strings.Repeat("a", 70000), "431"},
		"one byte over and no end":       {paddedHead(target, 16384)[:16380] + "pppppp", "431"},
		"many short fields":              {"CONNECT " + target + " HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", 3000) + "\r\n", "431"},
		"request line alone too long":    {"CONNECT " + strings.Repeat("a", 17000) + ":443 HTTP/1.1\r\n\r\n", "431"},
		"at the limit with bytes behind": {paddedHead(target, 16384) + strings.Repeat("x", 20000), "200"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, h.addr)
			go func() { _, _ = io.WriteString(conn, tc.send) }()
			head := readHead(t, conn)
			if !strings.HasPrefix(head, "HTTP/1.1 "+tc.want+" ") {
				t.Fatalf("got %q, want %s", head, tc.want)
			}
			if tc.want == "200" {
				return
			}
			if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
				t.Errorf("after the refusal: %q, %v; want a FIN", rest, err)
			}
		})
	}
}

// TestTooLargeIsAnsweredAtOnce does not wait for a terminator: the answer
// comes with byte 16,385 while the client keeps its side open.
func TestTooLargeIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	h := start(t, Options{})
	conn := dial(t, h.addr)
	_, _ = io.WriteString(conn, strings.Repeat("a", 16384))
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatal("an answer before the limit was passed")
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, "a")
	if head := readHead(t, conn); !strings.HasPrefix(head, "HTTP/1.1 431 Request Header Fields Too Large\r\n") {
		t.Errorf("got %q", head)
	}
}

func TestHeadInPieces(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	conn := dial(t, h.addr)
	_ = conn.SetNoDelay(true)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for _, b := range []byte("CONNECT " + target + " HTTP/1.1\r\nHost: x\r\n\r\n") {
		_, _ = conn.Write([]byte{b})
		<-ticker.C
	}
	wantEstablished(t, conn)
	wantEcho(t, conn, "pieces")
}

// TestPipelinedPayload reaches the target first and whole.
func TestPipelinedPayload(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	for _, payload := range []string{"hello", strings.Repeat("x", 10000), "\r\n\r\nGET / HTTP/1.1\r\n\r\n", "\x00\xff"} {
		conn := dial(t, h.addr)
		_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\n"+payload)
		wantEstablished(t, conn)
		wantBytes(t, conn, payload)
		wantEcho(t, conn, "more")
	}
}

// TestHeadDeadline is absolute: neither silence nor dripping moves it, and
// only a client that said something is told.
func TestHeadDeadline(t *testing.T) {
	t.Parallel()
	h := start(t, Options{HeadTimeout: 300 * time.Millisecond})
	for name, tc := range map[string]struct{ first, drip, want string }{
		"silence":    {"", "", ""},
		"part of it": {"CONNECT h:443 HT", "", "HTTP/1.1 408 Request Timeout\r\n"},
		"dripping":   {"CONNECT h:443 HTTP/1.1\r\n", "x: y\r\n", "HTTP/1.1 408 Request Timeout\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, h.addr)
			_, _ = io.WriteString(conn, tc.first)
			began := time.Now()
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				ticker := time.NewTicker(50 * time.Millisecond)
				defer ticker.Stop()
				for tc.drip != "" {
					select {
					case <-stop:
						return
					case <-ticker.C:
						_, _ = io.WriteString(conn, tc.drip)
					}
				}
			}()
			got, err := io.ReadAll(conn)
			if err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(got), tc.want) || tc.want == "" && len(got) > 0 {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if took := time.Since(began); took < 200*time.Millisecond || took > 3*time.Second {
				t.Errorf("closed after %v", took)
			}
		})
	}
}

// TestTruncatedHead is refused: what is missing might have changed everything.
func TestTruncatedHead(t *testing.T) {
	t.Parallel()
	target, dials := counting(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	full := "CONNECT " + target + " HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, cut := range []int{1, 8, len("CONNECT " + target + " HTTP/1.1\r\n"), len(full) - 3, len(full) - 1} {
		conn := dial(t, h.addr)
		_, _ = io.WriteString(conn, full[:cut])
		_ = conn.CloseWrite()
		got, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") {
			t.Errorf("after %d bytes: %q, %v", cut, got, err)
		}
	}
	if dials() != 0 {
		t.Error("a truncated head dialled")
	}
}

// TestProbes leaves no trace: no reply, no event, no descriptor, no goroutine.
func TestProbes(t *testing.T) {
	h := start(t, Options{})
	probe := func() {
		conn, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	probe()
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 300 {
		probe()
	}
	eventually(t, "return to the base", func() bool { return descriptors(t) <= fds+2 && runtime.NumGoroutine() <= goroutines+2 })
	conn := dial(t, h.addr)
	_ = conn.CloseWrite()
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
		t.Errorf("a probe was answered with %q, %v", got, err)
	}
	if events := h.events.all(t); len(events) > 0 {
		t.Errorf("probes left %v", events)
	}
}

// TestOtherProtocols end the connection without an answer.
func TestOtherProtocols(t *testing.T) {
	t.Parallel()
	h := start(t, Options{})
	for name, first := range map[string]string{
		"TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "SOCKS5": "\x05\x01\x00", "SOCKS4": "\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
	} {
		conn := dial(t, h.addr)
		_, _ = io.WriteString(conn, first)
		began := time.Now()
		got, err := io.ReadAll(conn)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) || len(got) > 0 || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %q, %v after %v", name, got, err, time.Since(began))
		}
	}
}

// TestRefusalNamesTarget is the contract of the ask flow.
func TestRefusalNamesTarget(t *testing.T) {
	t.Parallel()
	h := start(t, Options{})
	for target, want := range map[string]string{
		"evil.example.com:443":  "evil.example.com:443",
		"EVIL.example.com.:443": "evil.example.com:443",
		"192.0.2.1:8443":        "192.0.2.1:8443",
		"10.1.2.3:80":           "10.1.2.3:80",
		"a_b-c.example:1":       "a_b-c.example:1",
		"localhost:65535":       "localhost:65535",
	} {
		r := refused(t, h.addr, "CONNECT "+target+" HTTP/1.1\r\n\r\n", "403")
		if r.line != "HTTP/1.1 403 Forbidden; egress denied for "+want || r.fields["x-proxy-error"] != "not_listed" {
			t.Errorf("%s: %q %v", target, r.line, r.fields)
		}
		if !strings.HasSuffix(r.fields["proxy-status"], "; error=http_request_denied") {
			t.Errorf("%s: proxy-status %q", target, r.fields["proxy-status"])
		}
	}
}

// TestRefusalWithPipelinedBytes is read whole although the client sent a lot
// that nobody wanted, and what it sent is not taken for a second request.
func TestRefusalWithPipelinedBytes(t *testing.T) {
	t.Parallel()
	h := start(t, Options{})
	for _, behind := range []string{strings.Repeat("x", 64<<10), "CONNECT other.example:443 HTTP/1.1\r\n\r\n"} {
		refused(t, h.addr, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n"+behind, "403")
	}
	eventually(t, "two events", func() bool { return len(h.events.all(t)) == 2 })
}

// TestFinalRefusalsAreNotAskedAbout keeps the phrase of the ask flow off
// whatever no grant can or should open.
func TestFinalRefusalsAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	h := start(t, Options{Policy: Policy{Allow: entries(t, "**.example.com"), Deny: entries(t, "bad.example.com", "10.0.0.0")}, ControlToken: NewSecret("t")})
	for target, want := range map[string]string{
		"bad.example.com:443":                        "denied",
		"bad.example.com:9":                          "denied",
		"10.0.0.0:443":                               "denied",
		"169.254.169.254:80":                         "blocked_address",
		"[fd00:ec2::254]:80":                         "blocked_address",
		"[::ffff:169.254.169.254]:80":                "blocked_address",
		"[64:ff9b::a9fe:a9fe]:80":                    "blocked_address",
		"168.63.129.16:80":                           "blocked_address",
		"0.0.0.0:443":                                "blocked_address",
		"[::]:443":                                   "blocked_address",
		"224.0.0.1:443":                              "blocked_address",
		"255.255.255.255:443":                        "blocked_address",
		"[fe80::1]:443":                              "blocked_address",
		"127.0.0.1:" + portOf(t, h.addr):             "self_target",
		"127.9.9.9:" + portOf(t, h.addr):             "self_target",
		"0.0.0.0:" + portOf(t, h.control):            "self_target",
		"[::1]:" + portOf(t, h.control):              "self_target",
		"[::ffff:127.0.0.1]:" + portOf(t, h.control): "self_target",
		"[2002:7f00:1::]:" + portOf(t, h.control):    "self_target",
	} {
		r := refused(t, h.addr, "CONNECT "+target+" HTTP/1.1\r\n\r\n", "403")
		if r.fields["x-proxy-error"] != want || strings.Contains(r.line, "egress denied for") {
			t.Errorf("%s: %q %v, want %s", target, r.line, r.fields, want)
		}
	}
}
