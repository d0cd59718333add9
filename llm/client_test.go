package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// question is what the tests of this file send.
func question() *Request {
	return &Request{Model: "m", Messages: []Message{{Role: RoleUser, Content: Quote("go")}}}
}

// stop is a stream that ends well after the text "a".
const stop = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

// serveStream answers every request with a stream written by write.
func serveStream(t *testing.T, write func(w http.ResponseWriter, r *http.Request)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func newProvider(t *testing.T, cfg Config) Provider {
	t.Helper()
	if cfg.Provider == "" {
		cfg.Provider = "openai"
	}
	if cfg.Client == nil {
		cfg.Client = NewHTTPClient(HTTPOptions{})
		t.Cleanup(cfg.Client.CloseIdleConnections)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// failure returns the *Error of a failed Stream.
func failure(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error %v is no *Error", err)
	}
	return e
}

func TestRedirectIsRefused(t *testing.T) {
	var reached atomic.Bool
	other := serveStream(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
	s := httptest.NewServer(http.RedirectHandler(other.URL+"/?token=secret-in-location", http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	_, err := newProvider(t, Config{BaseURL: s.URL, APIKey: "sk-key-123456"}).Stream(t.Context(), question(), nil)
	e := failure(t, err)
	if e.Kind != KindInvalidRequest || e.Retryable || e.Status != 307 || !strings.Contains(e.Message, "redirect") {
		t.Errorf("%+v", e)
	}
	if reached.Load() || strings.Contains(e.Error(), "secret") {
		t.Errorf("followed, or told: %v", e)
	}
}

// TestHeaders holds what is sent, and that nothing is sent without a key.
func TestHeaders(t *testing.T) {
	var got http.Header
	var path, length string
	s := serveStream(t, func(w http.ResponseWriter, r *http.Request) {
		got, path, length = r.Header, r.URL.RequestURI(), fmt.Sprint(r.ContentLength > 0, r.TransferEncoding)
		_, _ = io.WriteString(w, stop)
	})
	for _, tc := range []struct {
		cfg  Config
		path string
		want map[string]string
	}{
		{Config{APIKey: "k1"}, "/chat/completions", map[string]string{"Authorization": "Bearer k1", "Content-Type": "application/json", "Accept": "text/event-stream", "X-Api-Key": ""}},
		{Config{}, "/chat/completions", map[string]string{"Authorization": ""}},
		{Config{Headers: map[string]string{"api-key": "k2", "authorization": "Basic x"}, APIKey: "k1"}, "/chat/completions", map[string]string{"Authorization": "Basic x", "Api-Key": "k2"}},
		{Config{Provider: "claude", APIKey: "k3"}, "/v1/messages", map[string]string{"Authorization": "", "X-Api-Key": "k3", "Anthropic-Version": "2023-06-01"}},
		{Config{Provider: "ollama"}, "/v1/chat/completions", map[string]string{"Authorization": ""}},
	} {
		tc.cfg.BaseURL = s.URL
		_, _ = newProvider(t, tc.cfg).Stream(t.Context(), question(), nil)
		for name, value := range tc.want {
			if got.Get(name) != value {
				t.Errorf("%s: header %s is %q, want %q", tc.cfg.Provider, name, got.Get(name), value)
			}
		}
		// A chunked request body would be refused by a credential-injecting proxy.
		if path != tc.path || length != "true []" {
			t.Errorf("%s: path %s, length %s", tc.cfg.Provider, path, length)
		}
	}
}

func TestEndpoints(t *testing.T) {
	for _, tc := range []struct{ provider, base, want string }{
		{"openai", "", "https://api.openai.com/v1/chat/completions"},
		{"openai", "http://h:1/v1/", "http://h:1/v1/chat/completions"},
		{"OpenAI", " http://h/v1/chat/completions ", "http://h/v1/chat/completions"},
		{"openai-compatible", "https://h/openai/deployments/d?api-version=1", "https://h/openai/deployments/d/chat/completions?api-version=1"},
		{"ollama", "", "http://localhost:11434/v1/chat/completions"},
		{"ollama", "http://h:11434", "http://h:11434/v1/chat/completions"},
		{"ollama", "http://h:11434/v1/", "http://h:11434/v1/chat/completions"},
		{"ollama", "http://h/v1/chat/completions", "http://h/v1/chat/completions"},
		{"anthropic", "", "https://api.anthropic.com/v1/messages"},
		{"anthropic", "http://h", "http://h/v1/messages"},
		{"claude", "http://h/v1", "http://h/v1/messages"},
		{"claude", "http://h/anthropic/v1/messages", "http://h/anthropic/v1/messages"},
	} {
		p, err := New(Config{Provider: tc.provider, BaseURL: tc.base})
		if err != nil {
			t.Errorf("%s %s: %v", tc.provider, tc.base, err)
			continue
		}
		if got := p.(*httpProvider).endpoint; got != tc.want {
			t.Errorf("%s %q: %s, want %s", tc.provider, tc.base, got, tc.want)
		}
	}
	for _, tc := range []struct{ provider, base, want string }{
		{"nope", "", "unknown provider: 'nope'"},
		{"", "", "unknown provider: ''"},
		{"responses", "", "provider 'responses' is not supported"},
		{"google", "", "provider 'google' is not supported"},
		{"openai", "h:1/v1", "the base URL is not an http or https address"},
		{"openai", "http://", "the base URL is not an http or https address"},
		{"anthropic", "http://u:secret@h:x", "the base URL is not an http or https address"},
		{"ollama", "file:///secret", "the base URL is not an http or https address"},
	} {
		_, err := New(Config{Provider: tc.provider, BaseURL: tc.base})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s %s: %v, want %s", tc.provider, tc.base, err, tc.want)
		}
	}
}

// TestConnectionIsKept holds that a turn's requests share one connection.
func TestConnectionIsKept(t *testing.T) {
	for _, answer := range []struct {
		name  string
		most  int64
		write func(w http.ResponseWriter, r *http.Request)
	}{
		{"stream", 1, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, stop) }},
		// On a busy machine the moment may last longer than anybody waits for it.
		{"stream that ends a moment after [DONE]", 4, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, stop)
			w.(http.Flusher).Flush()
			wait(r.Context().Done(), 2*time.Millisecond)
		}},
		{"error", 1, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("no ", 10000), http.StatusInternalServerError)
		}},
	} {
		t.Run(answer.name, func(t *testing.T) {
			var connections atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				answer.write(w, r)
			}))
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connections.Add(1)
				}
			}
			s.Start()
			t.Cleanup(s.Close)
			p := newProvider(t, Config{BaseURL: s.URL})
			for range 5 {
				_, _ = p.Stream(t.Context(), question(), nil)
			}
			if n := connections.Load(); n > answer.most {
				t.Errorf("%d connections for 5 requests", n)
			}
		})
	}
}

// pipeClient answers with a stream that talk writes. The body ends with the
// request.
func pipeClient(talk func(w io.Writer)) *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		in, out := net.Pipe()
		go func() {
			talk(out)
			<-r.Context().Done()
			_ = in.Close()
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: in}, nil
	})}
}

// TestSilentEnds holds what happens when a server goes silent at the end.
func TestSilentEnds(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       time.Duration
	}{
		{"after [DONE]", stop, drainTimeout},
		{"after the finish reason", strings.TrimSuffix(stop, "data: [DONE]\n\n"), trailerTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := pipeClient(func(w io.Writer) { _, _ = io.WriteString(w, tc.body) })
				start := time.Now()
				reply, err := newProvider(t, Config{BaseURL: "http://in.memory", Client: client, IdleTimeout: time.Hour}).Stream(t.Context(), question(), nil)
				if err != nil || reply.Text() != "a" {
					t.Errorf("%q, %v", reply.Text(), err)
				}
				if took := time.Since(start); took != tc.want {
					t.Errorf("took %v, want %v", took, tc.want)
				}
			})
		})
	}
}

// TestEveryByteIsLife holds that the idle timer runs from the last byte, be it a
// comment, and covers the wait for the head of the answer.
func TestEveryByteIsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Second
		client := pipeClient(func(w io.Writer) {
			for _, text := range []string{": ping\n", ":", "\n", "data: {\"choices\":", "[{\"delta\":{\"content\":\"a\"}}]}\n\n", "event: ping\n\n"} {
				timer := time.NewTimer(idle - time.Millisecond)
				<-timer.C
				_, _ = io.WriteString(w, text)
			}
		})
		p := newProvider(t, Config{BaseURL: "http://in.memory", IdleTimeout: idle, Client: client})
		start := time.Now()
		reply, err := p.Stream(t.Context(), question(), nil)
		e := failure(t, err)
		if e.Kind != KindTransport || !e.Retryable || !strings.Contains(e.Message, "idle") || reply.Text() != "a" {
			t.Errorf("%q %+v", reply.Text(), e)
		}
		if took, want := time.Since(start), 6*(idle-time.Millisecond)+idle; took != want {
			t.Errorf("took %v, want %v", took, want)
		}

		head := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		start = time.Now()
		_, err = newProvider(t, Config{BaseURL: "http://in.memory", Client: head}).Stream(t.Context(), question(), nil)
		if e := failure(t, err); !strings.Contains(e.Message, "idle") || time.Since(start) != 300*time.Second {
			t.Errorf("%+v after %v", e, time.Since(start))
		}
	})
}

// TestSlowSinkIsNotSilence holds that the idle timer stands still while the
// reply is being passed on.
func TestSlowSinkIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := pipeClient(func(w io.Writer) {
			for range 3 {
				_, _ = io.WriteString(w, "data: "+delta(`{"content":"a"}`)+"\n\n")
			}
			_, _ = io.WriteString(w, stop)
		})
		p := newProvider(t, Config{BaseURL: "http://in.memory", IdleTimeout: time.Second, Client: client})
		reply, err := p.Stream(t.Context(), question(), SinkFunc(func(DeltaKind, []byte, bool) error {
			timer := time.NewTimer(time.Minute)
			<-timer.C
			return nil
		}))
		if err != nil || reply.Text() != "aaaa" {
			t.Errorf("%q, %v", reply.Text(), err)
		}
	})
}

// TestCancel holds that a cancelled stream ends at once, keeps its text, and can
// be told from a failed one.
func TestCancel(t *testing.T) {
	s := serveRaw(t, nil)
	s.answer = func(conn net.Conn, _ *http.Request) {
		const body = "data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n"
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n%s", body)
		<-s.stop
	}
	p := newProvider(t, Config{BaseURL: s.url()})
	reason := errors.New("the host wants it")
	ctx, cancel := context.WithCancelCause(t.Context())
	reply, err := p.Stream(ctx, question(), SinkFunc(func(DeltaKind, []byte, bool) error {
		cancel(reason)
		return nil
	}))
	e := failure(t, err)
	if e.Kind != KindTransport || e.Retryable || !errors.Is(err, reason) || reply.Text() != "a" || len(reply.ToolCalls) != 0 || reply.FinishReason != FinishNone {
		t.Errorf("%+v, %+v", reply, e)
	}
	if _, retry := (RetryPolicy{}).Next(1, e, nil); retry {
		t.Error("a cancelled stream would be tried again")
	}
	_, err = p.Stream(ctx, question(), nil)
	if !errors.Is(err, reason) {
		t.Errorf("cancelled before: %v", err)
	}
	ctx, done := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer done()
	if _, err = p.Stream(ctx, question(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: %v", err)
	}
}

// TestSinkError holds that a sink can end a stream.
func TestSinkError(t *testing.T) {
	s := serveStream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, stop) })
	full := errors.New("pipe is gone")
	calls := 0
	reply, err := newProvider(t, Config{BaseURL: s.URL}).Stream(t.Context(), question(), SinkFunc(func(DeltaKind, []byte, bool) error {
		calls++
		return full
	}))
	if e := failure(t, err); !errors.Is(err, full) || e.Retryable || calls != 1 || reply == nil || len(reply.ToolCalls) != 0 {
		t.Errorf("%d calls, %v, %+v", calls, err, reply)
	}
}

func TestTransportErrors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + ln.Addr().String()
	_ = ln.Close()
	_, err = newProvider(t, Config{BaseURL: closed + "/x?key=secret-query-value", APIKey: "sk-key-123456"}).Stream(t.Context(), question(), nil)
	e := failure(t, err)
	if e.Kind != KindTransport || !e.Retryable || e.Status != 0 || strings.Contains(e.Error(), "secret") || strings.Contains(e.Error(), "sk-") {
		t.Errorf("%+v", e)
	}
}

// TestSizeLimits holds the cap, and that it is not the size of ordinary replies.
func TestSizeLimits(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	kind := "text/event-stream"
	body := "data: {\"choices\":[{\"delta\":{\"content\":\"" + big + "\"},\"finish_reason\":\"stop\"}]}\n\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	for _, kind = range []string{"text/event-stream", "application/json"} {
		if kind == "application/json" {
			body = "{\"choices\":[{\"message\":{\"content\":\"" + big + "\"}}]}"
		}
		reply, err := newProvider(t, Config{BaseURL: s.URL}).Stream(t.Context(), question(), nil)
		if err != nil || len(reply.Text()) != 1<<20 {
			t.Errorf("%s: %d bytes, %v", kind, len(reply.Text()), err)
		}
		_, err = newProvider(t, Config{BaseURL: s.URL, MaxEventBytes: 1 << 19}).Stream(t.Context(), question(), nil)
		if e := failure(t, err); e.Kind != KindServer || e.Retryable || !strings.Contains(e.Message, "524288 bytes") {
			t.Errorf("%s: %+v", kind, e)
		}
	}
}

// TestReplyIsBounded holds that a server cannot fill the memory with small
// events that never end.
func TestReplyIsBounded(t *testing.T) {
	for name, chunk := range map[string]string{
		"text":      delta(`{"content":"` + strings.Repeat("x", 1000) + `"}`),
		"reasoning": delta(`{"reasoning":"` + strings.Repeat("x", 1000) + `"}`),
		"arguments": callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"` + strings.Repeat("x", 1000) + `"}}`),
	} {
		s := serveStream(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "data: "+chunk+"\n\n"); err != nil {
					return
				}
			}
		})
		_, err := newProvider(t, Config{BaseURL: s.URL, MaxEventBytes: 1 << 18}).Stream(t.Context(), question(), nil)
		if e := failure(t, err); e.Kind != KindServer || e.Retryable || !strings.Contains(e.Message, "a reply of more than 262144 bytes") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestErrorBodyIsBounded holds that a huge error body is neither read whole nor
// shown whole.
func TestErrorBodyIsBounded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusBadRequest)
		for range 64 {
			_, _ = io.WriteString(w, strings.Repeat("sk-key-123456 ", 1<<14))
		}
	}))
	t.Cleanup(s.Close)
	_, err := newProvider(t, Config{BaseURL: s.URL, APIKey: "sk-key-123456"}).Stream(t.Context(), question(), nil)
	if e := failure(t, err); e.Status != 400 || len(e.Message) > maxMessage || strings.Contains(e.Message, "sk-key") {
		t.Errorf("%d bytes: %.100s", len(e.Message), e.Message)
	}
}

func TestEnvironmentProxy(t *testing.T) {
	get := func(vars map[string]string) func(string) string {
		return func(name string) string { return vars[name] }
	}
	for _, tc := range []struct {
		name, target, want string
		vars               map[string]string
	}{
		{"https", "https://h/", "http://127.0.0.1:9", map[string]string{"HTTPS_PROXY": "http://127.0.0.1:9"}},
		{"lower case", "https://h/", "http://127.0.0.1:9", map[string]string{"https_proxy": "127.0.0.1:9"}},
		{"loopback too", "http://127.0.0.1:11434/", "http://127.0.0.1:9", map[string]string{"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "*"}},
		{"none", "https://h/", "error", map[string]string{"HTTP_PROXY": "http://127.0.0.1:9"}},
		{"no URL", "https://h/", "error", map[string]string{"HTTPS_PROXY": "http://u:secret@[x"}},
	} {
		tc.vars["STEERABLE_EGRESS_CONFINED"] = "1"
		req := httptest.NewRequest(http.MethodPost, tc.target, nil)
		proxy, err := EnvironmentProxy(get(tc.vars))(req)
		got := "error"
		if err == nil {
			got = proxy.String()
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestConfinedNeverGoesDirect holds that a confined process without a proxy
// fails before it opens a connection.
func TestConfinedNeverGoesDirect(t *testing.T) {
	var reached atomic.Bool
	s := serveStream(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
	env := func(name string) string {
		return map[string]string{"STEERABLE_EGRESS_CONFINED": "1"}[name]
	}
	client := NewHTTPClient(HTTPOptions{Proxy: EnvironmentProxy(env)})
	_, err := newProvider(t, Config{BaseURL: s.URL, Client: client}).Stream(t.Context(), question(), nil)
	if e := failure(t, err); reached.Load() || !strings.Contains(e.Message, "confined") {
		t.Errorf("reached %v, %v", reached.Load(), err)
	}
}

// TestProxyIsUsed holds that requests go through the proxy they were given.
func TestProxyIsUsed(t *testing.T) {
	var target string
	proxy := serveStream(t, func(w http.ResponseWriter, r *http.Request) {
		target = r.URL.String()
		_, _ = io.WriteString(w, stop)
	})
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := NewHTTPClient(HTTPOptions{Proxy: http.ProxyURL(u), ConnectTimeout: time.Second})
	t.Cleanup(client.CloseIdleConnections)
	reply, err := newProvider(t, Config{BaseURL: "http://model.invalid/v1", Client: client}).Stream(t.Context(), question(), nil)
	if err != nil || reply.Text() != "a" || target != "http://model.invalid/v1/chat/completions" {
		t.Errorf("%q, %v, target %s", reply.Text(), err, target)
	}
}

// TestSettle holds the promise of Sink about more: after a true one, either
// another call or the return follows without the network.
func TestSettle(t *testing.T) {
	s := serveRaw(t, nil)
	next := make(chan struct{})
	s.answer = func(conn net.Conn, _ *http.Request) {
		chunk := func(text string) { fmt.Fprintf(conn, "%x\r\n%s\r\n", len(text), text) }
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		// One chunk with two deltas and the beginning of a third event.
		chunk("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\ndata: {\"choices\":\n")
		<-next
		chunk("data: []}\n\n" + stop)
		chunk("")
	}
	var got []string
	_, err := newProvider(t, Config{BaseURL: s.url()}).Stream(t.Context(), question(), SinkFunc(func(_ DeltaKind, quoted []byte, more bool) error {
		got = append(got, fmt.Sprintf("%s %v", quoted, more))
		if len(got) == 3 {
			close(next)
		}
		return nil
	}))
	if want := `"a" true, "b" true, "" false, "a" true`; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%v\n got %s\nwant %s", err, strings.Join(got, ", "), want)
	}
}
