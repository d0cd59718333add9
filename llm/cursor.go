package llm

import "bytes"

// maxDepth bounds the nesting of JSON, as encoding/json does.
const maxDepth = 10000

// cursor walks over one JSON text without decoding it. It accepts exactly what
// json.Valid accepts, and yields slices of the text. An error is sticky: every
// later step reports the end of whatever is being read.
//
//	c := cursor{b: text}
//	for c.object(); c.member(); {
//		switch string(c.key) {
//		case "id":
//			id = c.value()
//		default:
//			c.value()
//		}
//	}
//	ok := c.end()
//
// Each member's and element's value must be consumed before the next step.
type cursor struct {
	b     []byte
	i     int
	depth int
	key   []byte // name of the current member, decoded
	fresh bool   // the object or array has just been opened
	bad   bool
}

// peek returns the first byte of the next value, or 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return c.b[c.i]
		}
	}
	return 0
}

// fail makes the error sticky.
func (c *cursor) fail() bool {
	c.bad = true
	return false
}

// open consumes an opening bracket.
func (c *cursor) open(bracket byte) {
	if c.bad || c.peek() != bracket || c.depth == maxDepth {
		c.bad = true
		return
	}
	c.i++
	c.depth++
	c.fresh = true
}

// object enters the object that comes next.
func (c *cursor) object() { c.open('{') }

// array enters the array that comes next.
func (c *cursor) array() { c.open('[') }

// separator moves to the next member or element. It returns false at the
// closing bracket, which it consumes.
func (c *cursor) separator(closing byte) bool {
	if c.bad {
		return false
	}
	fresh := c.fresh
	c.fresh = false
	switch ch := c.peek(); {
	case ch == closing:
		c.i++
		c.depth--
		return false
	case fresh:
		return true
	case ch == ',':
		c.i++
		return true
	}
	return c.fail()
}

// member moves to the next member of an object and sets key.
func (c *cursor) member() bool {
	if !c.separator('}') {
		return false
	}
	if c.peek() != '"' {
		return c.fail()
	}
	name := c.text()
	if c.bad || c.peek() != ':' {
		return c.fail()
	}
	c.i++
	c.key = name[1 : len(name)-1]
	if bytes.IndexByte(c.key, '\\') >= 0 {
		c.key = []byte(unquote(name))
	}
	return true
}

// element moves to the next element of an array.
func (c *cursor) element() bool { return c.separator(']') }

// end says whether the text was well formed and holds nothing more.
func (c *cursor) end() bool {
	return !c.bad && c.peek() == 0 && c.i == len(c.b)
}

// value consumes the next value and returns its text, nil after an error.
func (c *cursor) value() []byte {
	if c.bad {
		return nil
	}
	ch := c.peek()
	start := c.i
	switch ch {
	case '"':
		return c.text()
	case '{':
		for c.object(); c.member(); {
			c.value()
		}
	case '[':
		for c.array(); c.element(); {
			c.value()
		}
	case 't':
		c.word("true")
	case 'f':
		c.word("false")
	case 'n':
		c.word("null")
	default:
		c.number()
	}
	if c.bad {
		return nil
	}
	return c.b[start:c.i]
}

// word consumes a literal name.
func (c *cursor) word(w string) {
	if !bytes.HasPrefix(c.b[c.i:], []byte(w)) {
		c.bad = true
		return
	}
	c.i += len(w)
}

// number consumes a number.
func (c *cursor) number() {
	if c.at() == '-' {
		c.i++
	}
	switch ch := c.at(); {
	case ch == '0':
		c.i++
	case ch >= '1' && ch <= '9':
		c.digits()
	default:
		c.bad = true
		return
	}
	if c.at() == '.' {
		c.i++
		c.digits()
	}
	if ch := c.at(); ch == 'e' || ch == 'E' {
		c.i++
		if ch := c.at(); ch == '+' || ch == '-' {
			c.i++
		}
		c.digits()
	}
}

// digits consumes at least one digit.
func (c *cursor) digits() {
	start := c.i
	for ch := c.at(); ch >= '0' && ch <= '9'; ch = c.at() {
		c.i++
	}
	if c.i == start {
		c.bad = true
	}
}

// at returns the next byte, 0 at the end.
func (c *cursor) at() byte {
	if c.i < len(c.b) {
		return c.b[c.i]
	}
	return 0
}

// text consumes a string literal and returns it with its quotes.
func (c *cursor) text() []byte {
	start := c.i
	c.i++
	for {
		c.i += plainRun(c.b[c.i:])
		switch c.at() {
		case '"':
			c.i++
			return c.b[start:c.i]
		case '\\':
			c.escape()
		default: // a control character, or the end
			c.bad = true
		}
		if c.bad {
			return nil
		}
	}
}

// escape consumes one escape sequence.
func (c *cursor) escape() {
	c.i++
	switch c.at() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.i++
	case 'u':
		c.i++
		for range 4 {
			if !isHex(c.at()) {
				c.bad = true
				return
			}
			c.i++
		}
	default:
		c.bad = true
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// isNull says whether a value is absent or null.
func isNull(raw []byte) bool { return len(raw) == 0 || raw[0] == 'n' }

// isText says whether a value is a string literal other than "".
func isText(raw []byte) bool { return len(raw) > 2 && raw[0] == '"' }
