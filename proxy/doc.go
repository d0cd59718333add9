// Package proxy is an allow-listing egress proxy: HTTP CONNECT (and SOCKS5
// CONNECT, if asked for), a credential broker for plain-HTTP requests, and a
// loopback control endpoint that widens the list for one session.
//
//	srv, err := proxy.New(proxy.Options{Policy: policy, Logger: logger})
//	...
//	err = srv.Serve(ctx, proxy.Listeners{Data: data, Control: control})
//
// What a connection goes through, in this order: the head is read and checked
// (package head, below); the target is put into canonical form; the proxy's
// own ports are refused; the deny list, then the allow list, then the session
// grants decide, and a [Decider] may be asked about what none of them names;
// the name is resolved once, its addresses are judged by class, and those very
// addresses are dialled; only then is the CONNECT answered. Nothing of a tunnel
// is decrypted.
//
// Everything fails closed: an empty allow list is an error of [New], the zero
// value of every verdict refuses, and a refusal never dials. The text that a
// client sees holds no address and no byte it did not send in canonical form;
// secrets are of type [Secret], which no formatter prints.
//
// Sources: the project's egress allow-list and credential broker documents;
// RFC 9110, 9112 and 9209 for HTTP, RFC 8305 for dialling, RFC 1928 for SOCKS.
package proxy
