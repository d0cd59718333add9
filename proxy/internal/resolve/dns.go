package resolve

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// attempt is how long one datagram waits for its reply before it is sent
// again, so that one lost packet does not use up the connect timeout.
const attempt = 2 * time.Second

// attempts is how often a question is sent.
const attempts = 3

// maxDatagram is enough for a plain DNS reply (512 bytes) and for servers that
// send more without being asked to.
const maxDatagram = 4096

// Server asks one DNS server, by datagram and, for truncated replies, by TCP.
// It uses neither a hosts file nor a search list: a name means itself.
type Server struct {
	Addr netip.AddrPort
}

var _ Source = Server{}

// Lookup implements [Source].
func (s Server) Lookup(ctx context.Context, family Family, name string) ([]netip.Addr, error) {
	var id [2]byte
	_, _ = rand.Read(id[:]) // never fails, by its documentation
	q := question{id: binary.BigEndian.Uint16(id[:]), name: name, qtype: typeA}
	if family == IPv6 {
		q.qtype = typeAAAA
	}
	r, err := s.ask(ctx, q)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, ErrNotFound
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("look up %s: %w", name, ctx.Err())
	case err != nil:
		return nil, fmt.Errorf("look up %s: %w", name, err)
	case len(r.addrs) == 0:
		return nil, ErrNotFound
	}
	return r.addrs, nil
}

// ask sends the question until it is answered. A connected socket with its own
// random port and a random id is what a forger has to guess.
func (s Server) ask(ctx context.Context, q question) (reply, error) {
	var last error
	for range attempts {
		r, err := s.datagram(ctx, q)
		switch {
		case err == nil && r.truncated:
			return s.stream(ctx, q)
		case err == nil, errors.Is(err, ErrNotFound), ctx.Err() != nil:
			return r, err
		}
		last = err
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			break // the server did answer: asking again changes nothing
		}
	}
	return reply{}, last
}

func (s Server) dial(ctx context.Context, network string) (net.Conn, func(), error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, s.Addr.String())
	if err != nil {
		return nil, nil, fmt.Errorf("reach name server: %w", err)
	}
	deadline := time.Now().Add(attempt)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	_ = conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return conn, func() { stop(); _ = conn.Close() }, nil
}

func (s Server) datagram(ctx context.Context, q question) (reply, error) {
	conn, done, err := s.dial(ctx, "udp")
	if err != nil {
		return reply{}, err
	}
	defer done()
	if _, err := conn.Write(q.pack()); err != nil {
		return reply{}, fmt.Errorf("ask name server: %w", err)
	}
	buf := make([]byte, maxDatagram)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return reply{}, fmt.Errorf("wait for name server: %w", err)
		}
		r, err := q.unpack(buf[:n])
		if errors.Is(err, errOther) {
			continue
		}
		return r, err
	}
}

func (s Server) stream(ctx context.Context, q question) (reply, error) {
	conn, done, err := s.dial(ctx, "tcp")
	if err != nil {
		return reply{}, err
	}
	defer done()
	query := q.pack()
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(query))) //nolint:gosec // a query is under 300 bytes
	if _, err := conn.Write(append(framed, query...)); err != nil {
		return reply{}, fmt.Errorf("ask name server: %w", err)
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return reply{}, fmt.Errorf("wait for name server: %w", err)
	}
	msg := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, msg); err != nil {
		return reply{}, fmt.Errorf("read from name server: %w", err)
	}
	r, err := q.unpack(msg)
	if err == nil && r.truncated {
		return reply{}, errMessage
	}
	return r, err
}
