//go:build !linux

package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// connect opens a connection to exactly this address. Control looks once more
// at what the socket is about to be connected to: it can only be that address,
// and if some change ever made it another, this fails instead of dialling.
func connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{
		KeepAlive: -1, // the relay turns it on for tunnels that last
		Control: func(_, address string, _ syscall.RawConn) error {
			if got, err := netip.ParseAddrPort(address); err != nil || got != to {
				return fmt.Errorf("about to dial %s instead of %s", address, to)
			}
			return nil
		},
	}
	return d.DialContext(ctx, "tcp", to.String())
}
