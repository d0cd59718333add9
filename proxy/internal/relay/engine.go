package relay

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Cause says why a tunnel ended. The values are log vocabulary.
type Cause string

// The causes. The client is side A of a tunnel, the upstream side B.
const (
	CauseEOF           Cause = "eof"            // both sides ended in order
	CauseClientReset   Cause = "client_reset"   // the client's side was cut
	CauseUpstreamReset Cause = "upstream_reset" // the upstream's side was cut
	CauseIdle          Cause = "idle_timeout"
	CauseHalfClosed    Cause = "half_close_timeout"
	CauseShutdown      Cause = "shutdown"
	CauseRefused       Cause = "refused" // the inspector of A's bytes said no
)

// Conn is one side of a tunnel.
type Conn = net.Conn

// Inspector sees the first bytes that A sends. It returns the bytes to pass on
// now (nil to hold them back), whether it has seen enough, and a farewell to
// send to A when the tunnel must end, nil otherwise.
type Inspector func(p []byte) (pass []byte, done bool, farewell []byte)

// Tunnel is a pair of connections to be joined.
type Tunnel struct {
	A, B Conn
	// FromA are bytes of A that were read already; FromB likewise.
	FromA, FromB []byte
	// Inspect, if not nil, sees what A sends until it has seen enough.
	Inspect Inspector
	// Done is called once, after both connections were closed.
	Done func(Result)
}

// Result is what became of a tunnel.
type Result struct {
	AToB, BToA int64 // bytes delivered
	Cause      Cause
}

// Engine runs tunnels. Create one with [NewEngine].
type Engine struct {
	idle, half time.Duration
	clock      atomic.Int64 // UnixNano of the last tick; stamping costs no system call
	stop       chan struct{}
	stopped    chan struct{}

	small, large *pool
	pipes        *pipes

	mu      sync.Mutex // guards following
	tunnels map[*tunnel]struct{}
	empty   chan struct{} // closed when the last tunnel ends; nil while nobody waits
}

// NewEngine returns an engine whose tunnels end after idle without a byte, or,
// once one side has ended, after half without one. Zero means no bound. Close
// it to end its sweeper.
func NewEngine(idle, half time.Duration) *Engine {
	e := &Engine{
		idle: idle, half: half,
		stop: make(chan struct{}), stopped: make(chan struct{}),
		small: newPool(smallSize), large: newPool(largeSize), pipes: newPipes(),
		tunnels: map[*tunnel]struct{}{},
	}
	e.clock.Store(time.Now().UnixNano())
	go e.sweep()
	return e
}

// Start joins the two sides and returns at once.
func (e *Engine) Start(spec Tunnel) {
	t := &tunnel{engine: e, done: spec.Done}
	t.stamp.Store(e.clock.Load())
	t.left.Store(2)
	t.dirs[0] = direction{t: t, src: spec.A, dst: spec.B, first: spec.FromA, inspect: spec.Inspect, lost: CauseClientReset}
	t.dirs[1] = direction{t: t, src: spec.B, dst: spec.A, first: spec.FromB, lost: CauseUpstreamReset}
	e.mu.Lock()
	e.tunnels[t] = struct{}{}
	e.mu.Unlock()
	// Fresh goroutines rather than the caller's: theirs are small stacks.
	go t.dirs[0].run()
	go t.dirs[1].run()
}

// Open returns how many tunnels there are.
func (e *Engine) Open() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.tunnels)
}

// Empty returns a channel that is closed once no tunnel is left.
func (e *Engine) Empty() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.empty == nil {
		e.empty = make(chan struct{})
	}
	ch := e.empty
	if len(e.tunnels) == 0 {
		close(ch)
		e.empty = nil
	}
	return ch
}

// Cut resets every tunnel.
func (e *Engine) Cut() {
	for _, t := range e.snapshot() {
		t.cut(CauseShutdown)
	}
}

// Close ends the sweeper and closes the spare pipes. Tunnels should have ended
// before.
func (e *Engine) Close() {
	close(e.stop)
	<-e.stopped
	e.pipes.trim()
	e.pipes.trim()
}

func (e *Engine) snapshot() []*tunnel {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*tunnel, 0, len(e.tunnels))
	for t := range e.tunnels {
		all = append(all, t)
	}
	return all
}

func (e *Engine) forget(t *tunnel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tunnels, t)
	if len(e.tunnels) == 0 && e.empty != nil {
		close(e.empty)
		e.empty = nil
	}
}

// The sweeper looks often enough that a bound is overrun by an eighth at most.
const (
	minTick = 10 * time.Millisecond
	maxTick = time.Second
)

func (e *Engine) tick() time.Duration {
	d := maxTick
	for _, bound := range []time.Duration{e.idle, e.half} {
		if bound > 0 {
			d = min(d, bound/8)
		}
	}
	return max(d, minTick)
}

// sweep ends with Close.
func (e *Engine) sweep() {
	defer close(e.stopped)
	ticker := time.NewTicker(e.tick())
	defer ticker.Stop()
	for {
		select {
		case <-e.stop:
			return
		case now := <-ticker.C:
			e.clock.Store(now.UnixNano())
			e.visit(now.UnixNano())
			e.pipes.trim()
		}
	}
}

// visit judges the tunnels outside the lock, because cutting wakes goroutines
// that want it.
func (e *Engine) visit(now int64) {
	for _, t := range e.snapshot() {
		if cause := t.overdue(now, e.idle, e.half); cause != "" {
			t.cut(cause)
			continue
		}
		t.keepAlive()
		t.finishDrained()
	}
}
