package llm

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// h2Server is a TLS server that speaks HTTP/2, and a client that trusts it.
func h2Server(t *testing.T, write func(w http.ResponseWriter, r *http.Request)) (*httptest.Server, *http.Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("protocol %s", r.Proto)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, r)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	client := NewHTTPClient(HTTPOptions{})
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	t.Cleanup(client.CloseIdleConnections)
	return s, client
}

// TestHTTP2 holds that many turns share one connection, and that ending one of
// them leaves the others alone.
func TestHTTP2(t *testing.T) {
	release := make(chan struct{})
	s, client := h2Server(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: "+delta(`{"content":"x"}`)+"\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, stop)
	})
	var connections atomic.Int64
	transport := client.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		connections.Add(1)
		return dial(ctx, network, addr)
	}
	p := newProvider(t, Config{BaseURL: s.URL, Client: client})
	if _, err := p.Stream(canceled(t), question(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	var group sync.WaitGroup
	var begun sync.WaitGroup
	begun.Add(8)
	for i := range 8 {
		group.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := true
			reply, err := p.Stream(ctx, question(), SinkFunc(func(DeltaKind, []byte, bool) error {
				if first {
					first = false
					begun.Done()
					begun.Wait()
					if i == 0 {
						cancel()
					}
				}
				return nil
			}))
			if i == 0 {
				if !errors.Is(err, context.Canceled) || reply.Text() != "x" {
					t.Errorf("cancelled: %q, %v", reply.Text(), err)
				}
				close(release)
				return
			}
			if err != nil || reply.Text() != "xa" {
				t.Errorf("%d: %q, %v", i, reply.Text(), err)
			}
		})
	}
	group.Wait()
	// Requests that start at once may each dial before the first is known to
	// speak HTTP/2; afterwards none does.
	before := connections.Load()
	for range 3 {
		if _, err := p.Stream(t.Context(), question(), nil); err != nil {
			t.Error(err)
		}
	}
	if n := connections.Load(); n != before {
		t.Errorf("%d more connections", n-before)
	}
}

// canceled returns a context that has ended.
func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestUntrustedCertificate holds that a server with a certificate of its own
// making gets neither the key nor the transcript.
func TestUntrustedCertificate(t *testing.T) {
	other := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(other.Close)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: other.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	var reached atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if n, _ := conn.Read(make([]byte, 1)); n > 0 {
			reached.Store(true)
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		group.Wait()
	})
	_, err = newProvider(t, Config{BaseURL: "https://" + ln.Addr().String(), APIKey: "sk-key-123456"}).Stream(t.Context(), question(), nil)
	if e := failure(t, err); e.Kind != KindTransport || reached.Load() || !strings.Contains(e.Message, "certificate") {
		t.Errorf("reached %v, %+v", reached.Load(), e)
	}
}

// TestProxyRefuses holds that a refused CONNECT is a transport error that says
// so, and that nothing goes around the proxy.
func TestProxyRefuses(t *testing.T) {
	var direct atomic.Bool
	target := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { direct.Store(true) }))
	t.Cleanup(target.Close)
	proxy := serveRaw(t, func(conn net.Conn, req *http.Request) {
		if req.Method != http.MethodConnect || req.Header.Get("Authorization") != "" {
			t.Errorf("the proxy got %s with %q", req.Method, req.Header.Get("Authorization"))
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 403 egress denied for "+req.Host+"\r\nContent-Length: 0\r\n\r\n")
	})
	u, err := url.Parse("http://user:secret-password@" + proxy.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := NewHTTPClient(HTTPOptions{Proxy: http.ProxyURL(u)})
	_, err = newProvider(t, Config{BaseURL: target.URL, APIKey: "sk-key-123456", Client: client}).Stream(t.Context(), question(), nil)
	e := failure(t, err)
	if e.Kind != KindTransport || direct.Load() || !strings.Contains(e.Message, "egress denied for") || strings.Contains(e.Message, "secret") {
		t.Errorf("direct %v, %+v", direct.Load(), e)
	}
}

// TestConnectTimeout holds that the handshake is bounded on its own.
func TestConnectTimeout(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // connects, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	client := NewHTTPClient(HTTPOptions{ConnectTimeout: 50 * time.Millisecond})
	start := time.Now()
	_, err = newProvider(t, Config{BaseURL: "https://" + ln.Addr().String(), Client: client}).Stream(t.Context(), question(), nil)
	if e := failure(t, err); e.Kind != KindTransport || !e.Retryable || time.Since(start) > 25*time.Second {
		t.Errorf("%v after %v", e, time.Since(start))
	}
}
