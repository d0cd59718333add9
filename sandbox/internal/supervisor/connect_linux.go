package supervisor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes of socket addresses (linux/in.h, linux/in6.h, sys/un.h).
const (
	sizeFamily   = 2
	sizeInet4    = 16
	sizeInet6    = 28
	sizeUnixMax  = 110
	sizeAddrMax  = 128 // sockaddr_storage
	offPort      = 2
	offInet4Addr = 4
	offInet6Addr = 8
)

// connect decides and performs one connect(fd, addr, length).
func (s *Supervisor) connect(t target) (int64, error) {
	n := int(int32(t.args[2]))
	if n < sizeFamily || n > sizeAddrMax {
		return 0, unix.EINVAL
	}
	addr, err := t.memory(t.args[1], n)
	if err != nil {
		return 0, err
	}
	switch family := binary.NativeEndian.Uint16(addr); family {
	case unix.AF_UNIX:
		return 0, s.connectUnix(t, addr[sizeFamily:])
	case unix.AF_INET, unix.AF_INET6:
		return 0, s.connectIP(t, addr, family)
	case unix.AF_UNSPEC: // ends an association; it reaches nobody
		return 0, onSocket(t, addr)
	case unix.AF_NETLINK:
		if s.IP == IPAny {
			return 0, onSocket(t, addr)
		}
	}
	return 0, unix.EACCES
}

// connectIP lets through what the mode allows. In IPPinned the address the
// command sees and the one it gets may differ: see [Supervisor.Relay].
func (s *Supervisor) connectIP(t target, addr []byte, family uint16) error {
	switch s.IP {
	case IPAny:
		return onSocket(t, addr)
	case IPPinned:
		if !loopback(addr, family) || len(addr) < offInet4Addr || binary.BigEndian.Uint16(addr[offPort:]) != s.Port {
			return unix.EACCES
		}
		if s.Relay != 0 {
			return s.connectRelay(t, family)
		}
		return onSocket(t, addr)
	case IPNone:
	}
	return unix.EACCES
}

// loopback reports whether addr is 127.0.0.1, ::1 or the former mapped.
func loopback(addr []byte, family uint16) bool {
	localhost4 := []byte{127, 0, 0, 1}
	mapped := append([]byte{10: 0xff, 11: 0xff}, localhost4...)
	localhost6 := []byte{15: 1}
	switch {
	case family == unix.AF_INET && len(addr) >= sizeInet4:
		return bytes.Equal(addr[offInet4Addr:offInet4Addr+4], localhost4)
	case family == unix.AF_INET6 && len(addr) >= sizeInet6-4:
		host := addr[offInet6Addr : offInet6Addr+16]
		return bytes.Equal(host, localhost6) || bytes.Equal(host, mapped)
	}
	return false
}

// connectRelay connects to the relay instead of the pinned port. The socket is
// bound first, so that the relay knows the connection before it arrives.
func (s *Supervisor) connectRelay(t target, family uint16) error {
	sock, err := t.descriptor(int32(t.args[0]))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(sock) }()
	port, err := localPort(sock)
	if err == nil && port == 0 {
		if err = rawBind(sock, relayAddr(family, 0)); err == nil {
			port, err = localPort(sock)
		}
	}
	if err != nil {
		return err
	}
	s.expect(port, true)
	err = rawConnect(sock, relayAddr(family, s.Relay))
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		s.expect(port, false)
	}
	return err
}

// localPort is the port a socket is bound to, 0 if it is not.
func localPort(sock int) (uint16, error) {
	name, err := unix.Getsockname(sock)
	if err != nil {
		return 0, err
	}
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		return uint16(name.Port), nil
	case *unix.SockaddrInet6:
		return uint16(name.Port), nil
	}
	return 0, unix.EAFNOSUPPORT
}

// relayAddr is 127.0.0.1:port as an address of the family, IPv4-mapped for
// IPv6 sockets, since the relay listens on IPv4 only.
func relayAddr(family, port uint16) []byte {
	if family == unix.AF_INET {
		addr := make([]byte, sizeInet4)
		binary.NativeEndian.PutUint16(addr, family)
		binary.BigEndian.PutUint16(addr[offPort:], port)
		copy(addr[offInet4Addr:], []byte{127, 0, 0, 1})
		return addr
	}
	addr := make([]byte, sizeInet6)
	binary.NativeEndian.PutUint16(addr, family)
	binary.BigEndian.PutUint16(addr[offPort:], port)
	copy(addr[offInet6Addr:], []byte{10: 0xff, 11: 0xff, 12: 127, 15: 1})
	return addr
}

// connectUnix allows sockets by where they lie: those in directories that the
// command can write were put there for it or by it. All others belong to
// somebody else, an ssh agent or a container daemon, to whom a connection is
// as good as an escape.
func (s *Supervisor) connectUnix(t target, path []byte) error {
	if len(path) == 0 || len(path) > sizeUnixMax-sizeFamily {
		return unix.EINVAL
	}
	if path[0] == 0 {
		if s.Abstract {
			return onSocket(t, append([]byte{unix.AF_UNIX, 0}, path...))
		}
		return unix.EPERM
	}
	if i := bytes.IndexByte(path, 0); i >= 0 {
		path = path[:i]
	}
	fd, err := t.open(unix.AT_FDCWD, string(path), true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := s.within(fd, s.Sockets); err != nil {
		return err
	}
	sock, err := t.descriptor(int32(t.args[0]))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(sock) }()
	// Through the descriptor that was checked, not through the name again.
	return unix.Connect(sock, &unix.SockaddrUnix{Name: self(fd)})
}

// onSocket performs the connect with an address that was decided on.
func onSocket(t target, addr []byte) error {
	sock, err := t.descriptor(int32(t.args[0]))
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(sock) }()
	return rawConnect(sock, addr)
}

func rawConnect(sock int, addr []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(sock), uintptr(unsafe.Pointer(&addr[0])), uintptr(len(addr)))
	return result(errno)
}

func rawBind(sock int, addr []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_BIND, uintptr(sock), uintptr(unsafe.Pointer(&addr[0])), uintptr(len(addr)))
	return result(errno)
}

// listen performs listen(fd, backlog) for unix sockets. A TCP socket that
// listens on the host's network is a way out in the other direction.
func (s *Supervisor) listen(t target) (int64, error) {
	sock, err := t.descriptor(int32(t.args[0]))
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(sock) }()
	domain, err := unix.GetsockoptInt(sock, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return 0, err
	}
	if domain != unix.AF_UNIX {
		return 0, unix.EACCES
	}
	return 0, unix.Listen(sock, int(int32(t.args[1])))
}
