package egress

import (
	"errors"
	"slices"
	"testing"
)

func TestParseEndpoint(t *testing.T) {
	for in, want := range map[string]struct {
		text  string
		ports []uint16
	}{
		"api.deepseek.com":   {"api.deepseek.com", []uint16{80, 443}},
		" Host:8443 ":        {"host:8443", []uint16{8443}},
		"localhost:11434":    {"localhost:11434", []uint16{11434}},
		"192.0.2.1":          {"192.0.2.1", []uint16{80, 443}},
		"192.0.2.1:65535":    {"192.0.2.1:65535", []uint16{65535}},
		"[::1]":              {"[::1]", []uint16{80, 443}},
		"[2001:DB8::1]:8080": {"[2001:db8::1]:8080", []uint16{8080}},
		"a.example.:1":       {"a.example:1", []uint16{1}},
	} {
		e, err := ParseEndpoint(in)
		if err != nil || e.String() != want.text || !slices.Equal(e.Ports(), want.ports) {
			t.Errorf("ParseEndpoint(%q) = %q %v, %v; want %v", in, e, e.Ports(), err, want)
		}
	}
	for in, want := range map[string]Reason{
		"": ReasonEmpty, "  ": ReasonEmpty, ":": ReasonEmpty, ":443": ReasonEmpty,
		"host:": ReasonPort, "host:0": ReasonPort, "host:65536": ReasonPort, "host:abc": ReasonPort,
		"host:+443": ReasonPort, "host:0443": ReasonPort, "host:4_43": ReasonPort, "host:000443": ReasonPort,
		"host:-1": ReasonPort, "host: 443": ReasonPort, "host:٤٤٣": ReasonPort,
		"bad host:443": ReasonCharacter, "http://host": ReasonPort, "host/24": ReasonCharacter,
		"h:o:s:t": ReasonBrackets, "h:o:s:1": ReasonBrackets, "::1:443": ReasonBrackets, "::1": ReasonBrackets,
		"[::1]:": ReasonPort, "[::1]:0": ReasonPort, "[::1]443": ReasonLiteral, "[::1": ReasonLiteral,
		"[fe80::1%1]:443": ReasonZone, "127.1:443": ReasonAmbiguous,
		"*": ReasonWildcard, "*.example.com": ReasonWildcard, "**.example.com:443": ReasonWildcard, "a.*": ReasonWildcard,
	} {
		e, err := ParseEndpoint(in)
		var got *EntryError
		if !errors.As(err, &got) || e != (Endpoint{}) || err.Error() == "" {
			t.Errorf("ParseEndpoint(%q) = %q, %v; want reason %q", in, e, err, want)
			continue
		}
		if got.Reason != want {
			t.Errorf("ParseEndpoint(%q): reason %q, want %q", in, got.Reason, want)
		}
	}
}

func TestEndpointCovers(t *testing.T) {
	e := mustPattern(t, "a.example").Endpoint
	one := mustPattern(t, "a.example:8443").Endpoint
	host, other := mustHost(t, "A.example."), mustHost(t, "b.example")
	for _, tc := range []struct {
		e    Endpoint
		h    Host
		port uint16
		want bool
	}{
		{e, host, 443, true},
		{e, host, 80, true},
		{e, host, 8443, false},
		{e, host, 0, false},
		{e, other, 443, false},
		{one, host, 8443, true},
		{one, host, 443, false},
		{Endpoint{}, Host{}, 443, false},
	} {
		if got := tc.e.Covers(tc.h, tc.port); got != tc.want {
			t.Errorf("%s covers %s:%d: %v, want %v", tc.e, tc.h, tc.port, got, tc.want)
		}
	}
	if !mustPattern(t, "[::1]:9").Loopback() || one.Loopback() {
		t.Error("Loopback of an endpoint is not that of its host")
	}
}

// TestFind names the entry that decided.
func TestFind(t *testing.T) {
	parse := func(all ...string) (out []Pattern) {
		for _, s := range all {
			out = append(out, mustPattern(t, s))
		}
		return out
	}
	list := NewList(parse("a.example", "**.b.example:9", "*.c.example"), parse("*.x.c.example", "no.example:1"))
	for _, tc := range []struct {
		host string
		port uint16
		want Match
		rule string
	}{
		{"a.example", 80, Allowed, "a.example"},
		{"a.example", 81, NotListed, ""},
		{"b.example", 9, Allowed, "**.b.example:9"},
		{"d.b.example", 9, Allowed, "**.b.example:9"},
		{"y.c.example", 443, Allowed, "*.c.example"},
		{"y.x.c.example", 443, Denied, "*.x.c.example"},
		{"no.example", 1, Denied, "no.example:1"},
		{"no.example", 2, NotListed, ""},
	} {
		h, err := ParseHost(tc.host)
		if err != nil {
			t.Fatal(err)
		}
		got, rule := list.Find(h, tc.port)
		if tc.rule == "" && rule != (Pattern{}) || tc.rule != "" && rule.String() != tc.rule || got != tc.want || list.Match(h, tc.port) != got {
			t.Errorf("%s:%d: %s by %q, want %s by %q", tc.host, tc.port, got, rule, tc.want, tc.rule)
		}
	}
}

func TestParsePattern(t *testing.T) {
	for in, want := range map[string]struct {
		text  string
		broad bool
	}{
		"a.example":         {"a.example", false},
		"*.Example.com":     {"*.example.com", false},
		"**.example.com:80": {"**.example.com:80", false},
		"*.com":             {"*.com", true},
		"**.internal:443":   {"**.internal:443", true},
		"com":               {"com", false},
	} {
		p, err := ParsePattern(in)
		if err != nil || p.String() != want.text || p.TooBroad() != want.broad {
			t.Errorf("ParsePattern(%q) = %q broad %v, %v; want %v", in, p, p.TooBroad(), err, want)
		}
	}
	for in, want := range map[string]Reason{
		"*": ReasonWildcard, "**": ReasonWildcard, "*.": ReasonEmpty, "***.example.com": ReasonWildcard,
		"a.*.example.com": ReasonWildcard, "*a.example.com": ReasonWildcard, "*.*.example.com": ReasonWildcard,
		"*.127.0.0.1": ReasonWildcard, "*.0.0.1": ReasonAmbiguous, "**.[::1]": ReasonWildcard, "*.a.example:0": ReasonPort,
	} {
		p, err := ParsePattern(in)
		var got *EntryError
		if !errors.As(err, &got) || got.Reason != want || p != (Pattern{}) {
			t.Errorf("ParsePattern(%q) = %q, %v; want reason %q", in, p, err, want)
		}
	}
	if got := (Pattern{Scope: 9}).String(); got != "" {
		t.Errorf("an unknown scope prints %q", got)
	}
}

func TestListMatch(t *testing.T) {
	l := NewList(
		patterns(t, "api.example.com", "*.cdn.example.net", "**.example.org:8443", "127.0.0.1:9100", "[::1]:9100"),
		patterns(t, "bad.cdn.example.net", "**.no.example.org:8443"),
	)
	for in, want := range map[string]Match{
		"api.example.com:443":       Allowed,
		"API.EXAMPLE.COM.:80":       Allowed,
		"api.example.com:8443":      NotListed,
		"xapi.example.com:443":      NotListed,
		"api.example.com.evil.com":  NotListed,
		"a.cdn.example.net:443":     Allowed,
		"a.b.cdn.example.net:443":   Allowed,
		"cdn.example.net:443":       NotListed,
		"evilcdn.example.net:443":   NotListed,
		"a.cdn.example.net:22":      NotListed,
		"bad.cdn.example.net:443":   Denied,
		"bad.cdn.example.net.:80":   Denied,
		"bad.cdn.example.net:22":    Denied,
		"x.bad.cdn.example.net:443": Allowed,
		"example.org:8443":          Allowed,
		"a.example.org:8443":        Allowed,
		"a.example.org:443":         NotListed,
		"no.example.org:8443":       Denied,
		"a.no.example.org:8443":     Denied,
		"notexample.org:8443":       NotListed,
		"127.0.0.1:9100":            Allowed,
		"127.0.0.1:443":             NotListed,
		"[::1]:9100":                Allowed,
		"[::ffff:127.0.0.1]:9100":   NotListed,
	} {
		e, err := ParseEndpoint(in)
		if err != nil {
			t.Fatal(err)
		}
		if e.Port == 0 {
			e.Port = 443
		}
		if got := l.Match(e.Host, e.Port); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if len(l.Allow()) != 5 || len(l.Deny()) != 2 {
		t.Errorf("lists read back as %v and %v", l.Allow(), l.Deny())
	}
}

func TestZeroListOpensNothing(t *testing.T) {
	var l List
	if got := l.Match(mustHost(t, "a.example"), 443); got != NotListed {
		t.Errorf("the zero list says %s", got)
	}
	full := NewList([]Pattern{{}, {Scope: AtAndBelow}, {Scope: Below}, {Scope: 7}}, nil)
	for _, h := range []Host{{}, mustHost(t, "a.example"), mustHost(t, "127.0.0.1")} {
		if got := full.Match(h, 443); got == Allowed {
			t.Errorf("zero patterns open %q", h)
		}
	}
	var m Match
	if m != NotListed || m.String() != "not_listed" || Match(9).String() != "unknown" {
		t.Error("the zero match is not a refusal")
	}
}

func mustHost(t *testing.T, s string) Host {
	t.Helper()
	h, err := ParseHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustPattern(t *testing.T, s string) Pattern {
	t.Helper()
	p, err := ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func patterns(t *testing.T, in ...string) []Pattern {
	t.Helper()
	var out []Pattern
	for _, s := range in {
		out = append(out, mustPattern(t, s))
	}
	return out
}
