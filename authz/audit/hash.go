package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// hashPrefix names the algorithm in the text form of every fingerprint.
const hashPrefix = "sha256:"

// hashLen is the length of the text form.
const hashLen = len(hashPrefix) + 2*sha256.Size

// ErrShape is wrapped by every error about something that is not spelled as
// this package spells it.
var ErrShape = errors.New("malformed audit entry")

// Hash is a SHA-256 fingerprint. The zero value is the fingerprint before the
// first record, written as 64 zeros.
type Hash [sha256.Size]byte

// HashOf returns the fingerprint of data.
func HashOf(data []byte) Hash { return sha256.Sum256(data) }

// ParseHash reads exactly "sha256:" and 64 lower-case hexadecimal digits.
func ParseHash(s string) (Hash, error) {
	h, ok := parseHash([]byte(s))
	if !ok {
		return Hash{}, fmt.Errorf("%w: %q is no fingerprint", ErrShape, s)
	}
	return h, nil
}

// parseHash is ParseHash without its error, for the hot path.
func parseHash(s []byte) (h Hash, ok bool) {
	if len(s) != hashLen || string(s[:len(hashPrefix)]) != hashPrefix {
		return Hash{}, false
	}
	digits := s[len(hashPrefix):]
	for _, c := range digits {
		// encoding/hex takes upper case too, and then two spellings would
		// mean one fingerprint.
		if 'A' <= c && c <= 'F' {
			return Hash{}, false
		}
	}
	_, err := hex.Decode(h[:], digits)
	return h, err == nil
}

// String returns the text form.
func (h Hash) String() string { return string(h.append(make([]byte, 0, hashLen))) }

// append writes eight digits at a time: spread the nibbles of four bytes over
// eight, then add '0' to each and 'a'-'0'-10 more where the nibble is over 9.
// Every record writes its predecessor's fingerprint, and digit by digit that
// takes a sixth of the time of the whole record.
func (h *Hash) append(dst []byte) []byte {
	dst = append(dst, hashPrefix...)
	digits := len(dst)
	dst = append(dst, zeroDigits...)
	for i := 0; i < len(h); i += 4 {
		x := uint64(binary.BigEndian.Uint32(h[i:]))
		x = (x | x<<16) & 0x0000ffff0000ffff
		x = (x | x<<8) & 0x00ff00ff00ff00ff
		x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
		letters := (x + 0x0606060606060606) >> 4 & 0x0101010101010101
		binary.BigEndian.PutUint64(dst[digits+2*i:], x+0x3030303030303030+letters*('a'-'0'-10))
	}
	return dst
}

// zeroDigits makes room for the digits of a fingerprint.
const zeroDigits = "0000000000000000000000000000000000000000000000000000000000000000"

// MarshalText is [Hash.String]; it never fails.
func (h Hash) MarshalText() ([]byte, error) { return h.append(make([]byte, 0, hashLen)), nil }

// UnmarshalText is [ParseHash].
func (h *Hash) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHash(string(text))
	return err
}
