package proxy

import (
	"context"
	"net/netip"

	"github.com/steerable-go/sidecar/egress"
)

// Request is what a decision is about.
type Request struct {
	// Identity is the name of the listener the client came through.
	Identity string
	Protocol Protocol
	// Host is canonical, Port is not zero.
	Host egress.Host
	Port uint16
}

// Answer is what a [Decider] says. The zero value refuses.
type Answer uint8

// The answers.
const (
	Refuse       Answer = iota
	AllowOnce           // this connection only
	AllowSession        // add a session grant for exactly this host and port
)

// Decider is asked about targets that no list names and no deny entry closes,
// while the client waits. ctx ends when the client leaves or the server stops;
// an error refuses. Implementations must be safe for concurrent use and may
// take as long as a person needs.
type Decider interface {
	Decide(ctx context.Context, r Request) (Answer, error)
}

// decision is the outcome for one target. The zero value refuses.
type decision struct {
	reason Reason
	rule   string
}

// decide consults everything but the decider.
func (s *Server) decide(host egress.Host, port uint16) decision {
	p := s.policy.Load()
	addr, literal := host.Addr()
	if literal && s.guard.self(addr, port) {
		return decision{reason: ReasonSelfTarget}
	}
	match, entry := p.list.Find(host, port)
	switch {
	case match == egress.Denied:
		return decision{reason: ReasonDenied, rule: entry.String()}
	case literal && s.denied(host, port):
		return decision{reason: ReasonDenied} // by what the address carries
	case match == egress.Allowed:
		return decision{reason: ReasonListed, rule: entry.String()}
	}
	if g, ok := s.grants.match(host, port); ok {
		return decision{reason: ReasonGranted, rule: g.String()}
	}
	if literal && !askable(addr, s.guard) {
		return decision{reason: ReasonBlockedAddress}
	}
	return decision{reason: ReasonNotListed}
}

// askable reports whether an address that nobody listed may be put to a person
// as a question. Loopback and private addresses may: development servers live
// there. The rest of what the guard refuses serves no honest request.
func askable(addr netip.Addr, g *guard) bool {
	if g.permits(addr) || addr.IsLoopback() {
		return true
	}
	switch egress.Classify(addr) { //nolint:exhaustive // the default refuses
	case egress.Private, egress.UniqueLocal, egress.SharedAddress, egress.Documentation, egress.Benchmarking, egress.Public:
		return !egress.Metadata(addr)
	default:
		return false
	}
}
