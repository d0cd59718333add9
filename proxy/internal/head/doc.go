// Package head reads and checks HTTP/1 request heads.
//
// It accepts less than net/http does, on purpose: the proxy puts a secret next
// to what it parsed here, or opens a tunnel because of it, so whatever two
// parsers could read differently is refused. Lines end in CRLF only; a lone CR
// or LF, any other control character, folded lines, white space before a
// colon, more than one Host and every framing that is not plainly one length
// are errors. The grammar is RFC 9112; the limits are the egress proxy's.
//
// A [Scanner] finds the end of a head while its bytes arrive and fails at the
// first bad byte, so that a peer that speaks another protocol gets its answer
// without waiting for a blank line. [Parse] then takes the head apart without
// allocating; its results point into the buffer.
package head
