package llm

import (
	"net/http"
	"net/url"
	"time"
)

// HTTPOptions configures NewHTTPClient. The zero value is usable.
type HTTPOptions struct {
	// Proxy chooses the proxy of a request. nil means http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)

	// ConnectTimeout bounds dialling and, again, the TLS handshake. 0 means 30 s.
	ConnectTimeout time.Duration
}
