package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Time and size limits of a stream.
const (
	defaultIdleTimeout = 300 * time.Second
	trailerTimeout     = 5 * time.Second       // silence allowed between a finish reason and [DONE]
	drainTimeout       = 50 * time.Millisecond // wait for the end of the body after [DONE]
	maxDrain           = 64 << 10
	defaultMaxEvent    = 64 << 20
	maxErrorBody       = 1 << 20
)

// errIdle is why a silent stream was cancelled.
var errIdle = errors.New("idle timeout")

// dialect is one API over HTTP.
type dialect interface {
	// encode returns the request body, and notes what of req it left out.
	encode(req *Request) (body []byte, warnings []string, err error)
	// setHeader adds what the API wants, the credential included.
	setHeader(h http.Header)
	// decoder returns a decoder that feeds a.
	decoder(a *assembly) decoder
}

// decoder reads the replies of one API.
type decoder interface {
	// event takes the payload of one event, a JSON object. The error is an
	// *Error or errMalformed.
	event(name, payload []byte) error
	// whole takes a reply that is no stream.
	whole(payload []byte) error
	// finish completes the reply.
	finish()
}

// httpProvider is a Provider over HTTP.
type httpProvider struct {
	name     string
	endpoint string
	dialect  dialect
	headers  map[string]string
	redact   redactor
	idle     time.Duration
	maxEvent int
	client   func() *http.Client
}

// newHTTPProvider fills in what all APIs have in common.
func newHTTPProvider(name string, endpoint *url.URL, d dialect, cfg *Config) *httpProvider {
	p := &httpProvider{
		name:     name,
		endpoint: endpoint.String(),
		dialect:  d,
		headers:  cfg.Headers,
		idle:     cfg.IdleTimeout,
		maxEvent: cfg.MaxEventBytes,
	}
	p.redact.secrets = append(p.redact.secrets, cfg.APIKey)
	for _, value := range cfg.Headers {
		p.redact.secrets = append(p.redact.secrets, value)
	}
	if password, ok := endpoint.User.Password(); ok {
		p.redact.secrets = append(p.redact.secrets, password)
	}
	for _, values := range endpoint.Query() {
		p.redact.secrets = append(p.redact.secrets, values...)
	}
	if p.idle <= 0 {
		p.idle = defaultIdleTimeout
	}
	if p.maxEvent <= 0 {
		p.maxEvent = defaultMaxEvent
	}
	client := cfg.Client
	p.client = func() *http.Client { return client }
	if client == nil {
		p.client = sync.OnceValue(func() *http.Client { return NewHTTPClient(HTTPOptions{}) })
	}
	return p
}

// Name implements Provider.
func (p *httpProvider) Name() string { return p.name }

// Stream implements Provider.
func (p *httpProvider) Stream(ctx context.Context, req *Request, sink Sink) (*Reply, error) {
	a := &assembly{sink: sink}
	s := &stream{provider: p, assembly: a, decoder: p.dialect.decoder(a)}
	cause := s.run(ctx, req)
	s.decoder.finish()
	reply, err := a.conclude(s.classify(ctx, cause))
	if err != nil {
		return reply, p.redact.apply(err)
	}
	UniqueIDs(reply.ToolCalls, req.Messages)
	return reply, nil
}

// stream is one exchange. Nothing runs beside the caller's goroutine but the
// idle timer, which cancels the request and is stopped before run returns.
type stream struct {
	provider *httpProvider
	assembly *assembly
	decoder  decoder
	idle     *time.Timer
	header   http.Header
}

// run carries the exchange out. Its error is an *Error, or raw from the network.
func (s *stream) run(parent context.Context, req *Request) error {
	body, warnings, err := s.provider.dialect.encode(req)
	if err != nil {
		return newError(KindInvalidRequest, err.Error())
	}
	for _, w := range warnings {
		s.assembly.warn(w)
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	s.idle = time.AfterFunc(s.provider.idle, func() { cancel(errIdle) })
	defer s.idle.Stop()
	resp, err := s.send(ctx, body)
	s.idle.Stop()
	if err != nil {
		return cancelCause(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	s.header = resp.Header
	return cancelCause(ctx, s.receive(resp))
}

// send makes the request. Its body has a known length: a chunked one is refused
// by proxies that put the credential in.
func (s *stream) send(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.provider.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, newError(KindInvalidRequest, "the base URL is not usable")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "steerable-sidecar")
	s.provider.dialect.setHeader(req.Header)
	for name, value := range s.provider.headers {
		req.Header.Set(name, value)
	}
	resp, err := s.provider.client().Do(req)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// cancelCause replaces what the network reports after the end of a context, an
// error or a plain end, by the reason for that end.
func cancelCause(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if _, classed := errors.AsType[*Error](err); classed {
		return err
	}
	return context.Cause(ctx)
}

// receive reads the response.
func (s *stream) receive(resp *http.Response) error {
	body := &idleReader{src: resp.Body, timer: s.idle, limit: s.patience}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
		if err != nil && len(text) == 0 {
			text = nil // the status tells enough
		}
		return errorFromResponse(resp.StatusCode, resp.Header, text, time.Now())
	}
	switch kind := mediaType(resp.Header); {
	case kind == "text/event-stream":
		return s.events(body)
	case kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json"):
		return s.document(body)
	default:
		return newError(KindUnknown, fmt.Sprintf("the server answered with content type %q in place of a stream", kind))
	}
}

// patience is how long the server may be silent now: after an end mark there is
// little to wait for. The timer runs during reads only, so that a slow sink is
// not mistaken for a silent server.
func (s *stream) patience() time.Duration {
	if s.assembly.ended {
		return min(s.provider.idle, trailerTimeout)
	}
	return s.provider.idle
}

// document reads a reply that came as one JSON document.
func (s *stream) document(body io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(body, int64(s.provider.maxEvent)+1))
	if err != nil {
		return err
	}
	if len(text) > s.provider.maxEvent {
		return s.tooLarge("a reply")
	}
	return explain(s.decoder.whole(unwrapList(text)))
}

// events reads an event stream to its end.
func (s *stream) events(body *idleReader) error {
	r := &eventReader{src: body, max: s.provider.maxEvent}
	for {
		ev, ok := r.next()
		if !ok {
			if err := s.assembly.settle(); err != nil {
				return err
			}
			err := r.fill()
			switch {
			case err == nil:
				continue
			case errors.Is(err, errEventTooLarge):
				return s.tooLarge("an event")
			case !errors.Is(err, io.EOF):
				return err
			}
			return s.lastEvent(r)
		}
		s.assembly.more = r.more()
		done, err := s.event(ev)
		if err != nil {
			return err
		}
		if done {
			s.drain(body)
			return nil
		}
	}
}

// lastEvent takes what came after the last blank line. If that is not whole,
// the stream was cut there, which the missing end mark tells.
func (s *stream) lastEvent(r *eventReader) error {
	ev, ok := r.last()
	if !ok {
		return nil
	}
	if trimmed := trimBlank(ev.data); !ev.isError && len(trimmed) > 0 && trimmed[0] == '{' {
		c := cursor{b: trimmed}
		if c.value(); !c.end() {
			return nil
		}
	}
	_, err := s.event(ev)
	return err
}

// event takes one event. done says that the stream has said its last word.
func (s *stream) event(ev event) (done bool, err error) {
	data := trimBlank(ev.data)
	switch {
	case ev.isError || string(ev.name) == "error":
		if len(data) == 0 {
			data = []byte("the server reported an error without a message")
		}
		return false, errorFromText(data)
	case len(data) == 0:
		return false, nil
	case string(data) == "[DONE]":
		s.assembly.ended, s.assembly.done = true, true
		return true, nil
	case data[0] == '[':
		if e := errorFromPayload(unwrapList(data), false); e != nil {
			return false, e
		}
	case data[0] == '{':
		err = explain(s.decoder.event(ev.name, data))
		if err == nil && s.assembly.size() > s.provider.maxEvent {
			err = s.tooLarge("a reply")
		}
		return s.assembly.done, err
	}
	s.assembly.warn("an event that is not a JSON object was ignored")
	return false, nil
}

// explain replaces errMalformed by an *Error.
func explain(err error) error {
	if errors.Is(err, errMalformed) {
		return newError(KindServer, "the server sent malformed JSON")
	}
	return err
}

// tooLarge is the error for input over the cap.
func (s *stream) tooLarge(what string) *Error {
	e := newError(KindServer, fmt.Sprintf("the server sent %s of more than %d bytes", what, s.provider.maxEvent))
	e.Retryable = false // it would come again
	return e
}

// drain waits a moment for the end of the body, so that the connection can be
// used again.
func (s *stream) drain(body *idleReader) {
	s.idle.Reset(drainTimeout)
	_, _ = io.CopyN(io.Discard, body.src, maxDrain)
}

// classify turns the error that ended the stream into an *Error, nil if the
// reply is complete all the same.
func (s *stream) classify(parent context.Context, err error) *Error {
	var classed *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &classed):
		if s.header != nil && !classed.HasRetryAfter {
			classed.setRetryAfter(s.header, time.Now())
		}
		return classed
	case s.assembly.ended:
		return nil // what came after the end mark does not matter
	case errors.Is(err, errIdle):
		return newError(KindTransport, fmt.Sprintf("idle timeout: the server sent nothing for %v", s.provider.idle))
	case parent.Err() != nil:
		return &Error{Kind: KindTransport, Message: "the request was cancelled", cause: context.Cause(parent)}
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // its own text has the URL
	}
	return newError(KindTransport, "connection failed: "+err.Error())
}

// idleReader limits how long each read may take.
type idleReader struct {
	src   io.Reader
	timer *time.Timer
	limit func() time.Duration
}

// Read implements io.Reader.
func (r *idleReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.limit())
	n, err := r.src.Read(p)
	r.timer.Stop()
	return n, err
}

// mediaType returns the content type without its parameters, in lower case.
func mediaType(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// trimBlank removes blanks and tabs at both ends.
func trimBlank(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
