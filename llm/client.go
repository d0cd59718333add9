package llm

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits of the shared HTTP client.
const (
	defaultConnectTimeout = 30 * time.Second
	keepAlive             = 30 * time.Second
	idleConnTimeout       = 90 * time.Second
	maxIdlePerHost        = 64 // turns that may run against one server without new connections
	readBuffer            = 16 << 10
	maxHeaderBytes        = 256 << 10
)

// HTTPOptions configures NewHTTPClient. The zero value is usable.
type HTTPOptions struct {
	// Proxy chooses the proxy of a request. nil means http.ProxyFromEnvironment;
	// see EnvironmentProxy for a confined process.
	Proxy func(*http.Request) (*url.URL, error)

	// ConnectTimeout bounds dialling and, again, the TLS handshake. 0 means 30 s.
	ConnectTimeout time.Duration
}

// NewHTTPClient returns a client for Config.Client. A process should have one,
// so that all turns share its connections. It loads no certificates and opens no
// connection before the first request.
//
// It follows no redirect, because the key must not travel to another host, and
// it has no overall timeout, because that would cut long replies; see
// Config.IdleTimeout.
func NewHTTPClient(opts HTTPOptions) *http.Client {
	if opts.Proxy == nil {
		opts.Proxy = http.ProxyFromEnvironment
	}
	if opts.ConnectTimeout <= 0 {
		opts.ConnectTimeout = defaultConnectTimeout
	}
	dialer := &net.Dialer{Timeout: opts.ConnectTimeout, KeepAlive: keepAlive}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  opts.Proxy,
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    opts.ConnectTimeout,
			MaxIdleConnsPerHost:    maxIdlePerHost,
			IdleConnTimeout:        idleConnTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			ReadBufferSize:         readBuffer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// errNoProxy fails the requests of a confined process that has no proxy.
var errNoProxy = errors.New("egress is confined to a proxy, but none is set for this scheme")

// EnvironmentProxy returns the proxy function for a process with this
// environment. With STEERABLE_EGRESS_CONFINED=1 the proxy owns every host,
// loopback included, and a scheme without a proxy is refused: the process is
// sandboxed then and a direct connection would only hang. Otherwise it is
// http.ProxyFromEnvironment.
func EnvironmentProxy(getenv func(string) string) func(*http.Request) (*url.URL, error) {
	if getenv("STEERABLE_EGRESS_CONFINED") != "1" {
		return http.ProxyFromEnvironment
	}
	return func(req *http.Request) (*url.URL, error) {
		name := "HTTP_PROXY"
		if req.URL.Scheme == "https" {
			name = "HTTPS_PROXY"
		}
		value := getenv(name)
		if value == "" {
			value = getenv(strings.ToLower(name))
		}
		if value == "" {
			return nil, errNoProxy
		}
		if !strings.Contains(value, "://") {
			value = "http://" + value
		}
		proxy, err := url.Parse(value)
		if err != nil || proxy.Host == "" {
			return nil, errors.New(name + " is not a URL") // its text may hold a password
		}
		return proxy, nil
	}
}
