package llm

import "time"

// RetryPolicy says whether and when to try again. The zero value uses the
// defaults of the reference (harness retry.py).
type RetryPolicy struct {
	MaxAttempts   int           // attempts in all, the first included; 0 means 3
	Base          time.Duration // wait before the second attempt; 0 means 200 ms
	Max           time.Duration // bound of the doubling; 0 means 5 s
	Jitter        float64       // share by which the wait varies; 0 means 0.2, negative none
	MaxRetryAfter time.Duration // bound of a server's wish; 0 means 180 s
}

// The defaults of RetryPolicy.
const (
	defaultMaxAttempts   = 3
	defaultRetryBase     = 200 * time.Millisecond
	defaultRetryMax      = 5 * time.Second
	defaultRetryJitter   = 0.2
	defaultMaxRetryAfter = 180 * time.Second
)

// Next decides after the failed attempt number attempt, counted from 1. If
// retry is true the caller should wait for delay first. rand returns a number
// in [0,1); nil means no jitter. Next is safe for concurrent use.
//
// The delay is the larger of the exponential backoff and what the server asked
// for: jitter is applied to the backoff only, so that a wait is never shorter
// than the server's wish.
func (p RetryPolicy) Next(attempt int, err *Error, rand func() float64) (delay time.Duration, retry bool) {
	p = p.withDefaults()
	if err == nil || !err.Retryable || !err.Kind.retryable() || attempt >= p.MaxAttempts {
		return 0, false
	}
	delay = p.Base
	for range attempt - 1 {
		if delay >= p.Max {
			break
		}
		delay *= 2
	}
	delay = min(delay, p.Max)
	if rand != nil && p.Jitter > 0 {
		delay = time.Duration(float64(delay) * (1 + p.Jitter*(2*rand()-1)))
	}
	if err.HasRetryAfter {
		delay = max(delay, min(err.RetryAfter, p.MaxRetryAfter))
	}
	return delay, true
}

// withDefaults fills in what is zero.
func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = defaultMaxAttempts
	}
	if p.Base == 0 {
		p.Base = defaultRetryBase
	}
	if p.Max == 0 {
		p.Max = defaultRetryMax
	}
	if p.Jitter == 0 {
		p.Jitter = defaultRetryJitter
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = defaultMaxRetryAfter
	}
	return p
}
