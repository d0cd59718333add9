package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1" // RFC 6455 asks for it
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// site is a TLS server that clients reach through the proxy.
type site struct {
	addr string
	port string
	ca   string // path of the certificate that signs for it
	pool *x509.CertPool
}

// newSite serves files under /git/, and under other paths what the tests need.
func newSite(t *testing.T, files string) *site {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{ca: filepath.Join(t.TempDir(), "ca.pem"), pool: x509.NewCertPool()}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	s.pool.AppendCertsFromPEM(text)
	if err := os.WriteFile(s.ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("Authorization"), body)
	})
	mux.HandleFunc("/events", serveEvents)
	mux.HandleFunc("/socket", serveSocket)
	mux.Handle("/git/", http.StripPrefix("/git/", http.FileServer(http.Dir(files))))
	up := httptest.NewUnstartedServer(mux)
	up.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	s.addr = up.Listener.Addr().String()
	_, s.port, _ = net.SplitHostPort(s.addr)
	return s
}

// serveEvents sends one event and the second only when the client is gone or
// 5 s have passed, so that a buffering proxy shows.
func serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: one\n\n")
	_ = http.NewResponseController(w).Flush()
	select {
	case <-r.Context().Done():
	case <-time.After(5 * time.Second):
	}
}

// serveSocket is a WebSocket that echoes frames as they are.
func serveSocket(w http.ResponseWriter, r *http.Request) {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
	_ = rw.Flush()
	buf := make([]byte, 1024)
	for {
		n, err := rw.Read(buf)
		if err != nil {
			return
		}
		_, _ = conn.Write(buf[:n])
	}
}

// startFor starts a proxy that tunnels to s and brokers for it, through a rule
// of a policy file.
func startFor(t *testing.T, s *site, args ...string) *process {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy.json")
	text := `{"allow": ["localhost:` + s.port + `"], "inject": [{"host": "localhost", "secretEnv": "KEY", "port": ` + s.port + `, "upgrade": true}]}`
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return startProxy(t, []string{"KEY=Bearer real", "TOKEN=tok", "SSL_CERT_FILE=" + s.ca}, append([]string{"--policy", policy, "--control-token-env", "TOKEN", "--sni", "enforce"}, args...)...)
}

// tool returns a program or skips: these tests are about that very client.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name, "is not installed, so that nothing can be said about it")
	}
	return path
}

func output(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tool(t, name), args...)
	cmd.Env = append(append(os.Environ(), "NO_PROXY=", "no_proxy="), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func TestCurl(t *testing.T) {
	s := newSite(t, t.TempDir())
	p := startFor(t, s)
	proxyURL := "http://" + p.addr
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"tunnel":       {[]string{"https://localhost:" + s.port + "/hello"}, "GET  "},
		"tunnel, post": {[]string{"--data-binary", "x", "https://localhost:" + s.port + "/hello"}, "POST  x"},
		"broker":       {[]string{"-H", "Authorization: Bearer fake", "http://localhost/hello"}, "GET Bearer real "},
		"broker, post": {[]string{"-H", "Expect: 100-continue", "--data-binary", "body", "http://localhost/hello"}, "POST Bearer real body"},
	} {
		if got := output(t, nil, "curl", append([]string{"-sS", "--fail", "--cacert", s.ca, "-x", proxyURL}, tc.args...)...); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	cmd := exec.CommandContext(t.Context(), tool(t, "curl"), "-sS", "-x", proxyURL, "https://evil.example/")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "403") {
		t.Errorf("an unlisted host: %v, %s", err, out)
	}
}

// TestNodeFetch posts to the control port as the desktop does, on connections
// that undici keeps.
func TestNodeFetch(t *testing.T) {
	s := newSite(t, t.TempDir())
	p := startFor(t, s)
	script := `
	const answers = [];
	for (const host of ["a.example", "b.example:8443", "c.example"]) {
	  const r = await fetch(process.argv[1] + "/allow", {method: "POST",
	    headers: {"Authorization": "Bearer tok", "Content-Type": "application/json"}, body: JSON.stringify({host})});
	  answers.push(r.status + " " + JSON.stringify(await r.json()));
	}
	const bad = await fetch(process.argv[1] + "/allow", {method: "POST", headers: {"Authorization": "Bearer no"}, body: "{}"});
	answers.push(bad.status);
	console.log(answers.join("\n"));`
	got := output(t, nil, "node", "--input-type=module", "-e", script, "http://"+p.control)
	want := `200 {"allowed":"a.example","ports":"80,443"}
200 {"allowed":"b.example","ports":"8443"}
200 {"allowed":"c.example","ports":"80,443"}
401
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestGit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		output(t, []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}, "git", args...)
	}
	work := filepath.Join(dir, "work")
	git("init", "-q", work)
	if err := os.WriteFile(filepath.Join(work, "file"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("-C", work, "add", ".")
	git("-C", work, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "one")
	bare := filepath.Join(dir, "repo.git")
	git("clone", "-q", "--bare", work, bare)
	git("-C", bare, "update-server-info")
	s := newSite(t, dir)
	p := startFor(t, s)
	clone := filepath.Join(dir, "clone")
	t.Setenv("GIT_SSL_CAINFO", s.ca) // beats what the machine may have set
	git("-c", "http.proxy=http://"+p.addr, "clone", "-q", "https://localhost:"+s.port+"/git/repo.git", clone)
	if got, err := os.ReadFile(filepath.Join(clone, "file")); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestGoClient uses one transport for tunnels and one connection each.
func TestGoClient(t *testing.T) {
	s := newSite(t, t.TempDir())
	p := startFor(t, s)
	proxyURL, err := url.Parse("http://" + p.addr)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{Proxy: http.ProxyURL(proxyURL), TLSClientConfig: &tls.Config{RootCAs: s.pool}, ForceAttemptHTTP2: true}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr, Timeout: 10 * time.Second}
	for target, want := range map[string]string{"https://localhost:" + s.port + "/hello": "POST  text", "http://localhost/hello": "POST Bearer real text"} {
		for range 3 {
			resp, err := client.Post(target, "text/plain", strings.NewReader("text"))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || string(body) != want {
				t.Errorf("%s: %q, %v", target, body, err)
			}
		}
	}
	resp, err := client.Get("https://evil.example/")
	if err == nil {
		_ = resp.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "egress denied for evil.example:443") {
		t.Errorf("the refusal's phrase does not reach the caller: %v", err)
	}
}

// dialSite opens a TLS connection to the site through a tunnel.
func dialSite(t *testing.T, p *process, s *site) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "CONNECT localhost:"+s.port+" HTTP/1.1\r\n\r\n")
	if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 200 Connection Established\r\n\r\n"))); err != nil {
		t.Fatal(err)
	}
	tc := tls.Client(conn, &tls.Config{RootCAs: s.pool, ServerName: "localhost"})
	if err := tc.Handshake(); err != nil {
		t.Fatal(err)
	}
	return tc
}

// TestEventsAndSockets go through a tunnel and through the broker alike.
func TestEventsAndSockets(t *testing.T) {
	s := newSite(t, t.TempDir())
	p := startFor(t, s)
	for name, open := range map[string]func() (net.Conn, string){
		"tunnel": func() (net.Conn, string) { return dialSite(t, p, s), "" },
		"broker": func() (net.Conn, string) {
			conn, err := net.Dial("tcp", p.addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			return conn, "http://localhost"
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, prefix := open()
			began := time.Now()
			_, _ = io.WriteString(conn, "GET "+prefix+"/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			event := make([]byte, len("data: one\n\n"))
			if _, err := io.ReadFull(resp.Body, event); err != nil || string(event) != "data: one\n\n" || time.Since(began) > 3*time.Second {
				t.Errorf("%q, %v after %v", event, err, time.Since(began))
			}
			_ = conn.Close()

			conn, prefix = open()
			_, _ = io.WriteString(conn, "GET "+prefix+"/socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
			r := bufio.NewReader(conn)
			upgraded, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = upgraded.Body.Close() }()
			if upgraded.StatusCode != http.StatusSwitchingProtocols || upgraded.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
				t.Fatalf("%v", upgraded)
			}
			frame := "\x81\x85\x00\x00\x00\x00hello"
			for range 3 {
				_, _ = io.WriteString(conn, frame)
				got := make([]byte, len(frame))
				if _, err := io.ReadFull(r, got); err != nil || string(got) != frame {
					t.Fatalf("%q, %v", got, err)
				}
			}
		})
	}
}
