package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
)

// The numbers of RFC 1928 and RFC 1929.
const (
	socksVersion   = 5
	socksNoAuth    = 0
	socksPassword  = 2
	socksNoMethod  = 0xff
	socksConnect   = 1
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
	socksSucceeded = 0

	passwordVersion = 1
)

// socks asks a SOCKS5 proxy for host:port.
func (c *chain) socks(conn net.Conn, host string, port uint16) error {
	if err := c.socksLogin(conn); err != nil {
		return err
	}
	req := []byte{socksVersion, socksConnect, 0}
	if addr, err := netip.ParseAddr(unbracket(host)); err == nil {
		kind := byte(socksIPv6)
		if addr.Is4() {
			kind = socksIPv4
		}
		req = append(append(req, kind), addr.AsSlice()...)
	} else {
		req = append(append(req, socksName, byte(len(host))), host...) //nolint:gosec // host names have at most 253 bytes
	}
	if _, err := conn.Write(binary.BigEndian.AppendUint16(req, port)); err != nil {
		return fmt.Errorf("ask upstream proxy: %w", err)
	}
	return readSOCKSReply(conn)
}

// socksLogin agrees on a method and logs in if there is a user.
func (c *chain) socksLogin(conn net.Conn) error {
	hello := []byte{socksVersion, 1, socksNoAuth}
	if c.user != nil {
		hello = []byte{socksVersion, 2, socksNoAuth, socksPassword}
	}
	if _, err := conn.Write(hello); err != nil {
		return fmt.Errorf("greet upstream proxy: %w", err)
	}
	var pick [2]byte
	if _, err := io.ReadFull(conn, pick[:]); err != nil {
		return fmt.Errorf("read upstream proxy's method: %w", err)
	}
	switch {
	case pick[0] != socksVersion:
		return errors.New("upstream proxy does not speak SOCKS5")
	case pick[1] == socksNoAuth:
		return nil
	case pick[1] != socksPassword || c.user == nil:
		return errors.New("upstream proxy offers no method of ours")
	}
	password, _ := c.user.Password()
	name := c.user.Username()
	if len(name) > 255 || len(password) > 255 {
		return errors.New("upstream proxy: user or password too long for SOCKS5")
	}
	msg := append([]byte{passwordVersion, byte(len(name))}, name...) //nolint:gosec // checked above
	msg = append(append(msg, byte(len(password))), password...)      //nolint:gosec // checked above
	if _, err := conn.Write(msg); err != nil {
		return fmt.Errorf("log in to upstream proxy: %w", err)
	}
	if _, err := io.ReadFull(conn, pick[:]); err != nil {
		return fmt.Errorf("log in to upstream proxy: %w", err)
	}
	if pick[1] != 0 {
		return errors.New("upstream proxy refused the login")
	}
	return nil
}

// readSOCKSReply reads exactly one reply, so that no byte of the target is
// swallowed.
func readSOCKSReply(conn net.Conn) error {
	var h [5]byte
	if _, err := io.ReadFull(conn, h[:]); err != nil {
		return fmt.Errorf("read upstream proxy's answer: %w", err)
	}
	if h[0] != socksVersion || h[1] != socksSucceeded {
		return fmt.Errorf("upstream proxy answered %d", h[1])
	}
	var rest int
	switch h[3] {
	case socksIPv4:
		rest = 4 + 2 - 1
	case socksIPv6:
		rest = 16 + 2 - 1
	case socksName:
		rest = int(h[4]) + 2
	default:
		return errors.New("upstream proxy sent an unknown address type")
	}
	if _, err := io.CopyN(io.Discard, conn, int64(rest)); err != nil {
		return fmt.Errorf("read upstream proxy's answer: %w", err)
	}
	return nil
}
