package proxy

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/steerable-go/sidecar/proxy/internal/relay"
)

// framingKind is how a response body is delimited on the client's side. It
// follows the upstream's where it can, so that a client sees what it would
// have seen; what an HTTP/2 stream ends, chunks end here.
type framingKind uint8

const (
	framedNone   framingKind = iota // no body follows
	framedLength                    // Content-Length
	framedChunks
	framedClose // the end of the connection
)

func (f *forward) framing(resp *http.Response) framingKind {
	switch {
	case string(f.head.Method) == http.MethodHead, resp.StatusCode < http.StatusOK,
		resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return framedNone
	case resp.ContentLength >= 0:
		return framedLength
	case f.head.Minor > 0 && (resp.ProtoMajor > 1 || len(resp.TransferEncoding) > 0):
		return framedChunks
	default:
		return framedClose
	}
}

// respond sends the response to the client, every piece as it comes, and
// reports whether it is whole.
func (x *exchange) respond(f *forward, resp *http.Response, idle *idleTimer) bool {
	defer func() { _ = resp.Body.Close() }()
	kind := f.framing(resp)
	x.event.Status = resp.StatusCode
	b := appendStatus(nil, resp)
	b = appendHeader(b, resp.Header)
	if length := announced(kind, resp); length != "" {
		b = append(append(append(b, "content-length: "...), length...), "\r\n"...)
	}
	if kind == framedChunks {
		b = append(b, "transfer-encoding: chunked\r\n"...)
	}
	b = append(b, "connection: close\r\n\r\n"...)
	if _, err := x.conn.Write(b); err != nil {
		x.event.Cause = relay.CauseClientReset
		return false
	}
	if kind == framedNone {
		x.event.Cause = relay.CauseEOF
		return true
	}
	x.event.Cause = x.copyBody(resp, kind, idle)
	return x.event.Cause == relay.CauseEOF
}

// announced returns the length to announce, "" for none. That of a response to
// HEAD and of a 304 is the length of a body that does not follow, so that it
// is copied rather than counted; 1xx and 204 have none (RFC 9110, section 8.6).
func announced(kind framingKind, resp *http.Response) string {
	switch {
	case kind == framedLength:
		return strconv.FormatInt(resp.ContentLength, 10)
	case kind == framedNone && resp.StatusCode >= http.StatusOK && resp.StatusCode != http.StatusNoContent:
		length := resp.Header.Get("Content-Length")
		if _, err := strconv.ParseUint(length, 10, 63); err == nil {
			return length
		}
	}
	return ""
}

// appendStatus copies the status line, the phrase only if it is plain text.
func appendStatus(b []byte, resp *http.Response) []byte {
	_, phrase, _ := strings.Cut(resp.Status, " ")
	if !visible(phrase) || phrase == "" {
		phrase = http.StatusText(resp.StatusCode)
	}
	return fmt.Appendf(b, "HTTP/1.1 %03d %s\r\n", resp.StatusCode, phrase)
}

// appendHeader copies the fields that do not end here, in the order of their
// names.
func appendHeader(b []byte, h http.Header) []byte {
	listed := map[string]bool{}
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			listed[strings.ToLower(strings.TrimSpace(name))] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		lower := strings.ToLower(name)
		if hopByHop(lower) || listed[lower] || lower == "content-length" {
			continue
		}
		for _, v := range h[name] {
			if !strings.ContainsAny(v, "\r\n\x00") {
				b = append(append(append(append(b, name...), ": "...), v...), "\r\n"...)
			}
		}
	}
	return b
}

// chunkRoom is what a chunk's size line takes before the data, "ffffffff\r\n"
// at most, and chunkTail the CRLF behind it.
const (
	chunkRoom = 10
	chunkTail = 2
)

// copyBody passes the body on and returns how that ended.
func (x *exchange) copyBody(resp *http.Response, kind framingKind, idle *idleTimer) relay.Cause {
	buf := get(x.s.heads.large)
	defer x.s.heads.large.Put(buf)
	data := (*buf)[chunkRoom : len(*buf)-chunkTail]
	for {
		n, err := resp.Body.Read(data)
		idle.touch()
		if n > 0 {
			out := data[:n]
			if kind == framedChunks {
				out = frameChunk(*buf, n)
			}
			if _, werr := x.conn.Write(out); werr != nil {
				return relay.CauseClientReset
			}
			x.event.BytesDown += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			return x.endBody(kind)
		case err != nil:
			return relay.CauseUpstreamReset
		}
	}
}

// endBody writes what ends the framing.
func (x *exchange) endBody(kind framingKind) relay.Cause {
	if kind == framedChunks {
		if _, err := x.conn.Write([]byte("0\r\n\r\n")); err != nil {
			return relay.CauseClientReset
		}
	}
	return relay.CauseEOF
}

// frameChunk puts the size line and the CRLF around the n bytes that stand
// chunkRoom into buf, so that a chunk is one write.
func frameChunk(buf []byte, n int) []byte {
	var digits [chunkRoom]byte
	line := append(strconv.AppendInt(digits[:0], int64(n), 16), "\r\n"...)
	start := chunkRoom - len(line)
	copy(buf[start:], line)
	end := chunkRoom + n
	copy(buf[end:], "\r\n")
	return buf[start : end+chunkTail]
}

// switchProtocols relays an upgraded connection.
func (x *exchange) switchProtocols(resp *http.Response) {
	rwc, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		panic("bug: a 101 response that cannot be written to")
	}
	b := appendHeader(appendStatus(nil, resp), resp.Header)
	for _, v := range resp.Header["Upgrade"] {
		b = append(append(append(b, "Upgrade: "...), v...), "\r\n"...)
	}
	b = append(b, "Connection: Upgrade\r\n\r\n"...)
	if _, err := x.conn.Write(b); err != nil {
		_ = rwc.Close()
		_ = x.conn.Close()
		x.done(relay.Result{Cause: relay.CauseClientReset})
		return
	}
	x.event.Status = resp.StatusCode
	early := x.early
	x.early = nil
	conn := x.conn
	x.s.tunnels.Start(relay.Tunnel{A: conn, B: streamConn{rwc}, FromA: early, Done: x.done})
	x.s.conns.forget(conn)
}

// streamConn lets the relay use the stream of an upgraded response. Nothing
// sets deadlines on side B of a tunnel, and its addresses are not asked for.
type streamConn struct{ io.ReadWriteCloser }

var _ net.Conn = streamConn{}

func (streamConn) LocalAddr() net.Addr              { return nil }
func (streamConn) RemoteAddr() net.Addr             { return nil }
func (streamConn) SetDeadline(time.Time) error      { return nil }
func (streamConn) SetReadDeadline(time.Time) error  { return nil }
func (streamConn) SetWriteDeadline(time.Time) error { return nil }

// CloseWrite passes a half-close on where the stream has one, and otherwise
// closes: an upgraded protocol whose client is gone has no use for the rest.
func (s streamConn) CloseWrite() error {
	if h, ok := s.ReadWriteCloser.(interface{ CloseWrite() error }); ok && h.CloseWrite() == nil {
		return nil
	}
	return s.Close()
}
