// Package egress says what a host, an endpoint, an allow-list and a kind of
// address are. It computes and never touches the network, files or a clock,
// and it gives no verdict on addresses: [Classify] names what an address is,
// and each caller owns the table that says which of those it accepts.
//
//	list := egress.NewList(allow, deny)
//	host, err := egress.ParseHost("API.example.com.")
//	if err == nil && list.Match(host, 443) == egress.Allowed { ... }
//
// The grammar is that of the egress allow-list: "host" stands for ports 443
// and 80, "host:port" for that port alone. Host names are ASCII; anything a
// resolver might read as an address in another spelling ("127.1", "0x7f.1",
// "2130706433") is refused, so that two programs cannot disagree on what a
// list entry means.
package egress
