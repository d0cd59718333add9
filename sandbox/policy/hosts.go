package policy

import (
	"errors"

	"github.com/steerable-go/sidecar/egress"
)

// egressOf turns the network half of a configuration into an Egress.
//
// The list is validated on every platform and whether or not the network is
// on, so that a typing error is found where it was made and not on the one
// system that happens to use the list.
func egressOf(c Config) (Egress, error) {
	entries := make([]egress.Endpoint, 0, len(c.AllowedHosts))
	for _, host := range c.AllowedHosts {
		e, err := egress.ParseEndpoint(host)
		if err != nil {
			return Egress{}, refuse(ReasonAllowedHosts, "invalid allow-list entry %q: expected host, host:port or [IPv6]:port: %s", host, entryReason(err))
		}
		entries = append(entries, e)
	}
	if c.EgressSocket != "" || c.EgressPort != 0 {
		return socketEgress(c)
	}
	switch {
	case !c.Network:
		return Egress{}, nil
	case !c.HostsGiven && len(entries) == 0:
		return Egress{Mode: EgressOpen}, nil
	case len(entries) == 0:
		return Egress{}, nil // present and empty: closed
	}
	if port, ok := oneLoopback(entries); ok {
		return Egress{Mode: EgressPinned, Port: port, Hosts: c.AllowedHosts}, nil
	}
	mode := EgressLoopback
	for _, e := range entries {
		if !isLocal(e) {
			mode = EgressListed
		}
	}
	return Egress{Mode: mode, Hosts: c.AllowedHosts}, nil
}

// socketEgress is the form of the command line: a proxy that listens on a
// unix socket, seen by the command as a port on its own loopback address. It
// is narrower than anything Network can say, so it decides alone.
func socketEgress(c Config) (Egress, error) {
	if c.EgressSocket == "" || c.EgressPort < 1 || c.EgressPort > 65535 {
		return Egress{}, refuse(ReasonEgressEndpoint, "an egress socket needs an egress port from 1 to 65535, and the other way round")
	}
	if len(c.AllowedHosts) > 0 {
		return Egress{}, refuse(ReasonEgressEndpoint, "an egress socket and a list of allowed hosts exclude each other")
	}
	path, err := c.absolute(c.EgressSocket)
	if err != nil {
		return Egress{}, err
	}
	return Egress{Mode: EgressPinned, Port: uint16(c.EgressPort), Socket: path}, nil
}

// oneLoopback reports whether the entries reduce to one endpoint on this
// machine. 127.0.0.1, ::1 and localhost are one host here, since the command
// sees all three as its own loopback address; 127.0.0.2 is not, and a bare
// host stands for two ports.
func oneLoopback(entries []egress.Endpoint) (uint16, bool) {
	port := entries[0].Port
	for _, e := range entries {
		if e.Port == 0 || e.Port != port || !isLocal(e) {
			return 0, false
		}
	}
	return port, true
}

func isLocal(e egress.Endpoint) bool {
	switch e.Host.Unmap().String() {
	case "localhost", "127.0.0.1", "[::1]":
		return true
	}
	return false
}

func entryReason(err error) string {
	if entry, ok := errors.AsType[*egress.EntryError](err); ok {
		return string(entry.Reason)
	}
	return err.Error()
}
