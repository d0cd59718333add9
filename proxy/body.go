package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/steerable-go/sidecar/proxy/internal/chunked"
	"github.com/steerable-go/sidecar/proxy/internal/head"
)

// requestBody reads the body of one request off the client's connection,
// exactly as long as its framing says.
type requestBody struct {
	framed io.Reader
	conn   net.Conn
	idle   time.Duration
	touch  func()
	kept   *bytes.Buffer // a copy for the record, nil without one

	// The transport may read in a goroutine of its own that outlives it.
	count  atomic.Int64
	failed atomic.Pointer[error] // an error that was no end
	whole  atomic.Bool           // everything arrived; kept is final then
}

// bodyOptions go with [newRequestBody].
type bodyOptions struct {
	early  []byte        // bytes read behind the head
	idle   time.Duration // bound on one read; 0 for none
	touch  func()        // called for every read that brought something
	record bool
}

func newRequestBody(conn net.Conn, h *head.Head, o bodyOptions) *requestBody {
	in := &prefixed{rest: o.early, conn: conn}
	b := &requestBody{conn: conn, idle: o.idle, touch: o.touch}
	if o.record {
		b.kept = &bytes.Buffer{}
	}
	switch {
	case h.Chunked:
		b.framed = chunked.NewReader(in)
	case h.ContentLength > 0:
		b.framed = &exactReader{r: in, left: h.ContentLength}
	default:
		b.whole.Store(true)
	}
	return b
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.whole.Load() {
		return 0, io.EOF
	}
	if b.idle > 0 {
		_ = b.conn.SetReadDeadline(time.Now().Add(b.idle))
	}
	n, err := b.framed.Read(p)
	b.count.Add(int64(n))
	if b.kept != nil {
		b.kept.Write(p[:n])
	}
	b.touch()
	switch {
	case errors.Is(err, io.EOF):
		_ = b.conn.SetReadDeadline(time.Time{})
		b.whole.Store(true)
		return n, io.EOF
	case err != nil:
		err = fmt.Errorf("read request body: %w", err)
		b.failed.Store(&err)
		return n, err
	}
	return n, nil
}

// sent returns how many bytes of the body arrived.
func (b *requestBody) sent() int64 { return b.count.Load() }

// broken returns why the client failed to send the whole body, nil if it did
// not. The transport may report what followed from that instead.
func (b *requestBody) broken() error {
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Close implements io.Closer; the connection belongs to the exchange.
func (b *requestBody) Close() error { return nil }

// exactReader reads left bytes and takes an earlier end for an error.
type exactReader struct {
	r    io.Reader
	left int64
}

func (e *exactReader) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	switch {
	case e.left == 0:
		return n, io.EOF
	case errors.Is(err, io.EOF):
		return n, io.ErrUnexpectedEOF
	default:
		return n, err
	}
}

// idleTimer ends an exchange that has stood still for too long.
type idleTimer struct {
	d time.Duration
	t *time.Timer
}

// newIdleTimer calls expire after d without a touch; never if d is zero.
func newIdleTimer(d time.Duration, expire func()) *idleTimer {
	if d <= 0 {
		return &idleTimer{}
	}
	return &idleTimer{d: d, t: time.AfterFunc(d, expire)}
}

func (i *idleTimer) touch() {
	if i.t != nil {
		i.t.Reset(i.d)
	}
}

func (i *idleTimer) stop() {
	if i.t != nil {
		i.t.Stop()
	}
}
