package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/steerable-go/sidecar/egress"
)

// chain reaches targets through another proxy. That proxy itself is dialled
// without judgement of its address: the operator named it.
type chain struct {
	scheme string // http, https, socks5
	host   string // as net.Dial takes it
	addr   string // host:port
	user   *url.Userinfo
	roots  *x509.CertPool

	names, direct []egress.Pattern
	// self reports whether an address and port are the proxy's own.
	self func(netip.Addr, uint16) bool
}

// newChain reads an upstream URL.
func newChain(o Options, self func(netip.Addr, uint16) bool) (*chain, error) {
	u := o.Upstream
	ports := map[string]string{"http": "80", "https": "443", "socks5": "1080"}
	port, ok := ports[u.Scheme]
	if !ok {
		return nil, fmt.Errorf("upstream proxy: scheme %q is none of http, https, socks5", u.Scheme)
	}
	if u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("upstream proxy: expected scheme://host:port")
	}
	if u.Port() != "" {
		n, err := egress.ParsePort(u.Port())
		if err != nil {
			return nil, fmt.Errorf("upstream proxy: %w", err)
		}
		port = strconv.Itoa(int(n))
	}
	return &chain{
		scheme: u.Scheme, host: u.Hostname(), addr: net.JoinHostPort(u.Hostname(), port), user: u.User, roots: o.RootCAs,
		names: o.UpstreamNames, direct: o.UpstreamBypass, self: self,
	}, nil
}

// byName reports whether only the upstream proxy can resolve t.
func (c *chain) byName(t target) bool {
	return t.host.Name() != "" && !t.host.Loopback() && covers(c.names, t) && !covers(c.direct, t)
}

// bypassed reports whether t is dialled directly. Loopback is, unless the
// upstream proxy runs on this machine: it would mean that proxy's own.
func (c *chain) bypassed(t target, addrs []netip.Addr) bool {
	return addrs[0].IsLoopback() && !c.local() || covers(c.direct, t)
}

// local reports whether the upstream proxy is reached over loopback.
func (c *chain) local() bool {
	addr, err := netip.ParseAddr(c.host)
	return err == nil && addr.Unmap().IsLoopback() || c.host == "localhost"
}

// covers reads a bare pattern as every port, as a deny list does.
func covers(patterns []egress.Pattern, t target) bool {
	for _, p := range patterns {
		if p.Denies(t.host, t.port) {
			return true
		}
	}
	return false
}

// dialAny tries the judged addresses in turn.
func (c *chain) dialAny(ctx context.Context, addrs []netip.Addr, port uint16) (r reached, err error) {
	for _, addr := range addrs {
		r, err = c.dial(ctx, egress.HostFromAddr(addr).String(), port)
		if err == nil || ctx.Err() != nil {
			r.addr = addr
			break
		}
	}
	return r, err
}

// dial asks the upstream proxy for host:port. Errors are *dialError.
func (c *chain) dial(ctx context.Context, host string, port uint16) (reached, error) {
	d := net.Dialer{KeepAlive: -1, Control: c.notSelf}
	conn, err := d.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		reason := dialReason(err)
		if errors.Is(err, errLoop) {
			reason = ReasonUpstreamProxy
		}
		return reached{}, &dialError{reason, fmt.Errorf("reach upstream proxy: %w", err)}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	r, err := c.handshake(ctx, conn, host, port)
	if !stop() && err == nil {
		err = &dialError{ReasonConnectionTimeout, ctx.Err()}
	}
	if err != nil {
		_ = conn.Close()
		return reached{}, err
	}
	return r, nil
}

// errLoop tells that the upstream proxy is this very process.
var errLoop = errors.New("the upstream proxy is this proxy")

// notSelf looks at the address about to be dialled: a name may lead back here
// at any time, and each request would then make another until descriptors end.
func (c *chain) notSelf(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || c.self(ap.Addr(), ap.Port()) {
		return errLoop
	}
	return nil
}

func (c *chain) handshake(ctx context.Context, conn net.Conn, host string, port uint16) (reached, error) {
	if c.scheme == "https" {
		tc := tls.Client(conn, &tls.Config{ServerName: c.host, RootCAs: c.roots, MinVersion: tls.VersionTLS12})
		if err := tc.HandshakeContext(ctx); err != nil {
			return reached{}, &dialError{ReasonTLS, fmt.Errorf("upstream proxy: %w", err)}
		}
		conn = tc
	}
	var early []byte
	var err error
	if c.scheme == "socks5" {
		err = c.socks(conn, host, port)
	} else {
		early, err = c.connect(conn, net.JoinHostPort(unbracket(host), strconv.Itoa(int(port))))
	}
	switch {
	case ctx.Err() != nil:
		return reached{}, &dialError{ReasonConnectionTimeout, ctx.Err()}
	case err != nil:
		return reached{}, &dialError{ReasonUpstreamProxy, err}
	}
	return reached{conn: conn, early: early}, nil
}

func unbracket(host string) string {
	if len(host) > 1 && host[0] == '[' {
		return host[1 : len(host)-1]
	}
	return host
}

// maxUpstreamHead bounds the reply to our CONNECT.
const maxUpstreamHead = 16 << 10

// connect performs an HTTP CONNECT and returns what followed the reply's head:
// those are the target's first bytes.
func (c *chain) connect(conn net.Conn, authority string) ([]byte, error) {
	req := "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n"
	if c.user != nil {
		password, _ := c.user.Password()
		token := base64.StdEncoding.EncodeToString([]byte(c.user.Username() + ":" + password))
		req += "Proxy-Authorization: Basic " + token + "\r\n"
	}
	if _, err := conn.Write([]byte(req + "\r\n")); err != nil {
		return nil, fmt.Errorf("ask upstream proxy: %w", err)
	}
	var got []byte
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		got = append(got, buf[:n]...)
		if end := bytes.Index(got, []byte("\r\n\r\n")); end >= 0 {
			return got[end+4:], checkConnectReply(got[:end])
		}
		if err != nil || len(got) > maxUpstreamHead {
			return nil, errors.Join(errors.New("upstream proxy gave no complete answer"), err)
		}
	}
}

// checkConnectReply wants any 2xx (RFC 9110, section 9.3.6).
func checkConnectReply(reply []byte) error {
	line, _, _ := bytes.Cut(reply, []byte("\r\n"))
	version, status, _ := bytes.Cut(line, []byte(" "))
	if !bytes.HasPrefix(version, []byte("HTTP/1.")) || len(status) < 3 {
		return errors.New("upstream proxy does not speak HTTP")
	}
	if status[0] != '2' || len(status) > 3 && status[3] != ' ' {
		return fmt.Errorf("upstream proxy answered %.3q", status)
	}
	return nil
}
