package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Reply is what the scripted model answers to one request. The zero Reply is
// an empty answer that ends properly.
type Reply struct {
	// Text is the answer: a string, or an array of strings that are sent as
	// separate deltas.
	Text json.RawMessage `json:"text"`
	// Reasoning is sent before the text, as reasoning_content.
	Reasoning string `json:"reasoning"`
	// ToolCalls are sent after the text, each in several fragments.
	ToolCalls []ReplyCall `json:"toolCalls"`
	// FinishReason defaults to tool_calls when there are calls, else stop.
	FinishReason string `json:"finishReason"`
	// Usage defaults to 5 prompt and 1 completion tokens.
	Usage *ReplyUsage `json:"usage"`
	// Error makes the reply an HTTP error; everything above is then unused.
	Error *ReplyError `json:"error"`
	// DelayMs is how long the model thinks before it sends anything, in
	// milliseconds.
	DelayMs int `json:"delayMs"`
	// Cut breaks the connection after the content, before any end mark.
	Cut bool `json:"cut"`
	// Hold keeps the connection open and silent after the content, until the
	// peer closes it or the transcript ends.
	Hold bool `json:"hold"`
}

// ReplyCall is one tool call of a [Reply].
type ReplyCall struct {
	// ID is the call's id, sent as it is.
	ID string `json:"id"`
	// Name is the tool's name.
	Name string `json:"name"`
	// Arguments is sent as compact as it is written here.
	Arguments json.RawMessage `json:"arguments"`
	// RawArguments takes the place of Arguments for text that is not JSON.
	RawArguments string `json:"rawArguments"`
}

// ReplyUsage is the token count a [Reply] reports. The total is their sum.
type ReplyUsage struct {
	// PromptTokens is reported as prompt_tokens.
	PromptTokens int `json:"promptTokens"`
	// CompletionTokens is reported as completion_tokens.
	CompletionTokens int `json:"completionTokens"`
}

// ReplyError is an HTTP error of the model.
type ReplyError struct {
	// Status is the HTTP status, 400 to 599.
	Status int `json:"status"`
	// Message is error.message of the body.
	Message string `json:"message"`
	// RetryAfterMs is sent in the header retry-after-ms when it is not zero.
	RetryAfterMs int `json:"retryAfterMs"`
}

// model serves replies as an OpenAI-compatible HTTP server on a loopback port.
type model struct {
	url     string // what $LLM stands for
	replies []Reply
	server  *http.Server
	served  chan struct{} // closed when the server's goroutine has ended

	mu       sync.Mutex // guards following
	requests []string   // bodies in the order of arrival
}

// maxRequest bounds the body of one request.
const maxRequest = 64 << 20

// startModel listens at once, so that the URL can be used on return. The
// context ends replies that hold.
func startModel(ctx context.Context, replies []Reply) (*model, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the scripted model: %w", err)
	}
	m := &model{url: "http://" + ln.Addr().String() + "/v1", replies: replies, served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() { // ends with close
		defer close(m.served)
		_ = m.server.Serve(ln)
	}()
	return m, nil
}

// close ends the server and every open reply.
func (m *model) close() {
	_ = m.server.Close()
	<-m.served
}

// received returns the bodies of the requests so far.
func (m *model) received() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.requests...)
}

// next records a request and chooses its reply.
func (m *model) next(body string) (Reply, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, body)
	if len(m.replies) == 0 {
		return Reply{}, false
	}
	return m.replies[min(len(m.requests), len(m.replies))-1], true
}

func (m *model) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply, ok := m.next(string(body))
	if !ok {
		http.Error(w, `{"error":{"message":"the script has no replies"}}`, http.StatusInternalServerError)
		return
	}
	if !pause(r.Context(), time.Duration(reply.DelayMs)*time.Millisecond) {
		return
	}
	if reply.Error != nil {
		writeFailure(w, reply.Error)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for _, event := range reply.events() {
		if _, err := io.WriteString(w, "data: "+event+"\n\n"); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
	}
	switch {
	case reply.Hold:
		<-r.Context().Done()
	case reply.Cut:
		panic(http.ErrAbortHandler) // the documented way to break a connection
	}
}

// pause waits and reports whether the time passed before the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func writeFailure(w http.ResponseWriter, e *ReplyError) {
	w.Header().Set("Content-Type", "application/json")
	if e.RetryAfterMs > 0 {
		w.Header().Set("retry-after-ms", strconv.Itoa(e.RetryAfterMs))
	}
	w.WriteHeader(e.Status)
	_, _ = io.WriteString(w, format(object{{"error", object{{"message", e.Message}}}}))
}

// events returns the payloads of the reply's stream in order.
func (r *Reply) events() []string {
	events := []string{delta(object{{"role", "assistant"}, {"content", ""}}, nil)}
	if r.Reasoning != "" {
		events = append(events, delta(object{{"reasoning_content", r.Reasoning}}, nil))
	}
	pieces, err := r.pieces()
	if err != nil {
		panic("bug: replies are checked when they are parsed: " + err.Error())
	}
	for _, piece := range pieces {
		events = append(events, delta(object{{"content", piece}}, nil))
	}
	for i, call := range r.ToolCalls {
		events = append(events, call.events(i)...)
	}
	if r.Cut || r.Hold {
		return events
	}
	return append(events, delta(object{}, r.finish()), r.usage(), "[DONE]")
}

// pieces returns the deltas of the text.
func (r *Reply) pieces() ([]string, error) {
	if len(r.Text) == 0 {
		return nil, nil
	}
	var one string
	if json.Unmarshal(r.Text, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	if json.Unmarshal(r.Text, &many) != nil {
		return nil, errors.New("text is neither a string nor an array of strings")
	}
	return many, nil
}

func (r *Reply) finish() string {
	switch {
	case r.FinishReason != "":
		return r.FinishReason
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// usage is the event that follows the last choice.
func (r *Reply) usage() string {
	u := r.Usage
	if u == nil {
		u = &ReplyUsage{PromptTokens: 5, CompletionTokens: 1}
	}
	return format(object{
		{"id", "chatcmpl-1"},
		{"object", "chat.completion.chunk"},
		{"choices", []any{}},
		{"usage", object{
			{"prompt_tokens", number(u.PromptTokens)},
			{"completion_tokens", number(u.CompletionTokens)},
			{"total_tokens", number(u.PromptTokens + u.CompletionTokens)},
		}},
	})
}

// events sends a call as providers do: the name first, then the arguments in
// pieces.
func (c *ReplyCall) events(index int) []string {
	args := c.RawArguments
	if args == "" {
		args = strings.TrimSpace(string(c.Arguments))
	}
	if args == "" {
		args = "{}"
	}
	head := object{
		{"index", number(index)},
		{"id", c.ID},
		{"type", "function"},
		{"function", object{{"name", c.Name}, {"arguments", ""}}},
	}
	events := []string{delta(object{{"tool_calls", []any{head}}}, nil)}
	runes := []rune(args)
	for _, part := range []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])} {
		fragment := object{{"index", number(index)}, {"function", object{{"arguments", part}}}}
		events = append(events, delta(object{{"tool_calls", []any{fragment}}}, nil))
	}
	return events
}

// delta is one chat.completion.chunk with one choice.
func delta(d object, finish any) string {
	return format(object{
		{"id", "chatcmpl-1"},
		{"object", "chat.completion.chunk"},
		{"choices", []any{object{{"index", number(0)}, {"delta", d}, {"finish_reason", finish}}}},
	})
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }
