package egress

import "net/netip"

// Class is the kind of an IP address. The zero value is no address at all;
// verdict tables must refuse it, and any value they do not know.
type Class uint8

// The classes, from the IANA special-purpose registries for IPv4 and IPv6
// (RFC 6890 and its updates). Each address has exactly one.
const (
	Invalid        Class = iota // the zero netip.Addr
	Public                      // none of the below
	Unspecified                 // 0.0.0.0, ::
	ThisNetwork                 // the rest of 0.0.0.0/8; Linux dials 0.0.0.0 as loopback
	Loopback                    // 127.0.0.0/8, ::1
	LinkLocal                   // 169.254.0.0/16, fe80::/10
	Private                     // 10/8, 172.16/12, 192.168/16
	UniqueLocal                 // fc00::/7
	SiteLocal                   // fec0::/10, deprecated by RFC 3879 but still routed by some
	SharedAddress               // 100.64.0.0/10, carrier-grade NAT
	ProtocolAssign              // 192.0.0.0/24, 2001::/23 except Teredo
	Documentation               // 192.0.2/24, 198.51.100/24, 203.0.113/24, 2001:db8::/32, 3fff::/20
	Benchmarking                // 198.18.0.0/15, 2001:2::/48
	RelayAnycast                // 192.88.99.0/24, deprecated 6to4 relays
	Multicast                   // 224.0.0.0/4, ff00::/8
	Broadcast                   // 255.255.255.255
	Reserved                    // the rest of 240.0.0.0/4
	Mapped                      // ::ffff:0:0/96, IPv4-mapped
	Compatible                  // ::/96, IPv4-compatible
	Translated                  // ::ffff:0:0:0/96, IPv4-translated (RFC 2765)
	NAT64                       // 64:ff9b::/96
	LocalNAT64                  // 64:ff9b:1::/48, where the IPv4 part may stand in several places
	SixToFour                   // 2002::/16
	Teredo                      // 2001::/32
	Discard                     // 100::/64
	SegmentRouting              // 5f00::/16
	NotGlobal                   // other IPv6 outside 2000::/3, which nobody has been given
)

// String returns a stable word for logs.
func (c Class) String() string {
	names := []string{
		"invalid", "public", "unspecified", "this_network", "loopback", "link_local",
		"private", "unique_local", "site_local", "shared_address", "protocol_assignment",
		"documentation", "benchmarking", "relay_anycast", "multicast", "broadcast",
		"reserved", "mapped", "compatible", "translated", "nat64", "local_nat64",
		"6to4", "teredo", "discard", "segment_routing", "not_global",
	}
	if int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}

// block is one row of the registries.
type block struct {
	class Class
	addr  [16]byte // for IPv4 only the first four bytes count
	bits  int
}

// Classify names the class of addr; zones are ignored. It never unwraps: the
// class of ::ffff:127.0.0.1 is [Mapped], and [Embedded] gives what it carries.
func Classify(addr netip.Addr) Class {
	addr = addr.WithZone("") // no netip prefix contains a zoned address
	switch {
	case !addr.IsValid():
		return Invalid
	case addr.Is4():
		raw := addr.As4()
		return classify4(raw)
	default:
		raw := addr.As16()
		return classify6(raw)
	}
}

func classify4(a [4]byte) Class {
	// First match wins, so that narrower blocks stand before wider ones.
	for _, b := range []block{
		{Unspecified, [16]byte{}, 32},
		{ThisNetwork, [16]byte{}, 8},
		{Private, [16]byte{10}, 8},
		{SharedAddress, [16]byte{100, 64}, 10},
		{Loopback, [16]byte{127}, 8},
		{LinkLocal, [16]byte{169, 254}, 16},
		{Private, [16]byte{172, 16}, 12},
		{ProtocolAssign, [16]byte{192, 0, 0}, 24},
		{Documentation, [16]byte{192, 0, 2}, 24},
		{RelayAnycast, [16]byte{192, 88, 99}, 24},
		{Private, [16]byte{192, 168}, 16},
		{Benchmarking, [16]byte{198, 18}, 15},
		{Documentation, [16]byte{198, 51, 100}, 24},
		{Documentation, [16]byte{203, 0, 113}, 24},
		{Multicast, [16]byte{224}, 4},
		{Broadcast, [16]byte{255, 255, 255, 255}, 32},
		{Reserved, [16]byte{240}, 4},
	} {
		if hasPrefix(a[:], b) {
			return b.class
		}
	}
	return Public
}

func classify6(a [16]byte) Class {
	for _, b := range []block{
		{Unspecified, [16]byte{}, 128},
		{Loopback, [16]byte{15: 1}, 128},
		{Mapped, [16]byte{10: 0xff, 11: 0xff}, 96},
		{Compatible, [16]byte{}, 96},
		{Translated, [16]byte{8: 0xff, 9: 0xff}, 96},
		{NAT64, [16]byte{1: 0x64, 2: 0xff, 3: 0x9b}, 96},
		{LocalNAT64, [16]byte{1: 0x64, 2: 0xff, 3: 0x9b, 5: 1}, 48},
		{Discard, [16]byte{0: 1}, 64},
		{Teredo, [16]byte{0: 0x20, 1: 1}, 32},
		{Benchmarking, [16]byte{0: 0x20, 1: 1, 3: 2}, 48},
		{ProtocolAssign, [16]byte{0: 0x20, 1: 1}, 23},
		{Documentation, [16]byte{0: 0x20, 1: 1, 2: 0x0d, 3: 0xb8}, 32},
		{SixToFour, [16]byte{0: 0x20, 1: 2}, 16},
		{Documentation, [16]byte{0: 0x3f, 1: 0xff}, 20},
		{SegmentRouting, [16]byte{0: 0x5f}, 16},
		{UniqueLocal, [16]byte{0: 0xfc}, 7},
		{LinkLocal, [16]byte{0: 0xfe, 1: 0x80}, 10},
		{SiteLocal, [16]byte{0: 0xfe, 1: 0xc0}, 10},
		{Multicast, [16]byte{0: 0xff}, 8},
		{Public, [16]byte{0: 0x20}, 3},
	} {
		if hasPrefix(a[:], b) {
			return b.class
		}
	}
	return NotGlobal
}

// hasPrefix compares the first b.bits bits.
func hasPrefix(a []byte, b block) bool {
	whole, rest := b.bits/8, b.bits%8
	for i := range whole {
		if a[i] != b.addr[i] {
			return false
		}
	}
	return rest == 0 || (a[whole]^b.addr[whole])>>(8-rest) == 0
}

// Embedded returns the IPv4 addresses that addr carries: one for mapped,
// compatible, translated, NAT64 and 6to4 addresses, two for Teredo (the
// server, then the client, which RFC 4380 stores inverted), none for the rest.
// A [LocalNAT64] address gives none because its layout is the operator's.
func Embedded(addr netip.Addr) []netip.Addr {
	class := Classify(addr)
	if addr.Is4() || class == Invalid {
		return nil
	}
	a := addr.As16()
	last := netip.AddrFrom4([4]byte(a[12:16]))
	switch class { //nolint:exhaustive // the classes that carry nothing share the default
	case Mapped, Compatible, Translated, NAT64:
		return []netip.Addr{last}
	case SixToFour:
		return []netip.Addr{netip.AddrFrom4([4]byte(a[2:6]))}
	case Teredo:
		client := last.As4()
		for i := range client {
			client[i] ^= 0xff
		}
		return []netip.Addr{netip.AddrFrom4([4]byte(a[4:8])), netip.AddrFrom4(client)}
	default:
		return nil
	}
}

// Metadata reports whether addr is one of the addresses at which a cloud hands
// credentials to whatever asks from inside a machine: AWS, GCP, Azure,
// DigitalOcean and OpenStack (169.254.169.254), AWS container credentials and
// pod identity, Azure's wire server, Alibaba, Oracle, and the IPv6 forms of
// AWS and GCP. It is apart from [Classify] because these lie in blocks of
// several classes, public ones among them.
func Metadata(addr netip.Addr) bool {
	switch addr.WithZone("") {
	case netip.AddrFrom4([4]byte{169, 254, 169, 254}),
		netip.AddrFrom4([4]byte{169, 254, 170, 2}),
		netip.AddrFrom4([4]byte{169, 254, 170, 23}),
		netip.AddrFrom4([4]byte{168, 63, 129, 16}),
		netip.AddrFrom4([4]byte{100, 100, 100, 200}),
		netip.AddrFrom4([4]byte{192, 0, 0, 192}),
		netip.AddrFrom16([16]byte{0: 0xfd, 2: 0x0e, 3: 0xc2, 14: 0x02, 15: 0x54}), // fd00:ec2::254
		netip.AddrFrom16([16]byte{0: 0xfd, 2: 0x0e, 3: 0xc2, 15: 0x23}),           // fd00:ec2::23
		netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x20, 3: 0xce, 14: 0x02, 15: 0x54}): // fd20:ce::254
		return true
	default:
		return false
	}
}
