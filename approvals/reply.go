package approvals

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Decision is an answer to one question. The zero Decision denies.
type Decision struct {
	Kind   Kind
	Reason string // what the person or the host said; may be empty
	// Amendment is a rule the person added to the answer; nil for none.
	Amendment *Amendment
	// WholeTool widens an answer about a shell command from the prefix that
	// was shown to every call of the tool (scope "tool" of a reply).
	WholeTool bool
	// Ignored says why a part of the reply was left out, for the result and
	// the log; the answer itself stands.
	Ignored string
}

// Amendment is a rule that comes with an answer: "and keep allowing commands
// like this". It always concerns the tool that was asked about.
type Amendment struct {
	Effect        Effect
	CommandPrefix []string // empty: every call of the tool
}

// ReplyError is a host reply that is no answer. The call is denied.
type ReplyError struct {
	// Given is the kind the host sent, or what was wrong with the reply.
	Given string
}

// Error uses the words hosts of the reference know.
func (e *ReplyError) Error() string {
	return "host returned an invalid approval decision: " + e.Given
}

// ParseReply reads the result of an approval.request call:
//
//	{"kind", "reason"?, "scope"?: "tool"|"prefix",
//	 "amendment"?: {"decision": "allow"|"deny", "commandPrefix"?: […]}}
//
// Unknown names are ignored, repeated names and values of a wrong type make
// the whole reply a *[ReplyError], since an answer that can be read in two
// ways is none. An amendment that cannot be read is left out, as the reference
// does, and [Decision.Ignored] says so: the person did answer the question.
func ParseReply(raw json.RawMessage) (Decision, error) {
	m, err := fields(raw)
	if err != nil {
		return Decision{}, &ReplyError{Given: err.Error()}
	}
	name, ok := stringOf(m["kind"])
	if !ok {
		return Decision{}, &ReplyError{Given: "no kind"}
	}
	kind, err := ParseKind(name)
	if err != nil {
		return Decision{}, &ReplyError{Given: clip(name)}
	}
	d := Decision{Kind: kind}
	if !isNull(m["reason"]) {
		if d.Reason, ok = stringOf(m["reason"]); !ok {
			return Decision{}, &ReplyError{Given: "reason is not a string"}
		}
	}
	if !isNull(m["scope"]) {
		scope, _ := stringOf(m["scope"])
		if scope != "tool" && scope != "prefix" {
			return Decision{}, &ReplyError{Given: "scope is neither tool nor prefix"}
		}
		d.WholeTool = scope == "tool"
	}
	if !isNull(m["amendment"]) {
		d.Amendment, err = parseAmendment(m["amendment"])
		if err != nil {
			d.Ignored = "amendment ignored: " + err.Error()
		}
	}
	return d, nil
}

func parseAmendment(raw json.RawMessage) (*Amendment, error) {
	m, err := fields(raw)
	if err != nil {
		return nil, err
	}
	name, ok := stringOf(m["decision"])
	if !ok {
		return nil, errors.New("decision is not a string")
	}
	effect, err := ParseEffect(name)
	if err != nil {
		return nil, err
	}
	prefix, err := prefixOf(m["commandPrefix"])
	if err != nil {
		return nil, err
	}
	return &Amendment{Effect: effect, CommandPrefix: prefix}, nil
}

// Denied turns the failure of an approver into the decision that stands for
// it: deny once, with a reason for the host. A *[ReplyError] speaks for
// itself; any other error means that the host could not be asked.
func Denied(err error) Decision {
	if reply, ok := errors.AsType[*ReplyError](err); ok {
		return Decision{Kind: DenyOnce, Reason: reply.Error()}
	}
	return Decision{Kind: DenyOnce, Reason: fmt.Sprintf("host approval unavailable: %v", err)}
}
