package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/steerable-go/sidecar/proxy/internal/chunked"
	"github.com/steerable-go/sidecar/proxy/internal/head"
	"github.com/steerable-go/sidecar/proxy/internal/relay"
)

// forward is one request on its way to a rule's host.
type forward struct {
	rule    *rule
	head    *head.Head
	path    string // with the query
	upgrade string // protocol asked for, "" for none

	body     *requestBody
	small    []byte // the whole body, if it was short enough to be read first
	addr     atomic.Pointer[netip.Addr]
	recorded bool
}

// maxReplay is the longest body that is read before the upstream is asked. It
// can be sent again when a pooled connection turns out to be dead, and a body
// that is cut short never reaches the upstream at all.
const maxReplay = 256 << 10

// forward sends the request on and the response back.
func (x *exchange) forward(ctx context.Context, f *forward) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var expired atomic.Bool
	idle := newIdleTimer(x.s.opt.IdleTimeout, func() {
		expired.Store(true)
		cancel()
		_ = x.conn.SetWriteDeadline(time.Unix(1, 0)) // the client may be what stands still
	})
	defer idle.stop()
	if expect, _ := f.head.Get("expect"); expect != "" && f.head.Minor > 0 {
		_, _ = x.conn.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	}
	f.body = newRequestBody(x.conn, f.head, bodyOptions{x.early, x.s.opt.IdleTimeout, idle.touch, x.s.record != nil})
	if err := f.readSmall(); err != nil {
		x.forwardFailed(ctx, f, err)
		return
	}
	// While the client has nothing more to say, its reset is listened for, so
	// that an upstream does not go on working for nobody.
	watched, stop := ctx, func() bool { return false }
	if f.body.whole.Load() && f.upgrade == "" {
		var w *watcher
		watched, w = watch(ctx, x.conn, watchFor{limit: drainBytes})
		stop = func() bool { _, gone := w.stop(); return gone }
	}
	resp, err := f.roundTrip(watched)
	if addr := f.addr.Load(); addr != nil {
		x.event.Addr = addr.String()
	}
	if err != nil {
		gone := stop()
		switch {
		case gone:
			err = errClientGone
		case expired.Load():
			idle.stop()
			_ = x.conn.SetWriteDeadline(time.Time{})
			err = &dialError{ReasonConnectionTimeout, err}
		}
		x.forwardFailed(ctx, f, err)
		return
	}
	x.s.record.write(f)
	if f.upgrade != "" && resp.StatusCode == http.StatusSwitchingProtocols {
		x.switchProtocols(resp)
		return
	}
	clean := x.respond(f, resp, idle)
	if gone := stop(); !clean {
		x.event.Cause = cutCause(x.event.Cause, expired.Load(), gone, ctx.Err() != nil)
	}
	x.endForward(ctx, f, clean)
}

// cutCause returns why a response was cut short. What copying it saw may only
// follow from the exchange being idle, the client's leaving or the shutdown.
func cutCause(seen relay.Cause, idle, gone, shutdown bool) relay.Cause {
	switch {
	case idle:
		return relay.CauseIdle
	case gone:
		return relay.CauseClientReset
	case shutdown:
		return relay.CauseShutdown
	default:
		return seen
	}
}

// endForward closes the client's connection: in order after a whole response,
// with a reset after one that was cut short.
func (x *exchange) endForward(ctx context.Context, f *forward, clean bool) {
	x.s.record.write(f)
	x.event.BytesUp = f.body.sent()
	x.recordEvent(true)
	if clean {
		x.s.finish(ctx, x.conn)
		return
	}
	reset(x.conn)
}

// readSmall reads a short body to its end.
func (f *forward) readSmall() error {
	n := f.head.ContentLength
	if n <= 0 || n > maxReplay {
		return nil
	}
	f.small = make([]byte, n)
	if _, err := io.ReadFull(f.body, f.small); err != nil {
		return err
	}
	if _, err := f.body.Read(nil); !errors.Is(err, io.EOF) {
		return fmt.Errorf("bug: body longer than its length: %w", err)
	}
	return nil
}

// roundTrip asks the upstream, through the pool if nothing speaks against it.
func (f *forward) roundTrip(ctx context.Context) (*http.Response, error) {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if ap, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
			addr := ap.Addr()
			f.addr.Store(&addr)
		}
	}})
	req := (&http.Request{
		Method: string(f.head.Method), URL: f.url(), Host: f.rule.Host.String(), Header: f.upstreamHeader(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	switch {
	case f.small != nil:
		req.ContentLength = int64(len(f.small))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.small)), nil }
		req.Body, _ = req.GetBody()
	case f.body.whole.Load():
		req.Body = http.NoBody
	default:
		req.ContentLength = f.head.ContentLength // -1 for chunked
		req.Body = f.body
	}
	transport := f.rule.pooled
	if f.upgrade != "" {
		transport = f.rule.upgrade
	}
	return transport.RoundTrip(req)
}

// url spells the upstream URL so that the path leaves as it came.
func (f *forward) url() *url.URL {
	u := &url.URL{Scheme: f.rule.Scheme, Host: f.rule.hostPort()}
	path, query, hasQuery := strings.Cut(f.path, "?")
	u.RawQuery, u.ForceQuery = query, hasQuery && query == ""
	if !strings.HasPrefix(path, "//") {
		u.Opaque = path
		return u
	}
	// net/url would read a path like this as an authority.
	u.RawPath = path
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path = plain
	}
	return u
}

// errClientGone tells that the client reset its connection.
var errClientGone = errors.New("the client left")

// forwardFailed answers a request that got no response.
func (x *exchange) forwardFailed(ctx context.Context, f *forward, err error) {
	x.event.BytesUp = f.body.sent()
	var de *dialError
	switch {
	case errors.Is(f.body.broken(), chunked.ErrMalformed):
		x.refuse(ctx, ReasonMalformed, "chunked_body")
	case errors.Is(err, errClientGone), f.body.broken() != nil:
		x.refuse(ctx, ReasonAbandoned, "")
	case errors.As(err, &de):
		x.refuse(ctx, de.reason, "")
	case isTLSError(err):
		x.refuse(ctx, ReasonTLS, "")
	case ctx.Err() != nil:
		x.refuse(ctx, ReasonShutdown, "")
	default:
		x.refuse(ctx, ReasonUpstreamFailed, "")
	}
	x.s.opt.Logger.Debug().Err(err).Str("host", x.event.Host).Msg("forward")
}

func isTLSError(err error) bool {
	var (
		cert   *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
	)
	return errors.As(err, &cert) || errors.As(err, &record) || errors.As(err, &alert) ||
		strings.Contains(err.Error(), "TLS handshake")
}
