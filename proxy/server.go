package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/proxy/internal/relay"
	"github.com/steerable-go/sidecar/proxy/internal/resolve"
)

// Server is an egress proxy. Create one with [New]; its methods are safe for
// concurrent use, and Serve runs once.
type Server struct {
	opt    Options
	policy atomic.Pointer[policyState]
	grants *grants
	guard  *guard
	dialer *dialer
	sink   *sink
	record *recorder
	heads  headBuffers
	lane   tokenLane
	conns  connSet
	// tunnels is set by Serve, before the first connection.
	tunnels *relay.Engine
}

// policyState is a policy made ready, replaced as a whole.
type policyState struct {
	list   *egress.List
	rules  map[egress.Host]*rule
	source Policy
}

// New checks the options. It returns [ErrEmptyPolicy] for an empty allow list
// and errors that name the first bad rule, file or URL.
func New(opt Options) (*Server, error) {
	opt = opt.withDefaults()
	s := &Server{
		opt:    opt,
		grants: newGrants(opt.Now),
		guard:  &guard{profile: opt.Guard, own: &ownAddrs{read: net.InterfaceAddrs, now: opt.Now}},
		heads:  newHeadBuffers(),
		lane:   tokenLane{now: opt.Now},
	}
	s.sink = newSink(opt.Logger, opt.Audit)
	if opt.Record != nil {
		s.record = &recorder{w: opt.Record}
	}
	source, err := opt.source()
	if err != nil {
		return nil, err
	}
	s.dialer = &dialer{guard: s.guard, source: source, timeout: opt.ConnectTimeout, listed: s.listed, denied: s.denied}
	if opt.Upstream != nil {
		if s.dialer.chain, err = newChain(opt, s.guard.self); err != nil {
			return nil, err
		}
	}
	if err := s.Reload(opt.Policy); err != nil {
		return nil, err
	}
	return s, nil
}

// source builds the resolver the options ask for.
func (o Options) source() (resolve.Source, error) {
	var src resolve.Source
	if o.NameServer.IsValid() {
		src = resolve.Server{Addr: o.NameServer}
	}
	if o.Hosts == nil {
		if src == nil {
			src = resolve.System()
		}
		return src, nil
	}
	hosts, err := resolve.ParseHosts(o.Hosts)
	if err != nil {
		return nil, fmt.Errorf("hosts file: %w", err)
	}
	hosts.Next = src
	return hosts, nil
}

// Reload replaces the policy for requests to come; tunnels that are open stay
// open, and session grants stay. On an error the old policy stays in force.
func (s *Server) Reload(p Policy) error {
	p, err := p.check()
	if err != nil {
		return err
	}
	if len(p.Allow) == 0 && s.opt.Decider == nil {
		return ErrEmptyPolicy
	}
	next := &policyState{list: egress.NewList(p.Allow, p.Deny), rules: map[egress.Host]*rule{}, source: p}
	for _, r := range p.Inject {
		next.rules[r.Host] = s.newRule(r)
	}
	if old := s.policy.Swap(next); old != nil {
		old.retire()
	}
	return nil
}

// retire closes the idle upstream connections of rules that were replaced.
func (p *policyState) retire() {
	for _, r := range p.rules {
		r.close()
	}
}

// Policy returns the policy in force, with defaults filled in.
func (s *Server) Policy() Policy { return s.policy.Load().source }

// listed reports whether host, which is an address, is opened by a list.
func (s *Server) listed(host egress.Host, port uint16) bool {
	if s.policy.Load().list.Match(host, port) == egress.Allowed {
		return true
	}
	_, ok := s.grants.match(host, port)
	return ok
}

// denied reports whether a deny entry closes port on host, or on an IPv4
// address that host carries: a translator would deliver to that one.
func (s *Server) denied(host egress.Host, port uint16) bool {
	list := s.policy.Load().list
	if list.Denies(host, port) {
		return true
	}
	addr, _ := host.Addr()
	for _, inner := range egress.Embedded(addr) {
		if list.Denies(egress.HostFromAddr(inner), port) {
			return true
		}
	}
	return false
}

// Serve serves the listeners until ctx ends, then closes them, lets open
// tunnels go on for Options.DrainTimeout, resets what is left and returns once
// everything has ended. It closes the listeners whatever happens.
func (s *Server) Serve(ctx context.Context, l Listeners) error {
	defer l.close()
	if err := s.prepare(l); err != nil {
		return err
	}
	defer s.tunnels.Close()
	// Work outlives ctx by the drain timeout.
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var loops sync.WaitGroup
	for _, d := range l.Data {
		loops.Go(func() { s.accept(ctx, d, func(c net.Conn) bool { return s.admit(work, c, d.Identity) }) })
	}
	if l.Control != nil {
		loops.Go(func() {
			s.accept(ctx, l.Control, func(c net.Conn) bool { return s.conns.start(c, func(c net.Conn) { s.serveControl(work, c) }) })
		})
	}
	<-ctx.Done()
	l.close()
	loops.Wait()
	s.drain(cut)
	s.policy.Load().retire()
	return nil
}

func (l Listeners) close() {
	for _, d := range l.Data {
		_ = d.Close()
	}
	if l.Control != nil {
		_ = l.Control.Close()
	}
}

func (s *Server) prepare(l Listeners) error {
	if s.tunnels != nil {
		return errors.New("serve: the server has served before")
	}
	if len(l.Data) == 0 {
		return errors.New("serve: no data listener")
	}
	if l.Control != nil && s.opt.ControlToken.IsZero() {
		return errors.New("serve: a control listener needs a token")
	}
	s.guard.ports = l.ports()
	if c := s.dialer.chain; c != nil {
		if up, err := netip.ParseAddrPort(c.addr); err == nil && s.guard.self(up.Addr(), up.Port()) {
			return fmt.Errorf("serve: %w", errLoop)
		}
	}
	s.tunnels = relay.NewEngine(s.opt.IdleTimeout, s.opt.HalfCloseTimeout)
	return nil
}

// drain waits for what is open, then cuts it. First go the connections whose
// request has not arrived: nobody would miss them.
func (s *Server) drain(cut context.CancelFunc) {
	s.conns.closeIdle()
	if s.opt.DrainTimeout > 0 {
		timer := time.NewTimer(s.opt.DrainTimeout)
		defer timer.Stop()
		done := make(chan struct{})
		go func() { // ends when the connections have, at the latest after the cut below
			s.conns.wait()
			<-s.tunnels.Empty()
			close(done)
		}()
		select {
		case <-done:
		case <-timer.C:
		}
	}
	cut()
	s.conns.closeAll()
	s.conns.wait()
	s.tunnels.Cut()
	<-s.tunnels.Empty()
}

// Accept errors back off between these bounds.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = time.Second
)

// admit serves a data connection unless there are too many. Control
// connections are not limited: grants have to arrive under load, too.
func (s *Server) admit(ctx context.Context, conn net.Conn, identity string) bool {
	if limit := s.opt.MaxConns; limit > 0 && s.conns.count()+s.tunnels.Open() >= limit {
		return false
	}
	return s.conns.start(conn, func(c net.Conn) { s.serveData(ctx, c, identity) })
}

// accept takes connections until the listener closes. Running out of
// descriptors is waited out: the listener stays, and the loop does not spin.
func (s *Server) accept(ctx context.Context, ln net.Listener, serve func(net.Conn) bool) {
	backoff := minBackoff
	for {
		conn, err := ln.Accept()
		if err == nil {
			backoff = minBackoff
			if !serve(conn) {
				_ = conn.Close()
			}
			continue
		}
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		if backoff == minBackoff {
			s.opt.Logger.Warn().Err(err).Msg("accept")
		}
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}
