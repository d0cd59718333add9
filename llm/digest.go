package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// digestLimit is the size, in bytes, above which a digest holds a hash in place
// of a text.
const digestLimit = 4096

// Digest is a reply, or its failure, in a form that can be compared: what
// "llm probe --json" prints.
type Digest struct {
	// Text is nil if it is longer than 4,096 bytes; then TextLen, in bytes, and
	// TextSha256 stand for it.
	Text       *string        `json:"text"`
	TextLen    int            `json:"textLen,omitempty"`
	TextSha256 string         `json:"textSha256,omitempty"`
	Reasoning  string         `json:"reasoning"`
	ToolCalls  []DigestCall   `json:"toolCalls"`
	Finish     *FinishReason  `json:"finishReason"` // nil if the stream never ended properly
	Usage      *Usage         `json:"usage"`
	Error      *DigestFailure `json:"error"`
}

// DigestCall is a tool call of a Digest.
type DigestCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`

	// Arguments is an object, or null beside ArgumentsError. It is left out if
	// the argument text is longer than 4,096 bytes; then ArgumentsSha256, over
	// the text as received, stands for it.
	Arguments       json.RawMessage `json:"arguments,omitempty"`
	ArgumentsSha256 string          `json:"argumentsSha256,omitempty"`
	ArgumentsError  string          `json:"argumentsError,omitempty"`
	RawArguments    *string         `json:"rawArguments,omitempty"` // beside ArgumentsError
	IDSynthesized   bool            `json:"idSynthesized,omitempty"`
}

// DigestFailure is the error of a Digest.
type DigestFailure struct {
	Kind         ErrorKind `json:"kind"`
	Retryable    bool      `json:"retryable"`
	Status       int       `json:"status,omitempty"`
	Message      string    `json:"message"`
	RetryAfterMs *int64    `json:"retryAfterMs,omitempty"`
}

// NewDigest summarizes what Stream returned.
func NewDigest(reply *Reply, err error) *Digest {
	d := &Digest{Reasoning: reply.ReasoningText(), ToolCalls: []DigestCall{}, Usage: reply.Usage}
	if text := reply.Text(); len(text) <= digestLimit {
		d.Text = &text
	} else {
		d.TextLen, d.TextSha256 = len(text), hash(text)
	}
	if reply.FinishReason != FinishNone {
		d.Finish = &reply.FinishReason
	}
	for i := range reply.ToolCalls {
		d.ToolCalls = append(d.ToolCalls, digestCall(&reply.ToolCalls[i]))
	}
	var failure *Error
	switch {
	case err == nil:
	case errors.As(err, &failure):
		d.Error = &DigestFailure{Kind: failure.Kind, Retryable: failure.Retryable, Status: failure.Status, Message: failure.Message}
		if failure.HasRetryAfter {
			ms := failure.RetryAfter.Milliseconds()
			d.Error.RetryAfterMs = &ms
		}
	default:
		d.Error = &DigestFailure{Kind: KindUnknown, Message: err.Error()}
	}
	return d
}

// digestCall summarizes one call.
func digestCall(c *ToolCall) DigestCall {
	d := DigestCall{ID: c.ID, Name: c.Name, ArgumentsError: c.ArgumentsError, IDSynthesized: c.IDSynthesized}
	raw := c.RawArguments
	if raw == "" {
		raw = string(c.Arguments)
	}
	switch {
	case c.ArgumentsError != "":
		d.Arguments = json.RawMessage("null")
		d.RawArguments = &raw
	case len(raw) > digestLimit:
		d.ArgumentsSha256 = hash(raw)
	default:
		d.Arguments = c.Arguments
	}
	return d
}

// hash returns the SHA-256 of a text in hexadecimal.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
