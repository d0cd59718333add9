package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/steerable-go/sidecar/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// harness is a server on real sockets.
type harness struct {
	t       *testing.T
	srv     *Server
	addr    string // data listener
	control string // control listener, "" without a token
	events  *eventLog
	stop    func() error // ends Serve and returns its error; idempotent
}

// eventLog keeps the audit lines of a test.
type eventLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *eventLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *eventLog) all(t *testing.T) []Event {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Event
	for line := range strings.Lines(l.buf.String()) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("audit line %q: %v", line, err)
		}
		out = append(out, e)
	}
	return out
}

// last waits for at least n events and returns the nth.
func (l *eventLog) nth(t *testing.T, n int) Event {
	t.Helper()
	eventually(t, "an event in the audit log", func() bool { return len(l.all(t)) >= n })
	return l.all(t)[n-1]
}

// entries parses list entries.
func entries(t *testing.T, list ...string) []egress.Pattern {
	t.Helper()
	out, err := ParseEntries("test", list)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// start serves opt until the test ends.
func start(t *testing.T, opt Options) *harness {
	t.Helper()
	h := &harness{t: t, events: &eventLog{}}
	if opt.Audit == nil {
		audit, err := NewAudit(h.events, nil)
		if err != nil {
			t.Fatal(err)
		}
		opt.Audit = audit
	}
	if opt.Policy.Allow == nil && opt.Decider == nil {
		opt.Policy.Allow = entries(t, "only.invalid")
	}
	srv, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	h.srv = srv
	ctx, cancel := context.WithCancel(t.Context())
	data, err := Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listeners{Data: []Listener{{Listener: data, Identity: "test"}}}
	h.addr = data.Addr().String()
	if !opt.ControlToken.IsZero() {
		if l.Control, err = ListenControl(ctx, 0); err != nil {
			t.Fatal(err)
		}
		h.control = l.Control.Addr().String()
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	h.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			return errors.New("Serve did not return")
		}
	})
	t.Cleanup(func() {
		if err := h.stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return h
}

// dial connects to addr with a deadline on everything.
func dial(t *testing.T, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// talk sends everything and returns all that comes back until the other side
// ends in order; a reset is an error.
func talk(t *testing.T, addr, send string) string {
	t.Helper()
	conn := dial(t, addr)
	go func() { _, _ = io.WriteString(conn, send) }()
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("sent %.60q: read %q, then %v", send, got, err)
	}
	return string(got)
}

// reply is an HTTP reply without a body.
type reply struct {
	line   string // status line
	fields map[string]string
}

func parseReply(t *testing.T, raw string) reply {
	t.Helper()
	head, rest, ok := strings.Cut(raw, "\r\n\r\n")
	if !ok || rest != "" {
		t.Fatalf("not one complete head: %q", raw)
	}
	lines := strings.Split(head, "\r\n")
	r := reply{line: lines[0], fields: map[string]string{}}
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ": ")
		r.fields[strings.ToLower(name)] = value
	}
	return r
}

// refused wants a complete refusal with the given status, ended by a FIN.
func refused(t *testing.T, addr, send, status string) reply {
	t.Helper()
	r := parseReply(t, talk(t, addr, send))
	if !strings.HasPrefix(r.line, "HTTP/1.1 "+status+" ") {
		t.Errorf("%.80q: got %q, want status %s", send, r.line, status)
	}
	if r.fields["content-length"] != "0" || r.fields["connection"] != "close" {
		t.Errorf("%.80q: refusal with fields %v", send, r.fields)
	}
	return r
}

// tunnel opens a tunnel and returns it after the reply's head.
func tunnel(t *testing.T, addr, target string) *net.TCPConn {
	t.Helper()
	conn := dial(t, addr)
	if _, err := io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	wantEstablished(t, conn)
	return conn
}

// readHead reads byte by byte up to the blank line.
func readHead(t *testing.T, r io.Reader) string {
	t.Helper()
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		var b [1]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			t.Fatalf("head cut short after %q: %v", head, err)
		}
		head = append(head, b[0])
	}
	return string(head)
}

func wantEstablished(t *testing.T, conn net.Conn) {
	t.Helper()
	if head := readHead(t, conn); !strings.HasPrefix(head, "HTTP/1.1 200 ") || strings.Contains(strings.ToLower(head), "content-length") {
		t.Fatalf("got %q, want 200 without a length", head)
	}
}

// wantEcho proves a tunnel to an echo target.
func wantEcho(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, conn, text)
}

func wantBytes(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v; want %q", got[:n], err, want)
	}
}

// server runs handle for each connection to a loopback listener.
func server(t *testing.T, network, addr string, handle func(*net.TCPConn)) *net.TCPAddr {
	t.Helper()
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				handle(c.(*net.TCPConn))
				_ = c.Close()
				mu.Lock()
				delete(open, c)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return ln.Addr().(*net.TCPAddr)
}

// echo returns the address of a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	return server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) { _, _ = io.Copy(onlyWriter{c}, c) }).String()
}

// onlyWriter hides ReadFrom, so that a test's own copying does not splice.
type onlyWriter struct{ io.Writer }

// counting returns the address of a server that counts its connections.
func counting(t *testing.T) (string, func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	addr := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		mu.Lock()
		n++
		mu.Unlock()
		_, _ = io.Copy(io.Discard, c)
	})
	return addr.String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func portOf(t *testing.T, addr string) string {
	t.Helper()
	return addr[strings.LastIndexByte(addr, ':')+1:]
}

func addrPort(t *testing.T, addr string) netip.AddrPort {
	t.Helper()
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return ap
}

// eventually polls for a condition that another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within 10 s", what)
		}
		<-ticker.C
	}
}

// descriptors counts the open descriptors of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc to count descriptors in")
	}
	return len(list)
}
