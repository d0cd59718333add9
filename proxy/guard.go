package proxy

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/egress"
)

// permits is the verdict table over the address classes, the only one the
// proxy has. It judges the address itself; see [guard.permits] for what an
// address carries.
func (g Guard) permits(c egress.Class) bool {
	switch c {
	case egress.Public, egress.Mapped, egress.NAT64:
		return true // the latter two are judged by the IPv4 address in them
	case egress.Private, egress.UniqueLocal, egress.SiteLocal, egress.SharedAddress,
		egress.ProtocolAssign, egress.Documentation, egress.Benchmarking, egress.RelayAnycast, egress.Reserved,
		egress.Discard, egress.SegmentRouting, egress.NotGlobal,
		egress.Compatible, egress.Translated, egress.SixToFour, egress.Teredo:
		return g == GuardStandard
	case egress.Invalid, egress.Unspecified, egress.ThisNetwork, egress.Loopback, egress.LinkLocal,
		egress.Multicast, egress.Broadcast, egress.LocalNAT64:
		return false // LocalNAT64 may carry anything, in places only its operator knows
	default:
		return false
	}
}

// guard judges addresses.
type guard struct {
	profile Guard
	own     *ownAddrs
	ports   []uint16 // ports this process listens on
}

// permits reports whether a name may resolve to addr. It looks through every
// form that carries an IPv4 address.
func (g *guard) permits(addr netip.Addr) bool {
	if !g.profile.permits(egress.Classify(addr)) || egress.Metadata(addr) || g.own.has(addr) {
		return false
	}
	for _, inner := range egress.Embedded(addr) {
		if !g.permits(inner) {
			return false
		}
	}
	return true
}

// self reports whether addr:port is a port of this process. No list can open
// those: behind them lie the proxy's own rights.
func (g *guard) self(addr netip.Addr, port uint16) bool {
	if !slices.Contains(g.ports, port) {
		return false
	}
	for _, inner := range egress.Embedded(addr) {
		if g.self(inner, port) {
			return true
		}
	}
	return addr.IsLoopback() || addr.IsUnspecified() || g.own.has(addr)
}

// ownAddrs knows the addresses of this machine's interfaces. Asking the kernel
// takes tens of microseconds, so that the answer is kept for a while.
type ownAddrs struct {
	read func() ([]net.Addr, error) // net.InterfaceAddrs
	now  func() time.Time

	mu    sync.Mutex // guards following
	addrs []netip.Addr
	until time.Time
}

// ownAddrsFor is how long an answer is kept: interfaces change rarely, and an
// address that was ours two seconds ago is no way in.
const ownAddrsFor = 2 * time.Second

// has reports whether addr is one of this machine's. When the kernel does not
// answer, every address is, so that nothing slips through.
func (o *ownAddrs) has(addr netip.Addr) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); !now.Before(o.until) {
		addrs, err := o.read()
		if err != nil {
			return true
		}
		o.addrs = o.addrs[:0]
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				o.addrs = append(o.addrs, p.Addr().Unmap())
			}
		}
		o.until = now.Add(ownAddrsFor)
	}
	return slices.Contains(o.addrs, addr.WithZone(""))
}
