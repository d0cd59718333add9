package egress

import (
	"strconv"
	"strings"
)

// The two ports a bare host stands for.
const (
	portHTTPS = 443
	portHTTP  = 80
)

// Endpoint is one list entry without a wildcard: a host and a port. Port 0 is
// the bare host, which stands for 443 and 80.
type Endpoint struct {
	Host Host
	Port uint16
}

// ParseEndpoint reads "host", "host:port", an IPv4 address or "[IPv6]:port".
// White space around it is trimmed. Wildcards are refused; see [ParsePattern].
// Errors are of type [*EntryError].
func ParseEndpoint(s string) (Endpoint, error) {
	trimmed := strings.TrimSpace(s)
	if strings.Contains(trimmed, "*") {
		return Endpoint{}, &EntryError{Entry: s, Reason: ReasonWildcard}
	}
	e, reason := parseEndpoint(trimmed)
	if reason != "" {
		return Endpoint{}, &EntryError{Entry: s, Reason: reason}
	}
	return e, nil
}

func parseEndpoint(s string) (Endpoint, Reason) {
	host, port, explicit := SplitPort(s)
	h, reason := parseHost(host)
	if reason != "" {
		return Endpoint{}, reason
	}
	if !explicit {
		return Endpoint{Host: h}, ""
	}
	n, err := ParsePort(port)
	if err != nil {
		return Endpoint{}, ReasonPort
	}
	return Endpoint{Host: h, Port: n}, ""
}

// SplitPort cuts s at its last ':' unless that lies inside brackets, and
// reports whether there was a port. Neither part is checked.
func SplitPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || i < strings.LastIndexByte(s, ']') {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// ParsePort reads a port: one to five ASCII digits, no sign, no leading zero,
// 1 to 65535. Errors are of type [*EntryError].
func ParsePort(s string) (uint16, error) {
	if s == "" || len(s) > 5 || s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, &EntryError{Entry: s, Reason: ReasonPort}
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, &EntryError{Entry: s, Reason: ReasonPort}
	}
	return uint16(n), nil
}

// Ports returns the ports e opens, in rising order.
func (e Endpoint) Ports() []uint16 {
	if e.Port != 0 {
		return []uint16{e.Port}
	}
	return []uint16{portHTTP, portHTTPS}
}

// Covers reports whether e opens port on host.
func (e Endpoint) Covers(host Host, port uint16) bool {
	if !host.IsValid() || e.Host != host || port == 0 {
		return false
	}
	return e.Port == port || e.Port == 0 && (port == portHTTPS || port == portHTTP)
}

// Loopback reports whether e can only mean this machine; see [Host.Loopback].
func (e Endpoint) Loopback() bool { return e.Host.Loopback() }

// String returns the entry in its canonical spelling, which [ParseEndpoint]
// reads back.
func (e Endpoint) String() string {
	if e.Port == 0 {
		return e.Host.String()
	}
	return e.Host.String() + ":" + strconv.Itoa(int(e.Port))
}
