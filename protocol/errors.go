package protocol

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// Error codes. The first five are JSON-RPC's, the rest the reference's; see
// docs/protocol.md.
const (
	CodeParseError      = jsonrpc2.CodeParseError
	CodeInvalidRequest  = jsonrpc2.CodeInvalidRequest
	CodeMethodNotFound  = jsonrpc2.CodeMethodNotFound
	CodeInvalidParams   = jsonrpc2.CodeInvalidParams
	CodeInternalError   = jsonrpc2.CodeInternalError
	CodeHostError       = -32000 // a host's handler failed or does not exist
	CodeOverloaded      = -32001 // too many requests in flight; data says when to retry
	CodeNotFound        = -32004 // no such session, trace or record
	CodePolicyDenied    = -32020
	CodeBudgetExhausted = -32021
	CodeToolFailed      = -32030
	CodeNotReady        = -32099 // the transport is not up, or going down
)

// Kind classifies an error for programs. The values are the reference's enum;
// a host may switch on them.
type Kind string

// The kinds of errors. The zero Kind is left out of the frame.
const (
	KindParse           Kind = "parse"
	KindInvalidRequest  Kind = "invalid_request"
	KindMethodNotFound  Kind = "method_not_found"
	KindInvalidParams   Kind = "invalid_params"
	KindInternal        Kind = "internal"
	KindBudgetExhausted Kind = "budget_exhausted"
	KindPolicyDenied    Kind = "policy_denied"
	KindToolFailed      Kind = "tool_failed"
	KindTransportClosed Kind = "transport_closed"
	KindTimeout         Kind = "timeout"
	KindCancelled       Kind = "cancelled"
)

// maxMessage is the schema's limit for an error's message, in bytes.
const maxMessage = 1024

// Sentinel errors of the peer.
var (
	// ErrClosed is returned by calls on a peer that has stopped.
	ErrClosed = errors.New("peer is closed")
	// ErrBlocked is given to OnFail when the host read nothing for the limit.
	ErrBlocked = errors.New("the host stopped reading")
	// ErrFrameTooLarge is returned for a reverse call over the outbound cap. A
	// reverse call is never cut, so it is not sent at all.
	ErrFrameTooLarge = errors.New("frame_too_large")
	// ErrMalformedAnswer is wrapped by the error of a reverse call whose answer
	// is no frame or too long a one: the host may have done what it was asked.
	ErrMalformedAnswer = errors.New("malformed answer")
	// ErrCallOption is returned for a jsonrpc2 call option: the peer's ids and
	// fields are its own.
	ErrCallOption = errors.New("jsonrpc2 call options are not supported")
)

// Error is the error member of a frame: jsonrpc2's, with the kind beside it.
// Its zero value is an internal error without a text. It is immutable once
// returned.
type Error struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Kind    Kind            `json:"kind,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error implements error with the message alone: it is shown to people.
func (e *Error) Error() string { return e.Message }

// As lets errors.As find the jsonrpc2 form of the error, for callers of the
// [jsonrpc2.JSONRPC2] interface.
func (e *Error) As(target any) bool {
	p, ok := target.(**jsonrpc2.Error)
	if !ok {
		return false
	}
	*p = &jsonrpc2.Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		data := e.Data
		(*p).Data = &data
	}
	return true
}

// InvalidParams returns a -32602 error. The text names what was wrong.
func InvalidParams(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidParams, Kind: KindInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// NotFound returns a -32004 error.
func NotFound(format string, args ...any) *Error {
	return &Error{Code: CodeNotFound, Kind: KindInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// Overloaded returns a -32001 error, which says when to retry.
func Overloaded(message string) *Error {
	return &Error{
		Code: CodeOverloaded, Kind: KindInternal, Message: message,
		Data: json.RawMessage(fmt.Sprintf(`{"reason":"overloaded","retryAfterMs":%d}`, overloadRetryMs)),
	}
}

// Internal returns a -32603 error.
func Internal(format string, args ...any) *Error {
	return &Error{Code: CodeInternalError, Kind: KindInternal, Message: fmt.Sprintf(format, args...)}
}

func invalidRequest(message string) *Error {
	return &Error{Code: CodeInvalidRequest, Kind: KindInvalidRequest, Message: message}
}

func parseError(message string) *Error {
	return &Error{Code: CodeParseError, Kind: KindParse, Message: message}
}

// toError turns what a handler returned into a frame's error.
func toError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		out := &Error{Code: e.Code, Message: e.Message, Kind: kindOf(e.Code)}
		if e.Data != nil {
			out.Data = *e.Data
		}
		return out
	}
	return Internal("%s", err)
}

// kindOf is the kind that goes with a code that came without one.
func kindOf(code int64) Kind {
	switch code {
	case CodeParseError:
		return KindParse
	case CodeInvalidRequest, CodeNotFound:
		return KindInvalidRequest
	case CodeMethodNotFound:
		return KindMethodNotFound
	case CodeInvalidParams:
		return KindInvalidParams
	case CodePolicyDenied:
		return KindPolicyDenied
	case CodeBudgetExhausted:
		return KindBudgetExhausted
	case CodeToolFailed:
		return KindToolFailed
	default:
		return KindInternal
	}
}
