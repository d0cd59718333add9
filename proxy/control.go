package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/proxy/internal/head"
)

// maxControlBody bounds the body of a control request.
const maxControlBody = 4096

// controlIdle is how long a kept control connection may wait for its next
// request. HTTP clients with pools keep theirs a few seconds.
const controlIdle = 30 * time.Second

// Wrong tokens are answered at this rate, the first few at once. Those whose
// turn would not come soon are turned away.
const (
	failureEvery = time.Second / maxFailures
	maxFailures  = 5
	failureWait  = time.Second
)

// tokenLane limits wrong tokens. The right one is never held up: whoever could
// delay the host by guessing would have a way to keep grants from arriving.
type tokenLane struct {
	now func() time.Time

	mu   sync.Mutex // guards following
	next time.Time  // the turn of the next wrong token
}

// fail takes a turn for a wrong token. It returns how long that is off, and
// false without taking one if it is too far off.
func (l *tokenLane) fail() (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	turn := now.Add(-(maxFailures - 1) * failureEvery)
	if l.next.After(turn) {
		turn = l.next
	}
	if wait = max(turn.Sub(now), 0); wait > failureWait {
		return 0, false
	}
	l.next = turn.Add(failureEvery)
	return wait, true
}

// controlReply is an answer of the control endpoint.
type controlReply struct {
	status int
	body   string        // JSON, or text if kind says so
	kind   string        // content type; "" for no body
	extra  string        // further fields, each with its CRLF
	wait   time.Duration // before it is sent
	stream func(ctx context.Context, conn net.Conn)
}

// serveControl serves one control connection: requests one after the other as
// long as the client says it keeps the connection.
func (s *Server) serveControl(ctx context.Context, conn net.Conn) {
	wait := s.opt.HeadTimeout
	var rest []byte
	for {
		r := s.heads.reader(conn)
		r.n = copy(*r.buf, rest)
		reply, keep, left := s.controlOnce(r, time.Now().Add(wait))
		r.release()
		if reply.status == 0 {
			_ = conn.Close()
			return
		}
		if reply.stream != nil {
			reply.stream(ctx, conn)
			_ = conn.Close()
			return
		}
		pause(ctx, reply.wait)
		if _, err := conn.Write(reply.bytes(keep)); err != nil || !keep || ctx.Err() != nil {
			s.finish(ctx, conn)
			return
		}
		s.conns.busy(conn, false)
		rest, wait = left, controlIdle
	}
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// controlOnce reads and carries out one request. keep tells that another may
// follow, left what was read of it. The zero reply closes without a word.
func (s *Server) controlOnce(r *headReader, deadline time.Time) (reply controlReply, keep bool, left []byte) {
	err := r.read(deadline)
	s.conns.busy(r.conn, true)
	var bad *head.Error
	switch {
	case errors.Is(err, errTimeout):
		return controlReply{status: 408}, false, nil
	case errors.As(err, &bad):
		return controlReply{status: bad.Status}, false, nil
	case err != nil:
		return controlReply{}, false, nil
	}
	h, err := parseControl(r.head())
	if errors.As(err, &bad) {
		return controlReply{status: bad.Status}, false, nil
	}
	if reply, ok := s.authorise(&h); !ok {
		return reply, false, nil
	}
	handle := s.route(&h)
	if handle == nil {
		return controlReply{status: 404}, false, nil
	}
	body, left, reply := readControlBody(r, &h, deadline)
	if reply.status != 0 {
		return reply, false, nil
	}
	if body == nil && h.ContentLength > 0 {
		return controlReply{}, false, nil // shorter than announced
	}
	// Only clients that ask for it are kept: the others may wait for the end
	// of the connection to know that the answer is complete.
	keep = h.Minor > 0 && h.HasToken("connection", "keep-alive") && !h.HasToken("connection", "close")
	reply = handle(body)
	return reply, keep && reply.status < 400, left
}

// parseControl takes a body of unclear length for one that is too long: it is
// refused once it is known that the client may ask at all.
func parseControl(buf []byte) (head.Head, error) {
	h, err := head.Parse(buf)
	if errors.Is(err, head.ErrContentLength) || errors.Is(err, head.ErrFraming) {
		h.ContentLength, err = maxControlBody+1, nil
	}
	return h, err
}

// authorise keeps out browsers, then everybody without the token.
func (s *Server) authorise(h *head.Head) (controlReply, bool) {
	host, hosts := h.Get("host")
	_, origins := h.Get("origin")
	if hosts > 0 && !loopbackAuthority(host) || origins > 0 {
		return controlReply{status: 403}, false
	}
	value, n := h.Get("authorization")
	guess, ok := strings.CutPrefix(value, "Bearer ")
	if s.opt.ControlToken.equal(guess) && ok && n == 1 {
		return controlReply{}, true
	}
	wait, ok := s.lane.fail()
	if !ok {
		return controlReply{status: 429, extra: "retry-after: 1\r\n"}, false
	}
	return controlReply{status: 401, extra: "www-authenticate: Bearer\r\n", wait: wait}, false
}

// loopbackAuthority reads a Host field; a name that a page can point here
// (DNS rebinding) is not loopback, however it begins.
func loopbackAuthority(s string) bool {
	host, port, ok := egress.SplitPort(s)
	if ok {
		if _, err := egress.ParsePort(port); err != nil {
			return false
		}
	}
	h, err := egress.ParseHost(host)
	return err == nil && h.Loopback()
}

// readControlBody reads the announced body. A POST without a usable length is
// a bad request; other requests may come without.
func readControlBody(r *headReader, h *head.Head, deadline time.Time) (body, left []byte, bad controlReply) {
	if h.HasTransferEncoding || h.ContentLength > maxControlBody {
		return nil, nil, controlReply{status: 400}
	}
	n := int(max(h.ContentLength, 0))
	rest := r.rest()
	if len(rest) >= n {
		return append([]byte{}, rest[:n]...), append([]byte{}, rest[n:]...), controlReply{}
	}
	body = make([]byte, n)
	got := copy(body, rest)
	_ = r.conn.SetReadDeadline(deadline)
	if _, err := io.ReadFull(r.conn, body[got:]); err != nil {
		return nil, nil, controlReply{}
	}
	return body, nil, controlReply{}
}

// bytes builds the reply as one write.
func (r controlReply) bytes(keep bool) []byte {
	phrases := map[int]string{
		200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 408: "Request Timeout",
		429: "Too Many Requests", 431: "Request Header Fields Too Large", 505: "HTTP Version Not Supported", 507: "Insufficient Storage",
	}
	b := []byte("HTTP/1.1 " + strconv.Itoa(r.status) + " " + phrases[r.status] + "\r\n" + r.extra)
	if r.kind != "" {
		b = append(b, "content-type: "+r.kind+"\r\n"...)
	}
	b = append(b, "content-length: "+strconv.Itoa(len(r.body))+"\r\n"...)
	if keep {
		b = append(b, "connection: keep-alive\r\n\r\n"...)
	} else {
		b = append(b, "connection: close\r\n\r\n"...)
	}
	return append(b, r.body...)
}

// ListenControl opens the control listener on 127.0.0.1, wherever the data
// listeners are. Port 0 picks a free one.
func ListenControl(ctx context.Context, port uint16) (net.Listener, error) {
	var lc net.ListenConfig
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	ln, err := lc.Listen(ctx, "tcp", addr.String())
	if err != nil {
		return nil, errors.Join(errors.New("listen for control"), err)
	}
	return ln, nil
}
