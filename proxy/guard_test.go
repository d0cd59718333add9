package proxy

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/egress"
)

func testGuard(profile Guard, own ...string) *guard {
	return &guard{profile: profile, ports: []uint16{8899, 4000}, own: &ownAddrs{
		now: time.Now,
		read: func() ([]net.Addr, error) {
			var out []net.Addr
			for _, s := range own {
				p := netip.MustParsePrefix(s)
				out = append(out, &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())})
			}
			return out, nil
		},
	}}
}

// TestGuardTable has a row for each class and for what carries it.
func TestGuardTable(t *testing.T) {
	standard, strict := testGuard(GuardStandard, "203.0.114.9/24", "2a00:1::9/64"), testGuard(GuardStrict)
	for in, want := range map[string]struct{ standard, strict bool }{
		"8.8.8.8": {true, true}, "2606:4700::1": {true, true},
		"127.0.0.1": {}, "127.8.9.1": {}, "::1": {}, "0.0.0.0": {}, "0.1.2.3": {}, "::": {}, "169.254.1.1": {}, "fe80::1": {}, "224.0.0.1": {}, "ff02::1": {}, "255.255.255.255": {},
		"169.254.169.254": {}, "fd00:ec2::254": {}, "168.63.129.16": {}, "100.100.100.200": {}, "192.0.0.192": {},
		"10.0.0.1": {true, false}, "172.16.0.1": {true, false}, "192.168.1.1": {true, false}, "fd12::1": {true, false}, "fec0::1": {true, false}, "100.64.0.1": {true, false},
		"198.18.0.1": {true, false}, "192.0.2.1": {true, false}, "2001:db8::1": {true, false}, "240.0.0.1": {true, false}, "192.0.0.8": {true, false}, "192.88.99.1": {true, false},
		"::ffff:127.0.0.1": {}, "::127.0.0.1": {}, "::ffff:0:127.0.0.1": {}, "64:ff9b::127.0.0.1": {}, "2002:7f00:1::": {}, "2001:0:7f00:1::": {}, "2001::80ff:fffe": {},
		"64:ff9b::a9fe:a9fe": {}, "2002:a9fe:a9fe::1": {}, "::ffff:169.254.169.254": {}, "64:ff9b:1::808:808": {},
		"::ffff:8.8.8.8": {true, true}, "64:ff9b::808:808": {true, true}, "2002:808:808::": {true, false}, "::ffff:10.0.0.1": {true, false}, "64:ff9b::10.0.0.1": {true, false},
		"203.0.114.9": {false, true}, "::ffff:203.0.114.9": {false, true}, "2a00:1::9": {false, true}, "203.0.114.8": {true, true}, "4000::1": {true, false},
	} {
		addr := netip.MustParseAddr(in)
		if got := standard.permits(addr); got != want.standard {
			t.Errorf("standard, %s: %v", in, got)
		}
		if got := strict.permits(addr); got != want.strict {
			t.Errorf("strict, %s: %v", in, got)
		}
	}
	if standard.permits(netip.Addr{}) || GuardStandard.permits(egress.NotGlobal+1) || Guard(9).permits(egress.Private) {
		t.Error("an unknown value is permitted")
	}
}

// TestGuardFailsClosed when the kernel does not say which addresses are ours.
func TestGuardFailsClosed(t *testing.T) {
	g := testGuard(GuardStandard)
	g.own.read = func() ([]net.Addr, error) { return nil, errors.New("no") }
	addr := netip.MustParseAddr("8.8.8.8")
	if g.permits(addr) || !g.self(addr, 8899) || g.self(addr, 443) {
		t.Error("an unknown interface list let something through")
	}
}

func TestSelf(t *testing.T) {
	g := testGuard(GuardStandard, "192.168.7.7/24")
	for in, want := range map[string]bool{
		"127.0.0.1:8899": true, "127.1.2.3:4000": true, "0.0.0.0:8899": true, "[::1]:8899": true, "[::]:4000": true, "192.168.7.7:8899": true,
		"[::ffff:192.168.7.7]:8899": true, "[64:ff9b::127.0.0.1]:8899": true, "192.168.7.8:8899": false, "127.0.0.1:8898": false, "8.8.8.8:8899": false,
	} {
		ap := netip.MustParseAddrPort(in)
		if got := g.self(ap.Addr(), ap.Port()); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

// TestDenyReachesEmbeddedAddresses: a translator would deliver to them.
func TestDenyReachesEmbeddedAddresses(t *testing.T) {
	t.Parallel()
	names := map[string]string{"nat64": "64:ff9b::10.9.9.9", "6to4": "2002:a09:909::1", "mapped": "::ffff:10.9.9.9", "plain": "10.9.9.9"}
	table, allow := "", []string{"[64:ff9b::a09:909]:443", "[2002:a09:909::1]:443", "10.9.9.9"}
	for name, addr := range names {
		table += addr + " " + name + ".test\n"
		allow = append(allow, name+".test")
	}
	h := start(t, Options{Policy: Policy{Allow: entries(t, allow...), Deny: entries(t, "10.9.9.9")}, Hosts: strings.NewReader(table)})
	for _, target := range []string{"nat64.test", "6to4.test", "mapped.test", "plain.test", "[64:ff9b::10.9.9.9]", "[2002:a09:909::1]", "[::ffff:10.9.9.9]", "10.9.9.9"} {
		if r := refused(t, h.addr, "CONNECT "+target+":443 HTTP/1.1\r\n\r\n", "403"); r.fields["x-proxy-error"] != "denied" {
			t.Errorf("%s: %v", target, r.fields)
		}
	}
	if e := h.events.nth(t, 8); e.Rule != "10.9.9.9" {
		t.Errorf("event %+v", e)
	}
}

// TestResolvedAddresses judges what listed names resolve to.
func TestResolvedAddresses(t *testing.T) {
	t.Parallel()
	target := echo(t)
	port := portOf(t, target)
	hosts := `
127.0.0.1 inside.example listed.example denied.example
127.0.0.2 inside2.example
169.254.169.254 meta.example
::ffff:127.0.0.1 mapped.example
127.0.0.1 mixed.example
192.0.2.1 mixed.example
203.0.113.9 localhost
`
	ownPort := func(h *harness) string { return portOf(t, h.addr) }
	var allow []string
	for _, name := range []string{"inside", "inside2", "meta", "mapped", "mixed", "denied"} {
		allow = append(allow, name+".example:"+port)
	}
	allow = append(allow, "localhost:"+port)

	t.Run("without the literal", func(t *testing.T) {
		t.Parallel()
		h := start(t, Options{Policy: Policy{Allow: entries(t, allow...)}, Hosts: strings.NewReader(hosts)})
		for _, name := range []string{"inside", "inside2", "meta", "mapped"} {
			r := refused(t, h.addr, "CONNECT "+name+".example:"+port+" HTTP/1.1\r\n\r\n", "403")
			if r.fields["x-proxy-error"] != "blocked_address" || strings.Contains(r.line, "egress denied for") {
				t.Errorf("%s: %q %v", name, r.line, r.fields)
			}
		}
		// localhost means loopback whatever a resolver says, and needs no literal.
		wantEcho(t, tunnel(t, h.addr, "localhost:"+port), "home")
	})
	t.Run("with the literal", func(t *testing.T) {
		t.Parallel()
		h := start(t, Options{Policy: Policy{Allow: entries(t, append(slices.Clip(allow), target)...)}, Hosts: strings.NewReader(hosts)})
		wantEcho(t, tunnel(t, h.addr, "inside.example:"+port), "in")
		wantEcho(t, tunnel(t, h.addr, "mapped.example:"+port), "in")
		refused(t, h.addr, "CONNECT inside2.example:"+port+" HTTP/1.1\r\n\r\n", "403")
		if e := h.events.nth(t, 1); e.Reason == ReasonBlockedAddress && e.Addr != "" {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("denied literal", func(t *testing.T) {
		t.Parallel()
		h := start(t, Options{Policy: Policy{Allow: entries(t, append(slices.Clip(allow), target)...), Deny: entries(t, "127.0.0.1")}, Hosts: strings.NewReader(hosts)})
		if r := refused(t, h.addr, "CONNECT denied.example:"+port+" HTTP/1.1\r\n\r\n", "403"); r.fields["x-proxy-error"] != "denied" {
			t.Errorf("got %v", r.fields)
		}
	})
	t.Run("strict refuses the whole answer", func(t *testing.T) {
		t.Parallel()
		h := start(t, Options{Policy: Policy{Allow: entries(t, append(slices.Clip(allow), target)...)}, Hosts: strings.NewReader(hosts), Guard: GuardStrict})
		if r := refused(t, h.addr, "CONNECT mixed.example:"+port+" HTTP/1.1\r\n\r\n", "403"); r.fields["x-proxy-error"] != "blocked_address" {
			t.Errorf("got %v", r.fields)
		}
		wantEcho(t, tunnel(t, h.addr, "inside.example:"+port), "in")
		wantEcho(t, tunnel(t, h.addr, "localhost:"+port), "home")
	})
	t.Run("the proxy's own port by name", func(t *testing.T) {
		t.Parallel()
		h := start(t, Options{Policy: Policy{Allow: entries(t, "only.invalid")}, Hosts: strings.NewReader(hosts)})
		own := ownPort(h)
		if err := h.srv.Reload(Policy{Allow: entries(t, "inside.example:"+own, "localhost:"+own, "127.0.0.1:"+own, "127.0.0.2:"+own)}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"inside.example", "localhost", "127.0.0.1", "127.0.0.2"} {
			if r := refused(t, h.addr, "CONNECT "+name+":"+own+" HTTP/1.1\r\n\r\n", "403"); r.fields["x-proxy-error"] != "self_target" {
				t.Errorf("%s: %v", name, r.fields)
			}
		}
	})
}

// TestHappyEyeballs reaches the living address soon although a dead one comes
// first.
func TestHappyEyeballs(t *testing.T) {
	t.Parallel()
	target := echo(t)
	port := portOf(t, target)
	for name, dead := range map[string]string{"refused": "127.0.0.9", "unanswered": "192.0.2.66", "dead IPv6": "2001:db8::66"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t, Options{
				Policy: Policy{Allow: entries(t, "dual.example:"+port, target, "127.0.0.9:"+port)},
				Hosts:  strings.NewReader(dead + " dual.example\n127.0.0.1 dual.example\n"),
			})
			began := time.Now()
			conn := tunnel(t, h.addr, "dual.example:"+port)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			wantEcho(t, conn, "alive")
			_ = conn.Close()
			if e := h.events.nth(t, 1); e.Addr != "127.0.0.1" || e.Host != "dual.example" {
				t.Errorf("event %+v", e)
			}
		})
	}
}

func TestInterleave(t *testing.T) {
	var in []netip.Addr
	for _, s := range []string{"::1", "::2", "::3", "1.1.1.1", "2.2.2.2"} {
		in = append(in, netip.MustParseAddr(s))
	}
	var got []string
	for _, a := range interleave(in) {
		got = append(got, a.String())
	}
	if s := strings.Join(got, " "); s != "::1 1.1.1.1 ::2 2.2.2.2 ::3" {
		t.Errorf("got %s", s)
	}
}

// TestRebinding changes the answer between two lookups: one dial asks once,
// and dials what it asked about.
func TestRebinding(t *testing.T) {
	t.Parallel()
	inside := echo(t)
	port := portOf(t, inside)
	good := server(t, "tcp", "127.0.0.3:"+port, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "good")
		_, _ = io.Copy(io.Discard, c)
	})
	dns, asked := flippingDNS(t, netip.MustParseAddr("127.0.0.3"), netip.MustParseAddr("127.0.0.1"))
	h := start(t, Options{
		// Only the first address is listed; the second is what an attacker
		// wants to be dialled.
		Policy:     Policy{Allow: entries(t, "flip.example:"+port, good.String())},
		NameServer: dns,
	})
	wantBytes(t, tunnel(t, h.addr, "flip.example:"+port), "good")
	if n := asked(); n != 1 {
		t.Errorf("one dial looked up IPv4 %d times", n)
	}
	r := refused(t, h.addr, "CONNECT flip.example:"+port+" HTTP/1.1\r\n\r\n", "403")
	if r.fields["x-proxy-error"] != "blocked_address" {
		t.Errorf("second answer: %v", r.fields)
	}
}

// flippingDNS answers the first A question with one address, later ones with
// the other, and has no AAAA records.
func flippingDNS(t *testing.T, first, later netip.Addr) (netip.AddrPort, func() int) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count := make(chan int, 1)
	count <- 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			msg := append([]byte(nil), buf[:n]...)
			msg[2] |= 0x80
			if msg[n-3] == 1 { // type A
				k := <-count
				addr := later
				if k == 0 {
					addr = first
				}
				count <- k + 1
				msg[7] = 1
				msg = append(msg, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				msg = append(msg, addr.AsSlice()...)
			}
			_, _ = pc.WriteTo(msg, from)
		}
	}()
	t.Cleanup(func() { _ = pc.Close(); <-done })
	return netip.MustParseAddrPort(pc.LocalAddr().String()), func() int {
		k := <-count
		count <- k
		return k
	}
}
