package proxy

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

// TestBrokerUpgrade relays a protocol that both sides agreed on.
func TestBrokerUpgrade(t *testing.T) {
	t.Parallel()
	up := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		req, err := readRequest(r)
		if err != nil || !strings.Contains(req, "Upgrade: websocket\r\n") || !strings.Contains(req, "Connection: Upgrade\r\n") || !strings.Contains(req, secret) {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\nhi ")
		_, _ = io.Copy(onlyWriter{c}, r)
	}).String()
	h := start(t, brokerFor(t, up, func(r *InjectRule) { r.Upgrade = true }))
	conn := dial(t, h.addr)
	_, _ = io.WriteString(conn, "GET http://127.0.0.1/ws HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\nearly ")
	head := readHead(t, conn)
	for _, want := range []string{"HTTP/1.1 101 ", "Upgrade: websocket\r\n", "Connection: Upgrade\r\n", "Sec-Websocket-Accept: x\r\n"} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in %q", want, head)
		}
	}
	wantBytes(t, conn, "hi early ")
	wantEcho(t, conn, "frames")
	_ = conn.CloseWrite()
	if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if e := h.events.nth(t, 1); e.Status != 101 || e.BytesDown != int64(len("hi early frames")) {
		t.Errorf("event %+v", e)
	}
	refused(t, h.addr, "GET http://127.0.0.1/ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: a\r\nUpgrade: b\r\n\r\n", "501")
	// An offer of h2c asks for nothing.
	if raw := talk(t, h.addr, "GET http://127.0.0.1/ HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n"); !strings.HasPrefix(raw, "HTTP/1.1 400") {
		t.Errorf("%q", raw)
	}
}

func TestBrokerHEADAndNoContent(t *testing.T) {
	t.Parallel()
	for method, tc := range map[string]struct{ response, want string }{
		"HEAD":   {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", "content-length: 500"},
		"DELETE": {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content"},
		"GET":    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\nEtag: x\r\n\r\n", "Etag: x\r\ncontent-length: 1234\r\n"},
		"PURGE":  {"HTTP/1.1 200 Fine\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 Fine"},
		"QUERY":  {"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK"},
	} {
		up := newRawUpstream(t, tc.response)
		h := start(t, brokerFor(t, up.addr))
		if raw := talk(t, h.addr, method+" http://127.0.0.1/ HTTP/1.1\r\n\r\n"); !strings.Contains(raw, tc.want) || !strings.HasSuffix(raw, "\r\n\r\n") {
			t.Errorf("%s: %q", method, raw)
		}
	}
}
