package llm

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestErrorWords holds what every known code and type means, however it is
// written.
func TestErrorWords(t *testing.T) {
	for kind, words := range map[ErrorKind][]string{
		KindRateLimit: {
			"rate_limit_error", "rate_limit_exceeded", "RateLimitError", "rate-limit", "too_many_requests", "TooManyRequests",
			"RESOURCE_EXHAUSTED", "ThrottlingException", "Throttling", "requests", "tokens", "insufficient_quota", "billing_hard_limit_reached",
		},
		KindContextOverflow: {"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "ContextOverflow"},
		KindAuth: {
			"authentication_error", "AuthenticationError", "permission_error", "PERMISSION_DENIED", "invalid_api_key", "incorrect_api_key",
			"Unauthorized", "UNAUTHENTICATED", "forbidden", "access_denied",
		},
		KindServer: {
			"server_error", "internal_server_error", "InternalServerError", "INTERNAL", "api_error", "APIError", "overloaded_error", "overloaded",
			"engine_overloaded", "service_unavailable", "ServiceUnavailableError", "UNAVAILABLE", "timeout", "timeout_error", "gateway_timeout",
			"bad_gateway", "DEADLINE_EXCEEDED", "upstream_error", "provider_error",
		},
		KindInvalidRequest: {
			"invalid_request_error", "InvalidRequestError", "BadRequestError", "bad_request", "INVALID_ARGUMENT", "not_found_error", "NOT_FOUND",
			"model_not_found", "request_too_large", "validation_error", "UnprocessableEntityError", "FAILED_PRECONDITION",
		},
		KindUnknown: {"", "zzz", "error", "200", "0", "teapot"},
	} {
		for _, word := range words {
			for _, member := range []string{"type", "code", "status"} {
				payload, err := json.Marshal(map[string]any{"error": map[string]any{"message": "boom", member: word}})
				if err != nil {
					t.Fatal(err)
				}
				e := errorFromPayload(payload, false)
				if e == nil || e.Kind != kind || e.Message != "boom" || e.Status != 0 {
					t.Errorf("%s: %+v, want %s", payload, e, kind)
					continue
				}
				quota := strings.HasPrefix(word, "insufficient") || strings.HasPrefix(word, "billing")
				if e.Retryable != (kind.retryable() && !quota) {
					t.Errorf("%s: retryable %v", payload, e.Retryable)
				}
			}
		}
	}
}

// TestErrorWordings holds what messages without any code mean.
func TestErrorWordings(t *testing.T) {
	for kind, messages := range map[ErrorKind][]string{
		KindContextOverflow: {
			"This model's maximum context length is 8192 tokens.",
			"the request exceeds the available context size. try increasing the context size",
			"prompt is too long: 205351 tokens > 200000 maximum",
			"Input is too long for requested model.",
			"Please reduce the length of the messages or completion.",
			"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
			"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
			"context_length_exceeded", "Requested tokens exceed context window of 2048", "token limit exceeded", "Too many tokens",
		},
		KindRateLimit: {"Rate limit reached for requests", "Too Many Requests"},
		KindServer:    {"The model is overloaded", "Upstream request timed out", "Service Unavailable", "Internal Server Error", "over capacity, back off"},
		KindAuth:      {"Invalid API key", "Unauthorized", "authentication failed"},
		KindUnknown:   {"Compute error.", "no", "??"},
	} {
		for _, message := range messages {
			payload, err := json.Marshal(map[string]string{"error": message})
			if err != nil {
				t.Fatal(err)
			}
			if e := errorFromPayload(payload, false); e == nil || e.Kind != kind || e.Message != message {
				t.Errorf("%q: %+v, want %s", message, e, kind)
			}
		}
	}
}

// TestNotAnError holds what must not be taken for an error.
func TestNotAnError(t *testing.T) {
	for _, payload := range []string{
		``, `{}`, `[]`, `7`, `"error"`, `{"error":null}`, `{"error":{}}`, `{"error":[]}`, `{"error":""}`, `{"error":false}`,
		`{"object":"chat.completion.chunk","choices":[]}`, `{"code":0,"message":"ok"}`, `{"code":null,"message":"ok"}`, `{"code":"200","msg":"ok"}`,
		`{"message":"hello"}`, `{"code":5}`, `{"choices":[],"detail":"x"}`, `{"choices":[],"code":"x","message":"y"}`, `{"detail":""}`,
	} {
		if e := errorFromPayload([]byte(payload), false); e != nil {
			t.Errorf("%s: %+v", payload, e)
		}
	}
	for _, payload := range []string{`{"detail":"x"}`, `{"code":"x","message":"y"}`} {
		if e := errorFromPayload([]byte(payload), true); e != nil {
			t.Errorf("%s beside a choice: %+v", payload, e)
		}
	}
}

// FuzzErrorBody holds that no body makes an error that is not fit to be shown.
func FuzzErrorBody(f *testing.F) {
	f.Add(400, `{"error":{"message":"Bearer sk-fuzz-123456","code":"x"}}`, "7")
	f.Add(429, `[{"error":{"details":[{"retryDelay":"1s"}]}}]`, "Wed, 21 Oct 2065 07:28:00 GMT")
	f.Add(302, `<html>`, "-1")
	f.Add(500, "{\"error\":\"\xff\\u2028 sk-fuzz-123456 sk-fuzz-12\"}", "1e999")
	f.Add(413, `{"error":{"message":"maximum context length is 99999999999999999999 tokens"}}`, "NaN")
	f.Fuzz(func(t *testing.T, status int, body, retryAfter string) {
		h := http.Header{"Retry-After": {retryAfter}, "Retry-After-Ms": {retryAfter}}
		r := redactor{secrets: []string{"sk-fuzz-123456"}}
		e := r.apply(errorFromResponse(status, h, []byte(body), time.Unix(1<<30, 0)))
		if e.Message == "" || len(e.Message) > maxMessage || !utf8.ValidString(e.Message) || strings.ContainsAny(e.Message, "\r\n\u2028") {
			t.Errorf("message %q", e.Message)
		}
		if strings.Contains(e.Message, "sk-fuzz-1") {
			t.Errorf("secret in %q", e.Message)
		}
		if e.RetryAfter < 0 || e.RetryAfter > defaultMaxRetryAfter || !e.Kind.known() || e.PromptTokens < 0 || e.ContextWindow < 0 {
			t.Errorf("%+v", e)
		}
		if e.Retryable && !e.Kind.retryable() {
			t.Errorf("%+v would be tried again", e)
		}
	})
}
