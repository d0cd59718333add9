package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
)

// Secret holds a credential and prints as "[redacted]" however it is
// formatted. The zero Secret is no secret; it equals nothing.
//
// The value is behind a pointer because fmt reads unexported fields of other
// structs without asking for String; of a pointer it prints the address.
type Secret struct{ value *string }

// NewSecret wraps s; "" gives the zero Secret.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{value: &s}
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.value == nil }

// reveal returns the value; its callers are the two places that need it.
func (s Secret) reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// String implements fmt.Stringer without the value.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return "[redacted]"
}

// GoString implements fmt.GoStringer without the value.
func (s Secret) GoString() string { return s.String() }

// MarshalText implements encoding.TextMarshaler without the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// equal compares in a time that depends on neither value. Hashing first hides
// the length too.
func (s Secret) equal(guess string) bool {
	want, got := sha256.Sum256([]byte(s.reveal())), sha256.Sum256([]byte(guess))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1 && !s.IsZero()
}
