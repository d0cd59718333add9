package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestNewRefuses(t *testing.T) {
	some := Policy{Allow: entries(t, "a.example")}
	rule := InjectRule{Host: host(t, "a.example"), Secret: NewSecret("s")}
	with := func(change func(*InjectRule)) Options {
		r := rule
		change(&r)
		return Options{Policy: Policy{Allow: some.Allow, Inject: []InjectRule{r}}}
	}
	for name, tc := range map[string]struct {
		opt  Options
		want string
	}{
		"empty":               {Options{}, "empty"},
		"only denied":         {Options{Policy: Policy{Deny: some.Allow}}, "empty"},
		"wildcard too broad":  {Options{Policy: Policy{Allow: entries(t, "*.com")}}, "invalid allow entry"},
		"rule without host":   {with(func(r *InjectRule) { r.Host = host(t, "a.example"); *r = InjectRule{Secret: r.Secret} }), "without a host"},
		"rule without secret": {with(func(r *InjectRule) { r.Secret = Secret{} }), "secret is empty"},
		"secret with LF":      {with(func(r *InjectRule) { r.Secret = NewSecret("a\nb") }), "control character"},
		"secret with blank":   {with(func(r *InjectRule) { r.Secret = NewSecret("a ") }), "blank"},
		"scheme":              {with(func(r *InjectRule) { r.Scheme = "ftp" }), "scheme"},
		"header":              {with(func(r *InjectRule) { r.Header = "a b" }), "credential"},
		"framing header":      {with(func(r *InjectRule) { r.Header = "Content-Length" }), "credential"},
		"hop-by-hop header":   {with(func(r *InjectRule) { r.Header = "Proxy-Authorization" }), "credential"},
		"two rules":           {Options{Policy: Policy{Allow: some.Allow, Inject: []InjectRule{rule, rule}}}, "two inject rules"},
		"hosts file":          {Options{Policy: some, Hosts: strings.NewReader("x y")}, "hosts file"},
		"upstream scheme":     {Options{Policy: some, Upstream: mustURL(t, "ftp://h")}, "scheme"},
		"upstream path":       {Options{Policy: some, Upstream: mustURL(t, "http://h/x")}, "expected"},
		"upstream port":       {Options{Policy: some, Upstream: mustURL(t, "http://h:0")}, "port"},
	} {
		_, err := New(tc.opt)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q in it", name, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "a\nb") {
			t.Errorf("%s: the error shows the secret", name)
		}
	}
	if _, err := New(Options{}); !errors.Is(err, ErrEmptyPolicy) {
		t.Error(err)
	}
}

func TestServeRefuses(t *testing.T) {
	listen := func() net.Listener {
		ln, err := Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	data := listen()
	for name, tc := range map[string]struct {
		opt Options
		l   Listeners
	}{
		"no listener":        {Options{}, Listeners{}},
		"control, no token":  {Options{}, Listeners{Data: []Listener{{Listener: listen()}}, Control: listen()}},
		"itself as upstream": {Options{Upstream: mustURL(t, "http://"+data.Addr().String())}, Listeners{Data: []Listener{{Listener: data}}}},
	} {
		tc.opt.Policy.Allow = entries(t, "a.example")
		srv, err := New(tc.opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := srv.Serve(t.Context(), tc.l); err == nil {
			t.Errorf("%s: Serve returned nil", name)
		}
	}
}

// TestDrain lets tunnels end by themselves within the time, and cuts the rest.
func TestDrain(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}, DrainTimeout: 400 * time.Millisecond})
	idle := dial(t, h.addr)
	quick, stubborn := tunnel(t, h.addr, target), tunnel(t, h.addr, target)
	wantEcho(t, idleThen(quick), "a")
	stopped := make(chan error, 1)
	began := time.Now()
	go func() { stopped <- h.stop() }()
	if n, err := idle.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a connection without a request was kept")
	}
	wantEcho(t, quick, "still there")
	_ = quick.Close()
	if _, err := net.Dial("tcp", h.addr); err == nil {
		t.Error("a new connection was accepted")
	}
	wantEcho(t, stubborn, "and I")
	if _, err := stubborn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a cut tunnel ended with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
		t.Errorf("draining took %v", took)
	}
	causes := map[string]int{}
	for _, e := range h.events.all(t) {
		causes[string(e.Cause)]++
	}
	if causes["eof"] != 1 || causes["shutdown"] != 1 {
		t.Errorf("causes %v", causes)
	}
}

func idleThen(c net.Conn) net.Conn { return c }

// TestStopCutsAtOnce without a drain timeout.
func TestStopCutsAtOnce(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	conn := tunnel(t, h.addr, target)
	began := time.Now()
	if err := h.stop(); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a cut tunnel ended with %v", err)
	}
}

// TestReload changes what new requests meet and leaves open tunnels alone.
func TestReload(t *testing.T) {
	t.Parallel()
	target, other := echo(t), echo(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	conn := tunnel(t, h.addr, target)
	if err := h.srv.Reload(Policy{}); !errors.Is(err, ErrEmptyPolicy) {
		t.Errorf("an empty policy: %v", err)
	}
	wantEcho(t, tunnel(t, h.addr, target), "old one stays")
	if err := h.srv.Reload(Policy{Allow: entries(t, other)}); err != nil {
		t.Fatal(err)
	}
	refused(t, h.addr, "CONNECT "+target+" HTTP/1.1\r\n\r\n", "403")
	wantEcho(t, tunnel(t, h.addr, other), "new one")
	wantEcho(t, conn, "open tunnel")
}

// TestMaxConns closes what is over the limit and goes on.
func TestMaxConns(t *testing.T) {
	t.Parallel()
	h := start(t, Options{MaxConns: 2})
	a, b := dial(t, h.addr), dial(t, h.addr)
	eventually(t, "both connections", func() bool { h.srv.conns.mu.Lock(); defer h.srv.conns.mu.Unlock(); return len(h.srv.conns.idle) == 2 })
	c := dial(t, h.addr)
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a third connection was served")
	}
	_ = a.Close()
	_ = b.Close()
	eventually(t, "room", func() bool { h.srv.conns.mu.Lock(); defer h.srv.conns.mu.Unlock(); return len(h.srv.conns.idle) == 0 })
	refused(t, h.addr, "CONNECT a.example:443 HTTP/1.1\r\n\r\n", "403")
}

// TestMaxConnsCountsTunnels, which leave the set of connections.
func TestMaxConnsCountsTunnels(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{MaxConns: 2, Policy: Policy{Allow: entries(t, target)}, ControlToken: NewSecret(token)})
	a, b := tunnel(t, h.addr, target), tunnel(t, h.addr, target)
	eventually(t, "two connections counted once", func() bool { return h.srv.conns.count()+h.srv.tunnels.Open() == 2 })
	if n, err := dial(t, h.addr).Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a third connection was served")
	}
	if status, _, _ := ask(t, h, "GET", "/allow", ""); status != 200 {
		t.Errorf("control is limited too: %d", status)
	}
	wantEcho(t, a, "still there")
	_ = a.Close()
	_ = b.Close()
	eventually(t, "room", func() bool { return h.srv.tunnels.Open() == 0 })
	wantEcho(t, tunnel(t, h.addr, target), "again")
}

// failing is a listener that runs out of descriptors for a while.
type failing struct {
	net.Listener

	errs  chan error
	calls chan time.Time
}

func (f *failing) Accept() (net.Conn, error) {
	f.calls <- time.Now()
	if err, ok := <-f.errs; ok {
		return nil, err
	}
	return f.Listener.Accept()
}

// TestAcceptBacksOff and keeps the listener.
func TestAcceptBacksOff(t *testing.T) {
	t.Parallel()
	srv, err := New(Options{Policy: Policy{Allow: entries(t, "a.example")}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &failing{Listener: ln, errs: make(chan error, 4), calls: make(chan time.Time, 100)}
	for range 4 {
		f.errs <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	close(f.errs)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- srv.Serve(ctx, Listeners{Data: []Listener{{Listener: f}}}) }()
	refused(t, ln.Addr().String(), "CONNECT b.example:443 HTTP/1.1\r\n\r\n", "403")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	first := <-f.calls
	for i, least := range []time.Duration{minBackoff, 2 * minBackoff, 4 * minBackoff, 8 * minBackoff} {
		next := <-f.calls
		if gap := next.Sub(first); gap < least {
			t.Errorf("retry %d after %v, want %v", i, gap, least)
		}
		first = next
	}
}

// TestUnixListener is for its owner alone, and takes the place of a dead one.
func TestUnixListener(t *testing.T) {
	t.Parallel()
	target := echo(t)
	path := filepath.Join(t.TempDir(), "proxy.sock")
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	serve := func() (net.Listener, func()) {
		ln, err := Listen(t.Context(), "unix:"+path)
		if err != nil {
			t.Fatal(err)
		}
		srv, err := New(Options{Policy: h.srv.Policy()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = srv.Serve(ctx, Listeners{Data: []Listener{{Listener: ln}}}) }()
		return ln, func() { cancel(); <-done }
	}
	ln, stop := serve()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\n")
	wantEstablished(t, conn)
	wantEcho(t, conn, "unix")
	_ = conn.(*net.UnixConn).CloseWrite()
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if _, err := Listen(t.Context(), "unix:"+path); err == nil {
		t.Error("took the socket of a living process")
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	stop()
	_, stop = serve()
	stop()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), "unix:"+path); err == nil {
		t.Error("replaced a file")
	}
}

func TestParsePolicy(t *testing.T) {
	env := func(name string) string { return map[string]string{"KEY": "Bearer k"}[name] }
	p, err := ParsePolicy([]byte(`{"allow": ["a.example", "**.b.example:8443"], "deny": ["[::ffff:10.0.0.1]"],
		"inject": [{"host": "a.example", "secretEnv": "KEY"}, {"host": "c.example", "secretEnv": "KEY", "header": "x-api-key", "scheme": "http", "port": 8080, "upgrade": true}]}`), env)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Allow) != 2 || p.Deny[0].String() != "10.0.0.1" || len(p.Inject) != 2 {
		t.Fatalf("%+v", p)
	}
	if r := p.Inject[0]; r.Header != "Authorization" || r.Scheme != "https" || r.Port != 443 || r.Upgrade || r.Secret.reveal() != "Bearer k" {
		t.Errorf("%+v", r)
	}
	if r := p.Inject[1]; r.Header != "x-api-key" || r.Scheme != "http" || r.Port != 8080 || !r.Upgrade {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{
		``, `[]`, `{"allow": "a"}`, `{"allow": ["a b"]}`, `{"deny": ["a:0"]}`, `{"allows": []}`, `{"allow": []} {}`, `{"allow": ["*.com"]}`,
		`{"inject": [{"host": "a b", "secretEnv": "KEY"}]}`, `{"inject": [{"host": "a"}]}`, `{"inject": [{"host": "a", "secretEnv": "UNSET"}]}`,
		`{"inject": [{"host": "a", "secretEnv": "KEY", "port": 70000}]}`, `{"inject": [{"host": "a", "secretEnv": "KEY", "port": -1}]}`,
		`{"inject": [{"host": "a", "secretEnv": "KEY", "secret": "x"}]}`,
		`{"Allow": ["a"]}`, `{"allow": ["a"], "allow": ["b"]}`, `{"deny": ["a"], "DENY": []}`, `{"allow": ["a"], "host": "b"}`,
		`{"inject": [{"host": "a", "host": "b", "secretEnv": "KEY"}]}`, `{"inject": [{"host": "a", "secretenv": "KEY"}]}`,
	} {
		if p, err := ParsePolicy([]byte(bad), env); err == nil {
			t.Errorf("%s gave %+v", bad, p)
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(`{"allow": ["a.example"], "inject": [{"host": "a.example", "secretEnv": "K"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePolicy(data, func(string) string { return "s" })
		if err != nil {
			return
		}
		for _, a := range p.Allow {
			if a.TooBroad() || !a.Host.IsValid() {
				t.Fatalf("%q opens %q", data, a)
			}
		}
	})
}

// TestSecretsDoNotPrint, however they are formatted.
func TestSecretsDoNotPrint(t *testing.T) {
	rule := InjectRule{Host: host(t, "a.example"), Secret: NewSecret("hush")}
	nested := struct{ hidden InjectRule }{rule}
	var log bytes.Buffer
	logger := zerolog.New(&log)
	logger.Info().Interface("rule", rule).Stringer("secret", rule.Secret).Msg("x")
	text, err := json.Marshal(rule)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		fmt.Sprint(rule), fmt.Sprintf("%+v %#v %s %q %x", rule, rule, rule.Secret, rule.Secret, rule.Secret), fmt.Sprintf("%v %+v %#v", nested, nested, nested), string(text), log.String(),
	} {
		if strings.Contains(s, "hush") || strings.Contains(s, "68757368") {
			t.Errorf("prints %s", s)
		}
	}
	if (Secret{}).equal("") || !NewSecret("a").equal("a") || NewSecret("a").equal("") || NewSecret("").String() != "" {
		t.Error("equal")
	}
}

// TestAuditChain links each line to the one before, over restarts and a line
// that a dying process left unfinished.
func TestAuditChain(t *testing.T) {
	var file bytes.Buffer
	write := func(n int) {
		a, err := NewAudit(&file, bytes.NewReader(bytes.Clone(file.Bytes())))
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			if err := a.Write(&Event{Host: "a.example", Reason: ReasonListed}); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(2)
	file.WriteString(`{"torn":`)
	write(1)
	prev := chainStart
	lines := strings.Split(strings.TrimSuffix(file.String(), "\n"), "\n")
	for i, line := range lines {
		var got auditLine
		if err := json.Unmarshal([]byte(line), &got); err == nil && got.Prev != prev {
			t.Errorf("line %d: prev %s, want %s", i, got.Prev, prev)
		}
		prev = digest([]byte(line))
	}
	if len(lines) != 4 {
		t.Errorf("%d lines", len(lines))
	}
	broken := &Audit{w: failingWriter{}}
	for range 2 {
		if broken.Write(&Event{}) == nil {
			t.Error("a failed write went unnoticed")
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// TestEveryReasonHasAnOutcome that refuses unless it lets through.
func TestEveryReasonHasAnOutcome(t *testing.T) {
	for _, r := range reasons() {
		out := r.outcome()
		silent := r.allows() || r == ReasonAbandoned || r == ReasonSNIMismatch
		if (out.status == 500) != silent || out.status < 400 || out.kind == "" {
			t.Errorf("%s: %+v", r, out)
		}
	}
	if Reason("new").outcome().status != 500 || Reason("").allows() {
		t.Error("an unknown reason does not refuse")
	}
	for _, s := range []string{"loose", "", "STRICT"} {
		if g, err := ParseGuard(s); err == nil || g != GuardStrict {
			t.Errorf("guard %q: %v", s, g)
		}
		if m, err := ParseSNI(s); err == nil || m != SNIEnforce {
			t.Errorf("sni %q: %v", s, m)
		}
	}
}
