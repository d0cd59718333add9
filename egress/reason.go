package egress

import "fmt"

// Reason says, in one stable word, why a text is no host or list entry.
type Reason string

// The reasons an [EntryError] can carry.
const (
	ReasonEmpty     Reason = "empty"            // nothing there
	ReasonCharacter Reason = "character"        // a byte no host name may hold
	ReasonNonASCII  Reason = "non_ascii"        // names must come in their xn-- form
	ReasonLabel     Reason = "empty_label"      // "a..b", ".a"
	ReasonLength    Reason = "too_long"         // over 253 bytes, or 63 in a label
	ReasonBrackets  Reason = "missing_brackets" // IPv6, or two ports
	ReasonLiteral   Reason = "bad_literal"      // brackets around no IPv6 address
	ReasonZone      Reason = "zone_id"          // [fe80::1%eth0]
	ReasonAmbiguous Reason = "ambiguous_number" // 127.1, 0x7f.0.0.1, 0177.0.0.1
	ReasonPort      Reason = "port"             // not 1 to 65535 in plain digits
	ReasonWildcard  Reason = "wildcard"         // not allowed here, or too broad
)

// EntryError reports a text that is no host, endpoint or pattern.
type EntryError struct {
	Entry  string // as given
	Reason Reason
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("invalid entry %q: %s", e.Entry, e.Reason.text())
}

func (r Reason) text() string {
	switch r {
	case ReasonEmpty:
		return "expected host or host:port"
	case ReasonCharacter:
		return "a host name holds letters, digits, '-', '_' and '.' only"
	case ReasonNonASCII:
		return "write an international name in its xn-- form"
	case ReasonLabel:
		return "empty label"
	case ReasonLength:
		return "name or label too long"
	case ReasonBrackets:
		return "IPv6 addresses need brackets, and one port is enough"
	case ReasonLiteral:
		return "brackets hold one IPv6 address"
	case ReasonZone:
		return "zone identifiers are not accepted"
	case ReasonAmbiguous:
		return "ends in a number but is no dotted IPv4 address"
	case ReasonPort:
		return "a port is 1 to 65535 in at most five digits, without a leading zero"
	case ReasonWildcard:
		return "a wildcard is not accepted here"
	default:
		return string(r)
	}
}
