package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/proxy/internal/chunked"
	"github.com/steerable-go/sidecar/proxy/internal/head"
	"github.com/steerable-go/sidecar/proxy/internal/relay"
)

// TestBrokerDropsUnderscoredFields, which some servers read as hyphenated ones.
func TestBrokerDropsUnderscoredFields(t *testing.T) {
	t.Parallel()
	up := newRawUpstream(t, okResponse)
	h := start(t, brokerFor(t, up.addr))
	for _, name := range []string{
		"Proxy_Authorization", "PROXY_CONNECTION", "transfer_encoding", "Keep_Alive", "Content_Length", "X_Api_Key", "api_key", "X_Goog-Api_Key", "Proxy-Authorization",
	} {
		talk(t, h.addr, "GET http://127.0.0.1/ HTTP/1.1\r\n"+name+": client-value\r\n\r\n")
		if got := <-up.got; strings.Contains(got, "client-value") || strings.Count(got, secret) != 1 {
			t.Errorf("%s: upstream saw %q", name, got)
		}
	}
}

// TestBrokerDoesNotEchoTheSecret: the response to TRACE is the request.
func TestBrokerDoesNotEchoTheSecret(t *testing.T) {
	t.Parallel()
	target, dials := counting(t)
	h := start(t, brokerFor(t, target))
	for _, method := range []string{"TRACE", "trace", "TRACK"} {
		if r := refused(t, h.addr, method+" http://127.0.0.1/ HTTP/1.1\r\n\r\n", "405"); r.fields["x-proxy-error"] != "method_not_allowed" {
			t.Errorf("%s: %v", method, r.fields)
		}
	}
	if dials() > 0 {
		t.Error("the upstream was dialled")
	}
}

// TestBrokerIdleBound ends an exchange that either side lets stand.
func TestBrokerIdleBound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		serve func(*net.TCPConn)
		reads bool
		want  relay.Cause
	}{
		"client takes nothing": {func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			for {
				if _, err := c.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, false, relay.CauseIdle},
		"upstream stops": {func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
			_, _ = io.Copy(io.Discard, c)
		}, true, relay.CauseIdle},
		"upstream is cut": {func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
		}, true, relay.CauseUpstreamReset},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
				if _, err := readRequest(bufio.NewReader(c)); err == nil {
					tc.serve(c)
				}
			}).String()
			opt := brokerFor(t, addr)
			opt.IdleTimeout = 300 * time.Millisecond
			h := start(t, opt)
			conn := dial(t, h.addr)
			_, _ = io.WriteString(conn, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n")
			if tc.reads {
				_, _ = io.Copy(io.Discard, conn)
			}
			if e := h.events.nth(t, 1); e.Cause != tc.want {
				t.Errorf("event %+v, want cause %s", e, tc.want)
			}
			eventually(t, "end of the exchange", func() bool { return h.srv.conns.count() == 0 })
		})
	}
}

// TestBrokerUpstreamThatNeverAnswers is given up after the idle bound, with a
// reply that still arrives.
func TestBrokerUpstreamThatNeverAnswers(t *testing.T) {
	t.Parallel()
	addr := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }).String()
	opt := brokerFor(t, addr)
	opt.IdleTimeout = 200 * time.Millisecond
	h := start(t, opt)
	if r := refused(t, h.addr, "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", "502"); r.fields["x-proxy-error"] != "connection_timeout" {
		t.Errorf("fields %v", r.fields)
	}
}

// TestBrokerBadChunksAreTheClients, whatever the transport says about it: an
// upstream that hangs up because of the cut request must not turn into a 502.
func TestBrokerBadChunksAreTheClients(t *testing.T) {
	t.Parallel()
	x := &exchange{s: &Server{sink: newSink(zerolog.Nop(), nil), heads: newHeadBuffers()}}
	client, ours := net.Pipe()
	x.conn = ours
	body := newRequestBody(ours, &head.Head{Chunked: true}, bodyOptions{early: []byte("3;x=y\r\nabc\r\n"), touch: func() {}})
	if _, err := io.ReadAll(body); !errors.Is(err, chunked.ErrMalformed) {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.forwardFailed(t.Context(), &forward{body: body}, io.ErrUnexpectedEOF)
	}()
	got, err := io.ReadAll(client)
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 400 ") {
		t.Errorf("%q, %v", got, err)
	}
	<-done
}
