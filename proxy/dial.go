package proxy

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/proxy/internal/resolve"
)

// dialError is a target that was not reached: the reason to answer with and
// the error behind it, which is for the log only.
type dialError struct {
	reason Reason
	err    error
}

func (e *dialError) Error() string { return string(e.reason) + ": " + e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// reached is a connection to a target.
type reached struct {
	conn  net.Conn
	addr  netip.Addr // invalid when a proxy behind this one resolved the name
	early []byte     // bytes the target sent during the upstream proxy's handshake
}

// target is one thing to dial.
type target struct {
	host egress.Host
	port uint16
	// trusted tells that an operator wrote this very host and port down, so
	// that a literal address in it is not judged by its class.
	trusted bool
}

// dialer resolves, judges and dials.
type dialer struct {
	guard   *guard
	source  resolve.Source
	timeout time.Duration
	// listed and denied ask the lists in force about an address.
	listed, denied func(egress.Host, uint16) bool
	chain          *chain // nil without an upstream proxy
}

// dial reaches t within the connect timeout. Every error is a *dialError.
func (d *dialer) dial(ctx context.Context, t target) (reached, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	if d.chain != nil && d.chain.byName(t) {
		return d.chain.dial(ctx, t.host.String(), t.port)
	}
	addrs, err := d.addresses(ctx, t)
	if err != nil {
		return reached{}, err
	}
	if d.chain != nil && !d.chain.bypassed(t, addrs) {
		return d.chain.dialAny(ctx, addrs, t.port)
	}
	return race(ctx, addrs, t.port)
}

// addresses returns what may be dialled for t, resolved once.
func (d *dialer) addresses(ctx context.Context, t target) ([]netip.Addr, error) {
	if addr, ok := t.host.Addr(); ok {
		return d.vet([]netip.Addr{addr}, t, t.trusted)
	}
	if t.host.Loopback() {
		// RFC 6761: no resolver has a say in what localhost means.
		return d.vet([]netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, t, true)
	}
	found, err := resolve.Both(ctx, d.source, t.host.Name(), d.guard.profile != GuardStandard)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &dialError{ReasonDNSTimeout, err}
	case err != nil:
		return nil, &dialError{ReasonDNSError, err}
	}
	return d.vet(found, t, false)
}

// vet keeps the addresses that may be dialled. exempt skips the judgement by
// class, never that on the proxy's own ports or the deny list. The strict
// profile gives up on an answer with one bad address in it: such answers are
// made to be raced.
func (d *dialer) vet(found []netip.Addr, t target, exempt bool) ([]netip.Addr, error) {
	var keep []netip.Addr
	reason := ReasonBlockedAddress
	for _, addr := range found {
		addr = addr.Unmap()
		host := egress.HostFromAddr(addr)
		switch {
		case d.guard.self(addr, t.port):
			reason = ReasonSelfTarget
		case d.denied(host, t.port):
			reason = ReasonDenied
		case exempt, d.guard.permits(addr), d.listed(host, t.port):
			keep = append(keep, addr)
		}
	}
	if len(keep) == 0 || d.guard.profile != GuardStandard && !exempt && len(keep) < len(found) {
		return nil, &dialError{reason, fmt.Errorf("%d of %d addresses refused", len(found)-len(keep), len(found))}
	}
	return keep, nil
}

// stagger is the Connection Attempt Delay of RFC 8305, section 5.
const stagger = 250 * time.Millisecond

// race dials the addresses in turn, each a stagger after the one before or at
// once when that failed, and returns the first connection.
func race(ctx context.Context, addrs []netip.Addr, port uint16) (reached, error) {
	if len(addrs) == 1 {
		return dialAddr(ctx, addrs[0], port)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &racers{port: port, waiting: interleave(addrs), results: make(chan raced, len(addrs))}
	defer r.collect(cancel)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var firstErr error
	for r.running > 0 || len(r.waiting) > 0 {
		select {
		case <-timer.C:
			if r.start(ctx) {
				timer.Reset(stagger)
			}
		case res := <-r.results:
			r.running--
			if res.err == nil {
				return res.reached, nil
			}
			if firstErr == nil {
				firstErr = res.err
			}
			timer.Reset(0)
		}
	}
	return reached{}, firstErr
}

type raced struct {
	reached

	err error
}

// racers are the attempts of one race. They belong to one goroutine.
type racers struct {
	port    uint16
	waiting []netip.Addr
	running int
	results chan raced // has room for every attempt
}

// start begins the next attempt and reports whether there was one.
func (r *racers) start(ctx context.Context) bool {
	if len(r.waiting) == 0 {
		return false
	}
	addr := r.waiting[0]
	r.waiting = r.waiting[1:]
	r.running++
	go func() {
		got, err := dialAddr(ctx, addr, r.port)
		r.results <- raced{got, err}
	}()
	return true
}

// collect ends the attempts that lost and closes what they still reached.
func (r *racers) collect(cancel context.CancelFunc) {
	cancel()
	for ; r.running > 0; r.running-- {
		if res := <-r.results; res.conn != nil {
			_ = res.conn.Close()
		}
	}
}

// interleave alternates the families, beginning with that of the first
// address, and keeps the order within each (RFC 8305, section 4).
func interleave(addrs []netip.Addr) []netip.Addr {
	var same, other []netip.Addr
	for _, a := range addrs {
		if a.Is4() == addrs[0].Is4() {
			same = append(same, a)
		} else {
			other = append(other, a)
		}
	}
	out := make([]netip.Addr, 0, len(addrs))
	for len(same) > 0 || len(other) > 0 {
		if len(same) > 0 {
			out, same = append(out, same[0]), same[1:]
		}
		if len(other) > 0 {
			out, other = append(out, other[0]), other[1:]
		}
	}
	return out
}

// dialAddr dials one judged address.
func dialAddr(ctx context.Context, addr netip.Addr, port uint16) (reached, error) {
	conn, err := connect(ctx, netip.AddrPortFrom(addr, port))
	if err != nil {
		return reached{}, &dialError{dialReason(err), err}
	}
	return reached{conn: conn, addr: addr}, nil
}

// dialReason sorts dial errors.
func dialReason(err error) Reason {
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return ReasonConnectionRefused
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return ReasonConnectionTimeout
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return ReasonUnroutable
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return ReasonLimit
	case errors.As(err, &unknown):
		return ReasonTLS
	default:
		return ReasonDialFailed
	}
}
