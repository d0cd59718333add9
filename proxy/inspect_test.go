package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// handshake writes a TLS hello for name over conn, cut into pieces, and returns
// what the other side says to it.
func handshake(t *testing.T, conn net.Conn, name string) error {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	return tls.Client(pieces{conn}, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
}

// pieces writes 100 bytes at a time.
type pieces struct{ net.Conn }

func (p pieces) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var k int
		k, err = p.Conn.Write(b[:min(100, len(b))])
		n += k
		b = b[k:]
	}
	return n, err
}

func TestSNI(t *testing.T) {
	t.Parallel()
	cert, _ := testCA(t)
	got := make(chan string, 10)
	target := server(t, "tcp", "127.0.0.1:0", func(c *net.TCPConn) {
		sc := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			got <- h.ServerName
			return nil, nil
		}})
		_ = sc.Handshake()
	}).String()
	port := portOf(t, target)
	for name, tc := range map[string]struct {
		mode         SNI
		connect, sni string
		passes       bool
		detail       string
	}{
		"enforced match":         {SNIEnforce, "a.example", "a.example", true, ""},
		"enforced match by case": {SNIEnforce, "A.example.", "a.EXAMPLE", true, ""},
		"enforced other":         {SNIEnforce, "a.example", "b.example", false, detailOtherName},
		"enforced none":          {SNIEnforce, "a.example", "", false, detailNoName},
		"enforced address":       {SNIEnforce, "127.0.0.1", "", true, ""},
		"enforced name to addr":  {SNIEnforce, "127.0.0.1", "b.example", false, detailOtherName},
		"observed other":         {SNIObserve, "a.example", "b.example", true, detailOtherName},
		"observed match":         {SNIObserve, "a.example", "a.example", true, ""},
		"off":                    {SNIOff, "a.example", "b.example", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, Options{
				SNI: tc.mode, Policy: Policy{Allow: entries(t, "a.example:"+port, target)},
				Hosts: strings.NewReader("127.0.0.1 a.example"),
			})
			conn := tunnel(t, h.addr, tc.connect+":"+port)
			err := handshake(t, conn, tc.sni)
			if (err == nil) != tc.passes {
				t.Errorf("handshake: %v", err)
			}
			if !tc.passes && (err == nil || !strings.Contains(err.Error(), "unrecognized name")) {
				t.Errorf("refused with %v, want the alert", err)
			}
			_ = conn.Close()
			e := h.events.nth(t, 1)
			if e.Detail != tc.detail || (e.Reason == ReasonSNIMismatch) == tc.passes || !tc.passes && (e.BytesUp > 0 || e.Verdict != VerdictDeny) {
				t.Errorf("event %+v", e)
			}
			if tc.detail == detailOtherName && e.SNI != "b.example" {
				t.Errorf("event %+v", e)
			}
			if tc.passes {
				<-got
			} else if len(got) > 0 {
				t.Error("the hello reached the target")
			}
		})
	}
}

// TestSNILeavesOtherProtocolsAlone, and bytes that only begin like TLS are cut.
func TestSNILeavesOtherProtocolsAlone(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{SNI: SNIEnforce, Policy: Policy{Allow: entries(t, target)}})
	wantEcho(t, tunnel(t, h.addr, target), "SSH-2.0-client\r\n")
	for name, bytes := range map[string]string{
		"no hello":           "\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00",
		"an alert before it": "\x15\x03\x01\x00\x02\x01\x5a\x16\x03\x01",
	} {
		conn := tunnel(t, h.addr, target)
		_, _ = io.WriteString(conn, bytes)
		wantBytes(t, conn, alert)
		if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
	}
}
