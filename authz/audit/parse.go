package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseLine reads one entry; a trailing newline is not part of the line. JSON
// is taken more strictly than usual, because two readers that understand a
// line differently would see two histories: no unknown, repeated or escaped
// keys, no number but a plain decimal, no invalid UTF-8 and no half of a
// surrogate pair. Blanks between tokens and the order of keys are free. It
// checks the shape only; [Verify] checks fingerprints. Errors are [ErrShape].
func ParseLine(line []byte) (Entry, error) {
	var e Entry
	return e, parseLine(line, &e)
}

// parseLine fills e and reuses the strings of the entry that e held before:
// neighbouring records mostly share them.
func parseLine(line []byte, e *Entry) error {
	p := parser{data: line}
	last := *e
	*e = Entry{}
	const hash, record, meta, sig, kid, version = 1, 2, 4, 8, 16, 32
	seen := p.object(func(key []byte) uint {
		switch string(key) {
		case "event_hash":
			e.hash = p.hash()
			return hash
		case "record":
			p.record(&e.record, &last.record)
			return record
		case "meta":
			e.meta = p.meta()
			return meta
		case "sig":
			e.sig = p.str(last.sig)
			return sig
		case "kid":
			e.kid = p.str(last.kid)
			return kid
		case "v":
			p.version()
			return version
		default:
			return 0
		}
	})
	p.blank()
	switch {
	case p.err != nil:
		return p.err
	case p.pos != len(p.data):
		return p.fail("bytes after the entry")
	case seen&hash == 0 || seen&record == 0:
		return p.fail("no event_hash or no record")
	default:
		return e.checkExtras(&p)
	}
}

// checkExtras holds what travels beside a record against it.
func (e *Entry) checkExtras(p *parser) error {
	switch {
	case (e.sig == "") != (e.kid == ""):
		return p.fail("signature and key id come together")
	case e.meta == nil:
		return nil
	case !e.record.hasDetail:
		return p.fail("side object without a digest in the record")
	case HashOf(e.meta) != e.record.detail:
		return p.fail("side object does not have the digest in the record")
	default:
		return nil
	}
}

// ParseRecord reads a record alone, as strictly as [ParseLine].
func ParseRecord(data []byte) (Record, error) {
	p := parser{data: data}
	var r Record
	p.record(&r, &Record{})
	p.blank()
	if p.err == nil && p.pos != len(p.data) {
		return Record{}, p.fail("bytes after the record")
	}
	return r, p.err
}

// checkMeta accepts one JSON object without newlines.
func checkMeta(meta []byte) error {
	if len(meta) == 0 || meta[0] != '{' || !json.Valid(meta) || !utf8.Valid(meta) || bytes.IndexByte(meta, '\n') >= 0 {
		return fmt.Errorf("%w: the side object is not one line of JSON", ErrShape)
	}
	return nil
}

// parser reads JSON of one known shape. The first error sticks, and then every
// method does nothing.
type parser struct {
	data []byte
	pos  int
	err  error
}

func (p *parser) fail(why string) error {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s at byte %d", ErrShape, why, p.pos)
	}
	return p.err
}

func (p *parser) blank() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// take consumes c and reports whether it was there.
func (p *parser) take(c byte) bool {
	p.blank()
	if p.err == nil && p.pos < len(p.data) && p.data[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(c byte) {
	if p.err == nil && !p.take(c) {
		_ = p.fail("expected " + strconv.QuoteRune(rune(c)))
	}
}

// object reads an object and returns which members it had. For each key,
// member reads the value and returns the member's bit, 0 if the key is
// unknown; a key that comes twice is an error.
func (p *parser) object(member func(key []byte) uint) (seen uint) {
	p.want('{')
	for first := true; p.err == nil && !p.take('}'); first = false {
		if !first {
			p.want(',')
		}
		key := p.key()
		p.want(':')
		if p.err != nil {
			return seen
		}
		bit := member(key)
		if bit == 0 || seen&bit != 0 {
			_ = p.fail("unknown or repeated key")
		}
		seen |= bit
	}
	return seen
}

// key reads a member's name, in which no escape may occur.
func (p *parser) key() []byte {
	p.want('"')
	start := p.pos
	for p.err == nil && p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			return p.data[start : p.pos-1]
		case c == '\\', c < ' ':
			_ = p.fail("escape or control character in a key")
		default:
			p.pos++
		}
	}
	_ = p.fail("unfinished key")
	return nil
}

func (p *parser) record(r, last *Record) {
	const required, detail = 1<<7 - 1, 1 << 7
	seen := p.object(func(key []byte) uint {
		switch string(key) {
		case "action":
			r.action = p.str(last.action)
			return 1
		case "capability":
			r.capability = p.str(last.capability)
			return 2
		case "decision":
			r.decision = p.str(last.decision)
			return 4
		case "owner":
			r.owner = p.str(last.owner)
			return 8
		case "prev_hash":
			r.prev = p.hash()
			return 16
		case "risk":
			r.risk = p.str(last.risk)
			return 32
		case "sequence":
			r.sequence = p.number()
			return 64
		case "detail":
			r.detail, r.hasDetail = p.hash(), true
			return detail
		default:
			return 0
		}
	})
	if p.err == nil && seen&required != required {
		_ = p.fail("record without all its fields")
	}
}

// hash reads a fingerprint, which needs no escapes in JSON and may have none.
func (p *parser) hash() Hash {
	p.blank()
	end := p.pos + hashLen + 2
	if p.err == nil && end <= len(p.data) && p.data[p.pos] == '"' && p.data[end-1] == '"' {
		if h, ok := parseHash(p.data[p.pos+1 : end-1]); ok {
			p.pos = end
			return h
		}
	}
	_ = p.fail("expected a fingerprint")
	return Hash{}
}

// number reads an unsigned decimal without sign, fraction, exponent or leading
// zero: any of these is another spelling, and some readers would round it.
func (p *parser) number() uint64 {
	p.blank()
	start := p.pos
	for p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '9' {
		p.pos++
	}
	digits := p.data[start:p.pos]
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || digits[0] == '0' && len(digits) > 1 {
		_ = p.fail("expected a plain decimal number")
	}
	return n
}

func (p *parser) version() {
	if n := p.number(); p.err == nil && n != Version {
		_ = p.fail("unknown version of the line")
	}
}

// meta returns a copy of the bytes of an object as they stand.
func (p *parser) meta() []byte {
	p.blank()
	start, depth, quoted := p.pos, 0, false
	for ; p.err == nil && p.pos < len(p.data); p.pos++ {
		switch c := p.data[p.pos]; {
		case quoted && c == '\\':
			p.pos++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	end := min(p.pos+1, len(p.data))
	meta := p.data[start:end]
	if p.err != nil || checkMeta(meta) != nil {
		_ = p.fail("expected an object of one line")
		return nil
	}
	p.pos = end
	return bytes.Clone(meta)
}

// str reads a string; if it equals last, that is returned and no memory is
// allocated.
func (p *parser) str(last string) string {
	p.want('"')
	start := p.pos
	for p.err == nil && p.pos < len(p.data) {
		switch c := p.data[p.pos]; {
		case c == '"':
			text := p.data[start:p.pos]
			p.pos++
			if string(text) == last {
				return last
			}
			if !utf8.Valid(text) {
				_ = p.fail("invalid UTF-8")
			}
			return string(text)
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			_ = p.fail("control character in a string")
		default:
			p.pos++
		}
	}
	_ = p.fail("unfinished string")
	return ""
}

// escaped reads on from the first escape of a string that began at start.
func (p *parser) escaped(start int) string {
	out := bytes.Clone(p.data[start:p.pos])
	for p.err == nil && p.pos < len(p.data) {
		c := p.data[p.pos]
		p.pos++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				_ = p.fail("invalid UTF-8")
			}
			return string(out)
		case c < ' ':
			_ = p.fail("control character in a string")
		case c != '\\':
			out = append(out, c)
		default:
			out = p.escape(out)
		}
	}
	_ = p.fail("unfinished string")
	return ""
}

// escape reads what follows a backslash.
func (p *parser) escape(out []byte) []byte {
	if p.pos >= len(p.data) {
		return out
	}
	c := p.data[p.pos]
	p.pos++
	if c == 'u' {
		r := p.hex4()
		if utf16.IsSurrogate(r) && p.pos+1 < len(p.data) && p.data[p.pos] == '\\' && p.data[p.pos+1] == 'u' {
			p.pos += 2
			r = utf16.DecodeRune(r, p.hex4())
		}
		if utf16.IsSurrogate(r) || r == utf8.RuneError {
			// DecodeRune gives U+FFFD for a pair that is none. A real
			// U+FFFD must be written as itself, so that nothing that
			// was lost can pass for it.
			_ = p.fail("half of a surrogate pair")
		}
		return utf8.AppendRune(out, r)
	}
	const escapes, values = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := bytes.IndexByte([]byte(escapes), c); i >= 0 {
		return append(out, values[i])
	}
	_ = p.fail("unknown escape")
	return out
}

func (p *parser) hex4() rune {
	if p.pos+4 > len(p.data) {
		_ = p.fail("unfinished escape")
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(p.data[p.pos:p.pos+4]), 16, 16)
	if err != nil {
		_ = p.fail("unknown escape")
		return utf8.RuneError
	}
	p.pos += 4
	return rune(n)
}
