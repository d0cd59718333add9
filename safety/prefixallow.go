package safety

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// allowUnix reports whether an allow with this prefix covers a POSIX line.
func (m *Matcher) allowUnix(prefix []string, cmd string) PrefixMatch {
	line := strings.TrimSpace(cmd)
	switch {
	case line == "":
		return no(ReasonEmpty, "")
	case len(line) > MaxLine || nestedTooDeep(line):
		return no(ReasonTooComplex, "")
	case strings.IndexByte(line, 0) >= 0: // shells drop it, system calls end there
		return no(ReasonUnparsed, "NUL")
	case strings.IndexByte(line, '\r') >= 0: // a blank to the parser, part of a word to shells
		return no(ReasonUnparsed, "CR")
	}
	file, err := m.engine().parse(line)
	if err != nil {
		return no(ReasonUnparsed, err.Error())
	}
	a := allowWalk{m: m, prefix: prefix}
	for _, st := range file.Stmts {
		if r := a.stmt(st); !r.Matches {
			return r
		}
	}
	if a.commands == 0 {
		return no(ReasonEmpty, "")
	}
	return PrefixMatch{Matches: true}
}

// allowWalk walks a line and refuses whatever is not surely covered.
type allowWalk struct {
	m        *Matcher
	prefix   []string
	commands int
}

// stmt walks a statement.
func (a *allowWalk) stmt(st *syntax.Stmt) PrefixMatch {
	switch {
	case st.Background || st.Coprocess || st.Negated || st.Disown:
		return no(ReasonStructure, "background job or negation")
	case st.Cmd == nil:
		return no(ReasonRedirect, "no command")
	}
	for _, r := range st.Redirs {
		if m := a.redirect(r); !m.Matches {
			return m
		}
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		return a.call(c, slices.ContainsFunc(st.Redirs, isDocument))
	case *syntax.BinaryCmd:
		if r := a.stmt(c.X); !r.Matches {
			return r
		}
		return a.stmt(c.Y)
	default:
		return no(ReasonStructure, "compound command")
	}
}

// redirect accepts what neither writes a file nor reads one that matters.
func (a *allowWalk) redirect(r *syntax.Redirect) PrefixMatch {
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
		if r.Hdoc == nil || isQuotedDelimiter(r.Word) || isPlainDocument(r.Hdoc) {
			return PrefixMatch{Matches: true}
		}
		return no(ReasonExpansion, "here-document")
	}
	word, ok := a.literal(r.Word, false)
	if !ok {
		return no(ReasonExpansion, word.text)
	}
	duplicates := r.Op == syntax.DplOut || r.Op == syntax.DplIn
	descriptor := word.text != "" && strings.Trim(word.text, "0123456789-") == ""
	if r.Op == syntax.WordHdoc || duplicates && descriptor || !duplicates && word.text == "/dev/null" {
		return PrefixMatch{Matches: true}
	}
	return no(ReasonRedirect, word.text)
}

// isQuotedDelimiter reports whether the body of a here-document is literal.
func isQuotedDelimiter(w *syntax.Word) bool {
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// isPlainDocument reports whether a here-document body expands nothing.
func isPlainDocument(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if _, ok := part.(*syntax.Lit); !ok {
			return false
		}
	}
	return true
}

// isDocument reports whether a redirection gives a command text to read.
func isDocument(r *syntax.Redirect) bool {
	return r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc
}

// call tests a simple command. input says that it is given text to read.
func (a *allowWalk) call(c *syntax.CallExpr, input bool) PrefixMatch {
	if len(c.Assigns) > 0 || len(c.Args) == 0 {
		return no(ReasonAssignment, "")
	}
	a.commands++
	words := make([]word, len(c.Args))
	for i, w := range c.Args {
		var ok bool
		if words[i], ok = a.literal(w, i >= len(a.prefix) && i > 0 && isHarmless(words[0].text)); !ok {
			return no(ReasonExpansion, words[i].text)
		}
		if words[i].glob && i < len(a.prefix) {
			return no(ReasonExpansion, words[i].text)
		}
	}
	if input && a.m.inputRuns(words) {
		return no(ReasonRedirect, words[0].text)
	}
	return a.m.covered(words, a.prefix)
}

// isHarmless lists programs that print or count and cannot be made to do
// anything else, so that it does not matter what a variable among their
// arguments holds.
func isHarmless(name string) bool {
	switch name {
	case "echo", "ls", "cat", "head", "tail", "wc", "pwd", "true", "false", "basename", "dirname", "stat", "du", "df", "which", "cut", "tr", "mkdir", "touch", "sleep", "seq":
		return true
	}
	return false
}

// literal returns the value of a word without expansions. A simple variable is
// accepted where variables are, and the home directory anywhere.
func (a *allowWalk) literal(w *syntax.Word, variables bool) (word, bool) {
	var out word
	var b strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && isBraced(lit.Value) {
			return word{text: lit.Value}, false
		}
	}
	for _, part := range w.Parts {
		if !a.literalPart(&b, &out, part, false, variables) {
			out.text = b.String()
			return out, false
		}
	}
	out.text = b.String()
	return out, true
}

// isBraced reports whether brace expansion may apply to unquoted text.
func isBraced(s string) bool {
	return strings.Contains(s, "{") && (strings.Contains(s, ",") || strings.Contains(s, ".."))
}

// literalPart appends one part.
func (a *allowWalk) literalPart(b *strings.Builder, out *word, part syntax.WordPart, quoted, variables bool) bool {
	switch p := part.(type) {
	case *syntax.Lit:
		if quoted {
			b.WriteString(unescapeQuoted(p.Value))
			return true
		}
		text, glob := unescape(p.Value)
		out.glob = out.glob || glob
		b.WriteString(text)
	case *syntax.SglQuoted:
		text := p.Value
		if p.Dollar {
			text = decodeEscapes(text, escapesANSI)
		}
		b.WriteString(text)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			if !a.literalPart(b, out, inner, true, variables) {
				return false
			}
		}
	case *syntax.ParamExp:
		if !isSimpleParam(p) || p.Param.Value != "HOME" && p.Param.Value != "PWD" && !variables {
			return false
		}
		b.WriteString("$" + p.Param.Value)
	default:
		return false
	}
	return true
}

// isSimpleParam reports whether a parameter only stands for its value.
func isSimpleParam(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0 && syntax.ValidName(p.Param.Value)
}

// covered reports whether a prefix covers the words of a simple command.
func (m *Matcher) covered(words []word, prefix []string) PrefixMatch {
	if len(words) < len(prefix) {
		return no(ReasonNotCovered, joinWords(words))
	}
	for i, want := range prefix {
		if words[i].text != want {
			return no(ReasonNotCovered, words[i].text)
		}
	}
	if why := m.escapes(words, len(prefix)); why.Reason != "" {
		return why
	}
	return PrefixMatch{Matches: true}
}
