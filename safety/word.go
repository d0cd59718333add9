package safety

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// taint says where a piece of text came from.
type taint uint8

const (
	// taintRemote is text that came over the network.
	taintRemote taint = 1 << iota
	// taintDecoded is text that came out of a decoder.
	taintDecoded
	// taintSecret is text read from a file that holds credentials.
	taintSecret
)

// word is one field of a simple command after expansion.
type word struct {
	// text is the value. What could not be resolved stands in it as written.
	text string
	// source is the program that a taint came from.
	source string
	// prog is what a process substitution prints; text is then a file name.
	prog *output
	// start and end are offsets in the script that holds the word.
	start, end int32
	// dyn says that text holds something unresolved.
	dyn bool
	// glob says that text holds an unquoted pattern character.
	glob  bool
	taint taint
}

// output is what a command prints, as far as it is known.
type output struct {
	// text is the literal text; incomplete when dyn is set.
	text string
	// dyn says that there is more than text.
	dyn    bool
	taint  taint
	source string
	// operands are file names a listing command would print, for xargs.
	operands []word
	// program names the command that printed it.
	program string
	// reader are the commands of >(…), which read what is written to the word.
	reader []*syntax.Stmt
}

// join adds what a following command prints.
func (o *output) join(next output) {
	if len(o.text)+len(next.text) <= maxValue {
		o.text += next.text
	} else {
		o.dyn = true
	}
	o.dyn = o.dyn || next.dyn
	o.mark(next.taint, next.source)
	o.operands = append(o.operands, next.operands...)
	if next.program != "" {
		o.program = next.program
	}
}

// joiner adds up what many commands print. Joining one output after the other
// would copy the text each time.
type joiner struct {
	out  output
	text strings.Builder
}

// add adds what the next command prints.
func (j *joiner) add(next output) {
	switch size := max(len(j.out.text), j.text.Len()) + len(next.text); {
	case size == len(next.text) || next.text == "":
		j.out.join(next)
		return
	case size > maxValue:
		j.out.dyn = true
	default:
		if j.text.Len() == 0 {
			j.text.WriteString(j.out.text)
			j.out.text = ""
		}
		j.text.WriteString(next.text)
	}
	next.text = ""
	j.out.join(next)
}

// sum returns what all of them print.
func (j *joiner) sum() output {
	if j.text.Len() > 0 {
		j.out.text = j.text.String()
	}
	return j.out
}

// mark adds a taint. The first source is kept: it is where the text came from.
func (o *output) mark(t taint, source string) {
	o.taint |= t
	if o.source == "" {
		o.source = source
	}
}

// value is what a variable holds.
type value struct {
	fields []word
}

// text joins the fields as "${x[*]}" does.
func (v value) text() string {
	if len(v.fields) == 1 {
		return v.fields[0].text
	}
	parts := make([]string, len(v.fields))
	for i, f := range v.fields {
		parts[i] = f.text
	}
	return strings.Join(parts, " ")
}

// fieldBuilder assembles the fields of one word. Text is added in pieces;
// unquoted expansions are split at the field separators.
type fieldBuilder struct {
	fields []word
	cur    word
	buf    strings.Builder
	// started says that the current field exists even if it is empty.
	started bool
	ifs     string
}

// add appends literal text.
func (b *fieldBuilder) add(text string) {
	b.started = true
	if b.buf.Len()+len(text) <= maxValue {
		b.buf.WriteString(text)
	} else {
		b.cur.dyn = true
	}
}

// merge takes over the marks of a word whose text was added.
func (b *fieldBuilder) merge(w word) {
	b.cur.dyn = b.cur.dyn || w.dyn
	b.cur.glob = b.cur.glob || w.glob
	b.cur.taint |= w.taint
	if b.cur.source == "" {
		b.cur.source = w.source
	}
	if w.prog != nil {
		b.cur.prog = w.prog
	}
}

// split appends the text of w and starts a new field at every separator.
func (b *fieldBuilder) split(w word) {
	text := w.text
	for {
		i := strings.IndexAny(text, b.ifs)
		if i < 0 || b.ifs == "" {
			break
		}
		if i > 0 {
			b.add(text[:i])
			b.merge(w)
		}
		b.flush()
		text = text[i+1:]
	}
	if text != "" {
		b.add(text)
		b.merge(w)
	}
}

// unquoted appends the result of an expansion outside quotes; each of several
// values is a field of its own.
func (b *fieldBuilder) unquoted(ws []word) {
	for i, w := range ws {
		if i > 0 {
			b.flush()
		}
		b.split(w)
		if w.prog != nil || w.taint != 0 || w.dyn {
			b.started = true
			b.merge(w)
		}
	}
}

// list appends several fields, as "$@" does: the first joins the current
// field, the last stays open.
func (b *fieldBuilder) list(ws []word) {
	for i, w := range ws {
		if i > 0 {
			b.flush()
		}
		b.add(w.text)
		b.merge(w)
	}
}

// flush ends the current field.
func (b *fieldBuilder) flush() {
	if b.started {
		b.cur.text = b.buf.String()
		b.fields = append(b.fields, b.cur)
	}
	b.cur = word{}
	b.buf.Reset()
	b.started = false
}

// expand turns the words of a simple command into fields.
func (a *analysis) expand(ws []*syntax.Word, f frame, sc *scope) []word {
	out := a.mem.words.take(len(ws))[:0]
	for _, w := range ws {
		out = a.expandWord(out, w, f, sc)
	}
	return out
}

// expandWord appends the fields of one word to out.
func (a *analysis) expandWord(out []word, w *syntax.Word, f frame, sc *scope) []word {
	first := len(out)
	if lit, ok := literalWord(w); ok {
		out = append(out, lit)
	} else {
		b := fieldBuilder{fields: out}
		for _, parts := range a.braces(w, f) {
			b.ifs = sc.ifs()
			for i := range parts {
				a.addPart(&b, parts, i, f, sc)
			}
			b.flush()
		}
		out = b.fields
	}
	start, end := offset32(int(w.Pos().Offset())), offset32(int(w.End().Offset()))
	for i := first; i < len(out); i++ {
		out[i].start, out[i].end = start, end
	}
	return out
}

// literalWord returns a word that no expansion but the removal of quotes touches.
func literalWord(w *syntax.Word) (word, bool) {
	if len(w.Parts) != 1 {
		return word{}, false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		if strings.ContainsAny(p.Value, "{~") || len(p.Value) > maxValue {
			return word{}, false
		}
		text, glob := unescape(p.Value)
		return word{text: text, glob: glob}, true
	case *syntax.SglQuoted:
		return word{text: p.Value}, !p.Dollar
	case *syntax.DblQuoted:
		if len(p.Parts) == 0 {
			return word{}, true
		}
		if lit, ok := p.Parts[0].(*syntax.Lit); ok && len(p.Parts) == 1 {
			return word{text: unescapeQuoted(lit.Value)}, true
		}
	}
	return word{}, false
}

// joined expands a word without splitting it, as in an assignment.
func (a *analysis) joined(w *syntax.Word, f frame, sc *scope) word {
	if w == nil {
		return word{}
	}
	b := fieldBuilder{}
	for i := range w.Parts {
		a.addPart(&b, w.Parts, i, f, sc)
	}
	b.flush()
	if len(b.fields) == 0 {
		return word{}
	}
	out := b.fields[0]
	for _, w := range b.fields[1:] {
		out.text += " " + w.text
		out.dyn = out.dyn || w.dyn
		out.taint |= w.taint
	}
	return out
}

// addPart expands the part of a word at i, which is not inside double quotes.
func (a *analysis) addPart(b *fieldBuilder, parts []syntax.WordPart, i int, f frame, sc *scope) {
	switch p := parts[i].(type) {
	case *syntax.Lit:
		text, glob := unescape(p.Value)
		if i == 0 && strings.HasPrefix(p.Value, "~") {
			text = tilde(text)
		}
		b.add(text)
		b.cur.glob = b.cur.glob || glob
	case *syntax.SglQuoted:
		if p.Dollar {
			b.add(decodeEscapes(p.Value, escapesANSI))
		} else {
			b.add(p.Value)
		}
	case *syntax.DblQuoted:
		a.addQuoted(b, p, f, sc)
	case *syntax.ExtGlob:
		b.add(p.Op.String() + p.Pattern.Value + ")")
		b.cur.glob = true
	default:
		b.unquoted(delimited(a.value(p, f, sc), parts[i:]))
	}
}

// addQuoted expands what stands inside double quotes.
func (a *analysis) addQuoted(b *fieldBuilder, q *syntax.DblQuoted, f frame, sc *scope) {
	if len(q.Parts) == 0 {
		b.add("")
	}
	for i, part := range q.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.add(unescapeQuoted(lit.Value))
			continue
		}
		ws := delimited(a.value(part, f, sc), q.Parts[i:])
		if len(ws) > 1 && expansionIndex(part) != "*" {
			b.list(ws)
			continue
		}
		if expansionIndex(part) != "@" { // "$@" of nothing is no field at all
			b.add("")
		}
		for i, w := range ws {
			if i > 0 {
				b.add(" ")
			}
			b.add(w.text)
			b.merge(w)
		}
	}
}

// expansionIndex is "@" or "*" for an expansion of all positional parameters or
// all elements of an array, as in $@ and ${a[*]}, and empty for others. A plain
// name with several values is a loop variable with all its values at once.
func expansionIndex(part syntax.WordPart) string {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil {
		return ""
	}
	name := p.Param.Value
	if index, ok := p.Index.(*syntax.Word); ok {
		name = index.Lit()
	}
	if name == "@" || name == "*" {
		return name
	}
	return ""
}

// value expands a part other than literal text.
func (a *analysis) value(part syntax.WordPart, f frame, sc *scope) []word {
	switch p := part.(type) {
	case *syntax.ParamExp:
		return a.param(p, f, sc)
	case *syntax.CmdSubst:
		return []word{a.substitution(p, f, sc)}
	case *syntax.ProcSubst:
		a.walk(p)
		out := a.subshell(p.Stmts, f, sc)
		if p.Op == syntax.CmdOut {
			return []word{{text: substitutedFile, prog: &output{dyn: true, reader: p.Stmts}}}
		}
		return []word{{text: substitutedFile, taint: out.taint, source: out.source, prog: &out}}
	case *syntax.ArithmExp:
		a.arithmeticNames(p.X, f, sc)
		return []word{{text: arithmetic(p.X), dyn: true}}
	case *syntax.Lit:
		text, glob := unescape(p.Value)
		return []word{{text: text, glob: glob}}
	default:
		return []word{{text: "?", dyn: true}}
	}
}

// arithmetic renders an arithmetic expansion; only plain numbers are known.
func arithmetic(x syntax.ArithmExpr) string {
	if w, ok := x.(*syntax.Word); ok && w.Lit() != "" {
		return w.Lit()
	}
	return "$(())"
}

// substitution expands $(…): its output without final line ends.
func (a *analysis) substitution(p *syntax.CmdSubst, f frame, sc *scope) word {
	a.walk(p)
	out := a.subshell(p.Stmts, f, sc)
	w := word{text: strings.TrimRight(out.text, "\n"), dyn: out.dyn, taint: out.taint, source: out.source}
	if w.text == "" && out.dyn {
		w.text = "$()"
	}
	return w
}

// tilde turns a home directory prefix into the canonical one. A user name
// stays: someone's home is a home.
func tilde(text string) string {
	switch {
	case text == "~+" || strings.HasPrefix(text, "~+/"):
		return "." + text[2:]
	default:
		return text
	}
}

// unescape removes backslashes outside quotes and reports pattern characters.
func unescape(s string) (text string, glob bool) {
	if !strings.ContainsAny(s, "\\*?[") {
		return s, false
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case '*', '?', '[':
			glob = true
		}
		b.WriteByte(s[i])
	}
	return b.String(), glob
}

// unescapeQuoted removes the backslashes that mean something in double quotes.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
