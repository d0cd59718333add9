package llm

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// report is what a server told about an error, before it is classed.
type report struct {
	message       string
	words         []string // codes and types, squeezed
	status        int      // a code that is an HTTP status
	promptTokens  int64
	contextWindow int64
	retryAfter    time.Duration
	hasRetryAfter bool
}

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
	for _, have := range r.words {
		for _, w := range words {
			if have == w {
				return true
			}
		}
	}
	return false
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

// readReport reads an error envelope. It returns false if there is none.
func readReport(payload []byte, withChoice bool) (report, bool) {
	top, ok := decodeAny(payload).(map[string]any)
	if !ok {
		return report{}, false
	}
	var r report
	inner, hasError := top["error"]
	switch v := inner.(type) {
	case string:
		hasError = v != ""
		r.message = v
	case map[string]any:
		hasError = len(v) > 0
		r.readObject(v)
	case []any:
		hasError = len(v) > 0
	case bool:
		hasError = v
	default:
		hasError = hasError && inner != nil
	}
	known := hasError || top["object"] == "error" || textOf(top["error_message"]) != "" || textOf(top["error_type"]) != ""
	if !known && !withChoice {
		_, hasChoices := top["choices"]
		known = !hasChoices && (textOf(top["detail"]) != "" || isCoded(top))
	}
	if !known {
		return report{}, false
	}
	r.readObject(top)
	if r.message == "" {
		r.message = "the server reported an error without a message"
	}
	return r, true
}

// isCoded says whether an object is a bare error: a message with a code.
func isCoded(top map[string]any) bool {
	code := textOf(top["code"])
	return code != "" && code != "0" && code != "200" && textOf(top["message"])+textOf(top["msg"]) != ""
}

// readObject takes over what an object tells, where nothing is known yet.
func (r *report) readObject(v map[string]any) {
	for _, key := range []string{"message", "msg", "error_message", "detail", "error"} {
		if r.message == "" {
			r.message = textOf(v[key])
		}
	}
	for _, key := range []string{"code", "type", "status", "error_type"} {
		word := textOf(v[key])
		if n, err := strconv.Atoi(word); err == nil {
			if n >= 400 && n < 600 && r.status == 0 {
				r.status = n
			}
			continue
		}
		if word = squeeze(word); word != "" && word != "error" {
			r.words = append(r.words, word)
		}
	}
	if r.promptTokens == 0 {
		r.promptTokens = numberOf(v["n_prompt_tokens"])
	}
	if r.contextWindow == 0 {
		r.contextWindow = numberOf(v["n_ctx"])
	}
	list, _ := v["details"].([]any)
	for _, entry := range list {
		if m, ok := entry.(map[string]any); ok {
			r.readDelay(textOf(m["retryDelay"]))
		}
	}
}

// readDelay reads google.rpc.RetryInfo's retryDelay, such as "37s" or "1.5s".
func (r *report) readDelay(text string) {
	seconds, ok := strings.CutSuffix(text, "s")
	if d, valid := parseSeconds(seconds); ok && valid {
		r.retryAfter, r.hasRetryAfter = d, true
	}
}

// textOf returns a string, the spelling of a number, or the text found in a list
// of validation errors; else "".
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case interface{ String() string }: // json.Number
		return v.String()
	case map[string]any:
		return textOf(v["message"])
	case []any:
		var parts []string
		for _, entry := range v {
			text := textOf(entry)
			if m, ok := entry.(map[string]any); ok && text == "" {
				text = textOf(m["msg"])
			}
			if text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, "; ")
	}
	return ""
}

// numberOf returns a whole number, 0 if v is none.
func numberOf(v any) int64 {
	n, err := strconv.ParseInt(textOf(v), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// squeeze reduces a code to its lower-case letters and digits, so that
// rate_limit_error, RateLimitError and "rate limit error" are one word.
func squeeze(word string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, word)
}

// unwrapList returns the only element of a list: Gemini wraps its errors so.
func unwrapList(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '[' {
		return body
	}
	c := cursor{b: body}
	if !c.array() || !c.element() {
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

// overflowNumbers looks in a message for how long the prompt was and how long it
// may be: in most wordings the limit is the number after "maximum" or before
// "maximum", and the other number is the prompt.
func overflowNumbers(message string) (prompt, window int64) {
	text := strings.ToLower(message)
	var numbers []int64
	limit := -1
	for i := 0; i < len(text); {
		if text[i] < '0' || text[i] > '9' {
			i++
			continue
		}
		end := i
		for end < len(text) && (text[end] >= '0' && text[end] <= '9') {
			end++
		}
		n, err := strconv.ParseInt(text[i:end], 10, 64)
		if err == nil && n >= 256 {
			before, after := text[max(0, i-40):i], text[end:min(len(text), end+12)]
			if limit < 0 && (anyOf(before, "maximum context", "context length is", "context window of", "context size (", "> ", "limit of") || strings.HasPrefix(after, " maximum")) {
				limit = len(numbers)
			}
			numbers = append(numbers, n)
		}
		i = end
	}
	if limit < 0 {
		return 0, 0
	}
	window = numbers[limit]
	for i, n := range numbers {
		if i != limit && n > window && prompt == 0 {
			prompt = n
		}
	}
	return prompt, window
}
