package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/steerable-go/sidecar/proxy/internal/head"
	"github.com/steerable-go/sidecar/proxy/internal/relay"
)

// rule is an inject rule made ready: with its pools of upstream connections.
type rule struct {
	InjectRule

	pooled  *http.Transport
	upgrade *http.Transport // HTTP/1.1 alone, since upgrades need it
}

// Bounds of the upstream pools. Idle connections are few and short-lived: they
// save a TLS handshake between two turns, no more.
const (
	idlePerRule     = 8
	idleFor         = 90 * time.Second
	pingAfter       = 15 * time.Second
	pingWait        = 15 * time.Second
	maxResponseHead = 256 << 10
)

func (s *Server) newRule(in InjectRule) *rule {
	transport := func() *http.Transport {
		return &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dialRule(ctx, in) },
			TLSClientConfig: &tls.Config{
				ServerName: unbracket(in.Host.String()), RootCAs: s.opt.RootCAs, MinVersion: tls.VersionTLS12,
			},
			TLSHandshakeTimeout:    s.opt.ConnectTimeout,
			DisableCompression:     true, // bodies pass as they are
			MaxIdleConnsPerHost:    idlePerRule,
			IdleConnTimeout:        idleFor,
			MaxResponseHeaderBytes: maxResponseHead,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingWait},
		}
	}
	r := &rule{InjectRule: in, pooled: transport(), upgrade: transport()}
	r.pooled.ForceAttemptHTTP2 = true
	r.upgrade.Protocols = &http.Protocols{}
	r.upgrade.Protocols.SetHTTP1(true)
	r.upgrade.DisableKeepAlives = true
	return r
}

// dialRule dials a rule's host like any other target: by the lists' deny
// entries, the guard and the upstream proxy.
func (s *Server) dialRule(ctx context.Context, in InjectRule) (net.Conn, error) {
	got, err := s.dialer.dial(ctx, target{host: in.Host, port: in.Port, trusted: true})
	if err != nil {
		return nil, err
	}
	if len(got.early) > 0 {
		_ = got.conn.Close()
		return nil, &dialError{ReasonUpstreamFailed, errors.New("the target spoke before it was asked")}
	}
	relay.KeepAlive(got.conn) // no relay looks after this one
	return &pooledConn{Conn: got.conn}, nil
}

func (r *rule) close() {
	r.pooled.CloseIdleConnections()
	r.upgrade.CloseIdleConnections()
}

// servePlain serves a request that is no CONNECT.
func (x *exchange) servePlain(ctx context.Context, h head.Head) {
	p := x.s.policy.Load()
	if len(p.rules) == 0 {
		x.refuse(ctx, ReasonMethod, "")
		return
	}
	u, err := head.ParseURI(h.Target)
	switch {
	case errors.Is(err, head.ErrAuthority):
		x.refuse(ctx, ReasonNoRule, "") // origin-form, asterisk-form, odd hosts
		return
	case err != nil:
		x.badHead(ctx, err)
		return
	}
	x.event.Host, x.event.Port = u.Host.String(), u.Port
	r := p.rules[u.Host]
	if r == nil || u.Scheme != "http" || u.Port != 0 && u.Port != 80 {
		x.refuse(ctx, ReasonNoRule, "")
		return
	}
	x.event.Port, x.event.Rule = r.Port, r.Host.String()
	if p.list.Denies(r.Host, r.Port) {
		x.refuse(ctx, ReasonDenied, "")
		return
	}
	up, reason := x.s.checkPlain(r, &h)
	if reason != "" {
		x.refuse(ctx, reason, "")
		return
	}
	x.event.Reason = ReasonRule
	x.forward(ctx, &forward{rule: r, head: &h, path: u.Path, upgrade: up})
}

// checkPlain looks at what a request asks of the connection itself. upgrade is
// the protocol to switch to, if the rule lets it.
func (s *Server) checkPlain(r *rule, h *head.Head) (upgrade string, reason Reason) {
	if method := string(h.Method); method == http.MethodTrace || method == "TRACK" {
		// Their response is the request, with the secret in it.
		return "", ReasonMethod
	}
	if h.HasTransferEncoding && (!h.Chunked || !s.opt.InjectChunked) {
		return "", ReasonBodyCoding
	}
	if expect, n := h.Get("expect"); n > 1 || n == 1 && !strings.EqualFold(expect, "100-continue") {
		return "", ReasonExpectation
	}
	protocol, several := upgradeAsked(h)
	if protocol == "" && !several {
		return "", ""
	}
	if !r.Upgrade || several || h.HasTransferEncoding || h.ContentLength > 0 {
		return "", ReasonUpgrade
	}
	return protocol, ""
}

// upgradeAsked returns the protocol a request offers to switch to, if it does.
// An h2c offer (RFC 7540, section 3.2) asks for nothing and may be ignored.
func upgradeAsked(h *head.Head) (protocol string, several bool) {
	protocol, n := h.Get("upgrade")
	if n == 0 || h.Minor == 0 || !h.HasToken("connection", "upgrade") || n == 1 && strings.EqualFold(protocol, "h2c") {
		return "", false
	}
	return protocol, n > 1
}

// hopByHop lists the fields that end at this proxy (RFC 9110, section 7.6.1).
func hopByHop(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate",
		"te", "trailer", "transfer-encoding", "upgrade", "expect":
		return true
	default:
		return false
	}
}

// framing lists the fields that the upstream side writes itself.
func framing(name string) bool { return name == "host" || name == "content-length" }

// credential lists the fields that carry somebody's credential. A client of
// the broker has none to send; its own would at best confuse the upstream.
func credential(name string) bool {
	switch name {
	case "authorization", "x-api-key", "api-key", "x-goog-api-key":
		return true
	default:
		return false
	}
}

// upstreamHeader builds the fields of the upstream request.
func (f *forward) upstreamHeader() http.Header {
	// Some servers read '_' as '-', so that either spelling counts here.
	dashed := func(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }
	drop := map[string]bool{dashed(f.rule.Header): true}
	for name, value := range f.head.Fields {
		if head.Is(name, "connection") {
			for listed := range strings.SplitSeq(string(value), ",") {
				drop[strings.ToLower(strings.Trim(listed, " \t"))] = true
			}
		}
	}
	out := http.Header{}
	for name, value := range f.head.Fields {
		lower := strings.ToLower(string(name))
		plain := dashed(lower)
		if drop[lower] || drop[plain] || hopByHop(plain) || framing(plain) || credential(plain) {
			continue
		}
		out.Add(lower, string(value))
	}
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = []string{""} // keeps net/http from adding its own
	}
	if f.upgrade != "" {
		out.Set("Connection", "Upgrade")
		out.Set("Upgrade", f.upgrade)
	}
	out[http.CanonicalHeaderKey(f.rule.Header)] = []string{f.rule.Secret.reveal()}
	return out
}

// hostPort is the authority the transport pools by.
func (r *rule) hostPort() string {
	return net.JoinHostPort(unbracket(r.Host.String()), strconv.Itoa(int(r.Port)))
}
