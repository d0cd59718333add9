package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const secret = "Bearer the-real-key"

// rawUpstream is a plain-HTTP upstream that notes what it got byte by byte and
// answers with response.
type rawUpstream struct {
	addr string
	got  chan string
}

func newRawUpstream(t *testing.T, response string) *rawUpstream {
	t.Helper()
	u := &rawUpstream{got: make(chan string, 10)}
	u.addr = server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		for {
			text, err := readRequest(r)
			if err != nil {
				return
			}
			u.got <- text
			if _, err := io.WriteString(c, response); err != nil {
				return
			}
		}
	}).String()
	return u
}

// readRequest returns one request as it stands on the wire.
func readRequest(r *bufio.Reader) (string, error) {
	var b strings.Builder
	n := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		b.WriteString(line)
		_, _ = fmt.Sscanf(strings.ToLower(line), "content-length: %d", &n)
		if line == "\r\n" {
			break
		}
	}
	_, err := io.CopyN(&b, r, int64(n))
	return b.String(), err
}

// brokerFor returns options with a rule for 127.0.0.1 that leads to upstream.
func brokerFor(t *testing.T, upstream string, change ...func(*InjectRule)) Options {
	t.Helper()
	rule := InjectRule{Host: host(t, "127.0.0.1"), Secret: NewSecret(secret), Scheme: "http", Port: addrPort(t, upstream).Port()}
	for _, c := range change {
		c(&rule)
	}
	return Options{Policy: Policy{Allow: entries(t, "only.invalid"), Inject: []InjectRule{rule}}}
}

const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Up: 1\r\nConnection: X-Gone\r\nX-Gone: 1\r\n\r\nok"

func TestBrokerRewrites(t *testing.T) {
	t.Parallel()
	up := newRawUpstream(t, okResponse)
	h := start(t, brokerFor(t, up.addr))
	raw := talk(t, h.addr, "post http://127.0.0.1/v1/x?s=1&t=%zz HTTP/1.1\r\nHost: other\r\nAuthorization: Bearer fake\r\nProxy-Authorization: Basic a\r\n"+
		"Connection: keep-alive, X-Drop\r\nX-Drop: 1\r\nX-Api-Key: mine\r\nx_api_key: mine\r\nTE: gzip\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\n"+
		"Accept-Encoding: br\r\nCookie: a=b\r\nX-Multi: 1\r\nX-Multi: 2\r\nContent-Length: 11\r\n\r\nhello world")
	head, body, _ := strings.Cut(raw, "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || body != "ok" || !strings.Contains(head, "\r\nX-Up: 1") || strings.Contains(head, "X-Gone") || !strings.Contains(head, "\r\nconnection: close") {
		t.Errorf("response %q", raw)
	}
	got := <-up.got
	lines := strings.Split(strings.TrimSuffix(got, "\r\n\r\nhello world"), "\r\n")
	slices.Sort(lines)
	want := []string{
		"Accept-Encoding: br", "Authorization: " + secret, "Content-Length: 11", "Cookie: a=b", "Host: 127.0.0.1",
		"POST /v1/x?s=1&t=%zz HTTP/1.1", "X-Multi: 1", "X-Multi: 2",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("upstream saw\n%q\nwant\n%q", lines, want)
	}
	e := h.events.nth(t, 1)
	if e.Protocol != ProtocolHTTP || e.Reason != ReasonRule || e.Verdict != VerdictAllow || e.Status != 200 || e.BytesUp != 11 || e.BytesDown != 2 || e.Addr != "127.0.0.1" {
		t.Errorf("event %+v", e)
	}
}

func TestBrokerTargets(t *testing.T) {
	t.Parallel()
	up := newRawUpstream(t, okResponse)
	h := start(t, brokerFor(t, up.addr))
	for target, want := range map[string]string{
		"http://127.0.0.1":              "/",
		"http://127.0.0.1?x":            "/?x",
		"http://127.0.0.1?":             "/?",
		"HTTP://127.0.0.1:80/a%2Fb//c":  "/a%2Fb//c",
		"http://127.0.0.1//evil/x?y=//": "//evil/x?y=//",
		"http://127.0.0.1/{a}|\"b\"^`":  "/{a}|\"b\"^`",
		"http://[::ffff:127.0.0.1]/m":   "/m",
		"http://127.0.0.1./dot":         "/dot",
	} {
		if raw := talk(t, h.addr, "GET "+target+" HTTP/1.1\r\n\r\n"); !strings.HasPrefix(raw, "HTTP/1.1 200") {
			t.Errorf("%s: %q", target, raw)
			continue
		}
		if got := <-up.got; !strings.HasPrefix(got, "GET "+want+" HTTP/1.1\r\nHost: 127.0.0.1\r\n") || strings.Contains(got, "User-Agent") {
			t.Errorf("%s: upstream saw %q", target, got)
		}
	}
}

func TestBrokerRefusals(t *testing.T) {
	t.Parallel()
	target, dials := counting(t)
	h := start(t, brokerFor(t, target))
	line := "POST http://127.0.0.1/ HTTP/1.1\r\n"
	for name, tc := range map[string]struct{ send, status, reason string }{
		"other host":              {"GET http://evil.example/ HTTP/1.1\r\n\r\n", "403", "no_inject_rule"},
		"Host does not count":     {"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "403", "no_inject_rule"},
		"origin form":             {"GET /v1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "403", "no_inject_rule"},
		"asterisk":                {"OPTIONS * HTTP/1.1\r\n\r\n", "403", "no_inject_rule"},
		"https":                   {"GET https://127.0.0.1/ HTTP/1.1\r\n\r\n", "403", "no_inject_rule"},
		"ftp":                     {"GET ftp://127.0.0.1/ HTTP/1.1\r\n\r\n", "403", "no_inject_rule"},
		"other port":              {"GET http://127.0.0.1:81/ HTTP/1.1\r\n\r\n", "403", "no_inject_rule"},
		"port zero":               {"GET http://127.0.0.1:0/ HTTP/1.1\r\n\r\n", "403", "no_inject_rule"},
		"suffix of the host":      {"GET http://127.0.0.1.evil.example/ HTTP/1.1\r\n\r\n", "403", "no_inject_rule"},
		"other spelling":          {"GET http://127.1/ HTTP/1.1\r\n\r\n", "403", "no_inject_rule"},
		"userinfo":                {"GET http://u:p@127.0.0.1/ HTTP/1.1\r\n\r\n", "400", "malformed"},
		"fragment":                {"GET http://127.0.0.1/#x HTTP/1.1\r\n\r\n", "400", "malformed"},
		"bad escape":              {"GET http://127.0.0.1/%zz HTTP/1.1\r\n\r\n", "400", "malformed"},
		"LF in a value":           {line + "X-A: 1\nAuthorization: leak\r\n\r\n", "400", "malformed"},
		"CR in a value":           {line + "X-A: 1\rAuthorization: leak\r\n\r\n", "400", "malformed"},
		"NUL in a value":          {line + "X-A: 1\x00\r\n\r\n", "400", "malformed"},
		"DEL in a value":          {line + "X-A: 1\x7f\r\n\r\n", "400", "malformed"},
		"LF in the method":        {"GE\nT http://127.0.0.1/ HTTP/1.1\r\n\r\n", "400", "malformed"},
		"LF in the target":        {"GET http://127.0.0.1/a\nX: 1 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"NUL in the target":       {"GET http://127.0.0.1/a\x00 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"no colon":                {line + "nonsense\r\n\r\n", "400", "malformed"},
		"two lengths":             {line + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400", "malformed"},
		"equal lengths":           {line + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", "400", "malformed"},
		"signed length":           {line + "Content-Length: +5\r\n\r\nhello", "400", "malformed"},
		"underscored length":      {line + "Content-Length: 1_0\r\n\r\nhellohello", "400", "malformed"},
		"length and coding":       {line + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400", "malformed"},
		"coding, blank, colon":    {line + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400", "malformed"},
		"chunked":                 {line + "Transfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n0\r\n\r\n", "501", "body_coding"},
		"gzip":                    {line + "Transfer-Encoding: gzip\r\n\r\n", "501", "body_coding"},
		"two codings":             {line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "501", "body_coding"},
		"upgrade":                 {"GET http://127.0.0.1/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "501", "upgrade"},
		"other expectation":       {line + "Expect: miracles\r\nContent-Length: 1\r\n\r\n", "417", "expectation"},
		"version 2":               {"GET http://127.0.0.1/ HTTP/2.0\r\n\r\n", "505", "http_version"},
		"CONNECT is for the list": {"CONNECT 127.0.0.1:" + portOf(t, target) + " HTTP/1.1\r\n\r\n", "403", "not_listed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := refused(t, h.addr, tc.send, tc.status); r.fields["x-proxy-error"] != tc.reason {
				t.Errorf("reason %q, want %q", r.fields["x-proxy-error"], tc.reason)
			}
		})
	}
	t.Cleanup(func() {
		if dials() > 0 {
			t.Error("a refusal dialled the upstream")
		}
	})
}

func TestBrokerChunkedRequest(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 2)
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		bodies <- fmt.Sprintf("%s %v %v", b, err, r.TransferEncoding)
	}))
	t.Cleanup(up.Close)
	opt := brokerFor(t, up.Listener.Addr().String())
	opt.InjectChunked = true
	h := start(t, opt)
	line := "POST http://127.0.0.1/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
	if raw := talk(t, h.addr, line+"4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n"); !strings.HasPrefix(raw, "HTTP/1.1 200") {
		t.Errorf("%q", raw)
	}
	if got := <-bodies; got != "Wikipedia <nil> [chunked]" {
		t.Errorf("upstream read %q", got)
	}
	refused(t, h.addr, line+"4;ext\r\nWiki\r\n0\r\n\r\n", "400")
	refused(t, h.addr, "POST http://127.0.0.1/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501")
}

// TestBrokerExpect answers the expectation itself, before the body.
func TestBrokerExpect(t *testing.T) {
	t.Parallel()
	up := newRawUpstream(t, okResponse)
	h := start(t, brokerFor(t, up.addr))
	conn := dial(t, h.addr)
	_, _ = io.WriteString(conn, "POST http://127.0.0.1/ HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\n")
	wantBytes(t, conn, "HTTP/1.1 100 Continue\r\n\r\n")
	_, _ = io.WriteString(conn, "body")
	if rest, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(rest), "ok") {
		t.Errorf("%q, %v", rest, err)
	}
	if got := <-up.got; strings.Contains(got, "Expect") || !strings.HasSuffix(got, "body") {
		t.Errorf("upstream saw %q", got)
	}
}

// TestBrokerStreams passes events on as they come, in every framing.
func TestBrokerStreams(t *testing.T) {
	t.Parallel()
	for name, frame := range map[string]struct{ head, first, second, end string }{
		"chunked":         {"Transfer-Encoding: chunked\r\n", "b\r\ndata: one\n\n\r\n", "b\r\ndata: two\n\n\r\n", "0\r\n\r\n"},
		"length":          {"Content-Length: 22\r\n", "data: one\n\n", "data: two\n\n", ""},
		"close-delimited": {"", "data: one\n\n", "data: two\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := make(chan struct{})
			up := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
				if _, err := readRequest(bufio.NewReader(c)); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+frame.head+"\r\n"+frame.first)
				<-more
				_, _ = io.WriteString(c, frame.second+frame.end)
			}).String()
			h := start(t, brokerFor(t, up))
			conn := dial(t, h.addr)
			_, _ = io.WriteString(conn, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n")
			readHead(t, conn)
			wantBytes(t, conn, frame.first)
			close(more)
			rest, err := io.ReadAll(conn)
			if err != nil || string(rest) != frame.second+frame.end {
				t.Errorf("%q, %v", rest, err)
			}
		})
	}
}

// TestBrokerTruncation is a reset, never an end.
func TestBrokerTruncation(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
				_, _ = readRequest(bufio.NewReader(c))
				_, _ = io.WriteString(c, response)
			}).String()
			h := start(t, brokerFor(t, up))
			conn := dial(t, h.addr)
			_, _ = io.WriteString(conn, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n")
			if got, err := io.ReadAll(conn); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%q, %v; want a reset", got, err)
			}
			if e := h.events.nth(t, 1); e.Cause != "upstream_reset" {
				t.Errorf("event %+v", e)
			}
		})
	}
}

// TestBrokerUpstreamFailures are 502 where the client has no head yet.
func TestBrokerUpstreamFailures(t *testing.T) {
	t.Parallel()
	silent := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) { _, _ = readRequest(bufio.NewReader(c)) }).String()
	garbage := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n") }).String()
	for name, tc := range map[string]struct {
		opt    Options
		reason string
	}{
		"closes without a head": {brokerFor(t, silent), "upstream_failed"},
		"speaks no HTTP":        {brokerFor(t, garbage), "upstream_failed"},
		"refuses":               {brokerFor(t, "127.0.0.1:1"), "connection_refused"},
		"speaks no TLS":         {brokerFor(t, garbage, func(r *InjectRule) { r.Scheme = "https" }), "tls_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t, tc.opt)
			if r := refused(t, h.addr, "POST http://127.0.0.1/ HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "502"); r.fields["x-proxy-error"] != tc.reason {
				t.Errorf("reason %q", r.fields["x-proxy-error"])
			}
		})
	}
}

// TestBrokerTLS pools its HTTP/2 connections, and trusts nobody unknown.
func TestBrokerTLS(t *testing.T) {
	t.Parallel()
	cert, pool := testCA(t)
	conns := make(chan string, 10)
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns <- r.RemoteAddr
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Proto, r.Host, r.Header.Get("X-Api-Key"))
	}))
	up.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	addr := up.Listener.Addr().String()
	opt := Options{
		RootCAs: pool, Hosts: strings.NewReader("127.0.0.1 api.example"),
		Policy: Policy{Allow: entries(t, addr), Inject: []InjectRule{{Host: host(t, "api.example"), Secret: NewSecret("k-1"), Header: "x-api-key", Port: addrPort(t, addr).Port()}}},
	}
	h := start(t, opt)
	for range 3 {
		raw := talk(t, h.addr, "GET http://API.example/ HTTP/1.1\r\nX-API-Key: fake\r\n\r\n")
		if !strings.HasSuffix(raw, "\r\n\r\nHTTP/2.0 api.example k-1") {
			t.Fatalf("%q", raw)
		}
	}
	if a, b, c := <-conns, <-conns, <-conns; a != b || b != c {
		t.Errorf("three requests over %s, %s, %s", a, b, c)
	}
	opt.RootCAs, opt.Hosts = nil, strings.NewReader("127.0.0.1 api.example")
	untrusting := start(t, opt)
	if r := refused(t, untrusting.addr, "GET http://api.example/ HTTP/1.1\r\n\r\n", "502"); r.fields["x-proxy-error"] != "tls_error" {
		t.Errorf("reason %q", r.fields["x-proxy-error"])
	}
	// The rule's host is judged like any other name: without the literal on
	// the list, loopback stays closed.
	opt.Policy.Allow, opt.Hosts = entries(t, "only.invalid"), strings.NewReader("127.0.0.1 api.example")
	guarded := start(t, opt)
	if r := refused(t, guarded.addr, "GET http://api.example/ HTTP/1.1\r\n\r\n", "403"); r.fields["x-proxy-error"] != "blocked_address" {
		t.Errorf("reason %q", r.fields["x-proxy-error"])
	}
	opt.Policy.Allow, opt.Policy.Deny, opt.Hosts = entries(t, addr), entries(t, "api.example"), strings.NewReader("127.0.0.1 api.example")
	denied := start(t, opt)
	if r := refused(t, denied.addr, "GET http://api.example/ HTTP/1.1\r\n\r\n", "403"); r.fields["x-proxy-error"] != "denied" {
		t.Errorf("reason %q", r.fields["x-proxy-error"])
	}
}

// TestBrokerStalePool does not show the client that the upstream closed a
// pooled connection without saying so.
func TestBrokerStalePool(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 1)
	up := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		if _, err := readRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, _ = io.WriteString(c, okResponse)
		_ = c.Close()
		closed <- struct{}{}
	}).String()
	h := start(t, brokerFor(t, up))
	for i := range 50 {
		if raw := talk(t, h.addr, "POST http://127.0.0.1/ HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"); !strings.HasSuffix(raw, "ok") {
			t.Fatalf("request %d: %q", i, raw)
		}
		<-closed
	}
}

// TestBrokerLargeBody streams, both ways, and records what went up.
func TestBrokerLargeBody(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(w, r.Body)
		if n != mib4 {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(up.Close)
	var record bytes.Buffer
	opt := brokerFor(t, up.Listener.Addr().String())
	opt.Record = &record
	h := start(t, opt)
	raw := talk(t, h.addr, fmt.Sprintf("PUT http://127.0.0.1/big?x HTTP/1.1\r\nContent-Length: %d\r\n\r\n", mib4)+strings.Repeat("x", mib4))
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if n, err := io.Copy(io.Discard, resp.Body); n != mib4 || err != nil {
		t.Errorf("%d bytes back, %v", n, err)
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	want := `{"method":"PUT","path":"/big?x","body_bytes":4194304,"body":"xxx`
	if got := record.String(); !strings.HasPrefix(got, want) || strings.Contains(got, "the-real-key") || strings.Count(got, "\n") != 1 {
		t.Errorf("record %.100q", got)
	}
}

// TestBrokerCutBody never reaches the upstream when it is short, and never as
// a whole when it is long.
func TestBrokerCutBody(t *testing.T) {
	t.Parallel()
	up, dials := counting(t)
	h := start(t, brokerFor(t, up))
	conn := dial(t, h.addr)
	_, _ = io.WriteString(conn, "POST http://127.0.0.1/ HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf")
	_ = conn.CloseWrite()
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	if e := h.events.nth(t, 1); e.Reason != ReasonAbandoned || dials() > 0 {
		t.Errorf("event %+v, %d dials", e, dials())
	}
}

// TestBrokerClientReset ends the work of the upstream.
func TestBrokerClientReset(t *testing.T) {
	t.Parallel()
	arrived, ended := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(ended)
	}))
	t.Cleanup(up.Close)
	h := start(t, brokerFor(t, up.Listener.Addr().String()))
	conn := dial(t, h.addr)
	_, _ = io.WriteString(conn, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n")
	<-arrived
	_ = conn.SetLinger(0)
	_ = conn.Close()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the upstream goes on for nobody")
	}
}
