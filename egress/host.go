package egress

import (
	"net/netip"
	"strings"
)

// Limits of RFC 1035, section 2.3.4, on the textual form without the final dot.
const (
	maxName  = 253
	maxLabel = 63
)

// Host is a canonical host: a lower-case name without a final dot, or an IP
// address. Hosts compare with ==. The zero Host is no host; it matches nothing.
type Host struct {
	name string
	addr netip.Addr
}

// ParseHost reads a host name, a dotted IPv4 address or a bracketed IPv6
// address. Letters are lowered and one final dot is removed. It refuses, with
// an [*EntryError], empty and overlong labels, bytes outside letters, digits,
// '-' and '_', IPv6 without brackets, zone identifiers, and names whose last
// label is a number without being a canonical dotted quad (the rule of
// https://url.spec.whatwg.org/#ends-in-a-number-checker).
// IPv4-mapped IPv6 addresses stay as written; see [Host.Unmap].
func ParseHost(s string) (Host, error) {
	h, reason := parseHost(s)
	if reason != "" {
		return Host{}, &EntryError{Entry: s, Reason: reason}
	}
	return h, nil
}

// HostFromAddr returns the host that is addr itself. A zone is dropped, since
// no list can name one; an invalid address gives the zero Host.
func HostFromAddr(addr netip.Addr) Host {
	return Host{addr: addr.WithZone("")}
}

func parseHost(s string) (Host, Reason) {
	if s == "" {
		return Host{}, ReasonEmpty
	}
	if s[0] == '[' {
		return parseBracketed(s)
	}
	if reason := checkName(strings.TrimSuffix(s, ".")); reason != "" {
		return Host{}, reason
	}
	s = strings.TrimSuffix(strings.ToLower(s), ".")
	if !endsInNumber(s) {
		return Host{name: s}, ""
	}
	// netip refuses short forms, leading zeros and hexadecimal parts.
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return Host{}, ReasonAmbiguous
	}
	return Host{addr: addr}, ""
}

func parseBracketed(s string) (Host, Reason) {
	inner, ok := strings.CutSuffix(s[1:], "]")
	if !ok {
		return Host{}, ReasonLiteral
	}
	if strings.Contains(inner, "%") {
		return Host{}, ReasonZone
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || !addr.Is6() {
		return Host{}, ReasonLiteral
	}
	return Host{addr: addr}, ""
}

// checkName looks at characters and lengths only.
func checkName(s string) Reason {
	if len(s) > maxName {
		return ReasonLength
	}
	label := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.':
			if label == 0 {
				return ReasonLabel
			}
			label = 0
			continue
		case c == ':':
			return ReasonBrackets
		case c >= 0x80:
			return ReasonNonASCII
		case !nameByte(c):
			return ReasonCharacter
		}
		if label++; label > maxLabel {
			return ReasonLength
		}
	}
	if label == 0 {
		return ReasonLabel
	}
	return ""
}

// nameByte admits '_' beside the letters, digits and hyphen of RFC 1123:
// service names such as _dmarc are real, and the bound on the character set is
// what keeps text from a request out of replies and logs.
func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// endsInNumber reports whether some resolver would try to read s, which is
// lower case, as an IPv4 address.
func endsInNumber(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	digits := "0123456789"
	if rest, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = rest, "0123456789abcdef"
	}
	return strings.Trim(last, digits) == ""
}

// IsValid reports whether h is a host at all.
func (h Host) IsValid() bool { return h.name != "" || h.addr.IsValid() }

// Name returns the host name, or "" when h is an address.
func (h Host) Name() string { return h.name }

// Addr returns the address h spells, and whether it is one.
func (h Host) Addr() (netip.Addr, bool) { return h.addr, h.addr.IsValid() }

// Unmap returns h with an IPv4-mapped IPv6 address replaced by the IPv4
// address in it; every other host is returned unchanged. Whether the two are
// the same target is the caller's decision.
func (h Host) Unmap() Host {
	h.addr = h.addr.Unmap()
	return h
}

// Loopback reports whether h can only mean this machine: localhost, a name
// below .localhost (RFC 6761, section 6.3) or a loopback address, IPv4-mapped
// ones included.
func (h Host) Loopback() bool {
	if h.addr.IsValid() {
		return h.addr.Unmap().IsLoopback()
	}
	return h.name == "localhost" || strings.HasSuffix(h.name, ".localhost")
}

// String returns the canonical spelling, IPv6 addresses in brackets as an
// authority needs them.
func (h Host) String() string {
	switch {
	case h.addr.Is6():
		return "[" + h.addr.String() + "]"
	case h.addr.IsValid():
		return h.addr.String()
	default:
		return h.name
	}
}
