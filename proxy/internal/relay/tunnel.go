package relay

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// tunnel is two directions that share a fate.
type tunnel struct {
	engine *Engine
	done   func(Result)
	dirs   [2]direction
	stamp  atomic.Int64 // engine clock at the last byte of either direction
	left   atomic.Int32 // directions still running
	kept   bool         // keepalive is on; the sweeper's

	// draining is set while a direction reads into the void; see [direction.drain].
	draining atomic.Pointer[direction]

	mu    sync.Mutex // guards following
	cause Cause      // the first one counts
}

// overdue returns why the tunnel has been silent for too long, if it has.
func (t *tunnel) overdue(now int64, idle, half time.Duration) Cause {
	silent := time.Duration(now - t.stamp.Load())
	switch {
	case half > 0 && t.left.Load() == 1 && silent > half:
		return CauseHalfClosed
	case idle > 0 && silent > idle:
		return CauseIdle
	default:
		return ""
	}
}

// keepAlive finds peers that vanished. It is called by the sweeper: most tunnels
// end before it would matter, and it costs four system calls on each side.
func (t *tunnel) keepAlive() {
	if t.kept {
		return
	}
	t.kept = true
	for i := range t.dirs {
		KeepAlive(t.dirs[i].src)
	}
}

// KeepAlive lets the kernel find out, within two minutes of silence, that c's
// peer vanished without a word. Connections it cannot probe stay as they are.
func KeepAlive(c net.Conn) {
	if k, ok := c.(interface {
		SetKeepAliveConfig(cfg net.KeepAliveConfig) error
	}); ok {
		_ = k.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 15 * time.Second, Count: 4})
	}
}

func (t *tunnel) setCause(c Cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cause == "" {
		t.cause = c
	}
}

func (t *tunnel) broken() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cause != ""
}

// cut ends both directions with a reset, so that neither side can take what it
// has for the whole.
func (t *tunnel) cut(c Cause) {
	t.setCause(c)
	for i := range t.dirs {
		abort(t.dirs[i].src)
	}
}

// abort closes c with a reset where its kind has one.
func abort(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
}

// closeWrite passes a FIN on. Connections without a half-close (none that the
// proxy makes) keep their writing side until the tunnel ends.
func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
	}
}

// direction copies src to dst.
type direction struct {
	t        *tunnel
	src, dst net.Conn
	first    []byte // bytes of src read before the tunnel began
	inspect  Inspector
	lost     Cause // what it means when src is cut
	bytes    int64 // delivered; read by others only after the end
	ended    atomic.Bool

	writing  sync.Mutex // held while writing to dst; guards following
	dstReset bool       // a write told that dst was reset
}

// errRefused tells that the inspector ended the tunnel.
var errRefused = errors.New("refused by the inspector")

// run copies until src ends, then passes the end on.
func (d *direction) run() {
	err := d.copy()
	var werr *writeError
	switch {
	case err == nil && d.other().ended.Load():
		// The last to end: closing both sides sends the FIN that is due. Nobody
		// wrote to src since its own FIN was passed on, so this end is true.
	case err == nil && d.falseEnd():
		d.t.cut(d.lost)
	case err == nil:
		closeWrite(d.dst)
	case errors.Is(err, errRefused):
		d.refuse()
	case errors.As(err, &werr):
		d.drain()
	default:
		d.t.cut(d.lost)
	}
	d.ended.Store(true)
	if d.t.left.Add(-1) == 0 {
		d.t.finish()
	}
}

// farewellTime and farewellBytes bound how long a refused client is listened
// to, so that what it still sends does not turn its farewell into a reset.
const (
	farewellTime  = 500 * time.Millisecond
	farewellBytes = 64 << 10
)

// refuse ends the tunnel after the farewell was sent.
func (d *direction) refuse() {
	d.t.setCause(CauseRefused)
	closeWrite(d.src)
	_ = d.src.SetReadDeadline(time.Now().Add(farewellTime))
	_, _ = io.CopyN(io.Discard, d.src, farewellBytes)
	_ = d.src.Close()
	abort(d.dst)
}

func (d *direction) other() *direction {
	if d == &d.t.dirs[0] {
		return &d.t.dirs[1]
	}
	return &d.t.dirs[0]
}

// falseEnd reports whether the end of src was no end. A reset is told to one
// system call only; if that was the other direction's write, reading gives what
// had arrived and then an end like any other. Telling the two apart takes what
// that write was told: "connection reset" says that no FIN had come before.
func (d *direction) falseEnd() bool {
	o := d.other()
	if o.writing.TryLock() {
		told := o.dstReset
		o.writing.Unlock()
		if !told {
			return false // nearly always so, and it costs no system call
		}
	}
	if !closed(d.src) {
		return false // an ordinary half-close; the other direction may be writing
	}
	o.writing.Lock()
	defer o.writing.Unlock()
	return o.dstReset
}

// write is the only way bytes reach dst.
func (d *direction) write(p []byte) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	n, err := d.dst.Write(p)
	d.bytes += int64(n)
	return d.wrote(err)
}

// wrote notes what a write was told; the lock is held.
func (d *direction) wrote(err error) error {
	if err == nil {
		return nil
	}
	d.dstReset = d.dstReset || errors.Is(err, syscall.ECONNRESET)
	return &writeError{err}
}

// writeError is a failure of dst, which the direction that reads from dst will
// meet as well, after what dst sent before.
type writeError struct{ err error }

func (e *writeError) Error() string { return "write: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// drain goes on reading src after dst stopped taking bytes. dst may have
// answered before it closed, and that answer may still be on its way to src:
// closing src while bytes of it are unread would make the kernel send a reset
// that destroys the answer. What is read here moves no stamp, so that the
// half-close bound ends it; the sweeper ends it sooner, once src has
// acknowledged everything.
func (d *direction) drain() {
	if d.t.broken() {
		return
	}
	d.t.draining.Store(d)
	buf := d.t.engine.small.get()
	defer d.t.engine.small.put(buf)
	for {
		if _, err := d.src.Read(*buf); err != nil {
			if !errors.Is(err, io.EOF) && !d.t.broken() {
				d.t.cut(d.lost)
			}
			return
		}
	}
}

// finishDrained ends a tunnel whose one direction is over and whose other only
// drains, as soon as nothing is left to deliver.
func (t *tunnel) finishDrained() {
	d := t.draining.Load()
	if d == nil || !d.other().ended.Load() || unsent(d.src) > 0 {
		return
	}
	t.setCause(CauseEOF)
	_ = d.src.Close()
}

func (t *tunnel) finish() {
	_ = t.dirs[0].src.Close()
	_ = t.dirs[1].src.Close()
	t.setCause(CauseEOF)
	if t.done != nil {
		t.done(Result{AToB: t.dirs[0].bytes, BToA: t.dirs[1].bytes, Cause: t.cause})
	}
	t.engine.forget(t) // last: who waits for the engine to be empty waits for done, too
}

// copy moves everything and returns nil at the end of src.
func (d *direction) copy() error {
	if len(d.first) > 0 {
		first := d.first
		d.first = nil
		if err := d.deliver(first); err != nil {
			return err
		}
	}
	if handled, err := d.copyRaw(); handled {
		return err
	}
	return d.copyPlain()
}

// copyPlain serves connections without a descriptor of their own, such as TLS.
func (d *direction) copyPlain() error {
	buf := d.t.engine.small.get()
	defer d.t.engine.small.put(buf)
	for {
		n, err := d.src.Read(*buf)
		if n > 0 {
			if werr := d.deliver((*buf)[:n]); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// deliver passes p on, through the inspector while there is one.
func (d *direction) deliver(p []byte) error {
	d.t.stamp.Store(d.t.engine.clock.Load())
	if d.inspect != nil {
		pass, done, farewell := d.inspect(p)
		if farewell != nil {
			_, _ = d.src.Write(farewell)
			return errRefused
		}
		if done {
			d.inspect = nil
		}
		p = pass
	}
	if len(p) == 0 {
		return nil
	}
	return d.write(p)
}
