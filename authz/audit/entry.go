package audit

import (
	"bytes"
	"fmt"
)

// Version is the version of the line that an entry is stored in.
const Version = 1

// Entry is a record with its fingerprint and what travels beside it. It is
// immutable.
type Entry struct {
	record Record
	hash   Hash
	meta   []byte
	sig    string
	kid    string
}

// Record returns the record.
func (e Entry) Record() Record { return e.record }

// Hash returns the fingerprint the entry claims; [Verify] recomputes it.
func (e Entry) Hash() Hash { return e.hash }

// Meta returns a copy of the side object, nil if the line carries none.
func (e Entry) Meta() []byte { return bytes.Clone(e.meta) }

// Signature returns the signature over the text of [Entry.Hash] and the id of
// the key that made it, both "" if the entry is not signed.
func (e Entry) Signature() (sig, keyID string) { return e.sig, e.kid }

// WithSignature returns a copy of e that carries a signature. Both texts must
// be printable ASCII without quotation marks or backslashes, as base64url and
// hexadecimal are; anything else gives an error that is [ErrShape].
func (e Entry) WithSignature(sig, keyID string) (Entry, error) {
	for _, s := range []string{sig, keyID} {
		for i := range len(s) {
			if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
				return Entry{}, fmt.Errorf("%w: signature or key id with byte %#x", ErrShape, c)
			}
		}
	}
	e.sig, e.kid = sig, keyID
	return e, nil
}

// AppendLine appends the line of e, with its newline.
func (e Entry) AppendLine(dst []byte) []byte {
	dst = append(dst, `{"event_hash":"`...)
	dst = e.hash.append(dst)
	dst = append(dst, `","record":`...)
	dst = e.record.AppendCanonical(dst)
	if e.meta != nil {
		dst = append(dst, `,"meta":`...)
		dst = append(dst, e.meta...)
	}
	if e.sig != "" {
		dst = append(dst, `,"sig":"`...)
		dst = append(dst, e.sig...)
		dst = append(dst, `","kid":"`...)
		dst = append(dst, e.kid...)
		dst = append(dst, '"')
	}
	return append(dst, `,"v":1}`+"\n"...)
}

// Head is where a chain ends: how many records it has and the fingerprint of
// the last. The zero value is an empty chain.
type Head struct {
	Count uint64
	Hash  Hash
}

// Next returns the entry that follows h and the head after it. Meta must be
// one JSON object on one line; it is copied. What would make a line that
// nobody reads is refused. Errors are [ErrShape].
func (h Head) Next(f Fields) (e Entry, next Head, err error) {
	if f.longest() > MaxLine/2 { // the other half is ample for a signature
		return Entry{}, h, errTooLong
	}
	if f.Meta != nil {
		if err := checkMeta(f.Meta); err != nil {
			return Entry{}, h, err
		}
		f.Meta = bytes.Clone(f.Meta)
	}
	e.meta = f.Meta
	e.record.place(&f, h.Count, h.Hash)
	if e.hash, err = e.record.seal(); err != nil {
		return Entry{}, h, err
	}
	return e, Head{Count: h.Count + 1, Hash: e.hash}, nil
}
