package llm

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"
)

// decoded joins JSON string literals into the text they stand for. Like
// literals it lets a surrogate pair span two of them.
type decoded struct {
	b    []byte
	high uint16
}

// add appends the text of a well-formed literal.
func (d *decoded) add(quoted []byte) {
	text := quoted[1 : len(quoted)-1]
	valid := utf8.Valid(text)
	for len(text) > 0 {
		if d.high != 0 && !bytes.HasPrefix(text, []byte(`\u`)) {
			d.flush()
		}
		run := plainRun
		if !valid {
			run = asciiPlainRun
		}
		n := run(text)
		d.b = append(d.b, text[:n]...)
		text = text[n:]
		switch {
		case len(text) == 0:
		case text[0] != '\\':
			r, size := utf8.DecodeRune(text)
			d.b = utf8.AppendRune(d.b, r)
			text = text[size:]
		case text[1] == 'u':
			d.unit(parseHex(text[2:]))
			text = text[6:]
		default:
			d.b = append(d.b, unescape(text[1]))
			text = text[2:]
		}
	}
}

// unit appends one UTF-16 code unit.
func (d *decoded) unit(u uint16) {
	if d.high != 0 && isLow(u) {
		r := (rune(d.high)-0xd800)<<10 | (rune(u) - 0xdc00) + 0x10000
		d.high = 0
		d.b = utf8.AppendRune(d.b, r)
		return
	}
	d.flush()
	switch {
	case isHigh(u):
		d.high = u
	default: // a lone low half becomes U+FFFD
		d.b = utf8.AppendRune(d.b, rune(u))
	}
}

// flush ends a surrogate pair that has no second half.
func (d *decoded) flush() {
	if d.high != 0 {
		d.high = 0
		d.b = append(d.b, "\ufffd"...)
	}
}

// unescape returns what a one-letter escape stands for.
func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// setArguments fills in the argument fields of c from the text that arrived.
//
// Nothing, blanks and null stand for a tool without parameters. A JSON string
// that holds an object is unwrapped once, because some servers encode twice. A
// whole object that comes again, equal, is taken once. Everything else that is
// no object is flagged, and never replaced by an empty one: a tool must not run
// with arguments the model did not write.
func setArguments(c *ToolCall, text []byte) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		c.Arguments = json.RawMessage("{}")
		c.NoArguments = true
		return
	}
	object, problem := findObject(trimmed)
	if problem == ArgumentsNotObject && trimmed[0] == '"' {
		var inner decoded
		inner.add(trimmed)
		inner.flush()
		if o, p := findObject(bytes.TrimSpace(inner.b)); p == "" {
			object, problem = o, ""
		}
	}
	if problem != "" {
		c.ArgumentsError = problem
		c.RawArguments = string(text)
		return
	}
	c.Arguments = oneLine(object)
	if !bytes.Equal(c.Arguments, text) {
		c.RawArguments = string(text)
	}
}

// findObject returns the object that text consists of, possibly repeated.
func findObject(text []byte) (object []byte, problem string) {
	c := cursor{b: text}
	first := c.value()
	if c.bad {
		return nil, ArgumentsInvalidJSON
	}
	isObject := first[0] == '{'
	for c.peek() != 0 {
		again := c.value()
		if c.bad || !isObject || !sameJSON(first, again) {
			return nil, ArgumentsInvalidJSON
		}
	}
	switch {
	case !c.end():
		return nil, ArgumentsInvalidJSON
	case !isObject:
		return nil, ArgumentsNotObject
	}
	return first, ""
}

// isWholeObject says whether text is a complete object. It is asked for every
// fragment with a name, so the long way is kept for texts that look like it.
func isWholeObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[len(text)-1] != '}' {
		return false
	}
	_, problem := findObject(text)
	return problem == ""
}

// sameJSON compares two well-formed values; numbers are equal if they are
// written alike.
func sameJSON(a, b []byte) bool {
	return bytes.Equal(a, b) || reflect.DeepEqual(decodeAny(a), decodeAny(b))
}

// decodeAny decodes a value without rounding its numbers. What does not parse
// gives nil.
func decodeAny(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// oneLine returns a well-formed value in a form that may stand in a frame: no
// line break between tokens, strings as Sink.Delta promises them. Numbers and
// the order of members stay. The result may share memory with raw.
func oneLine(raw []byte) json.RawMessage {
	if bytes.ContainsAny(raw, "\n\r") {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			raw = b.Bytes()
		}
	}
	if isClean(raw) {
		return raw
	}
	var l literals
	return l.rewrite(make([]byte, 0, len(raw)+16), raw)
}
