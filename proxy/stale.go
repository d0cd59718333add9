package proxy

import (
	"errors"
	"net"
	"sync/atomic"
)

// errStale tells that a pooled connection was closed by the upstream.
var errStale = errors.New("the upstream closed this connection")

// pooledConn looks whether its peer is still there before it begins to write.
// An upstream that closes after each response without announcing it would
// otherwise get the next request on a connection that is already over; net/http
// repeats a request by itself only if nothing of it was written.
type pooledConn struct {
	net.Conn

	looked atomic.Bool // since the last read
}

// Read implements net.Conn.
func (c *pooledConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.looked.Store(false)
	return n, err
}

// Write implements net.Conn.
func (c *pooledConn) Write(p []byte) (int, error) {
	if !c.looked.Swap(true) && peerEnded(c.Conn) {
		return 0, errStale
	}
	return c.Conn.Write(p)
}

// CloseWrite passes a half-close on, for upgraded connections.
func (c *pooledConn) CloseWrite() error {
	if h, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return errors.ErrUnsupported
}
