package llm

import (
	"strconv"
	"time"
)

// ErrorKind classes failures by what a caller can do about them.
type ErrorKind string

// The kinds of the reference (llm/errors.py). Of these transport, rate limit,
// server and unknown are worth another attempt.
const (
	KindTransport       ErrorKind = "transport"        // the connection failed or the stream was cut
	KindRateLimit       ErrorKind = "rate_limit"       // too many requests, or no quota
	KindContextOverflow ErrorKind = "context_overflow" // the transcript does not fit the model
	KindAuth            ErrorKind = "auth"             // the key is missing, wrong or not allowed
	KindInvalidRequest  ErrorKind = "invalid_request"  // the server refuses this request
	KindServer          ErrorKind = "server"           // the server failed
	KindUnknown         ErrorKind = "unknown"          // anything else
)

// Error is a failed Stream. Its text names neither the key nor any other part
// of the configuration that may be secret, and may be shown to the host.
type Error struct {
	Kind ErrorKind

	// Retryable is false for kinds that never pass on their own, for an
	// exhausted quota, and when the caller itself ended the stream.
	Retryable bool

	// Status is the HTTP status; 0 if there was none or it was 200.
	Status int

	// Message is one line of valid UTF-8, at most 2 KiB.
	Message string

	// RetryAfter is how long the server asked to wait, at most 180 s. It means
	// something only if HasRetryAfter is set.
	RetryAfter    time.Duration
	HasRetryAfter bool

	// PromptTokens and ContextWindow are the server's figures for a context
	// overflow; 0 where it named none.
	PromptTokens  int64
	ContextWindow int64

	cause error
}

// Error returns the kind, the status if there is one, and the message.
func (e *Error) Error() string {
	s := "llm: " + string(e.Kind)
	if e.Status != 0 {
		s += " (HTTP " + strconv.Itoa(e.Status) + ")"
	}
	return s + ": " + e.Message
}

// Unwrap returns the context's or the sink's error, if that ended the stream.
func (e *Error) Unwrap() error { return e.cause }

// retryable says whether errors of a kind are worth another attempt.
func (k ErrorKind) retryable() bool {
	switch k {
	case KindTransport, KindRateLimit, KindServer, KindUnknown:
		return true
	case KindContextOverflow, KindAuth, KindInvalidRequest:
		return false
	}
	return false
}

// newError returns an error of a kind with the kind's retry rule.
func newError(kind ErrorKind, message string) *Error {
	return &Error{Kind: kind, Retryable: kind.retryable(), Message: message}
}

// sinkError wraps the error of a sink.
func sinkError(err error) *Error {
	return &Error{Kind: KindUnknown, Message: "the reply could not be passed on", cause: err}
}
