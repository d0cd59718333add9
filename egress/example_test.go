package egress_test

import (
	"fmt"
	"net/netip"

	"github.com/steerable-go/sidecar/egress"
)

func ExampleList_Match() {
	allow, _ := egress.ParsePattern("**.example.com")
	deny, _ := egress.ParsePattern("internal.example.com")
	list := egress.NewList([]egress.Pattern{allow}, []egress.Pattern{deny})
	for _, name := range []string{"API.example.com.", "internal.example.com", "example.org"} {
		host, _ := egress.ParseHost(name)
		fmt.Println(host, list.Match(host, 443))
	}
	// Output:
	// api.example.com allowed
	// internal.example.com denied
	// example.org not_listed
}

func ExampleParseEndpoint() {
	for _, entry := range []string{"localhost:11434", "[::1]", "127.1:80", "*.example.com"} {
		e, err := egress.ParseEndpoint(entry)
		fmt.Println(e, e.Ports(), e.Loopback(), err)
	}
	// Output:
	// localhost:11434 [11434] true <nil>
	// [::1] [80 443] true <nil>
	//  [80 443] false invalid entry "127.1:80": ends in a number but is no dotted IPv4 address
	//  [80 443] false invalid entry "*.example.com": a wildcard is not accepted here
}

func ExampleClassify() {
	for _, s := range []string{"93.184.216.34", "169.254.169.254", "64:ff9b::7f00:1"} {
		addr := netip.MustParseAddr(s)
		fmt.Println(egress.Classify(addr), egress.Metadata(addr), egress.Embedded(addr))
	}
	// Output:
	// public false []
	// link_local true []
	// nat64 false [127.0.0.1]
}
