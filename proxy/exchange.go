package proxy

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/proxy/internal/head"
	"github.com/steerable-go/sidecar/proxy/internal/relay"
)

// exchange is one connection on a data listener and the request it carries.
type exchange struct {
	s     *Server
	conn  net.Conn
	early []byte // what the client sent behind its request
	event Event
	began time.Time // when the request was read, for durations
}

// serveData serves one data connection up to its end, or until it has become
// a tunnel.
func (s *Server) serveData(ctx context.Context, conn net.Conn, identity string) {
	r := s.heads.reader(conn)
	defer r.release()
	x := &exchange{s: s, conn: conn, event: Event{Identity: identity, Protocol: ProtocolConnect}}
	err := r.read(time.Now().Add(s.opt.HeadTimeout))
	s.conns.busy(conn, true)
	x.event.Time, x.began = s.opt.Now(), time.Now()
	switch {
	case err == nil:
		x.serveHTTP(ctx, r)
	case errors.Is(err, errSOCKS) && s.opt.SOCKS:
		x.serveSOCKS(ctx, r)
	case errors.Is(err, errSilent), errors.Is(err, errSOCKS):
		_ = conn.Close()
	case errors.Is(err, errTimeout):
		x.refuse(ctx, ReasonHeadTimeout, "")
	default:
		x.badHead(ctx, err)
	}
}

func (x *exchange) serveHTTP(ctx context.Context, r *headReader) {
	_ = x.conn.SetReadDeadline(time.Time{})
	h, err := head.Parse(r.head())
	if err != nil {
		x.badHead(ctx, err)
		return
	}
	x.early = r.copyRest()
	if string(h.Method) == "CONNECT" {
		x.serveConnect(ctx, h)
		return
	}
	x.event.Protocol = ProtocolHTTP
	x.servePlain(ctx, h)
}

// badHead refuses a head that could not be parsed.
func (x *exchange) badHead(ctx context.Context, err error) {
	var bad *head.Error
	if !errors.As(err, &bad) {
		_ = x.conn.Close()
		return
	}
	reason := ReasonMalformed
	switch bad.Status {
	case 431:
		reason = ReasonTooLarge
	case 505:
		reason = ReasonVersion
	}
	x.refuse(ctx, reason, bad.Detail)
}

// serveConnect carries out a CONNECT.
func (x *exchange) serveConnect(ctx context.Context, h head.Head) {
	if err := h.CheckConnect(); err != nil {
		x.badHead(ctx, err)
		return
	}
	host, port, err := head.Authority(h.Target)
	if err != nil {
		x.badHead(ctx, err)
		return
	}
	got, ok := x.reach(ctx, host, port)
	if !ok {
		x.refuse(ctx, x.event.Reason, x.event.Detail)
		return
	}
	if _, err := x.conn.Write([]byte(established)); err != nil {
		reset(got.conn)
		_ = x.conn.Close()
		x.done(relay.Result{Cause: relay.CauseClientReset})
		return
	}
	x.tunnel(got, host)
}

// reach decides on a target and dials it. When it reports false, the event
// says why; when it reports true, the event says who allowed it.
func (x *exchange) reach(ctx context.Context, host egress.Host, port uint16) (reached, bool) {
	x.event.Host, x.event.Port = host.String(), port
	d := x.s.decide(host, port)
	if d.reason == ReasonNotListed && x.s.opt.Decider != nil {
		d = x.ask(ctx, host, port)
	}
	x.event.Reason, x.event.Rule = d.reason, d.rule
	if !d.reason.allows() {
		return reached{}, false
	}
	got, err := x.s.dialer.dial(ctx, target{host: host, port: port, trusted: true})
	if err != nil {
		x.failed(err)
		return reached{}, false
	}
	if got.addr.IsValid() {
		x.event.Addr = got.addr.String()
	}
	return got, true
}

// failed puts a dial error into the event.
func (x *exchange) failed(err error) {
	x.event.Reason = ReasonDialFailed
	if de, ok := errors.AsType[*dialError](err); ok {
		x.event.Reason = de.reason
	}
	x.s.opt.Logger.Debug().Err(err).Str("host", x.event.Host).Uint16("port", x.event.Port).Msg("dial")
}

// tunnel hands both connections to the relay. The exchange lives on in the
// callback alone, so that the goroutine and its buffers are free.
func (x *exchange) tunnel(got reached, host egress.Host) {
	x.event.Status = 200
	_ = x.conn.SetReadDeadline(time.Time{})
	t := relay.Tunnel{A: x.conn, B: got.conn, FromA: x.early, FromB: got.early, Done: x.done}
	x.early = nil
	if x.s.opt.SNI != SNIOff {
		t.Inspect = x.inspector(host)
	}
	x.s.tunnels.Start(t)
	x.s.conns.forget(x.conn) // second, so that it is counted all the time
}

// done records a tunnel that has ended.
func (x *exchange) done(r relay.Result) {
	x.event.BytesUp, x.event.BytesDown, x.event.Cause = r.AToB, r.BToA, r.Cause
	x.recordEvent(true)
}

func (x *exchange) recordEvent(reached bool) {
	x.event.DurationMS = time.Since(x.began).Milliseconds()
	x.s.sink.record(&x.event, reached)
}

// refuse answers with the reply for reason, in one write, and ends the
// connection once the client has had a chance to read it.
func (x *exchange) refuse(ctx context.Context, reason Reason, detail string) {
	x.event.Reason, x.event.Detail = reason, detail
	if reason == ReasonAbandoned {
		_ = x.conn.Close()
		x.recordEvent(false)
		return
	}
	host, _ := egress.ParseHost(x.event.Host)
	x.event.Status = reason.outcome().status
	var room [512]byte
	_, _ = x.conn.Write(appendRefusal(room[:0], reason, host, x.event.Port))
	x.recordEvent(false)
	x.s.finish(ctx, x.conn)
}
