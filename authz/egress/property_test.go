package egress_test

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/egress"
)

// A literal in a URL and the same address as an answer get the same verdict.
func TestLiteralsAndAnswersAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var addr netip.Addr
		var host string
		if rapid.Bool().Draw(rt, "four") {
			addr = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0, 10, 100, 127, 169, 172, 192, 198, 254})), 4, 4).Draw(rt, "bytes")))
			host = addr.String()
		} else {
			addr = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.OneOf(rapid.Just[byte](0), rapid.Byte(), rapid.SampledFrom([]byte{0x20, 0x64, 0xfc, 0xfe, 0x80, 0xff})), 16, 16).Draw(rt, "bytes")))
			host = "[" + addr.String() + "]"
		}
		literal, answer := egress.CheckURL("https://"+host+"/"), egress.CheckAddr(addr, egress.Options{})
		if literal != answer {
			rt.Errorf("%s: literal %v, answer %v", addr, literal, answer)
		}
		if answer.Allowed() && (addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() || addr.Is4In6()) {
			rt.Errorf("%s passes", addr)
		}
	})
}

// Every other way to write an IPv4 address in one to four numbers is refused.
func TestOtherSpellingsOfAddresses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := make([]string, rapid.IntRange(1, 5).Draw(rt, "parts"))
		for i := range parts {
			n := rapid.Uint32().Draw(rt, "number")
			if rapid.Bool().Draw(rt, "small") {
				n %= 256
			}
			parts[i] = fmt.Sprintf(rapid.SampledFrom([]string{"%d", "%#o", "%#x", "0%d", "00%d"}).Draw(rt, "form"), n)
		}
		host := strings.Join(parts, ".")
		v := egress.CheckURL("http://" + host + "/")
		addr, err := netip.ParseAddr(host)
		switch {
		case err == nil:
			if v != egress.CheckAddr(addr, egress.Options{}) {
				rt.Errorf("%s: %v", host, v)
			}
		case v.Reason() != authz.ReasonAmbiguousHost:
			rt.Errorf("%s: %v %v", host, v.Allowed(), v.Reason())
		}
	})
}

// What passes means the same to the standard parser: the scheme and the host
// that were looked at, and no login.
func TestWhatPassesParsesAlike(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"http", "https", "HTTP", "ftp", "://", ":", "//", "/", "?", "#", "@", "\\", "%", "%2f", "%00", "[", "]", "::1", "127.0.0.1", "8.8.8.8",
		"example", ".", "com", "localhost", "internal", "80", "x", " ", "\t", "é", "。", "-", "_",
	})
	rapid.Check(t, func(rt *rapid.T) {
		raw := rapid.SampledFrom([]string{"", "http://", "https://example.com"}).Draw(rt, "start") + strings.Join(rapid.SliceOfN(part, 0, 8).Draw(rt, "parts"), "")
		if !egress.CheckURL(raw).Allowed() {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			rt.Fatalf("%q passes and parses as %+v, %v", raw, u, err)
		}
		if again := egress.CheckURL(u.Scheme + "://" + u.Host + "/"); !again.Allowed() {
			rt.Errorf("%q passes, its host %q does not: %v", raw, u.Host, again.Reason())
		}
	})
}

// References without a scheme have none that is allowed, or do not parse.
func TestReferences(t *testing.T) {
	for raw, want := range map[string]authz.Reason{
		"example.com":        authz.ReasonSchemeNotAllowed,
		"/path":              authz.ReasonSchemeNotAllowed,
		"?q=1":               authz.ReasonSchemeNotAllowed,
		"1http://x/":         authz.ReasonMalformedURL,
		":80/":               authz.ReasonMalformedURL,
		"%zz":                authz.ReasonMalformedURL,
		"http://a.example/%": authz.ReasonMalformedURL,
	} {
		if got := egress.CheckURL(raw).Reason(); got != want {
			t.Errorf("%q: %s, want %s", raw, got, want)
		}
	}
}
