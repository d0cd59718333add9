package hello

import (
	"encoding/binary"
	"errors"
)

// MaxBytes is how much of a connection is looked at; a hello that has not
// ended by then gives [ErrMalformed].
const MaxBytes = 64 << 10

// ErrMalformed reports bytes that begin like TLS and are no ClientHello.
var ErrMalformed = errors.New("malformed ClientHello")

// Info is what a ClientHello says.
type Info struct {
	// ServerName is the host_name of the server_name extension as sent, ""
	// without one. With ECH it is the outer name, which only names the
	// client-facing server.
	ServerName string
	// ECH tells that the hello carries an encrypted_client_hello extension.
	ECH bool
}

// Reader collects a ClientHello. The zero value is ready; not safe for
// concurrent use.
type Reader struct {
	raw []byte // all bytes so far
	msg []byte // handshake bytes out of complete records
	at  int    // start of the next record in raw
}

// State is how far a [Reader] has come.
type State uint8

// The states of a reader.
const (
	More   State = iota // the hello has not ended yet
	NotTLS              // the first byte is no content type of TLS
	Done                // Info is complete
)

const (
	recordFirst     = 20 // change_cipher_spec; RFC 8446, appendix B.1
	recordHandshake = 22
	recordLast      = 24 // heartbeat, RFC 6520
	msgClientHello  = 1
	extServerName   = 0
	extECH          = 0xfe0d // draft-ietf-tls-esni
	maxRecord       = 1<<14 + 256
)

// Add takes the next bytes of the connection. After any state but [More], or
// an error, the reader is finished and must not be used again.
func (r *Reader) Add(p []byte) (State, Info, error) {
	r.raw = append(r.raw, p...)
	if len(r.raw) == 0 {
		return More, Info{}, nil
	}
	// A server may skip an alert, say, that comes before the hello. Passing it
	// as another protocol would hide the hello behind it.
	if r.raw[0] < recordFirst || r.raw[0] > recordLast {
		return NotTLS, Info{}, nil
	}
	for {
		whole, err := r.record()
		if err != nil {
			return More, Info{}, err
		}
		if !whole {
			break
		}
		if body, ok := r.message(); ok {
			info, err := parse(body)
			if err != nil {
				return More, Info{}, err
			}
			return Done, info, nil
		}
	}
	if len(r.raw) >= MaxBytes || len(r.msg) > 0 && r.msg[0] != msgClientHello {
		return More, Info{}, ErrMalformed
	}
	return More, Info{}, nil
}

// record moves one complete record into msg.
func (r *Reader) record() (bool, error) {
	rest := r.raw[r.at:]
	if len(rest) > 0 && rest[0] != recordHandshake {
		return false, ErrMalformed
	}
	if len(rest) < 5 {
		return false, nil
	}
	n := int(binary.BigEndian.Uint16(rest[3:5]))
	if rest[1] != 3 || n == 0 || n > maxRecord {
		return false, ErrMalformed
	}
	if len(rest) < 5+n {
		return false, nil
	}
	r.msg = append(r.msg, rest[5:5+n]...)
	r.at += 5 + n
	return true, nil
}

// message returns the body of the hello once msg holds all of it.
func (r *Reader) message() ([]byte, bool) {
	if len(r.msg) < 4 || r.msg[0] != msgClientHello {
		return nil, false
	}
	n := int(r.msg[1])<<16 | int(r.msg[2])<<8 | int(r.msg[3])
	if len(r.msg) < 4+n {
		return nil, false
	}
	return r.msg[4 : 4+n], true
}

// cursor reads length-prefixed vectors; bad stays set after the first short one.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if c.bad || len(c.b) < n {
		c.bad = true
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) skip8() {
	if n := c.take(1); n != nil {
		c.take(int(n[0]))
	}
}

func (c *cursor) vector16() []byte {
	if n := c.take(2); n != nil {
		return c.take(int(binary.BigEndian.Uint16(n)))
	}
	return nil
}

func parse(body []byte) (Info, error) {
	c := &cursor{b: body}
	c.take(2 + 32) // version, random
	c.skip8()      // session id
	c.vector16()   // cipher suites
	c.skip8()      // compression methods
	if c.bad {
		return Info{}, ErrMalformed
	}
	if len(c.b) == 0 {
		return Info{}, nil // before TLS 1.2 a hello could end here
	}
	exts := &cursor{b: c.vector16()}
	if c.bad || len(c.b) != 0 {
		return Info{}, ErrMalformed
	}
	return parseExtensions(exts)
}

func parseExtensions(exts *cursor) (Info, error) {
	var info Info
	named := false
	for len(exts.b) > 0 {
		kind := exts.take(2)
		data := exts.vector16()
		if exts.bad {
			return Info{}, ErrMalformed
		}
		switch binary.BigEndian.Uint16(kind) {
		case extServerName:
			name, ok := parseServerName(data)
			if !ok || named {
				return Info{}, ErrMalformed
			}
			named, info.ServerName = true, name
		case extECH:
			info.ECH = true
		}
	}
	return info, nil
}

// parseServerName wants exactly one host_name, as every client sends.
func parseServerName(data []byte) (string, bool) {
	ext := &cursor{b: data}
	list := &cursor{b: ext.vector16()}
	kind := list.take(1)
	name := list.vector16()
	if ext.bad || list.bad || len(ext.b) != 0 || len(list.b) != 0 || kind[0] != 0 || len(name) == 0 {
		return "", false
	}
	return string(name), true
}
