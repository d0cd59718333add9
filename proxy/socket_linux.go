package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// socket is a TCP connection that was opened here. net.Dialer spends a goroutine
// and two timers on each, to look after a wait that near addresses do not cause,
// and asks for two names that nobody reads: a fifth of what a short tunnel costs.
type socket struct {
	*os.File // waits and has deadlines like a net.Conn

	local, remote netip.AddrPort
}

// connect opens a connection to exactly this address. ctx ends a wait.
func connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	family, sa, err := sockaddr(to)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	// Near addresses have answered by the time of the second question.
	if err = unix.Connect(fd, sa); unfinished(err) {
		err = unix.Connect(fd, sa)
	}
	c := &socket{File: os.NewFile(uintptr(fd), "socket"), remote: to}
	if unfinished(err) {
		err = c.await(ctx, sa)
	}
	if err == nil || errors.Is(err, unix.EISCONN) {
		err = c.control(c.prepare)
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return c, nil
}

// unfinished reports whether connect(2) goes on in the background.
func unfinished(err error) bool {
	return errors.Is(err, unix.EINPROGRESS) || errors.Is(err, unix.EALREADY) || errors.Is(err, unix.EINTR)
}

// sockaddr refuses zones: no list can name them.
func sockaddr(to netip.AddrPort) (family int, sa unix.Sockaddr, err error) {
	addr := to.Addr()
	switch {
	case addr.Is4():
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: addr.As4()}, nil
	case addr.Is6() && addr.Zone() == "":
		return unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: addr.As16()}, nil
	default:
		return 0, nil, unix.EAFNOSUPPORT
	}
}

// await asks connect(2) until it knows.
func (c *socket) await(ctx context.Context, sa unix.Sockaddr) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetWriteDeadline(time.Unix(1, 0)) })
	var answer error
	err = raw.Write(func(fd uintptr) bool {
		answer = unix.Connect(int(fd), sa)
		return !unfinished(answer)
	})
	switch {
	case !stop():
		return ctx.Err()
	case err != nil:
		return err
	default:
		return answer
	}
}

// prepare makes a new connection ready. It refuses one between a socket and
// itself, which the kernel makes when it happens to give a socket the very port
// it asks for: nobody listens there.
func (c *socket) prepare(fd int) error {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		c.local = netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)) //nolint:gosec // the kernel's ports have 16 bits
	case *unix.SockaddrInet6:
		c.local = netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)) //nolint:gosec // as above
	}
	if c.local == c.remote {
		return unix.ECONNREFUSED
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// CloseWrite sends a FIN.
func (c *socket) CloseWrite() error {
	return c.control(func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
}

// SetLinger with 0 makes Close send a reset; nothing else is asked for here.
func (c *socket) SetLinger(sec int) error {
	if sec != 0 {
		return errors.ErrUnsupported
	}
	return c.control(func(fd int) error {
		return unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	})
}

// SetKeepAliveConfig turns keepalive probes on.
func (c *socket) SetKeepAliveConfig(k net.KeepAliveConfig) error {
	return c.control(func(fd int) error {
		return errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1),
			unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(k.Idle.Seconds())),
			unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(k.Interval.Seconds())),
			unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, k.Count),
		)
	})
}

// LocalAddr implements net.Conn.
func (c *socket) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.local) }

// RemoteAddr implements net.Conn.
func (c *socket) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

func (c *socket) control(do func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var answer error
	if err := raw.Control(func(fd uintptr) { answer = do(int(fd)) }); err != nil {
		return err
	}
	return answer
}
