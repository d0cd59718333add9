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

// maxDepth bounds the nesting that is followed, and so the stack.
const maxDepth = 256

// Fingerprint identifies the arguments of a call: SHA-256 over a canonical
// form that ignores blanks and the order of names, and nothing else.
type Fingerprint [sha256.Size]byte

// String returns the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// Verify returns [ErrArgumentsChanged] unless raw still has the fingerprint.
// Call it right before the arguments are used.
func (f Fingerprint) Verify(raw json.RawMessage) error {
	if FingerprintOf(raw) != f {
		return ErrArgumentsChanged
	}
	return nil
}

// FingerprintOf computes the fingerprint of raw arguments; absent arguments
// count as null. Numbers count as they are written, so that 1 and 1.0 differ.
// Text that two readers could take differently (not JSON, not UTF-8, repeated
// names, lone surrogates, more than 256 levels) counts byte by byte.
func FingerprintOf(raw json.RawMessage) Fingerprint {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	sum := sha256.New()
	if err := canonicalText(raw, sum); err != nil {
		sum.Reset()
		put(sum, 'r', string(raw))
	}
	return Fingerprint(sum.Sum(nil))
}

func canonicalText(raw []byte, w io.Writer) error {
	if !utf8.Valid(raw) || !json.Valid(raw) || loneSurrogate(raw) {
		return errors.New("not unambiguous JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return canonical(dec, w, 0)
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
	put(w, ']', "")
	_, err := dec.Token()
	return err
}

// canonicalObject sorts by name; each value is hashed by itself for that.
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
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	put(w, '{', "")
	for i, p := range pairs {
		if i > 0 && pairs[i-1].name == p.name {
			return errors.New("a name occurs twice")
		}
		put(w, 'k', p.name)
		put(w, 'v', string(p.sum.Sum(nil)))
	}
	put(w, '}', "")
	_, err := dec.Token()
	return err
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
			i++ // the escaped character
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
