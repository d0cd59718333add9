package authz

import "fmt"

// Decision is what happens to an action. The zero value denies, and so does
// every value that is not one of the constants. Smaller is stricter.
type Decision uint8

// The three words of the policy stage.
const (
	Deny     Decision = iota // refused, nobody is asked
	Escalate                 // a person must be asked, whatever was stored before
	Allow                    // the pipeline has no objection; approvals still apply
)

// ParseDecision reads exactly "DENY", "ESCALATE" or "ALLOW". Anything else is
// an error and [Deny].
func ParseDecision(s string) (Decision, error) {
	return parse(s, "decision", []Decision{Deny, Escalate, Allow})
}

// String returns the word on the wire; unknown values read "DENY", which is
// how they are treated.
func (d Decision) String() string {
	switch d {
	case Allow:
		return "ALLOW"
	case Escalate:
		return "ESCALATE"
	case Deny:
		return "DENY"
	default:
		return "DENY"
	}
}

// Tighten returns the stricter of d and other. No sequence of calls can make a
// decision milder, which is all that the stages after policy may use.
func (d Decision) Tighten(other Decision) Decision {
	if d > Allow || other > Allow {
		return Deny
	}
	return min(d, other)
}

// Band is how much is at stake. The zero value is a band nobody knows, which
// policy sends to a person.
type Band uint8

// The bands of the risk ladder, in rising order.
const (
	BandUnknown Band = iota
	Low
	Medium
	High
	Critical
)

// ParseBand reads exactly "low", "medium", "high" or "critical", in lower case.
// Anything else is an error and [BandUnknown].
func ParseBand(s string) (Band, error) {
	return parse(s, "risk band", []Band{Low, Medium, High, Critical})
}

// String returns the word on the wire, "unknown" for anything but the four.
func (b Band) String() string {
	switch b {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	case Critical:
		return "critical"
	case BandUnknown:
		return unknown
	default:
		return unknown
	}
}

// SideEffect is what remains after an action. The zero value is unknown, which
// policy treats as it treats an unknown band.
type SideEffect uint8

// The classes of side effect.
const (
	SideEffectUnknown SideEffect = iota
	NoSideEffect
	Reversible
	Irreversible
)

// ParseSideEffect reads exactly "none", "reversible" or "irreversible".
// Anything else is an error and [SideEffectUnknown].
func ParseSideEffect(s string) (SideEffect, error) {
	return parse(s, "side effect", []SideEffect{NoSideEffect, Reversible, Irreversible})
}

// String returns the word on the wire, "unknown" for anything but the three.
func (s SideEffect) String() string {
	switch s {
	case NoSideEffect:
		return "none"
	case Reversible:
		return "reversible"
	case Irreversible:
		return "irreversible"
	case SideEffectUnknown:
		return unknown
	default:
		return unknown
	}
}

// Kind is what sort of action a tool performs. The zero value is unknown and
// counts as a command.
type Kind uint8

// The kinds of action.
const (
	KindUnknown Kind = iota
	KindRead
	KindWrite
	KindCommand
	KindDelete
	KindSend
)

// ParseKind reads exactly "read", "write", "command", "delete" or "send".
// Anything else is an error and [KindUnknown].
func ParseKind(s string) (Kind, error) {
	return parse(s, "kind", []Kind{KindRead, KindWrite, KindCommand, KindDelete, KindSend})
}

// String returns the word on the wire, "unknown" for anything but the five.
func (k Kind) String() string {
	switch k {
	case KindRead:
		return "read"
	case KindWrite:
		return "write"
	case KindCommand:
		return "command"
	case KindDelete:
		return "delete"
	case KindSend:
		return "send"
	case KindUnknown:
		return unknown
	default:
		return unknown
	}
}

// unknown is how every enumeration but Decision names its zero value; it can
// never be parsed back.
const unknown = "unknown"

// parse finds the value whose word is s. The values are those that may be
// written; the zero value is returned with the error.
func parse[T fmt.Stringer](s, what string, values []T) (T, error) {
	for _, v := range values {
		if v.String() == s {
			return v, nil
		}
	}
	var zero T
	return zero, fmt.Errorf("unknown %s %q", what, s)
}

// Capability is a permission's name, such as "file.read". Names are compared
// byte for byte, without folding or trimming. The empty name is held by nobody.
type Capability string
