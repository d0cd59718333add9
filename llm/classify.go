package llm

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"
)

// errorFromPayload returns the error that a payload at HTTP 200 stands for, nil
// if it is none. withChoice says that the payload is a chunk as well; then only
// the members that can mean nothing else count.
func errorFromPayload(payload []byte, withChoice bool) *Error {
	r, ok := readReport(payload, withChoice)
	if !ok {
		return nil
	}
	return r.inBand()
}

// errorFromText returns the error for a payload that is known to be one.
func errorFromText(payload []byte) *Error {
	if e := errorFromPayload(payload, false); e != nil {
		return e
	}
	r := report{message: string(payload)}
	if v, ok := decodeAny(payload).(map[string]any); ok {
		r.readObject(v)
	}
	return r.inBand()
}

// inBand classes an error that came with HTTP 200.
func (r *report) inBand() *Error {
	kind := r.kindByWords()
	if r.status != 0 {
		kind = kindByStatus(r.status, r)
	}
	return r.error(kind)
}

// errorFromResponse classes an answer that is not 200.
func errorFromResponse(status int, header http.Header, body []byte, now time.Time) *Error {
	r, ok := readReport(unwrapList(body), false)
	if !ok {
		r = report{message: bodyText(header, body)}
	}
	e := r.error(kindByStatus(status, &r))
	e.Status = status
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	if status >= 300 && status < 400 {
		e.Message = "the server redirects, which is refused because the key must not follow; set the base URL to the final address"
	}
	e.setRetryAfter(header, now)
	return e
}

// error returns the error of a kind.
func (r *report) error(kind ErrorKind) *Error {
	e := newError(kind, r.message)
	if r.isQuota() {
		e.Retryable = false
	}
	if kind == KindContextOverflow {
		e.PromptTokens, e.ContextWindow = r.promptTokens, r.contextWindow
		if e.PromptTokens == 0 && e.ContextWindow == 0 {
			e.PromptTokens, e.ContextWindow = overflowNumbers(r.message)
		}
	}
	if r.hasRetryAfter {
		e.RetryAfter, e.HasRetryAfter = min(r.retryAfter, defaultMaxRetryAfter), true
	}
	return e
}

// isQuota says that no wait will help: the account is used up.
func (r *report) isQuota() bool {
	return r.has("insufficientquota", "billinghardlimitreached", "billingerror")
}

// has says whether one of the codes and types is one of these.
func (r *report) has(words ...string) bool {
	return slices.ContainsFunc(r.words, func(have string) bool { return slices.Contains(words, have) })
}

// kindByStatus classes an HTTP status, with the message where that matters.
// Overflow outranks the status, because the same server sends it as 400 or 500.
func kindByStatus(status int, r *report) ErrorKind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return KindAuth
	case status == http.StatusTooManyRequests:
		return KindRateLimit
	case status == http.StatusRequestTimeout:
		return KindTransport
	case status >= 400 && r.isOverflow():
		return KindContextOverflow
	case status >= 500:
		return KindServer
	case status >= 300:
		return KindInvalidRequest
	}
	return KindUnknown
}

// kindByWords classes by codes and types, and only then by the message.
func (r *report) kindByWords() ErrorKind {
	switch {
	case r.has("ratelimiterror", "ratelimitexceeded", "ratelimit", "toomanyrequests", "toomanyrequestserror",
		"resourceexhausted", "throttlingexception", "throttling", "requests", "tokens") || r.isQuota():
		return KindRateLimit
	case r.isOverflow():
		return KindContextOverflow
	case r.has("authenticationerror", "permissionerror", "permissiondeniederror", "permissiondenied", "invalidapikey",
		"incorrectapikey", "unauthorized", "unauthenticated", "forbidden", "accessdenied", "autherror"):
		return KindAuth
	case r.has("servererror", "internalservererror", "internalerror", "internal", "apierror", "overloadederror",
		"overloaded", "engineoverloaded", "serviceunavailable", "serviceunavailableerror", "unavailable", "timeout",
		"timeouterror", "gatewaytimeout", "badgateway", "deadlineexceeded", "upstreamerror", "providererror"):
		return KindServer
	case r.has("invalidrequesterror", "invalidrequest", "badrequesterror", "badrequest", "invalidargument",
		"notfounderror", "notfound", "modelnotfound", "requesttoolarge", "validationerror", "unprocessableentityerror",
		"failedprecondition", "unsupported"):
		return KindInvalidRequest
	}
	return kindByMessage(strings.ToLower(r.message))
}

// kindByMessage classes by the wording alone.
func kindByMessage(text string) ErrorKind {
	switch {
	case anyOf(text, "rate limit", "rate_limit", "too many requests"):
		return KindRateLimit
	case anyOf(text, "overloaded", "over capacity", "unavailable", "internal server error", "internal error",
		"bad gateway", "gateway timeout", "server error", "timed out", "timeout"):
		return KindServer
	case anyOf(text, "api key", "unauthorized", "authentication", "permission denied"):
		return KindAuth
	}
	return KindUnknown
}

// isOverflow says whether the transcript did not fit. The phrases are those of
// the reference (llm/errors.py) and of servers seen since.
func (r *report) isOverflow() bool {
	if r.has("contextlengthexceeded", "exceedcontextsizeerror", "contextwindowexceeded", "contextoverflow") {
		return true
	}
	return anyOf(strings.ToLower(r.message),
		"context length", "context_length", "context window", "context size", "context limit", "maximum context",
		"too many tokens", "prompt is too long", "input is too long", "reduce the length", "exceeds the context",
		"exceed_context_size", "token limit", "maximum prompt length", "maximum number of tokens allowed")
}

// unwrapList returns the only element of a list: Gemini wraps its errors so.
func unwrapList(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		return body
	}
	c := cursor{b: body}
	if c.array(); !c.element() {
		return body
	}
	return c.value()
}

// bodyText returns the text of a body that is no error envelope. Pages made for
// people are left out.
func bodyText(header http.Header, body []byte) string {
	text := string(bytes.TrimSpace(body))
	if strings.HasPrefix(text, "<") || mediaType(header) == "text/html" {
		return ""
	}
	return text
}
