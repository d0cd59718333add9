package egress

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/authz"
)

func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var row struct {
			Input struct {
				URL         *string
				Resolved    []netip.Addr
				AllowFakeIP bool
			}
			Want struct {
				Allowed bool
				Reason  authz.Reason
			}
			Why string
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		v := CheckResolved(row.Input.Resolved, Options{AllowFakeIP: row.Input.AllowFakeIP})
		if row.Input.URL != nil {
			v = CheckURL(*row.Input.URL)
		}
		if v.Allowed() != row.Want.Allowed || v.Reason() != row.Want.Reason {
			t.Errorf("%s: %s gives %v %q", row.Why, line, v.Allowed(), v.Reason())
		}
	}
}

// The ten published ranges, each at both edges, just outside, and as the range
// it is.
func TestTenRanges(t *testing.T) {
	ranges := []struct {
		prefix string
		reason authz.Reason
	}{
		{"10.0.0.0/8", authz.ReasonPrivateIPv4},
		{"172.16.0.0/12", authz.ReasonPrivateIPv4},
		{"192.168.0.0/16", authz.ReasonPrivateIPv4},
		{"127.0.0.0/8", authz.ReasonLoopback},
		{"169.254.0.0/16", authz.ReasonLinkLocal},
		{"0.0.0.0/8", authz.ReasonThisNetwork},
		{"::1/128", authz.ReasonLoopback},
		{"fc00::/7", authz.ReasonPrivateIPv6},
		{"fe80::/10", authz.ReasonLinkLocal},
		{"::ffff:0:0/96", authz.ReasonIPv4Mapped},
	}
	if len(ranges) != 10 {
		t.Fatalf("%d ranges, want 10", len(ranges))
	}
	for _, r := range ranges {
		p := netip.MustParsePrefix(r.prefix)
		first, last := p.Masked().Addr(), lastOf(p)
		for _, a := range []netip.Addr{first, first.Next(), last.Prev(), last} {
			if !p.Contains(a) {
				continue // a range of one address
			}
			if v := CheckAddr(a, Options{AllowFakeIP: true}); v.Allowed() || v.Reason() != r.reason {
				t.Errorf("%s in %s: %v %q, want %q", a, p, v.Allowed(), v.Reason(), r.reason)
			}
			host := a.String()
			if a.Is6() {
				host = "[" + host + "]"
			}
			if v := CheckURL("https://" + host + ":8443/x"); v.Reason() != r.reason {
				t.Errorf("URL of %s: %q, want %q", a, v.Reason(), r.reason)
			}
		}
		for _, a := range []netip.Addr{first.Prev(), last.Next()} {
			if v := CheckAddr(a, Options{}); a.IsValid() && v.Reason() == r.reason {
				t.Errorf("%s outside %s: %q", a, p, v.Reason())
			}
		}
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	raw := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < 8*len(raw); i++ {
		raw[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(raw)
	return a
}

func TestSpecialPurpose(t *testing.T) {
	for _, prefix := range []string{
		"100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"::/128", "::2/127", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "5f00::/16", "fec0::/10", "ff00::/8", "4000::/3", "8000::/3",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "168.63.129.16/32",
	} {
		p := netip.MustParsePrefix(prefix)
		for _, a := range []netip.Addr{p.Masked().Addr(), lastOf(p)} {
			if v := CheckAddr(a, Options{}); v.Allowed() || v.Reason() != authz.ReasonSpecialPurpose {
				t.Errorf("%s in %s: %v %q", a, p, v.Allowed(), v.Reason())
			}
		}
	}
	for _, public := range []string{"1.1.1.1", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "100.63.255.255", "100.128.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2000::", "2606:4700::1111", "2001:200::", "3ffe:ffff::"} {
		if v := CheckAddr(netip.MustParseAddr(public), Options{}); !v.Allowed() || v.Reason() != "" {
			t.Errorf("%s: %v %q", public, v.Allowed(), v.Reason())
		}
	}
}

func TestCheckURL(t *testing.T) {
	long := "http://example.com/" + strings.Repeat("a", maxURL)
	label := strings.Repeat("a", maxLabel)
	for raw, want := range map[string]authz.Reason{
		"http://example.com":                             "",
		"http://example.com?q=1":                         "",
		"https://EXAMPLE.com./":                          "",
		"http://example.com:8080/a%20b#c":                "",
		"http://xn--bcher-kva.example/":                  "",
		"http://my_host.example.com/":                    "",
		"http://[2606:4700::1111]:443/":                  "",
		"http://1.1.1.1/":                                "",
		"http://1.2.3.4.example/":                        "",
		"http://0x7f.example/":                           "",
		"http://localhost.example.com/":                  "",
		"http://" + label + ".example/":                  "",
		"https://example.com/日本":                         "",
		"https://example.com/?to=a@b.c":                  "",
		long[:maxURL]:                                    "",
		"":                                               authz.ReasonMalformedURL,
		long:                                             authz.ReasonMalformedURL,
		"http://example.com/a b":                         authz.ReasonMalformedURL,
		" http://example.com/":                           authz.ReasonMalformedURL,
		"http://example.com/\n":                          authz.ReasonMalformedURL,
		"http://exam\tple.com/":                          authz.ReasonMalformedURL,
		"http://example.com/\x00":                        authz.ReasonMalformedURL,
		"http://example.com\u00a0/":                      authz.ReasonMalformedURL,
		`http:\\example.com/`:                            authz.ReasonMalformedURL,
		"http://a..b/":                                   authz.ReasonMalformedURL,
		"http://.example.com/":                           authz.ReasonMalformedURL,
		"http://example.com../":                          authz.ReasonMalformedURL,
		"http://./":                                      authz.ReasonMalformedURL,
		"http://" + label + "a.example/":                 authz.ReasonMalformedURL,
		"http://" + strings.Repeat(label+".", 4) + "ex/": authz.ReasonMalformedURL,
		"http://::1/":                                    authz.ReasonMalformedURL,
		"http://[::1/":                                   authz.ReasonMalformedURL,
		"http://[::1]x/":                                 authz.ReasonMalformedURL,
		"http://[127.0.0.1]/":                            authz.ReasonMalformedURL,
		"http://[v1.x]/":                                 authz.ReasonMalformedURL,
		"http://[]/":                                     authz.ReasonMalformedURL,
		"http://a!b/":                                    authz.ReasonMalformedURL,
		"http://%31.com/":                                authz.ReasonMalformedURL,
		"http://example.com/%zz":                         authz.ReasonMalformedURL,
		"http://example.com:80:80/":                      authz.ReasonMalformedURL,
		"://example.com":                                 authz.ReasonMalformedURL,
		"example.com":                                    authz.ReasonSchemeNotAllowed,
		"//example.com/":                                 authz.ReasonSchemeNotAllowed,
		"/path":                                          authz.ReasonSchemeNotAllowed,
		"ftp://user@10.0.0.1/":                           authz.ReasonSchemeNotAllowed,
		"javascript:alert(1)":                            authz.ReasonSchemeNotAllowed,
		"data:text/plain,x":                              authz.ReasonSchemeNotAllowed,
		"httpx://example.com/":                           authz.ReasonSchemeNotAllowed,
		"http:example.com":                               authz.ReasonMissingHost,
		"http:/example.com/":                             authz.ReasonMissingHost,
		"http:///path":                                   authz.ReasonMissingHost,
		"http://":                                        authz.ReasonMissingHost,
		"http://:80/":                                    authz.ReasonMissingHost,
		"http:":                                          authz.ReasonMissingHost,
		"http://u:p@example.com/":                        authz.ReasonUserinfoPresent,
		"http://@example.com/":                           authz.ReasonUserinfoPresent,
		"http://u%40example.com@localhost/":              authz.ReasonUserinfoPresent,
		"http://example.com:0/":                          authz.ReasonInvalidPort,
		"http://example.com:65536/":                      authz.ReasonInvalidPort,
		"http://example.com:8a/":                         authz.ReasonInvalidPort,
		"http://example.com:-1/":                         authz.ReasonInvalidPort,
		"http://example.com:/":                           authz.ReasonInvalidPort,
		"http://example.com:080/":                        authz.ReasonInvalidPort,
		"http://[::1]:x/":                                authz.ReasonInvalidPort,
		"http://１２７.0.0.1/":                              authz.ReasonNonASCIIHost,
		"http://bücher.example/":                         authz.ReasonNonASCIIHost,
		"http://ⓛocalhost/":                              authz.ReasonNonASCIIHost,
		"http://127%E3%80%820.0.1/":                      authz.ReasonNonASCIIHost,
		"http://[fe80::1%25eth0]/":                       authz.ReasonZoneID,
		"http://[fe80::1%eth0]:80/":                      authz.ReasonZoneID,
		"http://127.1/":                                  authz.ReasonAmbiguousHost,
		"http://0177.0.0.1/":                             authz.ReasonAmbiguousHost,
		"http://127.0.0.01/":                             authz.ReasonAmbiguousHost,
		"http://1.2.3.256/":                              authz.ReasonAmbiguousHost,
		"http://1.2.3.4.5/":                              authz.ReasonAmbiguousHost,
		"http://0x7F.0.0.1/":                             authz.ReasonAmbiguousHost,
		"http://0x/":                                     authz.ReasonAmbiguousHost,
		"http://foo.0xff/":                               authz.ReasonAmbiguousHost,
		"http://foo.1/":                                  authz.ReasonAmbiguousHost,
		"http://2130706433./":                            authz.ReasonAmbiguousHost,
		"http://localhost/":                              authz.ReasonBlockedHostname,
		"http://LocalHost.:80/":                          authz.ReasonBlockedHostname,
		"http://metadata.google.internal./":              authz.ReasonBlockedHostname,
		"http://METADATA.goog/":                          authz.ReasonBlockedHostname,
		"http://a.internal/":                             authz.ReasonBlockedSuffix,
		"http://printer.local./":                         authz.ReasonBlockedSuffix,
		"http://a.LOCALHOST/":                            authz.ReasonBlockedSuffix,
		"http://x.cluster.local/":                        authz.ReasonBlockedSuffix,
	} {
		if v := CheckURL(raw); v.Reason() != want || v.Allowed() != (want == "") {
			t.Errorf("CheckURL(%.80q) = %v %q, want %q", raw, v.Allowed(), v.Reason(), want)
		}
	}
}

func TestCheckResolved(t *testing.T) {
	public, private := netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("10.0.0.1")
	for _, tt := range []struct {
		name  string
		addrs []netip.Addr
		want  authz.Reason
	}{
		{"none", nil, authz.ReasonNoAddress},
		{"zero", []netip.Addr{{}}, authz.ReasonNoAddress},
		{"public", []netip.Addr{public, public}, ""},
		{"one of many is private", []netip.Addr{public, private, public}, authz.ReasonPrivateIPv4},
		{"zone", []netip.Addr{netip.MustParseAddr("2606:4700::1%eth0")}, authz.ReasonZoneID},
		{"link-local with a zone", []netip.Addr{netip.MustParseAddr("fe80::1%eth0")}, authz.ReasonZoneID},
	} {
		if v := CheckResolved(tt.addrs, Options{}); v.Reason() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, v.Reason(), tt.want)
		}
	}
	fake := Options{AllowFakeIP: true}
	for addr, want := range map[string]authz.Reason{"198.18.0.5": "", "198.19.255.255": "", "2001:2::1": authz.ReasonSpecialPurpose, "10.0.0.1": authz.ReasonPrivateIPv4, "::ffff:198.18.0.5": authz.ReasonIPv4Mapped} {
		if v := CheckAddr(netip.MustParseAddr(addr), fake); v.Reason() != want {
			t.Errorf("%s with fake addresses allowed: %q, want %q", addr, v.Reason(), want)
		}
	}
	if v := CheckURL("http://198.18.0.5/"); v.Allowed() {
		t.Error("a literal fake address passes")
	}
}

// What passes means the same to the standard parser: the host it would connect
// to is the one that was judged.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"http://example.com/", "http://[::1]:80/", "http://a:b@c/", "http://0x7f.1/", "http://１２７.0.0.1/", "HTTPS://x.y:1/?#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		v := CheckURL(raw)
		if v.Allowed() != (v.Reason() == "") {
			t.Fatalf("CheckURL(%q) = %v %q", raw, v.Allowed(), v.Reason())
		}
		if !v.Allowed() {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" || u.User != nil || u.Opaque != "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q passes but parses as %+v, %v", raw, u, err)
		}
		if addr, err := netip.ParseAddr(strings.TrimSuffix(u.Hostname(), ".")); err == nil && !CheckAddr(addr, Options{}).Allowed() {
			t.Fatalf("%q passes but leads to %s", raw, addr)
		}
		if again := CheckURL(u.String()); !again.Allowed() && again.Reason() != authz.ReasonMalformedURL {
			t.Fatalf("%q passes but its canonical form %q gives %q", raw, u, again.Reason())
		}
	})
}

func BenchmarkCheckURL(b *testing.B) {
	for b.Loop() {
		CheckURL("https://api.example.com/v1/items?q=1")
	}
}

func BenchmarkParseURL(b *testing.B) {
	for b.Loop() {
		_, _ = url.Parse("https://api.example.com/v1/items?q=1")
	}
}
