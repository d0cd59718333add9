package proxy

import (
	"net"
	"sync"
)

// connSet knows the connections that have a goroutine of their own, which are
// all but those that became tunnels. The zero value is ready.
type connSet struct {
	wg sync.WaitGroup

	mu     sync.Mutex // guards following
	idle   map[net.Conn]bool
	closed bool
}

// start serves conn in a goroutine that closeAll ends. It reports false when
// the set is closed.
func (s *connSet) start(conn net.Conn, serve func(net.Conn)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.idle == nil {
		s.idle = map[net.Conn]bool{}
	}
	s.idle[conn] = true
	s.wg.Go(func() {
		serve(conn)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.idle, conn)
	})
	return true
}

// count returns how many connections there are.
func (s *connSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.idle)
}

// busy tells that a request arrived on conn, idle that it was answered.
func (s *connSet) busy(conn net.Conn, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.idle[conn]; ok {
		s.idle[conn] = !busy
	}
}

// forget leaves conn to the relay, which ends it in its own way.
func (s *connSet) forget(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.idle, conn)
}

// closeIdle refuses new connections and closes those without a request.
func (s *connSet) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for conn, idle := range s.idle {
		if idle {
			_ = conn.Close()
		}
	}
}

// closeAll ends every connection that has not become a tunnel. Those with a
// request are reset: what they got so far is not the whole, and an end in order
// would say that it is.
func (s *connSet) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for conn, idle := range s.idle {
		if idle {
			_ = conn.Close()
		} else {
			reset(conn)
		}
	}
}

func (s *connSet) wait() { s.wg.Wait() }
