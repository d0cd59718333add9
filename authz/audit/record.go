package audit

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// errNotUTF8 is a value so that the buffer it is about need not leave the stack.
var errNotUTF8 = fmt.Errorf("%w: a field is not UTF-8", ErrShape)

// Fields is what a caller says about an event. Every string must be valid
// UTF-8; nothing is normalised, because two spellings are two events. Empty
// strings are allowed: an unclassified action has no capability.
type Fields struct {
	Owner      string // whose chain; compared byte for byte
	Action     string // what, such as "tool:read_file"; no payloads and no secrets
	Capability string
	Decision   string
	Risk       string

	// Meta is a side object as one line of JSON, or nil. The record holds
	// its digest. It may name call and chat, never contents.
	Meta []byte
}

// errTooLong is about fields whose line would be longer than [MaxLine].
var errTooLong = fmt.Errorf("%w: the fields are too long for a line", ErrShape)

// longest is how many bytes the fields take up in a line at most: an escape has
// six.
func (f *Fields) longest() int {
	return 6*(len(f.Owner)+len(f.Action)+len(f.Capability)+len(f.Decision)+len(f.Risk)) + len(f.Meta)
}

// Record is one event in its place in a chain. It is immutable. The zero value
// is an empty event at genesis.
type Record struct {
	owner      string
	action     string
	capability string
	decision   string
	risk       string
	sequence   uint64
	prev       Hash
	detail     Hash
	hasDetail  bool
}

// NewRecord places f after the record whose fingerprint is prev. It returns an
// error that is [ErrShape] if a string is not valid UTF-8.
func NewRecord(f Fields, sequence uint64, prev Hash) (Record, error) {
	var r Record
	r.place(&f, sequence, prev)
	_, err := r.seal()
	return r, err
}

// place is NewRecord without its check, for a zero record. It works where the
// record will stay, because copying one takes a tenth of the time of its hash.
func (r *Record) place(f *Fields, sequence uint64, prev Hash) {
	r.owner, r.action, r.capability = f.Owner, f.Action, f.Capability
	r.decision, r.risk = f.Decision, f.Risk
	r.sequence, r.prev = sequence, prev
	if f.Meta != nil {
		r.detail, r.hasDetail = HashOf(f.Meta), true
	}
}

// seal returns the fingerprint, or an error that is [ErrShape]. Checking the
// canonical form checks all strings at once: what stands between them is
// ASCII, with which no invalid sequence can become valid.
func (r *Record) seal() (Hash, error) {
	var buf [320]byte // on the stack; longer records spill to the heap
	canonical := r.append(buf[:0])
	if !utf8.Valid(canonical) {
		return Hash{}, errNotUTF8
	}
	return HashOf(canonical), nil
}

// Owner returns whose chain the record belongs to.
func (r Record) Owner() string { return r.owner }

// Action returns what was done or asked for.
func (r Record) Action() string { return r.action }

// Capability returns the capability that was required, "" for none known.
func (r Record) Capability() string { return r.capability }

// Decision returns the decision's word.
func (r Record) Decision() string { return r.decision }

// Risk returns the risk band's word.
func (r Record) Risk() string { return r.risk }

// Sequence returns the record's position in its owner's chain, from zero.
func (r Record) Sequence() uint64 { return r.sequence }

// PrevHash returns the fingerprint of the record before, zero for the first.
func (r Record) PrevHash() Hash { return r.prev }

// Detail returns the digest of the side object and whether there is one.
func (r Record) Detail() (Hash, bool) { return r.detail, r.hasDetail }

// AppendCanonical appends the canonical form: the keys in sorted order, no
// blanks, strings with only the escapes that RFC 8785 demands, the sequence
// number in decimal. It never goes through a float, which would change numbers
// above 2^53.
func (r Record) AppendCanonical(dst []byte) []byte { return r.append(dst) }

func (r *Record) append(dst []byte) []byte {
	dst = append(dst, `{"action":`...)
	dst = appendString(dst, r.action)
	dst = append(dst, `,"capability":`...)
	dst = appendString(dst, r.capability)
	dst = append(dst, `,"decision":`...)
	dst = appendString(dst, r.decision)
	if r.hasDetail {
		dst = append(dst, `,"detail":"`...)
		dst = append(r.detail.append(dst), '"')
	}
	dst = append(dst, `,"owner":`...)
	dst = appendString(dst, r.owner)
	dst = append(dst, `,"prev_hash":"`...)
	dst = r.prev.append(dst)
	dst = append(dst, `","risk":`...)
	dst = appendString(dst, r.risk)
	dst = append(dst, `,"sequence":`...)
	dst = strconv.AppendUint(dst, r.sequence, 10)
	return append(dst, '}')
}

// Hash returns the fingerprint of the canonical form.
func (r Record) Hash() Hash {
	var buf [320]byte
	return HashOf(r.append(buf[:0]))
}

// appendString appends s as a JSON string. RFC 8785 escapes the quotation
// mark, the backslash and control characters, with the short forms where JSON
// has them, and leaves everything else as it is; encoding/json would also
// escape <, >, &, U+2028 and U+2029.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if plain(s) {
		return append(append(dst, s...), '"')
	}
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, c)
		start = i + 1
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// plain reports whether s needs no escapes. It may say no to a string that
// needs none. It looks at eight bytes at a time, because every record has five
// strings and nearly all of them are short and plain.
func plain(s string) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if c := s[i]; c < ' ' || c == '"' || c == '\\' {
				return false
			}
		}
		return true
	}
	for i := 0; i+8 < len(s); i += 8 {
		if escapes(s[i : i+8]) {
			return false
		}
	}
	return !escapes(s[len(s)-8:])
}

// escapes reports whether one of eight bytes may have to be escaped: a
// subtraction borrows into the highest bit of a byte below a blank, and of one
// that is zero after the exclusive or. It may also see bytes beyond ASCII there.
func escapes(s string) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	control := x - ' '*ones
	quote := (x ^ '"'*ones) - ones
	slash := (x ^ '\\'*ones) - ones
	return (control|quote|slash)&high != 0
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	default:
		const hexDigits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}
