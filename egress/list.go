package egress

import "strings"

// Scope says which names below its host a [Pattern] covers.
type Scope uint8

// The scopes of a pattern.
const (
	Exact      Scope = iota // "x": the host itself
	Below                   // "*.x": every name below x, at any depth, not x
	AtAndBelow              // "**.x": x and every name below it
)

// Pattern is a list entry that may cover a whole domain.
type Pattern struct {
	Endpoint

	Scope Scope
}

// ParsePattern reads what [ParseEndpoint] reads and also "*.name" and
// "**.name" with an optional port. A wildcard stands once, at the front, and
// not before an IP address. Errors are of type [*EntryError].
func ParsePattern(s string) (Pattern, error) {
	trimmed := strings.TrimSpace(s)
	p := Pattern{}
	if rest, ok := strings.CutPrefix(trimmed, "**."); ok {
		p.Scope, trimmed = AtAndBelow, rest
	} else if rest, ok := strings.CutPrefix(trimmed, "*."); ok {
		p.Scope, trimmed = Below, rest
	}
	if strings.Contains(trimmed, "*") {
		return Pattern{}, &EntryError{Entry: s, Reason: ReasonWildcard}
	}
	e, reason := parseEndpoint(trimmed)
	if reason == "" && p.Scope != Exact && e.Host.Name() == "" {
		reason = ReasonWildcard
	}
	if reason != "" {
		return Pattern{}, &EntryError{Entry: s, Reason: reason}
	}
	p.Endpoint = e
	return p, nil
}

// TooBroad reports whether p is a wildcard over a single label ("*.com"):
// whoever opens hosts should refuse it, whoever closes them need not.
func (p Pattern) TooBroad() bool {
	return p.Scope != Exact && !strings.Contains(p.Host.Name(), ".")
}

// Covers reports whether p opens port on host; a bare pattern opens 443 and 80.
func (p Pattern) Covers(host Host, port uint16) bool {
	return p.coversHost(host) && Endpoint{Host: host, Port: p.Port}.Covers(host, port)
}

// Denies reports whether p, read as an entry of a deny list, closes port on
// host. A bare pattern closes every port: nobody who writes "deny this host"
// means two ports of it.
func (p Pattern) Denies(host Host, port uint16) bool {
	return p.coversHost(host) && (p.Port == 0 || p.Port == port)
}

func (p Pattern) coversHost(host Host) bool {
	if !host.IsValid() {
		return false
	}
	if p.Scope != Below && p.Host == host {
		return true
	}
	below, ok := strings.CutSuffix(host.Name(), p.Host.Name())
	return p.Scope != Exact && ok && strings.HasSuffix(below, ".")
}

// String returns the pattern in its canonical spelling, which [ParsePattern]
// reads back.
func (p Pattern) String() string {
	switch p.Scope {
	case Below:
		return "*." + p.Endpoint.String()
	case AtAndBelow:
		return "**." + p.Endpoint.String()
	case Exact:
		return p.Endpoint.String()
	default:
		return ""
	}
}

// Match is what a list says about a target.
type Match uint8

// The answers of a list. The zero value opens nothing.
const (
	NotListed Match = iota // no entry covers it
	Denied                 // a deny entry covers it; no allow entry can help
	Allowed                // an allow entry covers it and no deny entry does
)

// String returns a stable word for logs.
func (m Match) String() string {
	switch m {
	case Allowed:
		return "allowed"
	case Denied:
		return "denied"
	case NotListed:
		return "not_listed"
	default:
		return "unknown"
	}
}

// List is an immutable allow-list with a deny list that beats it. It is safe
// for concurrent use; the zero List opens nothing.
type List struct {
	exact map[Endpoint]Pattern // allow entries without a wildcard
	wild  []Pattern            // allow entries with one
	deny  []Pattern
	allow []Pattern // as given, for listing
}

// NewList builds a list; the slices are copied.
func NewList(allow, deny []Pattern) *List {
	l := &List{
		exact: make(map[Endpoint]Pattern, len(allow)),
		deny:  append([]Pattern(nil), deny...),
		allow: append([]Pattern(nil), allow...),
	}
	for _, p := range allow {
		if p.Scope != Exact {
			l.wild = append(l.wild, p)
			continue
		}
		for _, port := range p.Ports() {
			l.exact[Endpoint{Host: p.Host, Port: port}] = p
		}
	}
	return l
}

// Match decides on one target. Hosts and patterns compare in canonical form;
// a name never matches an address.
func (l *List) Match(host Host, port uint16) Match {
	m, _ := l.Find(host, port)
	return m
}

// Find is [List.Match] that also returns the entry that decided, the zero
// Pattern if none did. Of several it is the first deny entry, else the last
// allow entry without a wildcard, else the first with one.
func (l *List) Find(host Host, port uint16) (Match, Pattern) {
	for _, p := range l.deny {
		if p.Denies(host, port) {
			return Denied, p
		}
	}
	if p, ok := l.exact[Endpoint{Host: host, Port: port}]; ok && host.IsValid() && port != 0 {
		return Allowed, p
	}
	for _, p := range l.wild {
		if p.Covers(host, port) {
			return Allowed, p
		}
	}
	return NotListed, Pattern{}
}

// Denies reports whether a deny entry closes port on host.
func (l *List) Denies(host Host, port uint16) bool {
	for _, p := range l.deny {
		if p.Denies(host, port) {
			return true
		}
	}
	return false
}

// Allow returns a copy of the allow entries in the order given.
func (l *List) Allow() []Pattern { return append([]Pattern(nil), l.allow...) }

// Deny returns a copy of the deny entries in the order given.
func (l *List) Deny() []Pattern { return append([]Pattern(nil), l.deny...) }
