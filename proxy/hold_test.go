package proxy

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/egress"
)

func host(t *testing.T, s string) egress.Host {
	t.Helper()
	h, err := egress.ParseHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func endpoint(t *testing.T, s string) egress.Endpoint {
	t.Helper()
	e, err := egress.ParseEndpoint(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// deciderFunc is a Decider.
type deciderFunc func(ctx context.Context, r Request) (Answer, error)

func (f deciderFunc) Decide(ctx context.Context, r Request) (Answer, error) { return f(ctx, r) }

// TestDeciderHolds keeps the client waiting, and loses none of its bytes.
func TestDeciderHolds(t *testing.T) {
	t.Parallel()
	target := echo(t)
	asked, answer := make(chan Request), make(chan Answer)
	h := start(t, Options{Decider: deciderFunc(func(_ context.Context, r Request) (Answer, error) {
		asked <- r
		return <-answer, nil
	})})
	open := func(behind string) io.ReadWriter {
		conn := dial(t, h.addr)
		_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\n"+behind)
		return conn
	}
	conn := dial(t, h.addr)
	_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\nearly ")
	r := <-asked
	if r.Host != host(t, "127.0.0.1") || r.Port != addrPort(t, target).Port() || r.Identity != "test" || r.Protocol != ProtocolConnect {
		t.Errorf("asked about %+v", r)
	}
	_, _ = io.WriteString(conn, strings.Repeat("held", 10<<10))
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Fatal("answered before the decision")
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer <- AllowOnce
	wantEstablished(t, conn)
	wantBytes(t, conn, "early "+strings.Repeat("held", 10<<10))

	for _, a := range []Answer{Refuse, Answer(9)} { // once does not mean again
		again := open("")
		<-asked
		answer <- a
		if head := readHead(t, again); !strings.Contains(head, "egress denied for "+target) {
			t.Errorf("answer %d: %q", a, head)
		}
	}
	session := open("")
	<-asked
	answer <- AllowSession
	if head := readHead(t, session); !strings.HasPrefix(head, "HTTP/1.1 200") {
		t.Error(head)
	}
	wantEcho(t, tunnel(t, h.addr, target), "not asked again")
}

// TestDeciderIsNotAsked about what is final.
func TestDeciderIsNotAsked(t *testing.T) {
	t.Parallel()
	h := start(t, Options{
		Policy: Policy{Deny: entries(t, "no.example")},
		Decider: deciderFunc(func(_ context.Context, r Request) (Answer, error) {
			t.Errorf("asked about %s", r.Host)
			return AllowSession, nil
		}),
	})
	for _, target := range []string{"no.example:443", "169.254.169.254:80", "127.0.0.1:" + portOf(t, h.addr)} {
		refused(t, h.addr, "CONNECT "+target+" HTTP/1.1\r\n\r\n", "403")
	}
}

// TestDeciderClientLeaves ends the question.
func TestDeciderClientLeaves(t *testing.T) {
	t.Parallel()
	asked, ended := make(chan struct{}), make(chan error)
	h := start(t, Options{Decider: deciderFunc(func(ctx context.Context, _ Request) (Answer, error) {
		asked <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return AllowSession, nil
	})})
	conn := dial(t, h.addr)
	_, _ = io.WriteString(conn, "CONNECT slow.example:443 HTTP/1.1\r\n\r\n")
	<-asked
	_ = conn.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if e := h.events.nth(t, 1); e.Reason != ReasonAbandoned || len(h.srv.grants.list()) > 0 {
		t.Errorf("%+v, grants %v", e, h.srv.grants.list())
	}

	// So does stopping the server.
	conn = dial(t, h.addr)
	_, _ = io.WriteString(conn, "CONNECT slow.example:443 HTTP/1.1\r\n\r\n")
	<-asked
	go func() { <-ended }()
	if err := h.stop(); err != nil {
		t.Error(err)
	}
}

func TestDeciderError(t *testing.T) {
	t.Parallel()
	h := start(t, Options{Decider: deciderFunc(func(context.Context, Request) (Answer, error) { return AllowSession, errors.New("no host") })})
	refused(t, h.addr, "CONNECT a.example:443 HTTP/1.1\r\n\r\n", "403")
	if len(h.srv.grants.list()) > 0 {
		t.Error("an error granted something")
	}
}
