package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/proxy/internal/head"
)

// Head buffers: nearly every head fits the small one; the large one holds the
// longest head and something of what follows it.
const (
	smallHead = 4 << 10
	largeHead = 2 * head.MaxBytes
)

// headBuffers lends buffers for heads.
type headBuffers struct{ small, large *sync.Pool }

func newHeadBuffers() headBuffers {
	pool := func(size int) *sync.Pool {
		return &sync.Pool{New: func() any { b := make([]byte, size); return &b }}
	}
	return headBuffers{pool(smallHead), pool(largeHead)}
}

// headReader reads the head of one request.
type headReader struct {
	pools headBuffers
	conn  net.Conn
	buf   *[]byte
	n     int // bytes in buf
	end   int // length of the head
}

func (p headBuffers) reader(conn net.Conn) *headReader {
	return &headReader{pools: p, conn: conn, buf: get(p.small)}
}

func get(p *sync.Pool) *[]byte {
	b, ok := p.Get().(*[]byte)
	if !ok {
		panic("bug: foreign value in a buffer pool")
	}
	return b
}

// release gives the buffer back; nothing that points into it may be used after.
func (r *headReader) release() {
	p := r.pools.small
	if len(*r.buf) == largeHead {
		p = r.pools.large
	}
	p.Put(r.buf)
	r.buf = nil
}

// grow moves on to the large buffer.
func (r *headReader) grow() {
	large := get(r.pools.large)
	copy(*large, (*r.buf)[:r.n])
	r.pools.small.Put(r.buf)
	r.buf = large
}

// errSilent ends a connection without an answer: it was probed and closed, or
// it speaks no HTTP.
var errSilent = errors.New("no request")

// errSOCKS tells that the first byte is SOCKS5's.
var errSOCKS = errors.New("socks greeting")

// The first bytes of other protocols.
const (
	firstTLS    = 0x16
	firstSOCKS4 = 0x04
	firstSOCKS5 = 0x05
)

// read reads up to the end of the head. The deadline is absolute: a client
// that drips does not move it. Errors are errSilent, errSOCKS, errTimeout or a
// *head.Error.
func (r *headReader) read(deadline time.Time) error {
	_ = r.conn.SetReadDeadline(deadline)
	var scan head.Scanner
	for {
		if r.n > 0 {
			switch (*r.buf)[0] {
			case firstSOCKS5:
				return errSOCKS
			case firstTLS, firstSOCKS4:
				return errSilent
			}
		}
		end, err := scan.Scan((*r.buf)[:r.n])
		if err != nil || end > 0 {
			r.end = end
			return err
		}
		if r.n == len(*r.buf) {
			r.grow()
		}
		n, err := r.conn.Read((*r.buf)[r.n:])
		r.n += n
		if err != nil && n == 0 {
			return r.failed(err)
		}
	}
}

// errTimeout tells that the head deadline passed after some bytes.
var errTimeout = errors.New("head deadline")

func (r *headReader) failed(err error) error {
	switch {
	case r.n == 0:
		return errSilent
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errTimeout
	case errors.Is(err, io.EOF):
		return head.ErrTruncated
	default:
		return errSilent // reset: nobody is left to answer
	}
}

// head returns the bytes of the head.
func (r *headReader) head() []byte { return (*r.buf)[:r.end] }

// rest returns what was read behind the head.
func (r *headReader) rest() []byte { return (*r.buf)[r.end:r.n] }

// copyRest returns a copy of the rest, or nil.
func (r *headReader) copyRest() []byte {
	if r.end == r.n {
		return nil
	}
	return append([]byte(nil), r.rest()...)
}
