package approvals

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrArgumentsChanged is returned when the arguments about to run are not the
// ones that were shown.
var ErrArgumentsChanged = errors.New("arguments differ from those that were approved")

// maxDepth bounds the nesting of arguments; deeper ones are refused before
// they cost stack.
const maxDepth = 256

// Fingerprint identifies the arguments of a call: SHA-256 over a canonical
// form that ignores blanks and the order of names, and nothing else.
type Fingerprint [sha256.Size]byte

// String returns the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Verify reports whether raw still has the fingerprint, as
// [ErrArgumentsChanged] if not. Call it right before the arguments are used.
func (f Fingerprint) Verify(raw json.RawMessage) error {
	now, err := FingerprintOf(raw)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArgumentsChanged, err)
	}
	if now != f {
		return ErrArgumentsChanged
	}
	return nil
}

// FingerprintOf computes the fingerprint of raw arguments; absent arguments
// count as null. It fails for text that two readers could take differently:
// invalid JSON or UTF-8, repeated names, lone surrogates, more than 256 levels.
// Numbers count as they are written, so that 1 and 1.0 differ.
func FingerprintOf(raw json.RawMessage) (Fingerprint, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("null")
	}
	if !utf8.Valid(raw) {
		return Fingerprint{}, errors.New("arguments are not valid UTF-8")
	}
	if !json.Valid(raw) {
		return Fingerprint{}, errors.New("arguments are not JSON")
	}
	if loneSurrogate(raw) {
		return Fingerprint{}, errors.New("arguments: a lone surrogate in a string")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	sum := sha256.New()
	if err := canonical(dec, sum, 0); err != nil {
		return Fingerprint{}, fmt.Errorf("arguments: %w", err)
	}
	return Fingerprint(sum.Sum(nil)), nil
}

// canonical writes the next value of dec. Every part is tagged and has a
// length or an end mark, so that no two values share a form.
func canonical(dec *json.Decoder, w io.Writer, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deeply")
	}
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return canonicalObject(dec, w, depth)
		}
		return canonicalList(dec, w, depth)
	case string:
		put(w, 's', v)
	case json.Number:
		put(w, 'n', v.String())
	case bool:
		put(w, 'b', strconv.FormatBool(v))
	default:
		put(w, '0', "")
	}
	return nil
}

func canonicalList(dec *json.Decoder, w io.Writer, depth int) error {
	put(w, '[', "")
	for dec.More() {
		if err := canonical(dec, w, depth+1); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	put(w, ']', "")
	return err
}

func canonicalObject(dec *json.Decoder, w io.Writer, depth int) error {
	type pair struct {
		name string
		sum  hash.Hash
	}
	var pairs []pair
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return errors.New("a name is not a string")
		}
		p := pair{name, sha256.New()}
		if err := canonical(dec, p.sum, depth+1); err != nil {
			return err
		}
		pairs = append(pairs, p)
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	put(w, '{', "")
	for i, p := range pairs {
		if i > 0 && pairs[i-1].name == p.name {
			return fmt.Errorf("the name %q occurs twice", clip(p.name))
		}
		put(w, 'k', p.name)
		put(w, 'v', string(p.sum.Sum(nil)))
	}
	put(w, '}', "")
	return nil
}

// put writes one tagged part. Writes to a hash cannot fail.
func put(w io.Writer, tag byte, s string) {
	_, _ = fmt.Fprintf(w, "%c%d:%s", tag, len(s), s)
}

// loneSurrogate reports whether a string of valid JSON has an escaped half of
// a surrogate pair. Decoders replace it, each in its own way, so that what was
// shown need not be what runs.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' {
			i++
			continue
		}
		switch unit := hexUnit(raw, i); {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return true
		case unit >= 0xD800 && unit <= 0xDBFF:
			low := hexUnit(raw, i+6)
			if low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 11
		default:
			i += 5
		}
	}
	return false
}

// hexUnit reads the \uXXXX at i, or returns -1.
func hexUnit(raw []byte, i int) int {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}
