package relay

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// When a direction changes its way of copying.
const (
	bulkRead  = 32 << 10  // a read this long is bulk traffic
	bulkAfter = 4         // that many in a row begin splicing
	bulkUntil = 8         // that many splices shorter than bulkRead in a row end it
	maxSplice = 256 << 10 // what one splice may move, the size of the pipes: more would wait longer for either side
)

// rawCopy is one direction over descriptors. Its methods are callbacks of
// syscall.RawConn: they return false to wait for readiness, holding nothing.
type rawCopy struct {
	d        *direction
	src, dst syscall.RawConn // dst is nil when it has no descriptor
	pool     *pool

	buf  *[]byte // filled by tryRead
	pipe *pipe   // filled by trySplice
	n    int
	err  error
}

// copyRaw copies between descriptors; it reports false when src has none.
func (d *direction) copyRaw() (bool, error) {
	src := rawConn(d.src)
	if src == nil {
		return false, nil
	}
	c := &rawCopy{d: d, src: src, dst: rawConn(d.dst), pool: d.t.engine.small}
	for {
		if err := c.readUntilBulk(); err != nil {
			return true, ended(err)
		}
		if err := c.spliceWhileBulk(); err != nil {
			return true, ended(err)
		}
	}
}

func rawConn(c any) syscall.RawConn {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return rc
}

// errEnd is the end of src.
var errEnd = errors.New("end of stream")

func ended(err error) error {
	if errors.Is(err, errEnd) {
		return nil
	}
	return err
}

// readUntilBulk copies through pooled buffers until splicing pays.
func (c *rawCopy) readUntilBulk() error {
	tryRead := c.tryRead // one method value for the life of the loop
	for bulk := 0; bulk < bulkAfter || c.dst == nil || c.d.inspect != nil; {
		if err := c.src.Read(tryRead); err != nil {
			return err
		}
		if c.err == nil && c.n > 0 {
			c.err = c.d.deliver((*c.buf)[:c.n])
		} else if c.err == nil {
			c.err = errEnd
		}
		c.pool.put(c.buf)
		c.buf = nil
		if c.err != nil {
			return c.err
		}
		bulk = c.adapt(bulk)
	}
	return nil
}

// adapt picks the buffer for the next read and counts bulk reads.
func (c *rawCopy) adapt(bulk int) int {
	switch {
	case c.n >= bulkRead:
		return bulk + 1
	case c.n == smallSize:
		c.pool = c.d.t.engine.large
		return bulk
	case c.n < smallSize:
		c.pool = c.d.t.engine.small
	}
	return 0
}

func (c *rawCopy) tryRead(fd uintptr) bool {
	buf := c.pool.get()
	c.n, c.err = retry(func() (int, error) { return unix.Read(int(fd), *buf) })
	if errors.Is(c.err, unix.EAGAIN) {
		c.pool.put(buf)
		return false
	}
	c.buf = buf
	return true
}

// spliceWhileBulk moves bytes inside the kernel until there are few of them.
func (c *rawCopy) spliceWhileBulk() error {
	trySplice := c.trySplice
	for short := 0; short < bulkUntil; {
		if err := c.src.Read(trySplice); err != nil {
			return err
		}
		switch {
		case c.pipe == nil:
			return nil // no pipe to be had, or not spliceable: buffers will do
		case c.err != nil:
			c.d.t.engine.pipes.put(c.pipe)
			return c.err
		}
		if err := c.empty(); err != nil {
			return err
		}
		if short++; c.n >= bulkRead {
			short = 0
		}
	}
	return nil
}

// trySplice fills a borrowed pipe.
func (c *rawCopy) trySplice(fd uintptr) bool {
	pipes := c.d.t.engine.pipes
	if c.pipe = pipes.get(); c.pipe == nil {
		return true
	}
	c.n, c.err = retry(func() (int, error) { return splice(int(fd), c.pipe.w) })
	switch {
	case errors.Is(c.err, unix.EAGAIN):
		pipes.put(c.pipe)
		return false
	case errors.Is(c.err, unix.EINVAL):
		pipes.put(c.pipe)
		c.pipe = nil
	case c.err == nil && c.n == 0:
		c.err = errEnd
	}
	return true
}

// empty moves the pipe's bytes on to dst.
func (c *rawCopy) empty() error {
	d := c.d
	d.t.stamp.Store(d.t.engine.clock.Load())
	d.writing.Lock()
	defer d.writing.Unlock()
	left := c.n
	var werr error
	err := c.dst.Write(func(fd uintptr) bool {
		for left > 0 {
			var n int
			n, werr = retry(func() (int, error) { return splice(c.pipe.r, int(fd)) })
			if errors.Is(werr, unix.EAGAIN) {
				werr = nil
				return false
			}
			if werr != nil {
				return true
			}
			left -= n
		}
		return true
	})
	d.bytes += int64(c.n - left)
	if err == nil {
		err = werr
	}
	if err != nil {
		c.pipe.close() // there are bytes of this tunnel in it
		return d.wrote(err)
	}
	d.t.engine.pipes.put(c.pipe)
	return nil
}

func splice(from, to int) (int, error) {
	n, err := unix.Splice(from, nil, to, nil, maxSplice, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
	return int(n), err
}

// retry repeats a call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// unsent returns how many bytes c's peer has not acknowledged.
func unsent(c any) int {
	n := 0
	if rc := rawConn(c); rc != nil {
		_ = rc.Control(func(fd uintptr) {
			if q, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); err == nil {
				n = q
			}
		})
	}
	return n
}

// stateClose is TCP_CLOSE of the kernel's net/tcp_states.h.
const stateClose = 7

// closed reports whether c is a TCP connection that is over for both sides.
func closed(c any) bool {
	over := false
	if rc := rawConn(c); rc != nil {
		_ = rc.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			over = err == nil && info.State == stateClose
		})
	}
	return over
}
