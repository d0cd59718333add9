package proxy

import (
	"io"
	"strings"
	"testing"
)

// oddServer has an echo target, names for it, and entries that overlap.
func oddServer(t *testing.T) (h *harness, target, port string) {
	t.Helper()
	target = echo(t)
	port = portOf(t, target)
	return start(t, Options{
		Policy: Policy{
			Allow: entries(t, target, "exact.example:"+port, "*.one.example:"+port, "**.deep.example:"+port, "xn--bcher-kva.example:"+port, "10.0.0.1", "a_b.example:"+port, "*.two.example"),
			Deny:  entries(t, "no.one.example", "*.bad.deep.example", "10.9.9.9", "exact.example:1"),
		},
		Hosts: strings.NewReader("127.0.0.1 exact.example a.one.example c.b.one.example one.example no.one.example deep.example a.deep.example " +
			"a.b.deep.example x.bad.deep.example bad.deep.example xn--bcher-kva.example a_b.example"),
		ControlToken: NewSecret(token),
	}), target, port
}

// TestOddHeads sends heads that programs read differently and wants one
// reading, or a refusal with this status and reason.
func TestOddHeads(t *testing.T) {
	t.Parallel()
	h, target, port := oddServer(t)
	connect := "CONNECT " + target + " HTTP/1.1\r\n"
	for name, tc := range map[string]struct{ send, status, reason string }{
		"fold with a tab":              {connect + "X-A: 1\r\n\t2\r\n\r\n", "400", "malformed"},
		"fold of nothing":              {connect + "X-A:\r\n \r\n\r\n", "400", "malformed"},
		"LF ends the head":             {connect + "X-A: 1\r\n\n", "400", "malformed"},
		"LF CR":                        {"CONNECT " + target + " HTTP/1.1\n\r\n\r", "400", "malformed"},
		"CR ends the request line":     {"CONNECT " + target + " HTTP/1.1\rX-A: 1\r\n\r\n", "400", "malformed"},
		"NUL in a name":                {connect + "X\x00A: 1\r\n\r\n", "400", "malformed"},
		"high byte in a name":          {connect + "X\xe9: 1\r\n\r\n", "400", "malformed"},
		"vertical tab in a value":      {connect + "X-A: a\x0bb\r\n\r\n", "400", "malformed"},
		"NUL behind the version":       {"CONNECT " + target + " HTTP/1.1\x00\r\n\r\n", "400", "malformed"},
		"tab for the second blank":     {"CONNECT " + target + "\tHTTP/1.1\r\n\r\n", "400", "malformed"},
		"two empty lines first":        {"\r\n\r\n" + connect + "\r\n", "400", "malformed"},
		"absolute form":                {"CONNECT http://" + target + "/ HTTP/1.1\r\n\r\n", "400", "malformed"},
		"network path":                 {"CONNECT //" + target + " HTTP/1.1\r\n\r\n", "400", "malformed"},
		"empty userinfo":               {"CONNECT @" + target + " HTTP/1.1\r\n\r\n", "400", "malformed"},
		"empty user and password":      {"CONNECT :@" + target + " HTTP/1.1\r\n\r\n", "400", "malformed"},
		"host without a port, slash":   {"CONNECT exact.example/ HTTP/1.1\r\n\r\n", "400", "malformed"},
		"port with a blank field":      {"CONNECT exact.example: HTTP/1.1\r\n\r\n", "400", "malformed"},
		"port of all zeros":            {"CONNECT exact.example:00000 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"port of six digits":           {"CONNECT exact.example:100000 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"port beyond 64 bits":          {"CONNECT exact.example:18446744073709551617 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"port in Arabic digits":        {"CONNECT exact.example:\u0664\u0664\u0663 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"IPv6 with a short port":       {"CONNECT [::1] HTTP/1.1\r\n\r\n", "400", "malformed"},
		"IPv6 with a dot behind":       {"CONNECT [::1].:" + port + " HTTP/1.1\r\n\r\n", "400", "malformed"},
		"IPv6 of nine groups":          {"CONNECT [1:2:3:4:5:6:7:8:9]:443 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"IPv6 twice elided":            {"CONNECT [::1::]:443 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"IPv6 with a quad of zeros":    {"CONNECT [::ffff:127.0.0.01]:" + port + " HTTP/1.1\r\n\r\n", "400", "malformed"},
		"IPvFuture":                    {"CONNECT [v1.x]:443 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"empty zone":                   {"CONNECT [fe80::1%]:443 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"only a dot":                   {"CONNECT .:443 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"quad with two final dots":     {"CONNECT 127.0.0.1..:" + port + " HTTP/1.1\r\n\r\n", "400", "malformed"},
		"name in UTF-8":                {"CONNECT b\u00fccher.example:" + port + " HTTP/1.1\r\n\r\n", "400", "malformed"},
		"soft hyphen":                  {"CONNECT ex\u00adact.example:" + port + " HTTP/1.1\r\n\r\n", "400", "malformed"},
		"hex last label":               {"CONNECT a.0x7f:443 HTTP/1.1\r\n\r\n", "400", "malformed"},
		"lengths that agree":           {connect + "Content-Length: 0\r\ncontent-length: 0\r\n\r\n", "400", "malformed"},
		"length of a list":             {connect + "Content-Length: 0, 0\r\n\r\n", "400", "malformed"},
		"empty coding":                 {connect + "Transfer-Encoding:\r\n\r\n", "400", "malformed"},
		"coding identity":              {connect + "Transfer-Encoding: identity\r\n\r\n", "400", "malformed"},
		"coding and length zero":       {connect + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", "400", "malformed"},
		"Host of two values, unequal":  {connect + "Host: a\r\nhost: b\r\n\r\n", "400", "malformed"},
		"version with a leading zero":  {"CONNECT " + target + " HTTP/01.1\r\n\r\n", "400", "malformed"},
		"version 1.9":                  {"CONNECT " + target + " HTTP/1.9\r\n\r\n", "505", "http_version"},
		"HTTP/2 preface":               {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505", "http_version"},
		"absolute form, no rule":       {"GET http://exact.example:" + port + "/ HTTP/1.1\r\n\r\n", "405", "method_not_allowed"},
		"Host does not replace target": {"CONNECT other.example:" + port + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n", "403", "not_listed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := refused(t, h.addr, tc.send, tc.status)
			if r.fields["x-proxy-error"] != tc.reason {
				t.Errorf("reason %q, want %q", r.fields["x-proxy-error"], tc.reason)
			}
			if strings.ContainsFunc(r.line, func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Errorf("status line %q", r.line)
			}
		})
	}
}

// TestOddTargets opens tunnels, or refuses for the reason given.
func TestOddTargets(t *testing.T) {
	t.Parallel()
	h, _, port := oddServer(t)
	for authority, reason := range map[string]string{
		"EXACT.EXAMPLE:" + port: "", "exact.example.:" + port: "", "XN--BCHER-KVA.Example:" + port: "", "a_b.example:" + port: "",
		"exact.example:1": "denied", "EXACT.example.:1": "denied",
		"a.one.example:" + port: "", "A.ONE.example.:" + port: "",
		"one.example:" + port: "not_listed", "c.b.one.example:" + port: "", "aone.example:" + port: "not_listed", "no.one.example:" + port: "denied", "NO.ONE.EXAMPLE.:" + port: "denied",
		"deep.example:" + port: "", "a.deep.example:" + port: "", "a.b.deep.example:" + port: "",
		"x.bad.deep.example:" + port: "denied", "bad.deep.example:" + port: "", "undeep.example:" + port: "not_listed", "a.one.example:65535": "not_listed",
		"10.9.9.9:443": "denied", "[::ffff:10.9.9.9]:443": "denied", "[::ffff:a09:909]:443": "denied", "[64:ff9b::a09:909]:443": "denied", "[2002:a09:909::1]:443": "denied",
		"10.0.0.1:22": "not_listed", "169.254.169.254:80": "blocked_address", "[::ffff:169.254.169.254]:80": "blocked_address", "[fd00:ec2::254]:80": "blocked_address", "0.0.0.0:" + port: "blocked_address",
		portOf(t, h.addr) + ".example:443": "not_listed", "127.0.0.1:" + portOf(t, h.addr): "self_target", "[::ffff:127.0.0.1]:" + portOf(t, h.control): "self_target",
	} {
		t.Run(authority, func(t *testing.T) {
			t.Parallel()
			if reason == "" {
				wantEcho(t, tunnel(t, h.addr, authority), authority)
				return
			}
			r := refused(t, h.addr, "CONNECT "+authority+" HTTP/1.1\r\n\r\n", "403")
			if r.fields["x-proxy-error"] != reason || (reason == "not_listed") != strings.Contains(r.line, "; egress denied for ") {
				t.Errorf("got %q, %v; want %q", r.line, r.fields, reason)
			}
		})
	}
}

// TestOddEdges holds the longest head and one byte more in front of what a
// client pipelines behind it.
func TestOddEdges(t *testing.T) {
	t.Parallel()
	h, target, _ := oddServer(t)
	padded := func(size int) string {
		head := "CONNECT " + target + " HTTP/1.1\r\nX-Pad: "
		return head + strings.Repeat("x", size-len(head)-4) + "\r\n\r\n"
	}
	for _, size := range []int{16_383, 16_384} {
		conn := dial(t, h.addr)
		_, _ = io.WriteString(conn, padded(size)+"GET / HTTP/1.1\r\n\r\n")
		wantEstablished(t, conn)
		wantBytes(t, conn, "GET / HTTP/1.1\r\n\r\n")
		wantEcho(t, conn, "more")
	}
	refused(t, h.addr, padded(16_385)+"GET / HTTP/1.1\r\n\r\n", "431")
	refused(t, h.addr, "CONNECT other.example:443 HTTP/1.1\r\n\r\nCONNECT "+target+" HTTP/1.1\r\n\r\n", "403")
}

// TestOddChunks reads chunked bodies in one way or not at all.
func TestOddChunks(t *testing.T) {
	t.Parallel()
	silent, _ := counting(t) // it would hide a late 400 if it answered early
	opt := brokerFor(t, silent)
	opt.InjectChunked = true
	h := start(t, opt)
	head := "POST http://127.0.0.1/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, body := range map[string]string{
		"signed size": "+4\r\nWiki\r\n0\r\n\r\n", "size with 0x": "0x4\r\nWiki\r\n0\r\n\r\n", "blank before size": " 4\r\nWiki\r\n0\r\n\r\n", "LF after size": "4\nWiki\r\n0\r\n\r\n",
		"no line end after data": "4\r\nWikiX\r\n0\r\n\r\n", "LF after data": "4\r\nWiki\n0\r\n\r\n", "size beyond 64 bits": "10000000000000004\r\nWiki\r\n0\r\n\r\n",
		"extension": "4;a=b\r\nWiki\r\n0\r\n\r\n", "LF in an extension": "4;a\nb\r\nWiki\r\n0\r\n\r\n", "no size": "\r\nWiki\r\n0\r\n\r\n", "negative size": "-1\r\n\r\n",
	} {
		if r := refused(t, h.addr, head+body, "400"); r.fields["x-proxy-error"] != "malformed" {
			t.Errorf("%s: %v", name, r.fields)
		}
	}
}

// TestOddControl asks for the same thing in other words.
func TestOddControl(t *testing.T) {
	t.Parallel()
	h, _, port := oddServer(t)
	for body, want := range map[string]string{
		`{"host": "NEW.Example."}`:                 `{"allowed": "new.example", "ports": "80,443"}`,
		`{"host":"[2001:DB8::0:1]:8443"}`:          `{"allowed": "2001:db8::1", "ports": "8443"}`,
		`{"host": "[::ffff:192.0.2.9]:1"}`:         `{"allowed": "::ffff:192.0.2.9", "ports": "1"}`,
		" \t{\"ttl_s\": 1.5, \"host\": \"t.x\"}\n": `{"allowed": "t.x", "ports": "80,443"}`,
		`{"host": "u\u006eescaped.example:65535"}`: `{"allowed": "unescaped.example", "ports": "65535"}`,
	} {
		if status, got, _ := ask(t, h, "POST", "/allow", body, "Host: [::1]:"+port); status != 200 || got != want {
			t.Errorf("%s: %d %s, want %s", body, status, got, want)
		}
	}
	for _, body := range []string{
		`{"host": "a.example:080"}`, `{"host": "a.example:65536"}`, `{"host": "**.example.com"}`, `{"host": "user@a.example"}`, `{"host": "127.1"}`,
		`{"host": "b\u00fccher.example"}`, `{"host": "a.example\u0000"}`, `{"host": "[::1%lo]"}`, `{"host": "::1"}`, `{"host": "a.example",}`, "{\"host\": \"a\xff.example\"}",
	} {
		if status, _, _ := ask(t, h, "POST", "/allow", body); status != 400 {
			t.Errorf("%s: %d", body, status)
		}
	}
	for _, step := range []struct {
		body string
		want int
	}{
		{`{"host": "new.EXAMPLE:443"}`, 404},
		{`{"host": "New.example."}`, 200},
		{`{"host": "new.example"}`, 404},
		{`{"host": "[::ffff:c000:209]:1"}`, 200},
		{`{"host": "exact.example:` + port + `"}`, 404},
		{`{}`, 400},
	} {
		if status, got, _ := ask(t, h, "DELETE", "/allow", step.body); status != step.want {
			t.Errorf("remove %s: %d %s, want %d", step.body, status, got, step.want)
		}
	}
	refused(t, h.addr, "CONNECT new.example:443 HTTP/1.1\r\n\r\n", "403")
	if status, _, _ := ask(t, h, "HEAD", "/allow", ""); status != 404 {
		t.Errorf("HEAD: %d", status)
	}
}

// TestOddEnds half-closes in the middle of things.
func TestOddEnds(t *testing.T) {
	t.Parallel()
	h, target, _ := oddServer(t)
	for _, part := range []string{"C", "CONNECT " + target + " HTTP/1.1", "CONNECT " + target + " HTTP/1.1\r", "CONNECT " + target + " HTTP/1.1\r\nX: y\r\n\r"} {
		conn := dial(t, h.addr)
		_, _ = io.WriteString(conn, part)
		_ = conn.CloseWrite()
		raw, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(raw), "HTTP/1.1 400 ") {
			t.Errorf("%q and FIN: %q, %v", part, raw, err)
		}
	}
	conn := dial(t, h.addr)
	_, _ = io.WriteString(conn, "CONNECT "+target+" HTTP/1.1\r\n\r\nlast words")
	_ = conn.CloseWrite()
	wantEstablished(t, conn)
	if raw, err := io.ReadAll(conn); err != nil || string(raw) != "last words" {
		t.Errorf("whole request, payload and FIN: %q, %v", raw, err)
	}
}
