package llm

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestStatusErrors covers answers that are not 200.
func TestStatusErrors(t *testing.T) {
	far := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	ms := func(n int64) *int64 { return &n }
	for _, tc := range []struct {
		name    string
		status  int
		headers map[string]string
		body    string
		want    DigestFailure // Status is filled in
	}{
		{"400", 400, nil, `{"error":{"message":"bad"}}`, DigestFailure{Kind: KindInvalidRequest, Message: "bad"}},
		{"400 with string", 400, nil, `{"error":"bad"}`, DigestFailure{Kind: KindInvalidRequest, Message: "bad"}},
		{"400 empty", 400, nil, ``, DigestFailure{Kind: KindInvalidRequest, Message: "Bad Request"}},
		{"400 text", 400, map[string]string{"content-type": "text/plain"}, "no such\r\nmodel\x1b[31m", DigestFailure{Kind: KindInvalidRequest, Message: "no such  model [31m"}},
		{"402", 402, nil, `{"error":{"message":"credits","code":402}}`, DigestFailure{Kind: KindInvalidRequest, Message: "credits"}},
		{"403", 403, nil, `{"error":{"message":"no"}}`, DigestFailure{Kind: KindAuth, Message: "no"}},
		{"403 with overflow wording stays auth", 403, nil, `{"error":{"message":"context length"}}`, DigestFailure{Kind: KindAuth, Message: "context length"}},
		{"404", 404, nil, `{"detail":"Not Found"}`, DigestFailure{Kind: KindInvalidRequest, Message: "Not Found"}},
		{"408", 408, nil, ``, DigestFailure{Kind: KindTransport, Retryable: true, Message: "Request Timeout"}},
		{"413 without wording", 413, nil, `{"error":{"message":"body too big"}}`, DigestFailure{Kind: KindInvalidRequest, Message: "body too big"}},
		{"422", 422, nil, `{"detail":[{"msg":"a"},{"msg":"b"}]}`, DigestFailure{Kind: KindInvalidRequest, Message: "a; b"}},
		{"429 empty", 429, nil, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests"}},
		{"429 per minute is no overflow", 429, nil, `{"error":{"message":"too many tokens per minute"}}`, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "too many tokens per minute"}},
		{"429 retry-after-ms wins", 429, map[string]string{"retry-after-ms": "1500", "retry-after": "7"}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests", RetryAfterMs: ms(1500)}},
		{"429 bad retry-after-ms", 429, map[string]string{"retry-after-ms": "soon", "retry-after": "7"}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests", RetryAfterMs: ms(7000)}},
		{"429 fraction", 429, map[string]string{"retry-after": "0.25"}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests", RetryAfterMs: ms(250)}},
		{"429 zero", 429, map[string]string{"retry-after": "0"}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests", RetryAfterMs: ms(0)}},
		{"429 date", 429, map[string]string{"retry-after": far}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests", RetryAfterMs: ms(180000)}},
		{"429 date in the past", 429, map[string]string{"retry-after": past}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests", RetryAfterMs: ms(0)}},
		{"429 huge", 429, map[string]string{"retry-after": "1e300"}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests", RetryAfterMs: ms(180000)}},
		{"429 negative", 429, map[string]string{"retry-after": "-5"}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests"}},
		{"429 nonsense", 429, map[string]string{"retry-after": "later"}, ``, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "Too Many Requests"}},
		{"429 gemini", 429, nil, `[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"41s"}]}}]`, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "quota", RetryAfterMs: ms(41000)}},
		{"429 header beats body", 429, map[string]string{"retry-after": "2"}, `{"error":{"message":"m","details":[{"retryDelay":"41s"}]}}`, DigestFailure{Kind: KindRateLimit, Retryable: true, Message: "m", RetryAfterMs: ms(2000)}},
		{"500", 500, nil, `{"error":{"message":"boom"}}`, DigestFailure{Kind: KindServer, Retryable: true, Message: "boom"}},
		{"500 overflow", 500, nil, `{"error":{"code":500,"message":"context size has been exceeded","type":"server_error"}}`, DigestFailure{Kind: KindContextOverflow, Message: "context size has been exceeded"}},
		{"502 page", 502, map[string]string{"content-type": "text/html"}, "<html>x</html>", DigestFailure{Kind: KindServer, Retryable: true, Message: "Bad Gateway"}},
		{"503 retry", 503, map[string]string{"retry-after": "4"}, ``, DigestFailure{Kind: KindServer, Retryable: true, Message: "Service Unavailable", RetryAfterMs: ms(4000)}},
		{"599", 599, nil, ``, DigestFailure{Kind: KindServer, Retryable: true, Message: "no message"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fixture{API: "openai-chat", body: []byte(tc.body)}
			f.HTTP.Status = tc.status
			f.HTTP.Headers = tc.headers
			f.HTTP.End = "close"
			d := ask(t, f.provider(t, "http://in.memory", f.inMemory(func() int { return 5 })), nil)
			tc.want.Status = tc.status
			if diff := cmp.Diff(&tc.want, d.Error); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(d.ToolCalls) != 0 || d.Finish != nil || *d.Text != "" {
				t.Errorf("a reply beside the error: %+v", d)
			}
		})
	}
}

// TestOtherAnswers covers HTTP 200 with something else than a stream.
func TestOtherAnswers(t *testing.T) {
	for _, tc := range []struct{ name, api, kind, body, want string }{
		{"html", "openai-chat", "text/html", "<p>sign in</p>", `"finishReason":null,"error":{"kind":"unknown","retryable":true,"messageContains":"text/html"}`},
		{"no type", "openai-chat", "", "data: x", `"finishReason":null,"error":{"kind":"unknown","retryable":true}`},
		{"cut JSON", "openai-chat", "application/json", `{"choices":[`, `"finishReason":null,"error":{"kind":"server","retryable":true}`},
		{"other JSON", "openai-chat", "application/json", `{"ok":true}`, `"finishReason":null,"error":{"kind":"unknown","retryable":true}`},
		{"JSON with parameters and suffix", "openai-chat", "application/vnd.x+json; charset=utf-8", `{"choices":[{"message":{"content":"a"}}]}`, `"text":"a"`},
		{"completion with reasoning", "openai-chat", "application/json", `{"choices":[{"message":{"content":"a","reasoning_content":"r"},"finish_reason":"length"}]}`, `"text":"a","reasoning":"r","finishReason":"length"`},
		{"error as list", "openai-chat", "application/json", `[{"error":{"code":503,"message":"boom"}}]`, `"finishReason":null,"error":{"kind":"server","retryable":true,"messageContains":"boom"}`},
		{
			"message", "anthropic-messages", "application/json", `{"type":"message","content":[{"type":"thinking","thinking":"r","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"n":1.0}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`,
			`"text":"a","reasoning":"r","finishReason":"tool_calls","toolCalls":[{"id":"t","name":"f","arguments":{"n":1.0}}],"usage":{"promptTokens":1,"completionTokens":2,"totalTokens":3,"cachedPromptTokens":0,"reasoningTokens":0,"cacheCreationTokens":0}`,
		},
		{"message error", "anthropic-messages", "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"boom"}}`, `"finishReason":null,"error":{"kind":"server","retryable":true,"messageContains":"boom"}`},
		{"other JSON for messages", "anthropic-messages", "application/json", `{"ok":true}`, `"finishReason":null,"error":{"kind":"unknown","retryable":true}`},
		{"cut message", "anthropic-messages", "application/json", `{"content":[`, `"finishReason":null,"error":{"kind":"server","retryable":true}`},
	} {
		c := streamCase{name: tc.name, events: []string{"!" + tc.body}, want: tc.want}
		c.runAs(t, tc.api, tc.kind)
	}
}

// TestOverflowNumbers covers how servers word an overflow.
func TestOverflowNumbers(t *testing.T) {
	for _, tc := range []struct {
		body           string
		prompt, window int64
	}{
		{`{"error":{"message":"x","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`, 14429, 8192},
		{`{"error":{"message":"prompt is too long: 205351 tokens > 200000 maximum"}}`, 205351, 200000},
		{`{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."}}`, 9001, 8192},
		{`{"error":{"message":"This model's maximum context length is 4097 tokens, however you requested 5123 tokens (1027 in your prompt; 4096 for the completion)."}}`, 5123, 4097},
		{`{"error":{"message":"This model's maximum context length is 8192 tokens."}}`, 0, 8192},
		{`{"error":{"message":"context length exceeded, see error 4001"}}`, 0, 0},
	} {
		e := errorFromResponse(400, http.Header{}, []byte(tc.body), time.Now())
		if e.Kind != KindContextOverflow || e.PromptTokens != tc.prompt || e.ContextWindow != tc.window {
			t.Errorf("%s\n got %s %d of %d, want %d of %d", tc.body, e.Kind, e.PromptTokens, e.ContextWindow, tc.prompt, tc.window)
		}
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Kind: KindServer, Status: 503, Message: "boom"}
	if got, want := e.Error(), "llm: server (HTTP 503): boom"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	long := redactor{}.clean(strings.Repeat("ä", 3000))
	if len(long) > maxMessage || !strings.HasSuffix(long, "…") {
		t.Errorf("%d bytes, ends in %q", len(long), long[len(long)-6:])
	}
}
