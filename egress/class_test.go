package egress

import (
	"net/netip"
	"slices"
	"testing"
)

func TestClassify(t *testing.T) {
	for in, want := range map[string]Class{
		"8.8.8.8": Public, "0.0.0.0": Unspecified, "0.0.0.1": ThisNetwork, "0.255.255.255": ThisNetwork, "1.0.0.0": Public,
		"9.255.255.255": Public, "10.0.0.0": Private, "10.255.255.255": Private, "11.0.0.0": Public,
		"100.63.255.255": Public, "100.64.0.0": SharedAddress, "100.127.255.255": SharedAddress, "100.128.0.0": Public,
		"126.255.255.255": Public, "127.0.0.1": Loopback, "127.255.255.255": Loopback, "128.0.0.0": Public,
		"169.253.255.255": Public, "169.254.0.0": LinkLocal, "169.254.169.254": LinkLocal, "169.255.0.0": Public,
		"172.15.255.255": Public, "172.16.0.0": Private, "172.31.255.255": Private, "172.32.0.0": Public,
		"192.0.0.1": ProtocolAssign, "192.0.1.0": Public, "192.0.2.1": Documentation, "192.88.99.1": RelayAnycast,
		"192.167.255.255": Public, "192.168.0.1": Private, "192.169.0.0": Public,
		"198.17.255.255": Public, "198.18.0.1": Benchmarking, "198.19.255.255": Benchmarking, "198.20.0.0": Public,
		"198.51.100.7": Documentation, "203.0.113.7": Documentation, "223.255.255.255": Public,
		"224.0.0.1": Multicast, "239.255.255.255": Multicast, "240.0.0.1": Reserved, "255.255.255.254": Reserved, "255.255.255.255": Broadcast,
		"::": Unspecified, "::1": Loopback, "::2": Compatible, "::127.0.0.1": Compatible, "::ffff:127.0.0.1": Mapped, "::ffff:8.8.8.8": Mapped,
		"::ffff:0:127.0.0.1": Translated, "64:ff9b::7f00:1": NAT64, "64:ff9b:0:0:0:1::": NotGlobal, "64:ff9b:1::1": LocalNAT64,
		"64:ff9b:1:ffff::1": LocalNAT64, "64:ff9b:2::1": NotGlobal, "100::1": Discard, "100:0:0:1::": NotGlobal,
		"2001::1": Teredo, "2001:0:ffff::": Teredo, "2001:1::1": ProtocolAssign, "2001:2::1": Benchmarking, "2001:2:1::": ProtocolAssign,
		"2001:1ff:ffff::": ProtocolAssign, "2001:200::": Public, "2001:db8::1": Documentation, "2001:db9::1": Public,
		"2002:7f00:1::": SixToFour, "2003::1": Public, "2606:4700::1": Public, "3fff::1": Documentation, "3fff:fff::1": Documentation, "3fff:1000::1": Public,
		"4000::": NotGlobal, "5f00::1": SegmentRouting, "fbff::1": NotGlobal, "fc00::1": UniqueLocal, "fdff::1": UniqueLocal,
		"fe00::1": NotGlobal, "fe80::1": LinkLocal, "fe80::1%eth0": LinkLocal, "febf::1": LinkLocal, "fec0::1": SiteLocal, "feff::1": SiteLocal, "ff02::1": Multicast,
	} {
		if got := Classify(netip.MustParseAddr(in)); got != want {
			t.Errorf("Classify(%s) = %s, want %s", in, got, want)
		}
	}
	if got := Classify(netip.Addr{}); got != Invalid {
		t.Errorf("the zero address is %s", got)
	}
}

// TestClassNames keeps the names in step with the constants.
func TestClassNames(t *testing.T) {
	seen := map[string]bool{}
	for c := Invalid; c <= NotGlobal; c++ {
		if s := c.String(); s == "unknown" || seen[s] {
			t.Errorf("class %d is called %q", c, s)
		}
		seen[c.String()] = true
	}
	if (NotGlobal + 1).String() != "unknown" {
		t.Error("a class beyond the last has a name")
	}
	for c, want := range map[Class]string{Teredo: "teredo", SharedAddress: "shared_address", Mapped: "mapped", NotGlobal: "not_global"} {
		if c.String() != want {
			t.Errorf("got %s, want %s", c, want)
		}
	}
}

func TestEmbedded(t *testing.T) {
	for in, want := range map[string][]string{
		"::ffff:127.0.0.1": {"127.0.0.1"}, "::127.0.0.1": {"127.0.0.1"}, "::ffff:0:10.0.0.1": {"10.0.0.1"},
		"64:ff9b::a9fe:a9fe": {"169.254.169.254"}, "2002:7f00:1::": {"127.0.0.1"},
		"2001:0:7f00:1::f5ff:fffe": {"127.0.0.1", "10.0.0.1"},
		"64:ff9b:1::7f00:1":        nil, "127.0.0.1": nil, "2606:4700::1": nil, "::1": nil,
	} {
		var got []string
		for _, a := range Embedded(netip.MustParseAddr(in)) {
			got = append(got, a.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("Embedded(%s) = %v, want %v", in, got, want)
		}
	}
	if Embedded(netip.Addr{}) != nil {
		t.Error("the zero address carries something")
	}
}

func TestMetadata(t *testing.T) {
	for in, want := range map[string]bool{
		"169.254.169.254": true, "169.254.170.2": true, "169.254.170.23": true, "168.63.129.16": true, "100.100.100.200": true,
		"192.0.0.192": true, "fd00:ec2::254": true, "fd00:ec2::23": true, "fd20:ce::254": true, "fd00:ec2::254%eth0": true,
		"169.254.169.253": false, "8.8.8.8": false, "fd00:ec2::1": false,
	} {
		if got := Metadata(netip.MustParseAddr(in)); got != want {
			t.Errorf("Metadata(%s) = %v", in, got)
		}
	}
}
