package llm

import (
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

// readReport reads an error envelope. It returns false if there is none. The
// forms seen are {"error":{"message",…}} with codes and types of every kind,
// {"error":"text"}, {"object":"error","message":…}, {"error_type","error_message"},
// {"detail":"text"} or a list of validation errors, and {"code","message"}.
func readReport(payload []byte, withChoice bool) (report, bool) {
	top, ok := decodeAny(payload).(map[string]any)
	if !ok {
		return report{}, false
	}
	known := isPresent(top["error"]) || top["object"] == "error" ||
		textOf(top["error_message"]) != "" || textOf(top["error_type"]) != ""
	if _, hasChoices := top["choices"]; !known && !hasChoices && !withChoice {
		known = textOf(top["detail"]) != "" || isCoded(top)
	}
	if !known {
		return report{}, false
	}
	var r report
	if inner, ok := top["error"].(map[string]any); ok {
		r.readObject(inner)
	}
	if text, ok := top["error"].(string); ok {
		r.message = text
	}
	r.readObject(top)
	if r.message == "" {
		r.message = "the server reported an error without a message"
	}
	return r, true
}

// isPresent says whether a member means anything: chunks often carry null.
func isPresent(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case bool:
		return v
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return true
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

// overflowNumbers looks in a message for how long the prompt was and how long it
// may be. Wordings differ, but the limit stands behind or before a word for it,
// and the prompt is the first number above the limit.
func overflowNumbers(message string) (prompt, window int64) {
	text := strings.ToLower(message)
	var numbers []int64
	for i := 0; i < len(text); {
		end := i + digitRun(text[i:])
		if end == i {
			i++
			continue
		}
		n, err := strconv.ParseInt(text[i:end], 10, 64)
		if err == nil && n >= 256 { // smaller ones are versions, codes, counts of messages
			numbers = append(numbers, n)
			if window == 0 && isLimit(text[:i], text[end:]) {
				window = n
			}
		}
		i = end
	}
	for _, n := range numbers {
		if window > 0 && n > window {
			return n, window
		}
	}
	return 0, window
}

// digitRun returns how many digits text begins with.
func digitRun(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}

// isLimit says whether the words around a number make it a limit.
func isLimit(before, after string) bool {
	before = before[max(0, len(before)-40):]
	return strings.HasPrefix(after, " maximum") ||
		anyOf(before, "maximum context", "context length is", "context window of", "context size (", "> ", "limit of")
}
