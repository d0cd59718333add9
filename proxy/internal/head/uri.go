package head

import (
	"bytes"
	"strings"

	"github.com/steerable-go/sidecar/egress"
)

// Authority reads the target of a CONNECT: host, colon, port. IPv4-mapped
// addresses come back as IPv4, so that both spellings meet the same decision.
func Authority(target []byte) (egress.Host, uint16, error) {
	host, port, ok := egress.SplitPort(string(target))
	if !ok {
		return egress.Host{}, 0, ErrAuthority
	}
	n, err := egress.ParsePort(port)
	if err != nil {
		return egress.Host{}, 0, ErrAuthority
	}
	h, err := egress.ParseHost(host)
	if err != nil {
		return egress.Host{}, 0, ErrAuthority
	}
	return h.Unmap(), n, nil
}

// URI is an absolute http URI of a request to the broker.
type URI struct {
	Scheme string // lower case
	Host   egress.Host
	Port   uint16 // 0 when there is none
	// Path is the path and query as sent, starting with '/'; percent signs
	// are followed by two hexadecimal digits in the path.
	Path string
}

// ParseURI reads an absolute URI. Anything else, origin-form and asterisk-form
// included, gives [ErrAuthority]; userinfo gives [ErrUserinfo]; a fragment or
// an invalid percent sign [ErrTarget]. No caller may guess what those meant.
func ParseURI(target []byte) (URI, error) {
	scheme, rest, ok := strings.Cut(string(target), "://")
	if !ok || !isScheme(scheme) {
		return URI{}, ErrAuthority
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	if strings.Contains(authority, "@") {
		return URI{}, ErrUserinfo
	}
	u := URI{Scheme: strings.ToLower(scheme), Path: path}
	host, port, hasPort := egress.SplitPort(authority)
	if hasPort {
		n, err := egress.ParsePort(port)
		if err != nil {
			return URI{}, ErrAuthority
		}
		u.Port = n
	}
	h, err := egress.ParseHost(host)
	if err != nil {
		return URI{}, ErrAuthority
	}
	u.Host = h.Unmap()
	if strings.Contains(path, "#") || !validEscapes(path) {
		return URI{}, ErrTarget
	}
	if !strings.HasPrefix(path, "/") {
		u.Path = "/" + path
	}
	return u, nil
}

func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || !isDigit(c) && !bytes.ContainsRune([]byte("+-."), rune(c))) {
			return false
		}
	}
	return s != ""
}

// validEscapes checks the percent signs of the path; in a query they are the
// upstream's business.
func validEscapes(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			continue
		}
		if i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2]) {
			return false
		}
		i += 2
	}
	return true
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
