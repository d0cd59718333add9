package proxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const token = "a-random-token"

// clock is a time source that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// ask sends one control request with the right token and returns status line,
// and body.
func ask(t *testing.T, h *harness, method, path, body string, fields ...string) (status int, text, header string) {
	t.Helper()
	req := fmt.Sprintf("%s %s HTTP/1.1\r\nAuthorization: Bearer %s\r\n", method, path, token)
	for _, f := range fields {
		req += f + "\r\n"
	}
	if body != "" || method == "POST" {
		req += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	raw := talk(t, h.control, req+"\r\n"+body)
	header, text, _ = strings.Cut(raw, "\r\n\r\n")
	if _, err := fmt.Sscanf(header, "HTTP/1.1 %d", &status); err != nil {
		t.Fatalf("%s %s: %q", method, path, raw)
	}
	return status, text, header
}

func TestGrant(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{ControlToken: NewSecret(token)})
	refused(t, h.addr, "CONNECT "+target+" HTTP/1.1\r\n\r\n", "403")
	status, body, header := ask(t, h, "POST", "/allow", `{"host": "`+target+`"}`)
	if status != 200 || body != `{"allowed": "127.0.0.1", "ports": "`+portOf(t, target)+`"}` || !strings.Contains(header, "\r\ncontent-type: application/json\r\n") {
		t.Fatalf("%d %q %q", status, body, header)
	}
	wantEcho(t, tunnel(t, h.addr, target), "granted")
	for host, want := range map[string]string{
		"192.0.2.1":         `{"allowed": "192.0.2.1", "ports": "80,443"}`,
		" Name.Example. ":   `{"allowed": "name.example", "ports": "80,443"}`,
		"name.example:8443": `{"allowed": "name.example", "ports": "8443"}`,
		"[2001:db8::1]:53":  `{"allowed": "2001:db8::1", "ports": "53"}`,
	} {
		if status, body, _ := ask(t, h, "POST", "/allow", `{"host": "`+host+`", "unknown": [1]}`); status != 200 || body != want {
			t.Errorf("%s: %d %s, want %s", host, status, body, want)
		}
	}
	if e := h.events.all(t); len(e) != 1 || e[0].Reason != ReasonNotListed {
		t.Errorf("events %v", e)
	}
}

func TestGrantListRemoveAndTTL(t *testing.T) {
	t.Parallel()
	now := &clock{now: time.Unix(1_800_000_000, 0)}
	target := echo(t)
	h := start(t, Options{
		ControlToken: NewSecret(token), Now: now.Now,
		Policy: Policy{Allow: entries(t, "a.example", "*.b.example:8443"), Deny: entries(t, "no.example", target)},
	})
	if status, _, _ := ask(t, h, "POST", "/allow", `{"host": "c.example", "ttl_s": 60}`); status != 200 {
		t.Fatal(status)
	}
	status, _, header := ask(t, h, "POST", "/allow", `{"host": "no.example"}`)
	if status != 200 || !strings.Contains(header, "x-proxy-error: denied") {
		t.Errorf("a grant that cannot help: %d %q", status, header)
	}
	if r := refused(t, h.addr, "CONNECT no.example:443 HTTP/1.1\r\n\r\n", "403"); r.fields["x-proxy-error"] != "denied" {
		t.Errorf("a grant beat a deny entry: %v", r.fields)
	}
	_, body, _ := ask(t, h, "GET", "/allow", "")
	want := `{"allow":["a.example","*.b.example:8443"],"deny":["no.example","` + target + `"],"grants":[{"host":"c.example","expires_in_s":60},{"host":"no.example","denied":true}]}`
	if body != want {
		t.Errorf("listing\n%s\nwant\n%s", body, want)
	}
	if d := h.srv.decide(host(t, "c.example"), 443); d.reason != ReasonGranted || d.rule != "c.example" {
		t.Errorf("before the TTL: %+v", d)
	}
	now.advance(time.Minute)
	if d := h.srv.decide(host(t, "c.example"), 443); d.reason != ReasonNotListed {
		t.Errorf("after the TTL: %+v", d)
	}
	if status, body, _ := ask(t, h, "DELETE", "/allow", `{"host": "no.example"}`); status != 200 || body != `{"removed": "no.example", "ports": "80,443"}` {
		t.Errorf("remove: %d %s", status, body)
	}
	for _, gone := range []string{"no.example", "c.example", "never.example"} {
		if status, _, _ := ask(t, h, "DELETE", "/allow", `{"host": "`+gone+`"}`); status != 404 {
			t.Errorf("remove %s again: %d", gone, status)
		}
	}
}

func TestControlRefusals(t *testing.T) {
	t.Parallel()
	h := start(t, Options{ControlToken: NewSecret(token)})
	auth := "Authorization: Bearer " + token + "\r\n"
	body := `{"host": "x.example"}`
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	for name, tc := range map[string]struct{ send, status string }{
		"other path":             {"POST /admin HTTP/1.1\r\n" + auth + length + "\r\n" + body, "404"},
		"query":                  {"POST /allow?x HTTP/1.1\r\n" + auth + length + "\r\n" + body, "404"},
		"other method":           {"PUT /allow HTTP/1.1\r\n" + auth + length + "\r\n" + body, "404"},
		"other, long body":       {"POST /admin HTTP/1.1\r\n" + auth + "Content-Length: 5000\r\n\r\n", "404"},
		"CONNECT":                {"CONNECT x.example:443 HTTP/1.1\r\n" + auth + "\r\n", "404"},
		"length zero":            {"POST /allow HTTP/1.1\r\n" + auth + "Content-Length: 0\r\n\r\n", "400"},
		"length too large":       {"POST /allow HTTP/1.1\r\n" + auth + "Content-Length: 4097\r\n\r\n" + strings.Repeat(" ", 4097), "400"},
		"no length":              {"POST /allow HTTP/1.1\r\n" + auth + "\r\n", "400"},
		"length in words":        {"POST /allow HTTP/1.1\r\n" + auth + "Content-Length: ten\r\n\r\n", "400"},
		"two lengths":            {"POST /allow HTTP/1.1\r\n" + auth + length + length + "\r\n" + body, "400"},
		"length and chunked":     {"POST /allow HTTP/1.1\r\n" + auth + length + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"other path, bad length": {"POST /admin HTTP/1.1\r\n" + auth + "Content-Length: ten\r\n\r\n", "404"},
		"chunked":                {"POST /allow HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
		"bare LF":                {"POST /allow HTTP/1.1\n" + auth + "\n", "400"},
		"one word":               {"POST\r\n\r\n", "400"},
		"huge head":              {"POST /allow HTTP/1.1\r\nX: " + strings.Repeat("x", 17000) + "\r\n\r\n", "431"},
		"evil Host":              {"POST /allow HTTP/1.1\r\nHost: evil.example:1234\r\n" + auth + length + "\r\n" + body, "403"},
		"Host that begins well":  {"POST /allow HTTP/1.1\r\nHost: 127.0.0.1.evil.com\r\n" + auth + length + "\r\n" + body, "403"},
		"Host like localhost":    {"POST /allow HTTP/1.1\r\nHost: localhost.evil.com:80\r\n" + auth + length + "\r\n" + body, "403"},
		"Host of a LAN":          {"POST /allow HTTP/1.1\r\nHost: 192.168.0.1\r\n" + auth + length + "\r\n" + body, "403"},
		"Host empty":             {"POST /allow HTTP/1.1\r\nHost:\r\n" + auth + length + "\r\n" + body, "403"},
		"Origin":                 {"POST /allow HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://localhost\r\n" + auth + length + "\r\n" + body, "403"},
		"Origin null":            {"POST /allow HTTP/1.1\r\nOrigin: null\r\n" + auth + length + "\r\n" + body, "403"},
		"no JSON":                {"", `not json`}, "array": {"", `["x.example"]`}, "string": {"", `"x.example"`}, "null": {"", `null`}, "two objects": {"", `{"host":"a.example"}{"host":"b.example"}`},
		"no host": {"", `{}`}, "number": {"", `{"host": 1}`}, "null host": {"", `{"host": null}`}, "other case": {"", `{"Host": "a.example"}`}, "twice": {"", `{"host": "a.example", "host": "b.example"}`}, "twice by escape": {"", `{"host": "a.example", "\u0068ost": "b.example"}`}, "list": {"", `{"host": ["a"]}`},
		"bad entry": {"", `{"host": "bad host!"}`}, "wildcard": {"", `{"host": "*.example.com"}`}, "port zero": {"", `{"host": "a:0"}`}, "empty": {"", `{"host": ""}`}, "URL": {"", `{"host": "http://a/"}`},
		"ttl zero": {"", `{"host": "a", "ttl_s": 0}`}, "ttl negative": {"", `{"host": "a", "ttl_s": -1}`}, "ttl huge": {"", `{"host": "a", "ttl_s": 1e300}`}, "ttl text": {"", `{"host": "a", "ttl_s": "1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send, status := tc.send, tc.status
			if send == "" {
				send, status = fmt.Sprintf("POST /allow HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", auth, len(tc.status), tc.status), "400"
			}
			refused(t, h.control, send, status)
		})
	}
	t.Cleanup(func() {
		if got := h.srv.grants.list(); len(got) > 0 {
			t.Errorf("refusals granted %v", got)
		}
	})
}

// TestControlToken compares the whole field, on every path.
func TestControlToken(t *testing.T) {
	t.Parallel()
	for name, field := range map[string]string{
		"none": "", "wrong": "Authorization: Bearer wrong\r\n", "prefix": "Authorization: Bearer a-random\r\n", "longer": "Authorization: Bearer " + token + "x\r\n",
		"basic": "Authorization: Basic " + token + "\r\n", "lower-case scheme": "Authorization: bearer " + token + "\r\n", "bare": "Authorization: " + token + "\r\n",
		"twice": "Authorization: Bearer " + token + "\r\nAuthorization: Bearer " + token + "\r\n", "empty": "Authorization: Bearer \r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t, Options{ControlToken: NewSecret(token)})
			for _, path := range []string{"/allow", "/nowhere"} {
				r := refused(t, h.control, "POST "+path+" HTTP/1.1\r\n"+field+"Content-Length: 2\r\n\r\n{}", "401")
				if r.fields["www-authenticate"] != "Bearer" {
					t.Errorf("fields %v", r.fields)
				}
			}
			// Who may not ask learns nothing about the rest of the request.
			for _, length := range []string{"ten", "+2", "2\r\nContent-Length: 2", "2\r\nTransfer-Encoding: chunked", "99999"} {
				refused(t, h.control, "POST /allow HTTP/1.1\r\n"+field+"Content-Length: "+length+"\r\n\r\n{}", "401")
			}
		})
	}
}

// TestTokenGuessing is limited, and does not lock the host out.
func TestTokenGuessing(t *testing.T) {
	t.Parallel()
	now := &clock{now: time.Unix(1_800_000_000, 0)}
	h := start(t, Options{ControlToken: NewSecret(token), Now: now.Now})
	guess := func(i int) string {
		return parseReply(t, talk(t, h.control, fmt.Sprintf("GET /allow HTTP/1.1\r\nAuthorization: Bearer %d\r\n\r\n", i))).line
	}
	lines := make(chan string, 20)
	for i := range cap(lines) {
		go func() { lines <- guess(i) }()
	}
	count := map[string]int{}
	for range cap(lines) {
		count[<-lines]++
	}
	// The clock stands: five at once, and those whose turn comes in a second.
	if count["HTTP/1.1 401 Unauthorized"] != 2*maxFailures || count["HTTP/1.1 429 Too Many Requests"] != 10 {
		t.Errorf("answers %v", count)
	}
	if status, _, _ := ask(t, h, "GET", "/allow", ""); status != 200 {
		t.Errorf("the host is locked out: %d", status)
	}
	now.advance(time.Minute)
	if got := guess(0); got != "HTTP/1.1 401 Unauthorized" {
		t.Errorf("a minute later: %q", got)
	}
}

// TestTokenLane gives turns.
func TestTokenLane(t *testing.T) {
	now := &clock{now: time.Unix(1_800_000_000, 0)}
	l := tokenLane{now: now.Now}
	wait := func(want time.Duration, wantOK bool) {
		t.Helper()
		if got, ok := l.fail(); got != want || ok != wantOK {
			t.Errorf("wait %s, %v; want %s, %v", got, ok, want, wantOK)
		}
	}
	for range maxFailures {
		wait(0, true)
	}
	for i := range maxFailures {
		wait(time.Duration(i+1)*failureEvery, true)
	}
	wait(0, false)
	now.advance(failureEvery)
	wait(failureWait, true)
	wait(0, false)
	now.advance(time.Hour)
	for range maxFailures {
		wait(0, true)
	}
	wait(failureEvery, true)
}

// TestControlKeepAlive serves several requests on a connection that asks for
// it, pipelined ones too, and ends others after one.
func TestControlKeepAlive(t *testing.T) {
	t.Parallel()
	h := start(t, Options{ControlToken: NewSecret(token)})
	conn := dial(t, h.control)
	r := bufio.NewReader(conn)
	post := func(name string) string {
		body := `{"host": "` + name + `"}`
		return fmt.Sprintf("POST /allow HTTP/1.1\r\nHost: %s\r\nConnection: keep-alive\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", h.control, token, len(body), body)
	}
	for _, batch := range []string{post("a.example"), post("b.example") + post("c.example")} {
		_, _ = io.WriteString(conn, batch)
		for range strings.Count(batch, "POST") {
			resp, err := http.ReadResponse(r, nil)
			if err != nil || resp.StatusCode != http.StatusOK || resp.Close {
				t.Fatalf("%v, %v", resp, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	if got := len(h.srv.grants.list()); got != 3 {
		t.Errorf("%d grants", got)
	}
	_, _ = io.WriteString(conn, strings.Replace(post("d.example"), "POST", "PUT", 1))
	if rest, err := io.ReadAll(r); err != nil || !strings.Contains(string(rest), "404") || !strings.Contains(string(rest), "connection: close") {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestControlShortBody closes without a reply.
func TestControlShortBody(t *testing.T) {
	t.Parallel()
	h := start(t, Options{ControlToken: NewSecret(token), HeadTimeout: 300 * time.Millisecond})
	conn := dial(t, h.control)
	_, _ = io.WriteString(conn, "POST /allow HTTP/1.1\r\nAuthorization: Bearer "+token+"\r\nContent-Length: 20\r\n\r\n{\"host\"")
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestMetricsAndDecisions(t *testing.T) {
	t.Parallel()
	target := echo(t)
	h := start(t, Options{ControlToken: NewSecret(token), Policy: Policy{Allow: entries(t, target)}})
	stream := dial(t, h.control)
	_, _ = io.WriteString(stream, "GET /decisions HTTP/1.1\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	if head := readHead(t, stream); !strings.Contains(head, "content-type: text/event-stream") {
		t.Fatal(head)
	}
	refused(t, h.addr, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n", "403")
	conn := tunnel(t, h.addr, target)
	wantEcho(t, conn, "12345")
	_ = conn.Close()
	lines := bufio.NewScanner(stream)
	for _, want := range []Reason{ReasonNotListed, ReasonListed} {
		for lines.Scan() && lines.Text() == "" {
		}
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e Event
		if err := json.Unmarshal([]byte(text), &e); !ok || err != nil || e.Reason != want {
			t.Errorf("%q, %v; want %s", lines.Text(), err, want)
		}
	}
	eventually(t, "the tunnel's end", func() bool { return h.srv.tunnels.Open() == 0 })
	_, body, _ := ask(t, h, "GET", "/metrics", "")
	for _, want := range []string{
		`egress_proxy_decisions_total{reason="listed"} 1`, `egress_proxy_decisions_total{reason="not_listed"} 1`,
		`egress_proxy_bytes_total{direction="up"} 5`, `egress_proxy_bytes_total{direction="down"} 5`, "egress_proxy_open_tunnels 0",
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
}

func TestTooManyGrants(t *testing.T) {
	g := newGrants(time.Now)
	for i := range maxGrants {
		if !g.add(endpoint(t, fmt.Sprintf("h%d.example", i)), 0) {
			t.Fatal("refused early")
		}
	}
	if g.add(endpoint(t, "more.example"), 0) || !g.add(endpoint(t, "h0.example"), time.Second) {
		t.Error("the limit is not where it should be")
	}
}
