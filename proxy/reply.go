package proxy

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/steerable-go/sidecar/egress"
)

// proxyName is how the proxy calls itself in proxy-status (RFC 9209).
const proxyName = "steerable-egress-proxy"

// established answers a CONNECT. It has no Content-Length: RFC 9110, section
// 9.3.6, forbids one.
const established = "HTTP/1.1 200 Connection Established\r\n\r\n"

// appendRefusal builds the whole reply for a refusal. host and port complete
// the phrase of ReasonNotListed; they are canonical, so that nothing but what
// egress.Host admits comes back to the client.
func appendRefusal(b []byte, r Reason, host egress.Host, port uint16) []byte {
	out := r.outcome()
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(out.status), 10)
	b = append(append(b, ' '), out.phrase...)
	if r == ReasonNotListed {
		b = append(append(b, host.String()...), ':')
		b = strconv.AppendUint(b, uint64(port), 10)
	}
	b = append(b, "\r\ncontent-length: 0\r\nconnection: close\r\n"...)
	if r == ReasonMethod {
		b = append(b, "allow: CONNECT\r\n"...)
	}
	b = append(b, "proxy-status: "+proxyName+"; error="...)
	b = append(append(b, out.kind...), "\r\nx-proxy-error: "...)
	b = append(append(b, r...), "\r\n\r\n"...)
	return b
}

// How long and how much a refused client is listened to.
const (
	drainTime  = 500 * time.Millisecond
	drainBytes = 256 << 10
)

// finish ends a connection whose last byte has been written: it sends a FIN,
// reads what the client still sends, and closes. Closing with unread bytes
// would send a reset, which may overtake the reply.
func (s *Server) finish(ctx context.Context, conn net.Conn) {
	if h, ok := conn.(interface{ CloseWrite() error }); ok && h.CloseWrite() == nil && ctx.Err() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(drainTime))
		buf := get(s.heads.small)
		for left := drainBytes; left > 0; {
			n, err := conn.Read(*buf)
			if err != nil {
				break
			}
			left -= n
		}
		s.heads.small.Put(buf)
	}
	_ = conn.Close()
}

// reset closes conn so that its peer sees a cut, not an end.
func reset(conn net.Conn) {
	if l, ok := conn.(interface{ SetLinger(sec int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = conn.Close()
}
