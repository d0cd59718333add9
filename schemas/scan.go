package schemas

// MaxDepth is how many arrays and objects may be open at once in a text. Real
// frames stay below 20; the limit bounds the stack that one frame can claim.
const MaxDepth = 128

// Valid returns nil if raw is exactly one JSON value after RFC 8259, in UTF-8,
// without duplicate member names and not nested deeper than [MaxDepth]; white
// space around it is allowed. Otherwise it returns a [*SyntaxError].
//
// Escapes of lone surrogates such as "\ud800" satisfy the grammar and are
// accepted; decoders replace them. Valid does not allocate, except for objects
// of many members and for member names with escapes. It may be called
// concurrently.
func Valid(raw []byte) error {
	s := scanner{raw: raw}
	if i := s.value(space(raw, 0)); i >= 0 && s.end(i) {
		return nil
	}
	return &SyntaxError{Offset: s.fault.offset, Reason: s.fault.reason}
}

// Scan splits one object into its members. It calls visit for each in the order
// of the text, with the member's decoded name and the bytes of its value
// without surrounding white space. Once visit returns false it is not called
// again.
//
// The whole text is held to the rules of [Valid] even then. Since an error may
// lie behind members that were visited already, nothing visited counts until
// Scan has returned nil. A valid text that is no object gives [ErrNotObject],
// any other fault a [*SyntaxError].
//
// The slices are parts of raw wherever possible; visit must neither change them
// nor rely on them after raw is reused.
func Scan(raw []byte, visit func(key, value []byte) bool) error {
	s := scanner{raw: raw}
	i := space(raw, 0)
	if i < len(raw) && raw[i] == '{' {
		i = s.members(i, visit)
	} else if i = s.value(i); i >= 0 && s.end(i) {
		return ErrNotObject
	}
	if i >= 0 && s.end(i) {
		return nil
	}
	return &SyntaxError{Offset: s.fault.offset, Reason: s.fault.reason}
}

// scanner reads one text from front to back. Its methods take the index of what
// they read and return the index behind it; after a fault, which they record,
// the index is -1. Returning positions instead of storing them keeps them in
// registers, where most of the speed comes from.
type scanner struct {
	raw   []byte
	depth int
	names names
	fault fault
}

// members is object with a visitor.
func (s *scanner) members(i int, visit func(key, value []byte) bool) int {
	g := s.group()
	visiting := true
	i, done := s.begin(i, '}')
	for !done {
		var text []byte
		if text, i = s.member(&g, i); i < 0 {
			return i
		}
		start := i
		if i = s.value(i); i < 0 {
			return i
		}
		visiting = visiting && visit(text, s.raw[start:i])
		i, done = s.after(i, '}')
	}
	return s.leave(&g, i)
}

// value reads any value.
func (s *scanner) value(i int) int {
	if i >= len(s.raw) {
		return s.fail(i, ReasonSyntax)
	}
	switch s.raw[i] {
	case '{':
		return s.object(i)
	case '[':
		return s.array(i)
	case '"':
		end, _ := s.text(i)
		return end
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	default:
		end, _ := s.number(i)
		return end
	}
}

// object reads an object; raw[i] is its opening brace.
func (s *scanner) object(i int) int {
	g := s.group()
	i, done := s.begin(i, '}')
	for !done {
		if _, i = s.member(&g, i); i < 0 {
			return i
		}
		if i = s.value(i); i < 0 {
			return i
		}
		i, done = s.after(i, '}')
	}
	return s.leave(&g, i)
}

// array reads an array; raw[i] is its opening bracket.
func (s *scanner) array(i int) int {
	i, done := s.begin(i, ']')
	for !done {
		if i = s.value(i); i < 0 {
			return i
		}
		i, done = s.after(i, ']')
	}
	return i
}

// begin enters the container that opens at i and ends with the given byte. It
// returns the index of the first member or element; done says that there is
// none, be it that the container is empty or that a fault was found.
func (s *scanner) begin(i int, end byte) (next int, done bool) {
	if s.depth == MaxDepth {
		return s.fail(i, ReasonDepth), true
	}
	i = space(s.raw, i+1)
	if i < len(s.raw) && s.raw[i] == end {
		return i + 1, true
	}
	s.depth++
	return i, false
}

// after reads what follows a member or element: a comma, or the end of the
// container, which sets done as a fault does.
func (s *scanner) after(i int, end byte) (next int, done bool) {
	i = space(s.raw, i)
	if i < len(s.raw) {
		switch s.raw[i] {
		case ',':
			return space(s.raw, i+1), false
		case end:
			s.depth--
			return i + 1, true
		}
	}
	return s.fail(i, ReasonSyntax), true
}

// member reads a member's name, which must be new in g, and the colon. It returns
// the decoded name and the index of the value.
func (s *scanner) member(g *group, i int) (text []byte, next int) {
	x, i := s.name(i)
	if i < 0 {
		return nil, i
	}
	text = s.nameText(x)
	if !s.fresh(g, x, text) {
		return nil, s.fail(i, ReasonDuplicate)
	}
	return text, i
}

// name reads a member's name and the colon, and returns the index of the value.
func (s *scanner) name(i int) (x name, next int) {
	if i >= len(s.raw) || s.raw[i] != '"' {
		return name{}, s.fail(i, ReasonSyntax)
	}
	end, plain := s.text(i)
	if end < 0 {
		return name{}, end
	}
	x = name{start: i + 1, end: end - 1, escaped: !plain}
	if end = space(s.raw, end); end >= len(s.raw) || s.raw[end] != ':' {
		return name{}, s.fail(end, ReasonSyntax)
	}
	return x, space(s.raw, end+1)
}

// word reads one of the three literal names.
func (s *scanner) word(i int, word string) int {
	end := min(i+len(word), len(s.raw))
	if string(s.raw[i:end]) == word {
		return end
	}
	return s.fail(i, ReasonSyntax)
}

// end reports whether only white space is left at i.
func (s *scanner) end(i int) bool {
	if i = space(s.raw, i); i < len(s.raw) {
		s.fail(i, ReasonSyntax)
		return false
	}
	return true
}

// space returns the index of the first byte at or after i that is not white
// space, or the length of raw.
func space(raw []byte, i int) int {
	for i < len(raw) && raw[i] <= ' ' && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return i
}
