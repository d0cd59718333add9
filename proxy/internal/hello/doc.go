// Package hello reads the server name out of a TLS ClientHello as its bytes
// pass, without taking part in the handshake. It follows RFC 8446, sections 4
// and 5.1, and RFC 6066, section 3; a hello may be cut anywhere, over TCP
// segments and over TLS records, and post-quantum key shares make it longer
// than one segment as a rule.
package hello
