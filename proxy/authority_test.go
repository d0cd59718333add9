package proxy

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestRequestLines covers the spellings of a request line that open a tunnel.
func TestRequestLines(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	for name, head := range map[string]string{
		"no Host":             "CONNECT " + target + " HTTP/1.1\r\n\r\n",
		"lower case":          "connect " + target + " HTTP/1.1\r\n\r\n",
		"mixed case":          "CoNnEcT " + target + " HTTP/1.1\r\n\r\n",
		"version 1.0":         "CONNECT " + target + " HTTP/1.0\r\n\r\n",
		"other Host":          "CONNECT " + target + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"length zero":         "CONNECT " + target + " HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		"blanks round values": "CONNECT " + target + " HTTP/1.1\r\nX-A: \t b \t\r\nX-Empty:\r\n\r\n",
		"obs-text in a value": "CONNECT " + target + " HTTP/1.1\r\nX-A: caf\xc3\xa9\r\n\r\n",
		"final dot":           "CONNECT 127.0.0.1.:" + portOf(t, target) + " HTTP/1.1\r\n\r\n",
		"mapped literal":      "CONNECT [::ffff:127.0.0.1]:" + portOf(t, target) + " HTTP/1.1\r\n\r\n",
		"mapped hex literal":  "CONNECT [::FFFF:7f00:1]:" + portOf(t, target) + " HTTP/1.1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, h.addr)
			_, _ = io.WriteString(conn, head)
			wantEstablished(t, conn)
			wantEcho(t, conn, "hello")
		})
	}
}

// TestMalformedRequests wants 400 and no dial, whatever the list says.
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	target, dials := counting(t)
	port := portOf(t, target)
	wrapped, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, Options{Policy: Policy{Allow: entries(t, target, "[::1]:"+port, "localhost:"+port, "h", "a.example.com")}})
	connect := func(authority string) string { return "CONNECT " + authority + " HTTP/1.1\r\n\r\n" }
	field := func(line string) string { return "CONNECT " + target + " HTTP/1.1\r\n" + line + "\r\n\r\n" }
	cases := map[string]string{
		"garbage": "garbage\r\n\r\n", "two spaces": "CONNECT  " + target + " HTTP/1.1\r\n\r\n",
		"tabs": "CONNECT\t" + target + "\tHTTP/1.1\r\n\r\n", "trailing space": "CONNECT " + target + " HTTP/1.1 \r\n\r\n",
		"leading space": " CONNECT " + target + " HTTP/1.1\r\n\r\n", "leading empty line": "\r\nCONNECT " + target + " HTTP/1.1\r\n\r\n",
		"no version": "CONNECT " + target + "\r\n\r\n", "empty target": "CONNECT  HTTP/1.1\r\n\r\n", "only blank line": "\r\n\r\n",
		"lower-case protocol": "CONNECT " + target + " http/1.1\r\n\r\n", "version without minor": "CONNECT " + target + " HTTP/1\r\n\r\n",
		"version with two digits": "CONNECT " + target + " HTTP/1.10\r\n\r\n",
		"long method":             strings.Repeat("A", 33) + " " + target + " HTTP/1.1\r\n\r\n",
		"method with a colon":     "CONNECT: " + target + " HTTP/1.1\r\n\r\n",

		"field without colon": field("nonsense"), "fold": field("X-A: 1\r\n 2"), "fold at once": field(" X-A: 1"), "space before colon": field("X-A : 1"),
		"empty name": field(": 1"), "two hosts": field("Host: a\r\nHost: a"), "NUL in value": field("X-A: a\x00b"), "DEL in value": field("X-A: a\x7fb"),
		"escape in value": field("X-A: \x1b[0m"), "lone LF in value": field("X-A: 1\nX-B: 2"), "lone CR in value": field("X-A: 1\rX-B: 2"),
		"body length": field("Content-Length: 5"), "chunked": field("Transfer-Encoding: chunked"), "two lengths": field("Content-Length: 0\r\nContent-Length: 0"),
		"signed length": field("Content-Length: +0"), "empty length": field("Content-Length:"), "underscored length": field("Content-Length: 1_0"),
		"bare LF head": "CONNECT " + target + " HTTP/1.1\n\n", "CR CR LF": "CONNECT " + target + " HTTP/1.1\r\r\n\r\n",
	}
	for name, authority := range map[string]string{
		"port zero": "h:0", "port too large": "h:65536", "port wrapped": "127.0.0.1:" + strconv.Itoa(wrapped+65536), "port empty": "h:", "no port": "h",
		"port word": "h:abc", "port with plus": "127.0.0.1:+" + port, "port with minus": "127.0.0.1:-" + port, "port with underscore": "127.0.0.1:9_100",
		"port with zeros": "127.0.0.1:00" + port, "port with one zero": "h:0443", "port encoded": "127.0.0.1:%39100", "port hex": "127.0.0.1:0x50",
		"userinfo": "user:pw@" + target, "user": "user@" + target, "scheme": "https://" + target, "path": target + "/x", "query": target + "?x", "fragment": target + "#x",
		"empty host": ":" + port, "empty brackets": "[]:" + port, "IPv6 without brackets": "::1:" + port, "bracket unclosed": "[::1:" + port,
		"text after bracket": "[::1]x:" + port, "IPv4 in brackets": "[127.0.0.1]:" + port, "name in brackets": "[localhost]:" + port,
		"zone": "[::1%lo]:" + port, "encoded zone": "[fe80::1%25eth0]:443", "zone behind mapped": "[::ffff:1.2.3.4%x.allowed.com]:443",
		"short quad": "127.1:" + port, "decimal": "2130706433:" + port, "hex part": "0x7f.0.0.1:" + port, "hex whole": "0x7f000001:" + port, "octal": "0177.0.0.1:" + port,
		"octal whole": "017700000001:" + port, "three parts": "127.0.1:" + port, "out of range": "127.0.0.256:" + port, "five parts": "127.0.0.0.1:" + port, "name ending in number": "a.example.7:443",
		"percent": "a.ex%61mple.com:443", "NUL": "a\x00.example.com:443", "high byte": "a\xff.example.com:443", "fullwidth": "１２７.0.0.1:443", "ideographic dot": "127。0。0。1:443",
		"empty label": "a..example.com:443", "two final dots": "a.example.com..:443", "leading dot": ".a.example.com:443", "star": "*.example.com:443", "comma": "h,g:443", "backslash": `h\g:443`,
		"label too long": strings.Repeat("a", 64) + ".example.com:443", "name too long": strings.Repeat("a.", 130) + "com:443",
		"lone CR": "a\r.example.com:443", "lone LF": "a\nx-evil:1:443", "two ports": "h:1:443",
	} {
		cases["authority with "+name] = connect(authority)
	}
	for name, send := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := refused(t, h.addr, send, "400")
			if r.line != "HTTP/1.1 400 Bad Request" || r.fields["x-proxy-error"] != "malformed" {
				t.Errorf("got %q, %v", r.line, r.fields)
			}
		})
	}
	t.Cleanup(func() {
		if n := dials(); n != 0 {
			t.Errorf("%d refusals dialled", n)
		}
	})
}

// TestVersions wants 505 for HTTP versions that exist but are not spoken.
func TestVersions(t *testing.T) {
	t.Parallel()
	h := start(t, Options{})
	for _, v := range []string{"HTTP/2.0", "HTTP/9.9", "HTTP/1.2", "HTTP/0.9"} {
		refused(t, h.addr, "CONNECT h:443 "+v+"\r\n\r\n", "505")
	}
}

// TestMethodNotAllowed is decided before the target is looked at.
func TestMethodNotAllowed(t *testing.T) {
	t.Parallel()
	target, dials := counting(t)
	h := start(t, Options{Policy: Policy{Allow: entries(t, target)}})
	for _, line := range []string{
		"GET http://" + target + "/", "GET /", "OPTIONS *", "GET weird", "POST http://user@h/", "TRACE " + target, "get /", strings.Repeat("A", 32) + " /",
	} {
		r := refused(t, h.addr, line+" HTTP/1.1\r\n\r\n", "405")
		if r.line != "HTTP/1.1 405 Method Not Allowed" || r.fields["allow"] != "CONNECT" {
			t.Errorf("%s: %q %v", line, r.line, r.fields)
		}
	}
	if dials() != 0 {
		t.Error("a refused method dialled")
	}
}

// TestIPv6Literals needs the brackets on both sides.
func TestIPv6Literals(t *testing.T) {
	t.Parallel()
	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("this machine has no IPv6 loopback:", err)
	} else {
		_ = ln.Close()
	}
	addr := server(t, "tcp", "[::1]:0", func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	port := strconv.Itoa(addr.Port)
	h := start(t, Options{Policy: Policy{Allow: entries(t, "[::1]:"+port)}})
	wantEcho(t, tunnel(t, h.addr, "[::1]:"+port), "six")
	wantEcho(t, tunnel(t, h.addr, "[0:0:0:0:0:0:0:1]:"+port), "six")
	refused(t, h.addr, "CONNECT ::1:"+port+" HTTP/1.1\r\n\r\n", "400")
	refused(t, h.addr, "CONNECT [::2]:"+port+" HTTP/1.1\r\n\r\n", "403")
}

// TestNamesHaveOneSpelling covers case and the final dot, in allow and deny.
func TestNamesHaveOneSpelling(t *testing.T) {
	t.Parallel()
	target := echo(t)
	port := portOf(t, target)
	h := start(t, Options{
		Policy: Policy{Allow: entries(t, "api.example.com:"+port, "**.wild.example:"+port, target), Deny: entries(t, "No.Wild.Example.")},
		Hosts:  strings.NewReader("127.0.0.1 api.example.com wild.example a.wild.example b.a.wild.example no.wild.example"),
	})
	for _, name := range []string{"api.example.com", "API.Example.COM", "api.example.com.", "a.wild.example", "A.WILD.example.", "b.a.wild.example", "wild.example"} {
		wantEcho(t, tunnel(t, h.addr, name+":"+port), name)
	}
	for _, name := range []string{"no.wild.example", "NO.wild.EXAMPLE."} {
		r := refused(t, h.addr, "CONNECT "+name+":"+port+" HTTP/1.1\r\n\r\n", "403")
		if r.fields["x-proxy-error"] != "denied" || strings.Contains(r.line, "egress denied for") {
			t.Errorf("%s: %q %v", name, r.line, r.fields)
		}
	}
	for _, name := range []string{"xapi.example.com", "api.example.com.evil.test", "evilwild.example", "example.com"} {
		refused(t, h.addr, "CONNECT "+name+":"+port+" HTTP/1.1\r\n\r\n", "403")
	}
	refused(t, h.addr, "CONNECT api.example.com:1"+port[1:]+" HTTP/1.1\r\n\r\n", "403")
}
