package egress

import (
	"net/netip"
	"strings"
	"testing"
)

// FuzzParsePattern checks that whatever is accepted is canonical: it reads
// back as itself, and cannot carry a byte that would matter in a reply or log.
func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{
		"api.example.com", "*.example.com:443", "**.x.y", "[::1]:9100", "127.0.0.1:9100", "127.1", "0x7f.1:80",
		"a\nb", "[::ffff:1.2.3.4%x]:1", "A.B.", " h:1 ", "h:0443", "::1:443",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		p, err := ParsePattern(in)
		e, eerr := ParseEndpoint(in)
		if eerr == nil && (err != nil || p.Endpoint != e || p.Scope != Exact) {
			t.Fatalf("%q: endpoint %v but pattern %v, %v", in, e, p, err)
		}
		if err != nil {
			return
		}
		text := p.String()
		if strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.:[]*") != "" {
			t.Fatalf("%q is spelt %q", in, text)
		}
		again, err := ParsePattern(text)
		if err != nil || again != p {
			t.Fatalf("%q reads back as %v, %v; want %v", text, again, err, p)
		}
		if p.Scope == Exact && !p.Covers(p.Host, p.Ports()[0]) {
			t.Fatalf("%q does not cover itself", text)
		}
	})
}

// FuzzClassify checks the table against what net/netip knows.
func FuzzClassify(f *testing.F) {
	for _, s := range []string{"127.0.0.1", "::1", "10.1.2.3", "fe80::1", "ff02::1", "fd00::1", "2002:7f00:1::"} {
		f.Add(netip.MustParseAddr(s).AsSlice())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		c := Classify(addr)
		for class, is := range map[Class]bool{
			Loopback: addr.IsLoopback() && !addr.Is4In6(), LinkLocal: addr.IsLinkLocalUnicast() && !addr.Is4In6(),
			Multicast: addr.IsMulticast() && !addr.Is4In6(), Unspecified: addr.IsUnspecified(), Mapped: addr.Is4In6(),
		} {
			if is != (c == class) {
				t.Fatalf("%s is %s, but net/netip says %v for %s", addr, c, is, class)
			}
		}
		for _, v4 := range Embedded(addr) {
			if !v4.Is4() {
				t.Fatalf("%s carries %s", addr, v4)
			}
		}
	})
}
