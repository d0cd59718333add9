package safety

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word reads a word; nil if there is none, or one that takes the parser.
func (r *treeReader) word() *syntax.Word {
	var first [4]syntax.WordPart
	parts := first[:0]
	if r.isProcess() {
		part := r.process()
		if part == nil {
			return nil
		}
		parts = append(parts, part)
	}
	for !r.endsWord() {
		part := r.part()
		if part == nil {
			return nil
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 || r.isProcess() {
		return nil
	}
	kept := r.mem.parts.take(len(parts))
	copy(kept, parts)
	return r.mem.words.one(syntax.Word{Parts: kept})
}

// endsWord reports whether a word ends here.
func (r *treeReader) endsWord() bool {
	return r.pos == len(r.src) || endsTreeWord(r.src[r.pos]) || r.closes()
}

// isProcess reports whether a process substitution starts here.
func (r *treeReader) isProcess() bool {
	c := r.peek(0)
	return (c == '<' || c == '>') && r.peek(1) == '('
}

// process reads a process substitution.
func (r *treeReader) process() syntax.WordPart {
	start, op := r.pos, syntax.CmdIn
	if r.src[start] == '>' {
		op = syntax.CmdOut
		if r.streamed { // the commands may run later
			return nil
		}
	}
	r.pos++
	list, end, ok := r.inner()
	if !ok || !r.endsWord() {
		return nil
	}
	return r.mem.files.one(syntax.ProcSubst{OpPos: at(start), Rparen: at(end), Op: op, Stmts: list})
}

// part reads literal text, a quoted string or an expansion.
func (r *treeReader) part() syntax.WordPart {
	start := r.pos
	switch r.src[start] {
	case '\'':
		return r.single()
	case '"':
		return r.double()
	case '$':
		return r.expansion()
	}
	for r.pos < len(r.src) && r.isLiteral() {
		if r.src[r.pos] == '\\' {
			r.pos++
		}
		r.pos = min(r.pos+1, len(r.src))
	}
	if r.pos == start || !r.endsWord() && !endsTreeLiteral(r.src[r.pos]) {
		return nil
	}
	if raw := r.src[start:r.pos]; raw == "{" || raw == "}" || raw[len(raw)-1] == '}' && (r.peek(0) == '<' || r.peek(0) == '>') {
		return nil // a block, or a redirection of {name}
	}
	return r.lit(start, r.pos)
}

// endsTreeLiteral reports whether c, outside quotes, ends literal text.
func endsTreeLiteral(c byte) bool {
	return endsTreeWord(c) || c == '$' || classOfPlain(c) == plainQuote
}

// isLiteral reports whether the byte here stands for itself, or a backslash for
// the byte after it.
func (r *treeReader) isLiteral() bool {
	c := r.src[r.pos]
	if c == '\\' && r.pos+1 == len(r.src) {
		return true
	}
	if c == '\\' {
		return isPrintable(r.src[r.pos+1:r.pos+2]) && r.src[r.pos+1] != '\n'
	}
	class := classOfPlain(c)
	return c == '{' || c == '}' || c < 0x80 && (class == plainText || class == plainGlob && (c != '[' || r.isTest()))
}

// isTest reports whether the bracket here is a word: the parser splits others.
func (r *treeReader) isTest() bool {
	blanks := " \t\n"
	starts := r.pos == 0 || strings.IndexByte(blanks, r.src[r.pos-1]) >= 0 && (r.pos == 1 || r.src[r.pos-2] != '\\')
	return starts && r.pos+1 < len(r.src) && strings.IndexByte(blanks, r.src[r.pos+1]) >= 0
}

// single reads a string in single quotes.
func (r *treeReader) single() syntax.WordPart {
	start := r.pos
	end := strings.IndexByte(r.src[start+1:], '\'')
	if end < 0 {
		r.open = true
		return nil
	}
	if !isPrintable(r.src[start+1 : start+1+end]) {
		return nil
	}
	r.pos = start + end + 2
	return r.mem.singles.one(syntax.SglQuoted{Left: at(start), Right: at(r.pos - 1), Value: r.src[start+1 : r.pos-1]})
}

// double reads a string in double quotes with the expansions of expansion.
func (r *treeReader) double() syntax.WordPart {
	start := r.pos
	var first [4]syntax.WordPart
	parts, from := first[:0], start+1
	for r.pos++; r.pos < len(r.src); r.pos++ {
		c := r.src[r.pos]
		if (c == '"' || c == '$') && r.pos > from {
			parts = append(parts, r.lit(from, r.pos))
		}
		switch c {
		case '"':
			q := r.mem.doubles.one(syntax.DblQuoted{Left: at(start), Right: at(r.pos)})
			if len(parts) > 0 {
				q.Parts = r.mem.parts.take(len(parts))
				copy(q.Parts, parts)
			}
			r.pos++
			return q
		case '$':
			part := r.expansion()
			if part == nil {
				return nil
			}
			parts, from = append(parts, part), r.pos
			r.pos--
			continue
		case '`':
			return nil
		case '\\':
			r.pos++
			if r.peek(0) == '\n' {
				return nil
			}
		}
		if r.pos < len(r.src) && !isPrintable(r.src[r.pos:r.pos+1]) {
			return nil
		}
	}
	r.open = true
	return nil
}

// expansion reads a command substitution or what param reads.
func (r *treeReader) expansion() syntax.WordPart {
	if r.peek(1) != '(' {
		return r.param()
	}
	start := r.pos
	r.pos++
	list, end, ok := r.inner()
	if !ok {
		return nil
	}
	return r.mem.substs.one(syntax.CmdSubst{Left: at(start), Right: at(end), Stmts: list})
}

// param reads the expansion of a parameter without operators: $x, ${x}, $1, $@.
func (r *treeReader) param() syntax.WordPart {
	start, from := r.pos, r.pos+1
	braced := r.peek(1) == '{'
	if braced {
		from++
	}
	to := from
	for to < len(r.src) && isWordByte(r.src[to]) {
		to++
	}
	switch {
	case to == from && to < len(r.src) && strings.IndexByte("@*?", r.src[to]) >= 0:
		to++
	case to == from, to > from+1 && '0' <= r.src[from] && r.src[from] <= '9': // $12 is ${1}2
		return nil
	}
	p := syntax.ParamExp{Dollar: at(start), Short: !braced, Param: r.lit(from, to)}
	r.pos = to
	if braced {
		if r.peek(0) != '}' {
			return nil
		}
		p.Rbrace = at(to)
		r.pos++
	}
	return r.mem.params.one(p)
}

// assignment reads NAME=value in front of a command; found says that there is
// one, and the assignment is nil if it takes the parser.
func (r *treeReader) assignment() (as *syntax.Assign, found bool) {
	start, end := r.pos, r.pos
	for end < len(r.src) && isWordByte(r.src[end]) {
		end++
	}
	if end == start || end == len(r.src) || r.src[end] != '=' || '0' <= r.src[start] && r.src[start] <= '9' {
		return nil, false
	}
	name := r.lit(start, end)
	r.pos = end + 1
	if value := r.word(); value != nil {
		return r.mem.assigns.one(syntax.Assign{Name: name, Value: value}), true
	}
	return nil, true
}

// lit is literal text from start to end.
func (r *treeReader) lit(start, end int) *syntax.Lit {
	return r.mem.lits.one(syntax.Lit{ValuePos: at(start), ValueEnd: at(end), Value: r.src[start:end]})
}
