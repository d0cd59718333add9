package egress

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/steerable-go/sidecar/authz"
)

// Longest of what is read: a URL by custom (RFC 9110 recommends 8000, servers
// stop earlier, and what a model asks for is far shorter), a name and a label
// by RFC 1035.
const (
	maxURL   = 2048
	maxName  = 253
	maxLabel = 63
)

// CheckURL gives the verdict on a URL before it is resolved. Faults of form come
// first, so that no verdict is given on a URL that two parsers read differently;
// then the name or the literal address is looked at.
func CheckURL(raw string) authz.Verdict {
	if raw == "" || len(raw) > maxURL || strings.ContainsFunc(raw, unprintable) || strings.Contains(raw, `\`) {
		return authz.Refuse(authz.ReasonMalformedURL)
	}
	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok || !isScheme(scheme) {
		if _, err := url.Parse(raw); err != nil {
			return authz.Refuse(authz.ReasonMalformedURL)
		}
		return authz.Refuse(authz.ReasonSchemeNotAllowed) // a relative reference has none
	}
	if s := strings.ToLower(scheme); s != "http" && s != "https" {
		return authz.Refuse(authz.ReasonSchemeNotAllowed)
	}
	authority, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return authz.Refuse(authz.ReasonMissingHost)
	}
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	return checkAuthority(raw, authority)
}

// unprintable reports blanks and control characters, which parsers drop, trim
// or keep as they please.
func unprintable(r rune) bool { return r <= ' ' || r >= 0x7f && r <= 0xa0 }

// isScheme implements the grammar of RFC 3986 section 3.1.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if c >= 'a' && c <= 'z' {
			continue
		}
		if i == 0 || !isDigit(s[i]) && strings.IndexByte("+-.", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// checkAuthority looks at what stands between "//" and the path.
func checkAuthority(raw, authority string) authz.Verdict {
	if strings.Contains(authority, "@") {
		return authz.Refuse(authz.ReasonUserinfoPresent)
	}
	host, port, hasPort, reason := splitPort(authority)
	switch {
	case reason != "":
		return authz.Refuse(reason)
	case host == "":
		return authz.Refuse(authz.ReasonMissingHost)
	case hasPort && !validPort(port):
		return authz.Refuse(authz.ReasonInvalidPort)
	}
	v := checkHost(host)
	if !v.Allowed() {
		return v
	}
	// Everything above is stricter than the standard parser, which still has
	// the last word on what was not looked at, such as escapes in the path.
	if _, err := url.Parse(raw); err != nil {
		return authz.Refuse(authz.ReasonMalformedURL)
	}
	return v
}

// splitPort separates host and port. It does not remove brackets.
func splitPort(authority string) (host, port string, hasPort bool, reason authz.Reason) {
	after := authority
	if strings.HasPrefix(authority, "[") {
		i := strings.IndexByte(authority, ']')
		if i < 0 {
			return "", "", false, authz.ReasonMalformedURL
		}
		host, after = authority[:i+1], authority[i+1:]
		if after != "" && after[0] != ':' {
			return "", "", false, authz.ReasonMalformedURL
		}
	}
	before, port, hasPort := strings.Cut(after, ":")
	if strings.Contains(port, ":") {
		return "", "", false, authz.ReasonMalformedURL
	}
	return host + before, port, hasPort, ""
}

// validPort accepts 1 to 65535 in the usual spelling.
func validPort(s string) bool {
	n := 0
	for i := range len(s) {
		if !isDigit(s[i]) || i > 4 {
			return false
		}
		n = 10*n + int(s[i]-'0')
	}
	return s != "" && s[0] != '0' && n <= 65535
}

// checkHost gives the verdict on a name or a literal address.
func checkHost(host string) authz.Verdict {
	if strings.HasPrefix(host, "[") {
		return checkBracketed(strings.Trim(host, "[]"))
	}
	if reason := spelling(host); reason != "" {
		return authz.Refuse(reason)
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > maxLabel || len(name) > maxName {
			return authz.Refuse(authz.ReasonMalformedURL)
		}
	}
	if isNumber(labels[len(labels)-1]) {
		// ParseAddr takes the one spelling that all parsers agree on.
		addr, err := netip.ParseAddr(name)
		if err != nil {
			return authz.Refuse(authz.ReasonAmbiguousHost)
		}
		return CheckAddr(addr, Options{})
	}
	return checkName(name)
}

// checkBracketed looks at what stands in square brackets.
func checkBracketed(s string) authz.Verdict {
	if strings.Contains(s, "%") {
		return authz.Refuse(authz.ReasonZoneID)
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || !addr.Is6() {
		return authz.Refuse(authz.ReasonMalformedURL)
	}
	return CheckAddr(addr, Options{})
}

// spelling refuses hosts that are not plain ASCII names. Other characters are
// not mapped to ASCII here, because mappings differ; callers send punycode.
func spelling(host string) authz.Reason {
	reason := authz.Reason("")
	for i := range len(host) {
		switch c := host[i]; {
		case c >= 0x80:
			return authz.ReasonNonASCIIHost
		case c == '%' && i+1 < len(host) && strings.IndexByte("89abcdefABCDEF", host[i+1]) >= 0:
			return authz.ReasonNonASCIIHost // the escape of such a character
		case !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte("-_.", c) < 0:
			reason = authz.ReasonMalformedURL
		}
	}
	return reason
}

// isNumber reports whether a last label makes its host an address to some
// parsers (WHATWG URL, "ends in a number").
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// checkName refuses names that lead inside, whatever they resolve to.
func checkName(name string) authz.Verdict {
	switch name {
	case "localhost", "metadata", "metadata.google.internal",
		"metadata.goog": // the same service under its newer name
		return authz.Refuse(authz.ReasonBlockedHostname)
	}
	for _, suffix := range blockedSuffixes() {
		if strings.HasSuffix(name, suffix) {
			return authz.Refuse(authz.ReasonBlockedSuffix)
		}
	}
	return authz.Pass()
}

// blockedSuffixes returns the ends of names that are internal by convention or
// by RFC 6761 and RFC 6762.
func blockedSuffixes() []string {
	return []string{".internal", ".local", ".localhost", ".cluster.local"}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
