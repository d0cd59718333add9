// Package protocol speaks the sidecar's dialect of JSON-RPC 2.0 and nothing
// else: newline-delimited frames, the peer at our end of the pipe, the one
// writer that owns standard output, and the structs that travel.
//
// # Frames
//
// One JSON object a line, UTF-8. Four kinds exist:
//
//	request       {"jsonrpc":"2.0","id":1,"method":"system.ping","params":{}}
//	notification  {"jsonrpc":"2.0","method":"stream.chunk","params":{…}}
//	response      {"jsonrpc":"2.0","id":1,"result":{…}}
//	error         {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"…","kind":"invalid_params"}}
//
// Host ids are echoed byte for byte, whatever number or string they are. Our
// own requests to the host carry the ids "srv_1", "srv_2", …; the two name
// spaces never meet, since a frame without a method is always an answer.
//
// # Reading
//
// A line that is no frame is answered, and reading goes on: -32700 with id
// null when it is not JSON, -32600 when it is JSON but no frame. Lines are
// capped (16 MiB by default); a longer one is skipped to its newline and
// answered. Nothing a host sends ends the process, except closing the pipe.
//
// # Writing
//
// [Out] is the only writer of standard output. A caller that writes while the
// pipe has room writes directly, under a lock: handing frames to a writer
// goroutine was measured at 1.9 times the round trip. When the pipe is full,
// bytes wait in memory and a parked goroutine resumes; reading never waits for
// writing. Deltas of one stream merge while they wait, control frames overtake
// deltas of other streams, and nothing is dropped. A pipe that stays blocked
// for a minute ends the process through [OutOptions.OnFail].
//
// # Why not jsonrpc2.Conn
//
// The error type, the codes and the JSONRPC2 interface are those of
// github.com/sourcegraph/jsonrpc2, which [Peer] implements. Its Conn decodes a
// message two or three times, ends on the first malformed line and cannot hold
// a negative, fractional or null id; see docs/adr/0002.
package protocol
