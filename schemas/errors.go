package schemas

import (
	"errors"
	"strconv"
)

// ErrNotObject reports a text that is one valid JSON value, but not an object.
// A caller answers it with another code than broken JSON.
var ErrNotObject = errors.New("not a JSON object")

// Reason says which rule a text breaks. The values are stable; the zero value
// is not a reason.
type Reason string

// Reasons of a [SyntaxError].
const (
	// ReasonSyntax is anything outside the grammar of RFC 8259, a byte order
	// mark and a second value included.
	ReasonSyntax Reason = "syntax"
	// ReasonDepth is more than [MaxDepth] containers inside each other.
	ReasonDepth Reason = "depth"
	// ReasonUTF8 is a string that is not UTF-8.
	ReasonUTF8 Reason = "utf8"
	// ReasonDuplicate is a member name that occurs twice in one object.
	// RFC 8259 leaves open which of the two counts, so two readers of one
	// frame could act on different values.
	ReasonDuplicate Reason = "duplicate"
)

// SyntaxError reports a text that is not acceptable JSON.
type SyntaxError struct {
	// Offset is the index of the byte at which reading stopped, from 0 to the
	// length of the text. For ReasonDuplicate it lies behind the second of the
	// two names and not behind the end of their object.
	Offset int
	// Reason is the rule that is broken.
	Reason Reason
}

// Error names the rule and the offset, and never quotes the text.
func (e *SyntaxError) Error() string {
	what := "invalid JSON"
	switch e.Reason {
	case ReasonSyntax:
	case ReasonDepth:
		what = "JSON nested deeper than " + strconv.Itoa(MaxDepth)
	case ReasonUTF8:
		what = "invalid UTF-8"
	case ReasonDuplicate:
		what = "duplicate member name"
	}
	return what + " at byte " + strconv.Itoa(e.Offset)
}

// ValidationError reports JSON that does not satisfy its schema. None of its
// fields contains a value of the instance, so it may be shown to a host, to a
// model and in logs; member names of the instance can occur, shortened.
type ValidationError struct {
	// Pointer is the JSON pointer (RFC 6901) of the offending value, or of the
	// object that lacks a member. It is empty for the whole instance.
	Pointer string
	// Keyword is the JSON Schema keyword that is not satisfied.
	Keyword string
	// Message says in a few words what was expected.
	Message string
}

// Error is the message, after the pointer if there is one.
func (e *ValidationError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}
