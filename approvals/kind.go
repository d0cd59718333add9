package approvals

import (
	"fmt"
	"strconv"
)

// Kind is what somebody answered when asked about a call. The zero Kind is no
// answer at all and denies.
type Kind uint8

// The seven answers a host may give, and the one only this package makes.
const (
	KindNone        Kind = iota // no answer; denies
	AllowOnce                   // this call
	AllowForSession             // calls like this one in this chat, until the process ends
	AllowAlways                 // calls like this one, kept on disk
	DenyOnce
	DenyForSession
	DenyAlways
	Abort    // deny and end the turn
	TimedOut // nobody answered in time; a host that sends it is refused
)

// kindNames returns the wire names in the order of the constants.
func kindNames() []string {
	return []string{
		"none", "allow_once", "allow_for_session", "allow_always",
		"deny_once", "deny_for_session", "deny_always", "abort", "timed_out",
	}
}

// ParseKind reads the wire name of one of the seven answers. "timed_out" and
// "none" are refused: no host can have meant them as an answer.
func ParseKind(name string) (Kind, error) {
	for i, known := range kindNames() {
		k := Kind(i)
		if known == name && k.answers() {
			return k, nil
		}
	}
	return KindNone, fmt.Errorf("unknown approval kind %q", clip(name))
}

// String returns the wire name.
func (k Kind) String() string {
	names := kindNames()
	if int(k) >= len(names) {
		return "kind(" + strconv.Itoa(int(k)) + ")"
	}
	return names[k]
}

// MarshalText writes the wire name; it never fails.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Allows reports whether the call may run. Values outside the algebra deny.
func (k Kind) Allows() bool {
	return k == AllowOnce || k == AllowForSession || k == AllowAlways
}

// forSession reports whether the answer is to be remembered for the chat.
func (k Kind) forSession() bool { return k == AllowForSession || k == DenyForSession }

// durable reports whether the answer is to be kept on disk.
func (k Kind) durable() bool { return k == AllowAlways || k == DenyAlways }

// lasts reports whether the answer is meant for later calls too.
func (k Kind) lasts() bool { return k.forSession() || k.durable() }

// answers reports whether a host can have meant the kind as an answer.
func (k Kind) answers() bool { return k > KindNone && k < TimedOut }

// effect is what a stored answer of this kind does to later calls.
func (k Kind) effect() Effect {
	if k.Allows() {
		return EffectAllow
	}
	return EffectDeny
}

// Effect is what a rule or an amendment does to the calls it matches. The zero
// Effect denies.
type Effect uint8

// The two effects.
const (
	EffectDeny Effect = iota
	EffectAllow
)

// ParseEffect reads "allow" or "deny".
func ParseEffect(name string) (Effect, error) {
	switch name {
	case "allow":
		return EffectAllow, nil
	case "deny":
		return EffectDeny, nil
	}
	return EffectDeny, fmt.Errorf("unknown decision %q, want allow or deny", clip(name))
}

// String returns "allow" or "deny"; every value but EffectAllow is "deny".
func (e Effect) String() string {
	if e == EffectAllow {
		return "allow"
	}
	return "deny"
}

// MarshalText writes the wire name; it never fails.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// clip keeps text from outside short enough for a message.
func clip(s string) string {
	const limit = 64
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}
