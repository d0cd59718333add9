package launcher

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// relay carries connections from the pinned port, as the command sees it, to
// the endpoint on the host. Where the command has a network namespace of its
// own, the listeners were made inside it and handed out; the launcher accepts
// on them from outside, so there is no process and no socket file inside that
// a command could interfere with.
type relay struct {
	listeners []int
	socket    string // unix socket to connect to, or
	port      uint16 // TCP port on the host's loopback address
	accept    func(peer unix.Sockaddr) bool
	before    func() error // must succeed before a connection is served, nil is none
}

// start begins to accept. It ends with the process.
func (r *relay) start() {
	for _, fd := range r.listeners {
		go r.run(fd)
	}
}

func (r *relay) run(fd int) {
	for {
		conn, peer, err := unix.Accept4(fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return
		case r.accept != nil && !r.accept(peer) || r.before != nil && r.before() != nil:
			_ = unix.Close(conn)
			continue
		}
		go r.carry(conn)
	}
}

// carry connects to the endpoint and copies both ways until both are done.
func (r *relay) carry(conn int) {
	inside := os.NewFile(uintptr(conn), "inside")
	defer func() { _ = inside.Close() }()
	out, err := r.dial()
	if err != nil {
		return // the command sees its connection closed
	}
	outside := os.NewFile(uintptr(out), "outside")
	defer func() { _ = outside.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pump(outside, inside, out)
	}()
	pump(inside, outside, conn)
	<-done
}

// pump copies from src to dst and then ends dst's sending side, so that a
// peer that waits for end of file gets it while the other direction goes on.
func pump(dst, src *os.File, dstFD int) {
	_, _ = io.Copy(dst, src)
	_ = unix.Shutdown(dstFD, unix.SHUT_WR)
}

// dial connects to the endpoint; the descriptor is non-blocking when it is
// returned.
func (r *relay) dial() (int, error) {
	if r.socket != "" {
		return dialAddr(unix.AF_UNIX, &unix.SockaddrUnix{Name: r.socket})
	}
	fd, err := dialAddr(unix.AF_INET, &unix.SockaddrInet4{Port: int(r.port), Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		fd, err = dialAddr(unix.AF_INET6, &unix.SockaddrInet6{Port: int(r.port), Addr: [16]byte{15: 1}})
	}
	return fd, err
}

func dialAddr(family int, addr unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Connect(fd, addr)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// listenLoopback returns a listener on 127.0.0.1 and its port; port 0 takes
// any.
func listenLoopback(port uint16) (fd int, bound uint16, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, 0, err
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, 0, err
	}
	name, err := unix.Getsockname(fd)
	if in, ok := name.(*unix.SockaddrInet4); ok && err == nil {
		return fd, uint16(in.Port), nil
	}
	_ = unix.Close(fd)
	return -1, 0, errors.Join(errors.New("read the relay's port"), err)
}
