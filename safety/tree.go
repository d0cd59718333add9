package safety

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// treeReader parses scripts that hold nothing but simple commands, assignments,
// pipes, lists, subshells and plain redirections, and of the expansions only $x and
// substitutions. Most scripts are like that, and the parser takes more memory for
// one of them than the whole analysis. What is anything else is left to the parser;
// for the rest the trees are the same.
//
// All substitutions in such trees stand where they are evaluated: leftOut would
// find none.
type treeReader struct {
	src string
	pos int
	mem *treeSlabs
	// open says that a quote lacks its pair, so that the parser would fail.
	open bool
	// parens counts the brackets of subshells and substitutions around here.
	parens int
	// streamed says that a tree is gone after its statement.
	streamed bool
}

// readTree returns the statements of src; ok is false if it takes the parser to
// read them, open if the parser, too, would find a quote without its pair.
func (a *analysis) readTree(src string) (list []*syntax.Stmt, ok, open bool) {
	r := treeReader{src: src, mem: &a.mem.tree}
	list, ok = r.list()
	return list, ok && r.pos == len(src), r.open
}

// list reads statements up to the end, or to the bracket that closes them; ok is
// false if it takes the parser.
func (r *treeReader) list() (list []*syntax.Stmt, ok bool) {
	var first [8]*syntax.Stmt
	found := first[:0]
	for r.skip(" \t\n"); r.pos < len(r.src) && !r.closes(); r.skip(" \t\n") {
		st := r.statement()
		if st == nil {
			return nil, false
		}
		found = append(found, st)
	}
	list = r.mem.stmtPtrs.take(len(found))
	copy(list, found)
	return list, true
}

// inner reads the statements in the brackets that open here, and the closing one;
// end is where that is.
func (r *treeReader) inner() (list []*syntax.Stmt, end int, ok bool) {
	r.pos++
	if r.peek(0) == '(' { // arithmetic, perhaps
		return nil, 0, false
	}
	r.parens++
	list, ok = r.list()
	r.parens--
	if !ok || len(list) == 0 || r.pos == len(r.src) {
		return nil, 0, false
	}
	r.pos++
	return list, r.pos - 1, true
}

// closes reports whether the byte here closes a subshell or substitution.
func (r *treeReader) closes() bool { return r.parens > 0 && r.src[r.pos] == ')' }

// longScript is the length, in bytes, from which the statements of a script are
// read one by one: the whole tree of a long one does not fit into the caches, and
// each byte of it would cost twice as much as one of a short script.
const longScript = 4 << 10

// streamTree does what reading the tree of src and walking its statements does,
// with one statement in memory at a time; ok is false, and nothing was walked, if
// it takes the parser to read one of them. No other tree may be in use.
func (a *analysis) streamTree(src string, f frame, sc *scope) (out output, ok bool) {
	var all joiner
	for _, walk := range []bool{false, true} { // the first pass only finds out
		r := treeReader{src: src, mem: &a.mem.tree, streamed: true}
		for r.skip(" \t\n"); r.pos < len(src) && !a.stopped; r.skip(" \t\n") {
			st := r.statement()
			if st == nil {
				return output{}, false
			}
			if walk {
				all.add(a.stmt(st, f, sc))
			}
			r.mem.reset(keptLong)
		}
	}
	return all.sum(), true
}

// at is the position of an offset. Only offsets are looked at.
func at(offset int) syntax.Pos { return syntax.NewPos(uint(max(offset, 0)), 1, 1) }

// skip passes over the bytes of set.
func (r *treeReader) skip(set string) {
	for r.pos < len(r.src) && strings.IndexByte(set, r.src[r.pos]) >= 0 {
		r.pos++
	}
}

// peek is the byte n after the current one, 0 past the end.
func (r *treeReader) peek(n int) byte {
	if r.pos+n < len(r.src) {
		return r.src[r.pos+n]
	}
	return 0
}

// statement reads a statement with its end; nil if it takes the parser.
func (r *treeReader) statement() *syntax.Stmt {
	if st := r.andOr(); st != nil && r.end(st) {
		return st
	}
	return nil
}

// end reads what ends a statement.
func (r *treeReader) end(st *syntax.Stmt) bool {
	switch c := r.peek(0); c {
	case ';', '&':
		if strings.IndexByte(";&|!", r.peek(1)) >= 0 && r.pos+1 < len(r.src) {
			return false
		}
		st.Semicolon, st.Background = at(r.pos), c == '&'
		r.pos++
	case '\n', 0:
	default:
		return r.closes()
	}
	return true
}

// andOr reads pipelines joined by && and ||.
func (r *treeReader) andOr() *syntax.Stmt {
	st := r.pipe()
	for st != nil {
		op := syntax.AndStmt
		switch {
		case r.peek(0) == '&' && r.peek(1) == '&':
		case r.peek(0) == '|' && r.peek(1) == '|':
			op = syntax.OrStmt
		default:
			return st
		}
		start := r.pos
		r.pos += 2
		st = r.join(st, op, start, r.pipe())
	}
	return nil
}

// pipe reads commands joined by |.
func (r *treeReader) pipe() *syntax.Stmt {
	st := r.stage()
	for st != nil && r.peek(0) == '|' && r.peek(1) != '|' {
		start, op := r.pos, syntax.Pipe
		r.pos++
		if r.peek(0) == '&' {
			op = syntax.PipeAll
			r.pos++
		}
		st = r.join(st, op, start, r.stage())
	}
	return st
}

// join is the statement of two joined by an operator.
func (r *treeReader) join(x *syntax.Stmt, op syntax.BinCmdOperator, start int, y *syntax.Stmt) *syntax.Stmt {
	if y == nil {
		return nil
	}
	return r.mem.stmts.one(syntax.Stmt{
		Position: x.Position,
		Cmd:      r.mem.binaries.one(syntax.BinaryCmd{OpPos: at(start), Op: op, X: x, Y: y}),
	})
}

// stage reads a command of either kind.
func (r *treeReader) stage() *syntax.Stmt {
	if r.blanks(); r.peek(0) == '(' {
		return r.subshell()
	}
	return r.command()
}

// command reads a simple command and stops at the operator after it. It returns
// nil for one without a program or an assignment.
func (r *treeReader) command() *syntax.Stmt {
	st := syntax.Stmt{Position: at(r.pos)}
	var first [16]*syntax.Word
	words := first[:0]
	var assigns []*syntax.Assign
	for {
		r.blanks()
		if isRedirect, ok := r.redirect(&st); isRedirect {
			if !ok {
				return nil
			}
			continue
		}
		if r.endsCommand() {
			break
		}
		if len(words) == 0 {
			as, found := r.assignment()
			if found && as == nil {
				return nil
			}
			if found {
				assigns = append(assigns, as)
				continue
			}
		}
		start := r.pos
		w := r.word()
		if w == nil || len(words) == 0 && !isProgramWord(r.src[start:r.pos]) {
			return nil
		}
		words = append(words, w)
	}
	if len(words) == 0 && len(assigns) == 0 {
		return nil
	}
	cmd := syntax.CallExpr{Assigns: assigns}
	if len(words) > 0 {
		cmd.Args = r.mem.wordPtrs.take(len(words))
		copy(cmd.Args, words)
	}
	st.Cmd = r.mem.calls.one(cmd)
	return r.mem.stmts.one(st)
}

// subshell reads a list in brackets with its redirections.
func (r *treeReader) subshell() *syntax.Stmt {
	start := r.pos
	st := syntax.Stmt{Position: at(start)}
	list, end, ok := r.inner()
	if !ok {
		return nil
	}
	st.Cmd = &syntax.Subshell{Lparen: at(start), Rparen: at(end), Stmts: list}
	for r.blanks(); !r.endsCommand(); r.blanks() {
		if isRedirect, ok := r.redirect(&st); !isRedirect || !ok {
			return nil
		}
	}
	return r.mem.stmts.one(st)
}

// blanks passes over what separates words: a backslash takes the end of the line
// away.
func (r *treeReader) blanks() {
	for r.skip(" \t"); r.pos > 0 && r.peek(0) == '\\' && r.peek(1) == '\n'; r.skip(" \t") {
		r.pos += 2
	}
}

// endsCommand reports whether a command ends here.
func (r *treeReader) endsCommand() bool {
	return r.pos == len(r.src) || endsTreeCommand(r.src[r.pos]) || r.closes()
}

// endsTreeCommand reports whether c ends a command.
func endsTreeCommand(c byte) bool {
	return c == ';' || c == '&' || c == '|' || c == '\n'
}

// endsTreeWord reports whether c, outside quotes, ends a word.
func endsTreeWord(c byte) bool {
	return c == ' ' || c == '\t' || c == '<' || c == '>' || endsTreeCommand(c)
}

// isProgramWord reports whether the first word of a command, as written, is the
// name of a program and not an assignment or the start of other syntax.
func isProgramWord(raw string) bool {
	if strings.IndexByte(raw, '=') >= 0 {
		return false
	}
	return !syntax.IsKeyword(raw) && !isDeclaration(raw) && raw != "nameref"
}

// redirect reads a redirection if there is one here; ok is false if it is of a
// kind that takes the parser.
func (r *treeReader) redirect(st *syntax.Stmt) (found, ok bool) {
	start := r.pos
	if r.isProcess() {
		return false, true
	}
	for r.pos < len(r.src) && '0' <= r.src[r.pos] && r.src[r.pos] <= '9' {
		r.pos++
	}
	digits := r.pos
	op, n := r.redirectOp()
	if n == 0 && r.peek(0) != '<' && r.peek(0) != '>' || digits > start && r.peek(0) == '&' {
		r.pos = start
		return false, true
	}
	if n == 0 {
		return true, false
	}
	rd := r.mem.redirs.one(syntax.Redirect{OpPos: at(digits), Op: op})
	if digits > start {
		rd.N = r.lit(start, digits)
	}
	r.pos += n
	r.blanks()
	if r.endsCommand() {
		return true, false
	}
	if rd.Word = r.word(); rd.Word == nil {
		return true, false
	}
	st.Redirs = append(st.Redirs, rd)
	return true, true
}

// redirectOp recognises the common redirections and returns their length.
func (r *treeReader) redirectOp() (op syntax.RedirOperator, n int) {
	switch c, next := r.peek(0), r.peek(1); {
	case c == '&' && next == '>' && r.peek(2) == '>':
		return syntax.AppAll, 3
	case c == '&' && next == '>':
		return syntax.RdrAll, 2
	case c == '>' && next == '>':
		return syntax.AppOut, 2
	case c == '>' && next == '&':
		return syntax.DplOut, 2
	case c == '>' && strings.IndexByte("|(<", next) < 0:
		return syntax.RdrOut, 1
	case c == '<' && strings.IndexByte("<>&(", next) < 0:
		return syntax.RdrIn, 1
	}
	return 0, 0
}

// isPrintable reports whether s is ASCII without control characters other than
// white space, which the parser may treat in a special way.
func isPrintable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\t' && c != '\n' {
			return false
		}
	}
	return true
}
