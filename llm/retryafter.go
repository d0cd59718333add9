package llm

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// setRetryAfter reads how long the server asks to wait: retry-after-ms, which
// some vendors add because seconds are too coarse, before Retry-After in seconds
// or as a date (RFC 9110, 10.2.3).
func (e *Error) setRetryAfter(header http.Header, now time.Time) {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(header.Get("Retry-After-Ms")), 64); err == nil {
		if d, ok := toDuration(ms, time.Millisecond); ok {
			e.RetryAfter, e.HasRetryAfter = d, true
			return
		}
	}
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return
	}
	if d, ok := parseSeconds(text); ok {
		e.RetryAfter, e.HasRetryAfter = d, true
		return
	}
	if at, err := http.ParseTime(text); err == nil {
		e.RetryAfter, e.HasRetryAfter = min(max(at.Sub(now), 0), defaultMaxRetryAfter), true
	}
}

// parseSeconds reads a non-negative number of seconds, capped.
func parseSeconds(text string) (time.Duration, bool) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	return toDuration(seconds, time.Second)
}

// toDuration converts a non-negative number of units, capped.
func toDuration(n float64, unit time.Duration) (time.Duration, bool) {
	if math.IsNaN(n) || n < 0 {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(defaultMaxRetryAfter))), true
}
