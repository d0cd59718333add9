package protocol

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// defaultBlockLimit is how long the host may leave the pipe full.
	defaultBlockLimit = 60 * time.Second
	flushAt           = 32 << 10 // bytes after which "more is coming" no longer delays a write
	throttleAt        = 16 << 20 // bytes of waiting answers at which reading stops
	keepBuffer        = 1 << 20  // larger buffers are given back once they are empty
)

// OutOptions configures an [Out]. The zero value is usable.
type OutOptions struct {
	// BlockLimit is how long the pipe may stay full; 0 means 60 s.
	BlockLimit time.Duration
	// OnFail is called once, on a goroutine of its own, when writing has
	// failed for good: a closed pipe (EPIPE), or [ErrBlocked]. May be nil.
	OnFail func(error)
}

// tryWriter is a destination that can say "not now" instead of blocking.
type tryWriter interface {
	// try writes what fits and reports again when the rest must wait.
	try(p []byte) (n int, again bool, err error)
	// wait calls step whenever the destination may have room, until step
	// returns true or nothing could be written by the deadline.
	wait(deadline time.Time, step func() bool) error
}

// directWriter marks a destination whose writes are quick, such as a regular
// file, so that they are made under the lock.
type directWriter interface{ direct() }

// Out is the one writer of standard output. Every frame is queued whole and in
// order under one lock; nothing is ever dropped. All methods are safe for
// concurrent use and none but [Stream.Delta] waits for the host.
type Out struct {
	opts OutOptions
	dst  io.Writer
	try  tryWriter // nil: writes go through the drainer, or directly
	kick chan struct{}
	stop chan struct{}
	done chan struct{} // closed when the drainer has returned

	mu      sync.Mutex // guards following
	pend    []byte     // queued bytes; pend[off:] are unwritten
	off     int
	batch   int           // bytes the drainer is writing, no longer in pend
	written int64         // bytes the destination took, to notice progress
	blocked bool          // the drainer owns writing until it has caught up
	err     error         // the first failure; everything after it is discarded
	waiting []*Stream     // streams with deltas held back, oldest first
	idle    chan struct{} // closed when the drainer catches up; nil when nobody waits
	slack   chan struct{} // closed when pend has shrunk; nil when nobody waits
	sealed  bool          // the last frame has been queued
}

// NewOut returns an Out that writes to w and starts its drainer, which
// [Out.Close] ends.
func NewOut(w io.Writer, opts OutOptions) *Out {
	if opts.BlockLimit <= 0 {
		opts.BlockLimit = defaultBlockLimit
	}
	o := &Out{opts: opts, dst: w, kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	o.try, _ = w.(tryWriter)
	go o.drain()
	return o
}

// Write queues one whole frame with its newline and writes it unless more is
// true, which promises that another write or [Out.Flush] follows at once.
func (o *Out) Write(frame []byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sealed {
		return
	}
	o.pend = append(o.pend, frame...)
	if !more || len(o.pend) >= flushAt {
		o.flush()
	}
}

// WriteAlone writes a frame in a write of its own when the pipe has room:
// what was queued goes out first.
func (o *Out) WriteAlone(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sealed {
		return
	}
	o.flush()
	o.pend = append(o.pend, frame...)
	o.flush()
}

// Last queues the last frame: everything written after it is discarded.
func (o *Out) Last(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sealed {
		return
	}
	for o.refill() && len(o.waiting) > 0 {
		continue
	}
	o.pend = append(o.pend, frame...)
	o.sealed = true
	o.flush()
}

// throttle waits while a host that writes and does not read has let more than
// throttleAt bytes of answers pile up. Until then reading never waits for
// writing; past it, memory would have no bound.
func (o *Out) throttle() {
	o.mu.Lock()
	for o.blocked && o.err == nil && !o.sealed && len(o.pend)-o.off+o.batch > throttleAt {
		if o.slack == nil {
			o.slack = make(chan struct{})
		}
		slack := o.slack
		o.mu.Unlock()
		<-slack // the drainer closes it on progress and on failure
		o.mu.Lock()
	}
	o.mu.Unlock()
}

// loosen wakes who waits in throttle. The caller holds mu.
func (o *Out) loosen() {
	if o.slack != nil {
		close(o.slack)
		o.slack = nil
	}
}

// Flush writes what is queued.
func (o *Out) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flush()
}

// Err returns the first write error, or nil.
func (o *Out) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Close waits until everything is written or ctx ends, then stops the
// drainer. It does not close the destination.
func (o *Out) Close(ctx context.Context) error {
	o.mu.Lock()
	o.flush()
	var idle chan struct{}
	if o.blocked {
		if o.idle == nil {
			o.idle = make(chan struct{})
		}
		idle = o.idle
	}
	o.mu.Unlock()
	var err error
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	o.mu.Lock()
	select {
	case <-o.stop:
	default:
		close(o.stop)
		o.loosen()
	}
	if err == nil {
		err = o.err
	}
	o.mu.Unlock()
	if err == nil {
		<-o.done
	}
	return err
}

// flush writes pend as far as the destination takes it. The caller holds mu.
func (o *Out) flush() {
	if o.blocked || o.off == len(o.pend) {
		return
	}
	if o.err != nil {
		o.reset()
		return
	}
	if o.try == nil {
		if _, ok := o.dst.(directWriter); ok {
			_, err := o.dst.Write(o.pend[o.off:])
			o.reset()
			o.fail(err)
			return
		}
		o.block()
		return
	}
	if o.step() {
		return
	}
	o.block()
}

// step writes once and reports whether nothing is left to write. The caller
// holds mu.
func (o *Out) step() bool {
	for {
		if o.off == len(o.pend) && !o.refill() {
			return true
		}
		n, again, err := o.try.try(o.pend[o.off:])
		o.off += n
		if n > 0 && len(o.pend)-o.off < throttleAt/2 {
			o.loosen()
		}
		o.written += int64(n)
		if err != nil {
			o.fail(err)
			return true
		}
		if o.off == len(o.pend) {
			o.reset()
		}
		if again {
			return false
		}
	}
}

// refill moves held-back deltas into pend, one of each stream in turn, until a
// write is worth its while. The caller holds mu.
func (o *Out) refill() bool {
	for len(o.waiting) > 0 && len(o.pend) < flushAt {
		s := o.waiting[0]
		o.waiting = append(o.waiting[:0], o.waiting[1:]...)
		if s.release() {
			o.waiting = append(o.waiting, s)
		} else {
			s.listed = false
		}
	}
	return len(o.pend) > 0
}

// reset empties pend. The caller holds mu.
func (o *Out) reset() {
	o.off = 0
	if cap(o.pend) > keepBuffer {
		o.pend = nil
		return
	}
	o.pend = o.pend[:0]
}

// block hands writing to the drainer. The caller holds mu.
func (o *Out) block() {
	o.blocked = true
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// fail records the first error and discards what is queued. The caller holds
// mu.
func (o *Out) fail(err error) {
	if err == nil {
		return
	}
	o.loosen()
	o.reset()
	for _, s := range o.waiting {
		s.discard()
	}
	o.waiting = nil
	if o.err != nil {
		return
	}
	o.err = err
	if o.opts.OnFail != nil {
		go o.opts.OnFail(err) // ends when the callback returns, which must not block
	}
}

// drain is the goroutine that writes while the pipe is full. Close ends it.
func (o *Out) drain() {
	defer close(o.done)
	for {
		select {
		case <-o.stop:
			return
		case <-o.kick:
		}
		if o.try != nil {
			o.drainTry()
		} else {
			o.drainQueue()
		}
	}
}

// drainTry waits for room in a pipe that can say "not now".
func (o *Out) drainTry() {
	for {
		progress := false
		err := o.try.wait(time.Now().Add(o.opts.BlockLimit), func() bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			before := o.written
			if o.step() {
				o.unblock()
				return true
			}
			progress = o.written != before
			return progress
		})
		if err == nil && !progress {
			return
		}
		if err != nil {
			o.mu.Lock()
			o.fail(err)
			o.unblock()
			o.mu.Unlock()
			return
		}
	}
}

// drainQueue writes for a destination whose writes may block.
func (o *Out) drainQueue() {
	var spare []byte
	for {
		o.mu.Lock()
		if o.off == len(o.pend) && !o.refill() {
			o.unblock()
			o.mu.Unlock()
			return
		}
		batch := o.pend[o.off:]
		o.pend, o.off, o.batch = spare[:0], 0, len(batch)
		o.mu.Unlock()
		watch := time.AfterFunc(o.opts.BlockLimit, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.fail(ErrBlocked)
		})
		_, err := o.dst.Write(batch)
		watch.Stop()
		o.mu.Lock()
		o.batch = 0
		o.loosen()
		o.mu.Unlock()
		if spare = batch[:0]; cap(spare) > keepBuffer {
			spare = nil
		}
		if err != nil {
			o.mu.Lock()
			o.fail(err)
			o.mu.Unlock()
		}
	}
}

// unblock ends the drainer's ownership. The caller holds mu.
func (o *Out) unblock() {
	o.blocked = false
	if o.idle != nil {
		close(o.idle)
		o.idle = nil
	}
}
