package seccomp

// Socket families, types, protocols and flags (linux/socket.h, linux/net.h,
// linux/in.h). The type argument carries SOCK_NONBLOCK and SOCK_CLOEXEC above
// typeMask.
const (
	afUnix        = 1
	afInet        = 2
	afInet6       = 10
	afNetlink     = 16
	typeMask      = 0xf
	typeStream    = 1
	typeSeqpacket = 5
	protocolTCP   = 6
	fastOpen      = 0x20000000 // MSG_FASTOPEN
)

func (f *filter) sockets() {
	f.on("socketpair", func(b *assembler) {
		b.low(0)
		b.when(afUnix, unixTypes)
		b.errno(ePerm)
	})
	f.on("socket", func(b *assembler) {
		b.low(0)
		if f.o.Supervised {
			b.when(afUnix, unixTypes)
		}
		f.families(b)
		b.errno(ePerm)
	})
	if f.o.Supervised {
		f.notifyAll([]string{"connect"})
	}
	if f.o.Sockets == SocketsNone || f.o.Sockets == SocketsTCP {
		f.withoutNamespace()
	}
}

// unixTypes allows connected unix sockets only. A datagram socket sends to a
// path with sendto and sendmsg, which would all have to be supervised; one
// half of a datagram pair can be connected elsewhere. SOCK_RAW must not pass
// either: for this family the kernel turns it into SOCK_DGRAM (unix_create in
// net/unix/af_unix.c).
func unixTypes(b *assembler) {
	b.low(1)
	b.and(typeMask)
	b.when(typeStream, (*assembler).allow)
	b.when(typeSeqpacket, (*assembler).allow)
	b.errno(ePerm)
}

// families allows IP sockets as the options say. Everything not named here is
// refused: vsock and Bluetooth belong to no network namespace, packet and raw
// sockets need no policy of ours, and new families start closed.
func (f *filter) families(b *assembler) {
	switch f.o.Sockets {
	case SocketsNone:
	case SocketsPrivate, SocketsOpen:
		b.whenAny([]uint32{afInet, afInet6, afNetlink}, (*assembler).allow)
	case SocketsTCP:
		b.whenAny([]uint32{afInet, afInet6}, func(c *assembler) {
			c.low(1)
			c.and(typeMask)
			c.when(typeStream, func(d *assembler) {
				d.low(2)
				d.when(0, (*assembler).allow)
				d.when(protocolTCP, (*assembler).allow)
				// Programs that prefer MPTCP take this as "not here" and
				// use TCP; Go's listener is one.
				d.errno(eProtoNoSupport)
			})
			c.errno(ePerm)
		})
	}
}

// withoutNamespace closes what a private network namespace would: data in a
// SYN goes out without connect, and listening on the host's addresses invites
// the other side to connect instead.
func (f *filter) withoutNamespace() {
	sends := func(flags uint32) func(*assembler) {
		return func(b *assembler) {
			b.low(flags)
			b.whenSet(fastOpen, func(c *assembler) { c.errno(eOpNotSupp) })
			b.allow()
		}
	}
	if f.o.Sockets == SocketsTCP {
		f.on("setsockopt", options)
	}
	f.on("sendto", sends(3))
	f.on("sendmsg", sends(2))
	f.on("sendmmsg", sends(3))
	if f.o.Supervised {
		f.notifyAll([]string{"listen"})
		return
	}
	f.deny(ePerm, "listen")
}

// Levels and options of setsockopt (linux/socket.h, linux/in.h, linux/in6.h,
// linux/tcp.h).
const (
	levelIP       = 0
	levelSocket   = 1
	levelIPv6     = 41
	bindToDevice  = 25
	bindToIfIndex = 62
	tcpULP        = 31
)

// options allows the socket options that cannot change where packets go. A
// source route (IP_OPTIONS, IPV6_RTHDR) sends them to its first hop, whatever
// address connect was given, and a bound device to its link; neither needs a
// capability. What is not known to be harmless is refused: these levels grow.
func options(b *assembler) {
	only := func(list ...uint32) func(*assembler) {
		return func(c *assembler) {
			c.low(2)
			c.whenAny(list, (*assembler).allow)
			c.errno(ePerm)
		}
	}
	allBut := func(list ...uint32) func(*assembler) {
		return func(c *assembler) {
			c.low(2)
			c.whenAny(list, func(d *assembler) { d.errno(ePerm) })
			c.allow()
		}
	}
	b.low(1)
	b.when(levelSocket, allBut(bindToDevice, bindToIfIndex))
	b.when(protocolTCP, allBut(tcpULP)) // makes another kind of socket of it
	// TOS, TTL, MTU_DISCOVER, RECVERR, RECVTTL, RECVTOS, BIND_ADDRESS_NO_PORT, LOCAL_PORT_RANGE
	b.when(levelIP, only(1, 2, 10, 11, 12, 13, 24, 51))
	// UNICAST_HOPS, MTU_DISCOVER, RECVERR, V6ONLY, RECVHOPLIMIT, RECVTCLASS, TCLASS
	b.when(levelIPv6, only(16, 23, 25, 26, 51, 66, 67))
	b.errno(ePerm)
}
