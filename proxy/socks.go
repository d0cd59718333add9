package proxy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/proxy/internal/relay"
)

// Reply codes of RFC 1928, section 6.
const (
	socksFailure         = 1
	socksNotAllowed      = 2
	socksHostUnreachable = 4
	socksRefused         = 5
	socksBadCommand      = 7
	socksBadAddress      = 8
)

// prefixed reads what was read already, then the connection.
type prefixed struct {
	rest []byte
	conn net.Conn
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.rest) > 0 {
		n := copy(b, p.rest)
		p.rest = p.rest[n:]
		return n, nil
	}
	return p.conn.Read(b)
}

// serveSOCKS carries out a SOCKS5 CONNECT. The handshake is under the head's
// deadline, which is already running.
func (x *exchange) serveSOCKS(ctx context.Context, r *headReader) {
	x.event.Protocol = ProtocolSOCKS
	in := &prefixed{rest: append([]byte(nil), r.rest()...), conn: x.conn}
	if !x.greetSOCKS(in) {
		x.s.finish(ctx, x.conn)
		return
	}
	host, port, err := readSOCKSRequest(in)
	_ = x.conn.SetReadDeadline(time.Time{})
	if bad, ok := errors.AsType[socksError](err); ok {
		x.event.Reason = ReasonMalformed
		x.refuseSOCKS(ctx, byte(bad))
		return
	}
	if err != nil {
		_ = x.conn.Close()
		return
	}
	x.early = in.rest
	got, ok := x.reach(ctx, host, port)
	if !ok {
		x.refuseSOCKS(ctx, socksCode(x.event.Reason))
		return
	}
	if _, err := x.conn.Write(socksReply(socksSucceeded)); err != nil {
		reset(got.conn)
		_ = x.conn.Close()
		x.done(relay.Result{Cause: relay.CauseClientReset})
		return
	}
	x.tunnel(got, host)
}

// greetSOCKS reads the greeting and picks "no authentication", the only method.
func (x *exchange) greetSOCKS(in io.Reader) bool {
	var h [2]byte
	if _, err := io.ReadFull(in, h[:]); err != nil {
		return false
	}
	methods := make([]byte, h[1])
	if _, err := io.ReadFull(in, methods); err != nil {
		return false
	}
	pick := byte(socksNoAuth)
	if !slices.Contains(methods, socksNoAuth) {
		pick = socksNoMethod
	}
	_, err := x.conn.Write([]byte{socksVersion, pick})
	return err == nil && pick == socksNoAuth
}

// socksError is a request that gets the reply code it holds.
type socksError byte

func (e socksError) Error() string { return fmt.Sprintf("socks reply %d", byte(e)) }

// readSOCKSRequest reads a request. The target meets the same grammar as the
// authority of a CONNECT; a NUL inside a name, say, is no host here either.
func readSOCKSRequest(in io.Reader) (egress.Host, uint16, error) {
	var h [4]byte
	if _, err := io.ReadFull(in, h[:]); err != nil {
		return egress.Host{}, 0, fmt.Errorf("read socks request: %w", err)
	}
	if h[0] != socksVersion || h[2] != 0 {
		return egress.Host{}, 0, socksError(socksFailure)
	}
	raw, err := readSOCKSAddr(in, h[3])
	if err != nil {
		return egress.Host{}, 0, err
	}
	port := binary.BigEndian.Uint16(raw[len(raw)-2:])
	raw = raw[:len(raw)-2]
	if h[1] != socksConnect {
		return egress.Host{}, 0, socksError(socksBadCommand)
	}
	var host egress.Host
	if h[3] == socksName {
		host, err = egress.ParseHost(string(raw))
	} else if addr, ok := netip.AddrFromSlice(raw); ok {
		host = egress.HostFromAddr(addr)
	}
	if err != nil || !host.IsValid() || port == 0 {
		return egress.Host{}, 0, socksError(socksFailure)
	}
	return host.Unmap(), port, nil
}

// readSOCKSAddr reads an address of the given kind and the port behind it.
func readSOCKSAddr(in io.Reader, kind byte) ([]byte, error) {
	var size int
	switch kind {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		var n [1]byte
		if _, err := io.ReadFull(in, n[:]); err != nil {
			return nil, fmt.Errorf("read socks request: %w", err)
		}
		size = int(n[0])
	default:
		return nil, socksError(socksBadAddress)
	}
	raw := make([]byte, size+2)
	if _, err := io.ReadFull(in, raw); err != nil {
		return nil, fmt.Errorf("read socks request: %w", err)
	}
	return raw, nil
}

// socksReply has no bound address: where the proxy dials from is nobody's
// business.
func socksReply(code byte) []byte {
	return []byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0}
}

func (x *exchange) refuseSOCKS(ctx context.Context, code byte) {
	x.event.Status = int(code)
	_, _ = x.conn.Write(socksReply(code))
	x.recordEvent(false)
	x.s.finish(ctx, x.conn)
}

// socksCode is the nearest code for a reason.
func socksCode(r Reason) byte {
	switch out := r.outcome(); {
	case r == ReasonConnectionRefused:
		return socksRefused
	case out.status == 403:
		return socksNotAllowed
	case out.status == 502:
		return socksHostUnreachable
	default:
		return socksFailure
	}
}
