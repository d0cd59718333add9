package seccomp

import "testing"

// TestSocketOptions: where connect is decided by address, no option changes
// where a connection goes.
func TestSocketOptions(t *testing.T) {
	const high = 1 << 32
	tests := []struct {
		level, option uint64
		want          uint32
	}{
		{levelSocket, 2, allow},           // SO_REUSEADDR
		{levelSocket, 9, allow},           // SO_KEEPALIVE
		{levelSocket, bindToDevice, perm}, // SO_BINDTODEVICE
		{levelSocket, high | bindToIfIndex, perm},
		{protocolTCP, 1, allow}, // TCP_NODELAY
		{protocolTCP, tcpULP, perm},
		{levelIP, 1, allow}, // IP_TOS
		{levelIP, 4, perm},  // IP_OPTIONS
		{high | levelIP, 4, perm},
		{levelIP, 50, perm},    // IP_UNICAST_IF
		{levelIPv6, 26, allow}, // IPV6_V6ONLY
		{levelIPv6, 57, perm},  // IPV6_RTHDR
		{levelIPv6, 6, perm},   // IPV6_2292PKTOPTIONS
		{levelIPv6, 32, perm},  // IPV6_FLOWLABEL_MGR
		{levelIPv6, 76, perm},  // IPV6_UNICAST_IF
		{284, 1, perm},         // SOL_MPTCP
		{999, 1, perm},         // not invented yet
	}
	for _, arch := range archs() {
		for name, o := range variants() {
			prog := Build(arch, o)
			for _, tt := range tests {
				want := tt.want
				if o.Sockets != SocketsTCP {
					want = allow // no IP socket, or none that leads anywhere else
				}
				got, err := interpret(prog, call{arch, arch.Numbers["setsockopt"], [6]uint64{7, tt.level, tt.option}}.data())
				if err != nil || got != want {
					t.Errorf("%s/%s: level %d option %d: %#x, %v; want %#x", name, arch.Name, tt.level, tt.option, got, err, want)
				}
			}
		}
	}
}
