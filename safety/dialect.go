package safety

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Rules are often written for PCRE, Python or JavaScript. Package regexp lacks
// what needs backtracking, and a second engine with a timeout would fail open
// on a slow match. So the constructs it lacks are found before compiling, where
// their offset is still known: syntax.Error carries none.

// foreign is one construct of another dialect.
type foreign struct {
	prefix string
	hint   string
}

// foreignGroups lists group openings, longest first where one contains another.
func foreignGroups() []foreign {
	return []foreign{
		{"(?<=", "no look-behind: match what precedes instead"},
		{"(?<!", "no look-behind: match the allowed neighbours instead"},
		{"(?=", "no look-ahead: match what follows instead"},
		{"(?!", "no look-ahead: list what may follow instead"},
		{"(?P=", "no back-references: write the alternatives out"},
		{"(?P>", "no recursion"},
		{"(?>", "no atomic groups: matching is linear without them"},
		{"(?#", "no comments inside the expression"},
		{"(?|", "no branch reset: name the groups apart"},
		{"(?(", "no conditionals: write both branches out"},
		{"(?R", "no recursion"},
		{"(?&", "no recursion"},
	}
}

// foreignEscapes lists escapes by their letter.
func foreignEscapes() map[byte]string {
	return map[byte]string{
		'u': `write \x{hhhh}`,
		'c': `write the control character as \xhh`,
		'Z': `write \z, or $ at the end`,
		'e': `write \x1b`,
		'h': `write [ \t]`,
		'R': `write (?:\r\n|\n)`,
		'K': "match what precedes as a group instead",
		'G': "a rule is searched once from the start",
		'X': "write the characters out",
		'N': "write [^\\n]",
		'k': "no back-references: write the alternatives out",
		'g': "no back-references: write the alternatives out",
	}
}

// checkDialect compiles p and explains a failure.
func checkDialect(p Pattern) error {
	if e := scanDialect(p.Pattern); e != nil {
		e.ID, e.Field, e.Err = p.ID, "pattern", ErrPatternSyntax
		return e
	}
	_, err := regexp.Compile(p.expression())
	if err == nil {
		return nil
	}
	e := &PatternError{ID: p.ID, Field: "pattern", Err: ErrPatternSyntax, Hint: err.Error()}
	if se, ok := errors.AsType[*syntax.Error](err); ok {
		e.Hint, e.Construct = se.Code.String(), se.Expr
		e.Offset = max(0, strings.Index(p.Pattern, se.Expr))
	}
	return e
}

// dialectScanner walks an expression token by token.
type dialectScanner struct {
	src string
	pos int
	// quantifiable says that the previous token was a quantifier, after which
	// a plus sign would make it possessive.
	quantified bool
	groups     []foreign
	escapes    map[byte]string
}

// scanDialect returns the first construct of another dialect, or nil.
func scanDialect(src string) *PatternError {
	s := dialectScanner{src: src, groups: foreignGroups(), escapes: foreignEscapes()}
	for s.pos < len(src) {
		if e := s.next(); e != nil {
			return e
		}
	}
	return nil
}

// next consumes one token.
func (s *dialectScanner) next() *PatternError {
	wasQuantified := s.quantified
	s.quantified = false
	switch c := s.src[s.pos]; c {
	case '\\':
		return s.escape()
	case '[':
		return s.class()
	case '(':
		return s.group()
	case '{':
		return s.repeat()
	case '*', '?', '+':
		if c == '+' && wasQuantified {
			return s.refuse(s.pos-1, 2, "no possessive quantifiers: matching is linear without them")
		}
		// "a*?" is lazy; the question mark ends the quantifier.
		s.quantified = !wasQuantified
	}
	s.pos++
	return nil
}

// refuse builds the error for n bytes at offset.
func (s *dialectScanner) refuse(offset, n int, hint string) *PatternError {
	return &PatternError{Construct: s.src[offset:min(offset+n, len(s.src))], Offset: offset, Hint: hint}
}

// escape consumes a backslash and what it escapes.
func (s *dialectScanner) escape() *PatternError {
	if s.pos+1 >= len(s.src) {
		return s.refuse(s.pos, 1, "nothing follows the backslash")
	}
	c := s.src[s.pos+1]
	if c >= '1' && c <= '9' {
		return s.refuse(s.pos, 2, "no back-references: write the alternatives out")
	}
	if hint, bad := s.escapes[c]; bad {
		return s.refuse(s.pos, 2, hint)
	}
	if c == 'Q' { // literal until \E
		if end := strings.Index(s.src[s.pos:], `\E`); end >= 0 {
			s.pos += end
		} else {
			s.pos = len(s.src) - 2
		}
	}
	s.pos += 2
	return nil
}

// class consumes a bracket expression. A bracket right after the opening one is
// a member here and in Python, but closes an empty class in JavaScript.
func (s *dialectScanner) class() *PatternError {
	start := s.pos
	s.pos++
	if s.pos < len(s.src) && s.src[s.pos] == '^' {
		s.pos++
	}
	if s.pos < len(s.src) && s.src[s.pos] == ']' {
		return s.refuse(start, s.pos+1-start, `an empty class in JavaScript: write \] for the bracket, or [\s\S] for anything`)
	}
	for s.pos < len(s.src) && s.src[s.pos] != ']' {
		switch {
		case strings.HasPrefix(s.src[s.pos:], "[:"):
			if end := strings.Index(s.src[s.pos:], ":]"); end >= 0 {
				s.pos += end + 2
				continue
			}
		case s.src[s.pos] == '\\':
			if e := s.escape(); e != nil {
				return e
			}
			continue
		}
		s.pos++
	}
	s.pos++
	return nil
}

// group consumes an opening parenthesis and its modifier.
func (s *dialectScanner) group() *PatternError {
	rest := s.src[s.pos:]
	for _, g := range s.groups {
		if strings.HasPrefix(rest, g.prefix) {
			return s.refuse(s.pos, len(g.prefix), g.hint)
		}
	}
	if end := strings.IndexAny(rest, ":)"); strings.HasPrefix(rest, "(?") && end > 0 {
		if strings.Trim(rest[2:end], "imsUx-") == "" && strings.Contains(rest[2:end], "x") {
			return s.refuse(s.pos, end+1, "no free spacing: remove the blanks and comments")
		}
	}
	s.pos++
	if strings.HasPrefix(rest, "(?") {
		s.pos++ // not a quantifier
	}
	return nil
}

// repeat consumes a counted repetition, or a literal brace.
func (s *dialectScanner) repeat() *PatternError {
	end := strings.IndexByte(s.src[s.pos:], '}')
	if end < 0 {
		s.pos++
		return nil
	}
	body := s.src[s.pos+1 : s.pos+end]
	if strings.Trim(body, "0123456789,") != "" {
		s.pos++
		return nil
	}
	if strings.HasPrefix(body, ",") {
		return s.refuse(s.pos, end+1, "a repetition in Python, literal text elsewhere: write {0,n}")
	}
	for part := range strings.SplitSeq(body, ",") {
		if len(part) > 4 || len(part) == 4 && part > "1000" {
			return s.refuse(s.pos, end+1, "at most 1000 repetitions")
		}
	}
	s.pos += end + 1
	s.quantified = body != ""
	return nil
}
