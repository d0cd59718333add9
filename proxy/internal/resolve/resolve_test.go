package resolve

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestParseHosts(t *testing.T) {
	h, err := ParseHosts(strings.NewReader("# comment\n127.0.0.1 a.example A.alias. # more\n\n::1\ta.example\n192.0.2.1 b.example\n192.0.2.2 b.example\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		family Family
		want   []string
	}{
		{"a.example", IPv4, []string{"127.0.0.1"}},
		{"a.example", IPv6, []string{"::1"}},
		{"a.alias", IPv4, []string{"127.0.0.1"}},
		{"a.alias", IPv6, nil},
		{"b.example", IPv4, []string{"192.0.2.1", "192.0.2.2"}},
		{"c.example", IPv4, nil},
	} {
		got, err := h.Lookup(t.Context(), tc.family, tc.name)
		if !slices.Equal(spell(got), tc.want) || (err != nil) != (tc.want == nil) || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s %s: %v, %v; want %v", tc.name, tc.family, got, err, tc.want)
		}
	}
	for _, bad := range []string{"127.0.0.1", "a.example 127.0.0.1", "fe80::1%eth0 a", "127.0.0.1 a..b", "127.0.0.1 127.0.0.2", "127.1 a"} {
		if _, err := ParseHosts(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if _, err := ParseHosts(strings.NewReader(strings.Repeat("x", 1<<17))); err == nil {
		t.Error("an endless line was accepted")
	}
}

func spell(addrs []netip.Addr) []string {
	var out []string
	for _, a := range addrs {
		out = append(out, a.String())
	}
	return out
}

// fake is a source that answers each family in its own way.
type fake map[Family]func(ctx context.Context) ([]netip.Addr, error)

func (f fake) Lookup(ctx context.Context, family Family, _ string) ([]netip.Addr, error) {
	return f[family](ctx)
}

func TestBoth(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	give := func(a netip.Addr) func(context.Context) ([]netip.Addr, error) {
		return func(context.Context) ([]netip.Addr, error) { return []netip.Addr{a}, nil }
	}
	fail := func(err error) func(context.Context) ([]netip.Addr, error) {
		return func(context.Context) ([]netip.Addr, error) { return nil, err }
	}
	hang := func(ctx context.Context) ([]netip.Addr, error) { <-ctx.Done(); return nil, ctx.Err() }
	slow := func(ctx context.Context) ([]netip.Addr, error) {
		<-time.After(150 * time.Millisecond)
		return []netip.Addr{v6}, nil
	}
	for name, tc := range map[string]struct {
		src  fake
		wait bool
		want []string
		err  error
	}{
		"both":                  {fake{IPv4: give(v4), IPv6: give(v6)}, false, []string{"2001:db8::1", "192.0.2.1"}, nil},
		"one fails":             {fake{IPv4: give(v4), IPv6: fail(ErrServer)}, false, []string{"192.0.2.1"}, nil},
		"one hangs":             {fake{IPv4: give(v4), IPv6: hang}, false, []string{"192.0.2.1"}, nil},
		"the slow one is lost":  {fake{IPv4: give(v4), IPv6: slow}, false, []string{"192.0.2.1"}, nil},
		"the slow one is heard": {fake{IPv4: give(v4), IPv6: slow}, true, []string{"2001:db8::1", "192.0.2.1"}, nil},
		"none":                  {fake{IPv4: fail(ErrNotFound), IPv6: fail(ErrNotFound)}, false, nil, ErrNotFound},
		"failure beats nothing": {fake{IPv4: fail(ErrNotFound), IPv6: fail(ErrServer)}, false, nil, ErrServer},
		"slow and the only one": {fake{IPv4: fail(ErrNotFound), IPv6: slow}, false, []string{"2001:db8::1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Both(t.Context(), tc.src, "a.example", tc.wait)
			if !slices.Equal(spell(got), tc.want) || !errors.Is(err, tc.err) && (err != nil || tc.err != nil) {
				t.Errorf("%v, %v; want %v, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

// nameServer answers queries over UDP and TCP with what answer builds.
func nameServer(t *testing.T, answer func(query []byte, tcp bool) [][]byte) Server {
	t.Helper()
	var pc net.PacketConn
	var ln net.Listener
	for range 10 { // the port may be taken for one of the two
		var err error
		if pc, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if ln, err = net.Listen("tcp", pc.LocalAddr().String()); err == nil {
			break
		}
		_ = pc.Close()
	}
	if ln == nil {
		t.Fatal("no port is free for both protocols")
	}
	t.Cleanup(func() { _, _ = pc.Close(), ln.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, msg := range answer(slices.Clone(buf[:n]), false) {
				_, _ = pc.WriteTo(msg, from)
			}
		}
	}()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			var size [2]byte
			_, _ = io.ReadFull(c, size[:])
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			_, _ = io.ReadFull(c, query)
			for _, msg := range answer(query, true) {
				_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...))
			}
			_ = c.Close()
		}
	}()
	return Server{Addr: netip.MustParseAddrPort(pc.LocalAddr().String())}
}

// respond builds a reply to query with flags and resource records.
func respond(query []byte, flags uint16, records ...[]byte) []byte {
	msg := slices.Clone(query)
	binary.BigEndian.PutUint16(msg[2:], flagResponse|flags)
	binary.BigEndian.PutUint16(msg[6:], uint16(len(records)))
	for _, r := range records {
		msg = append(msg, r...)
	}
	return msg
}

// rr builds a record whose owner is a pointer to the question, or a name.
func rr(owner string, rtype uint16, data []byte) []byte {
	b := []byte{0xc0, headerLen}
	if owner != "" {
		b = wire(owner)
	}
	b = binary.BigEndian.AppendUint16(b, rtype)
	b = binary.BigEndian.AppendUint16(b, classIN)
	b = append(b, 0, 0, 0, 60)
	b = binary.BigEndian.AppendUint16(b, uint16(len(data)))
	return append(b, data...)
}

func wire(name string) []byte {
	var b []byte
	for label := range strings.SplitSeq(name, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0)
}

func TestServer(t *testing.T) {
	one := []byte{192, 0, 2, 1}
	for name, tc := range map[string]struct {
		answer func(query []byte, tcp bool) [][]byte
		want   []string
		err    error
	}{
		"address": {func(q []byte, _ bool) [][]byte { return [][]byte{respond(q, 0, rr("", typeA, one))} }, []string{"192.0.2.1"}, nil},
		"alias": {func(q []byte, _ bool) [][]byte {
			return [][]byte{respond(q, 0, rr("", typeCNAME, wire("b.example")), rr("b.example", typeA, one), rr("other.example", typeA, []byte{6, 6, 6, 6}))}
		}, []string{"192.0.2.1"}, nil},
		"alias loop": {func(q []byte, _ bool) [][]byte {
			return [][]byte{respond(q, 0, rr("", typeCNAME, wire("b.example")), rr("b.example", typeCNAME, wire("a.example")))}
		}, nil, ErrNotFound},
		"unknown name": {func(q []byte, _ bool) [][]byte { return [][]byte{respond(q, rcodeNXDomain)} }, nil, ErrNotFound},
		"no such type": {func(q []byte, _ bool) [][]byte { return [][]byte{respond(q, 0)} }, nil, ErrNotFound},
		"failure":      {func(q []byte, _ bool) [][]byte { return [][]byte{respond(q, 2)} }, nil, ErrServer},
		"truncated": {func(q []byte, tcp bool) [][]byte {
			return [][]byte{respond(q, map[bool]uint16{false: flagTruncated}[tcp], rr("", typeA, one))}
		}, []string{"192.0.2.1"}, nil},
		"cut short":  {func(q []byte, _ bool) [][]byte { m := respond(q, 0, rr("", typeA, one)); return [][]byte{m[:len(m)-2]} }, nil, ErrServer},
		"wrong size": {func(q []byte, _ bool) [][]byte { return [][]byte{respond(q, 0, rr("", typeA, one[:3]))} }, nil, ErrServer},
		"forged before": {func(q []byte, _ bool) [][]byte {
			forged := respond(q, 0, rr("", typeA, []byte{6, 6, 6, 6}))
			forged[0] ^= 0xff
			other := respond(append(slices.Clone(q[:headerLen]), append(wire("x.example"), 0, typeA, 0, classIN)...), 0)
			return [][]byte{forged, {1}, other, respond(q, 0, rr("", typeA, one))}
		}, []string{"192.0.2.1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := nameServer(t, tc.answer).Lookup(t.Context(), IPv4, "a.example")
			if !slices.Equal(spell(got), tc.want) || !errors.Is(err, tc.err) && (err != nil || tc.err != nil) {
				t.Errorf("%v, %v; want %v, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

// TestLostDatagram is asked again; a server that never answers is given up on
// when the caller's time is over.
func TestLostDatagram(t *testing.T) {
	var asked atomic.Int32
	src := nameServer(t, func(q []byte, _ bool) [][]byte {
		asked.Add(1)
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := src.Lookup(ctx, IPv6, "a.example")
	if !errors.Is(err, context.DeadlineExceeded) || asked.Load() != 1 || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %v and %d questions", err, time.Since(began), asked.Load())
	}
}

func TestSystem(t *testing.T) {
	got, err := System().Lookup(t.Context(), IPv4, "localhost")
	if err != nil || !slices.Contains(spell(got), "127.0.0.1") {
		t.Errorf("%v, %v", got, err)
	}
}

// FuzzUnpack must neither panic nor hang, and returns addresses of the type
// asked for only.
func FuzzUnpack(f *testing.F) {
	q := question{id: 7, name: "a.example", qtype: typeA}
	f.Add(respond(q.pack(), 0, rr("", typeA, []byte{192, 0, 2, 1})))
	f.Add(respond(q.pack(), 0, rr("", typeCNAME, wire("a.example"))))
	f.Add(respond(q.pack(), 0, []byte{0xc0, 0xff}))
	f.Fuzz(func(t *testing.T, msg []byte) {
		r, err := q.unpack(msg)
		if err != nil && len(r.addrs) > 0 {
			t.Fatal("addresses beside an error")
		}
		for _, a := range r.addrs {
			if !a.Is4() {
				t.Fatalf("asked for IPv4, got %s", a)
			}
		}
	})
}
