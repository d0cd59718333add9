package proxy

import (
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
)

// sink takes the decisions: log, audit file, counters, listeners.
type sink struct {
	log    zerolog.Logger
	audit  *Audit
	counts map[Reason]*atomic.Int64 // fixed set of keys
	up     atomic.Int64
	down   atomic.Int64

	mu        sync.Mutex // guards following
	listeners map[chan Event]struct{}
	failed    bool // the audit failure has been logged
}

func newSink(log zerolog.Logger, audit *Audit) *sink {
	s := &sink{log: log, audit: audit, counts: map[Reason]*atomic.Int64{}, listeners: map[chan Event]struct{}{}}
	for _, r := range reasons() {
		s.counts[r] = &atomic.Int64{}
	}
	return s
}

// record takes one finished decision. reached tells that the target was.
func (s *sink) record(e *Event, reached bool) {
	e.Verdict = e.verdict(reached)
	if c := s.counts[e.Reason]; c != nil {
		c.Add(1)
	}
	s.up.Add(e.BytesUp)
	s.down.Add(e.BytesDown)
	s.log.WithLevel(e.level()).EmbedObject(e).Msg("decision")
	if s.audit != nil {
		s.auditFailed(s.audit.Write(e))
	}
	s.tell(e)
}

// auditFailed says once that the audit file cannot be written.
func (s *sink) auditFailed(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	first := !s.failed
	s.failed = true
	s.mu.Unlock()
	if first {
		s.log.Error().Err(err).Msg("audit log")
	}
}

// tell passes e to the listeners; one that does not keep up misses it.
func (s *sink) tell(e *Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ch := range s.listeners {
		select {
		case ch <- *e:
		default:
		}
	}
}

// listen returns a channel of decisions to come and a function that ends it.
func (s *sink) listen() (events <-chan Event, end func()) {
	ch := make(chan Event, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[ch] = struct{}{}
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, ch)
	}
}
