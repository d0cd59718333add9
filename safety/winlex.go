package safety

import "strings"

// Windows command lines are cmd.exe or PowerShell, and which one is not known.
// One reading serves both: it splits at the operators both share, takes quotes
// and escapes of either, and keeps script blocks and parentheses as nested
// commands. It never fails.

// winCommand is one command of a pipeline.
type winCommand struct {
	words []word
	// blocks are the nested commands that stand at words, by index.
	blocks     map[int][]winPipeline
	start, end int
	// raw is the text of the command.
	raw string
	// literal says that the command is a string in parentheses or a block, which
	// PowerShell takes for a value and not for a program to run.
	literal bool
}

// winPipeline is a list of commands, each reading the output of the one before.
type winPipeline []winCommand

// winLexer splits a line.
type winLexer struct {
	src string
	pos int
	mem *scratch
	// vars are the variables that Windows knows.
	vars map[string]string
	// locals are variables assigned earlier in the line.
	locals map[string]word
	// nesting counts the parentheses and blocks around the current command.
	nesting int
}

// block reads pipelines up to the closing character, or to the end.
func (l *winLexer) block(closing byte) []winPipeline {
	var out []winPipeline
	var pipe winPipeline
	for {
		cmd := l.command()
		if len(cmd.words) > 0 {
			if pipe == nil {
				pipe = l.mem.winCommands.take(2)[:0]
			}
			pipe = append(pipe, cmd)
		}
		if l.pos >= len(l.src) {
			return l.appendPipeline(out, pipe)
		}
		c := l.src[l.pos]
		l.pos++
		switch {
		case c == closing || c == ')' || c == '}':
			if closing != 0 {
				return l.appendPipeline(out, pipe)
			}
		case c == '|' && l.pos < len(l.src) && l.src[l.pos] == '|':
			l.pos++
		case c == '|':
			continue
		}
		out = l.appendPipeline(out, pipe)
		pipe = nil
	}
}

// appendPipeline adds a pipeline that is not empty.
func (l *winLexer) appendPipeline(list []winPipeline, p winPipeline) []winPipeline {
	if len(p) == 0 {
		return list
	}
	if list == nil {
		list = l.mem.winPipelines.take(2)[:0]
	}
	return append(list, p)
}

// command reads the words of one command and stops at the operator after it.
func (l *winLexer) command() winCommand {
	cmd := winCommand{start: l.pos}
	called := false
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if len(cmd.words) == 0 && isWinQuote(c) {
			cmd.literal = l.nesting > 0 && !called
		}
		switch {
		case isWinBlank(c) || c == '&' && l.isStray(cmd):
			called = called || c == '&'
			l.pos++
		case endsWinCommand(c):
			cmd.finish(l)
			return cmd
		case c == '#' && l.startsComment():
			l.skipLine()
		case c == '(' || c == '{':
			l.nested(&cmd, c)
		default:
			l.word(&cmd)
		}
	}
	cmd.finish(l)
	return cmd
}

// endsWinCommand reports whether c, outside quotes, ends a command.
func endsWinCommand(c byte) bool {
	switch c {
	case '|', '&', ';', '\n', ')', '}':
		return true
	}
	return false
}

// endsWinWord reports whether c, outside quotes, ends a word.
func endsWinWord(c byte) bool {
	return isWinBlank(c) || c == '(' || c == '{' || endsWinCommand(c)
}

// isWinBlank reports whether c separates words and nothing else.
func isWinBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// isWinQuote reports whether c starts a quoted string.
func isWinQuote(c byte) bool { return c == '"' || c == '\'' }

// startsComment reports whether the number sign here starts a word, and so a
// comment of PowerShell.
func (l *winLexer) startsComment() bool {
	return l.pos == 0 || strings.IndexByte(" \t\n;", l.src[l.pos-1]) >= 0
}

// isStray reports whether the ampersand here separates nothing: it is the call
// operator of PowerShell in front of a command, or part of 2>&1.
func (l *winLexer) isStray(cmd winCommand) bool {
	return len(cmd.words) == 0 || l.src[l.pos-1] == '>'
}

// finish records the extent of a command.
func (cmd *winCommand) finish(l *winLexer) {
	cmd.end = l.pos
	cmd.raw = strings.TrimSpace(l.src[cmd.start:l.pos])
	l.assign(cmd)
}

// assign remembers a literal that a command assigns, for the words after it:
// `set x=value` and `$x = 'value'`.
func (l *winLexer) assign(cmd *winCommand) {
	words := cmd.words
	for len(words) > 1 && isPlainWrapper(words[0].text) { // also "timeout 5 set x=…"
		words = words[1:]
	}
	text, ok := assignmentText(words)
	if !ok {
		return
	}
	isSet := strings.EqualFold(text[:min(4, len(text))], "set ")
	switch {
	case isSet:
		text = text[4:]
	case strings.HasPrefix(text, "$"):
		text = strings.TrimPrefix(text[1:], "env:")
	default:
		return
	}
	name, val, ok := strings.Cut(text, "=")
	name, val = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(val)
	// Several words after = are a command in PowerShell, unless they were quoted.
	command := !isSet && strings.Contains(val, " ") && !strings.ContainsAny(cmd.raw, `'"`)
	if !ok || command || name == "" || val == "" || strings.ContainsAny(name, ` ./\`) {
		return
	}
	if l.locals == nil {
		l.locals = map[string]word{}
	}
	l.locals[name] = word{text: val}
}

// mayAssign reports whether a command that starts with a word may assign.
func mayAssign(first string) bool {
	return strings.HasPrefix(first, "$") || strings.EqualFold(first[:min(3, len(first))], "set")
}

// assignmentText joins the words of a short command without nested ones.
func assignmentText(words []word) (text string, ok bool) {
	if len(words) == 0 || !mayAssign(words[0].text) {
		return "", false
	}
	for i, w := range words {
		if i > 0 {
			text += " "
		}
		if len(text)+len(w.text) > maxShown || w.text == "$()" {
			return "", false
		}
		text += w.text
	}
	return text, true
}

// isPlainWrapper recognises words that may stand in front of an assignment
// without changing it.
func isPlainWrapper(text string) bool {
	switch strings.ToLower(text) {
	case "env", "command", "timeout", "nohup", "nice", "time", "call":
		return true
	}
	return strings.Trim(text, "0123456789") == ""
}

// skipLine skips a comment.
func (l *winLexer) skipLine() {
	if i := strings.IndexByte(l.src[l.pos:], '\n'); i >= 0 {
		l.pos += i
	} else {
		l.pos = len(l.src)
	}
}

// nested reads a parenthesis or script block as a word with commands of its own.
func (l *winLexer) nested(cmd *winCommand, open byte) {
	start := l.pos
	l.pos++
	closing := byte(')')
	if open == '{' {
		closing = '}'
	}
	l.nesting++
	inner := l.block(closing)
	l.nesting--
	if cmd.blocks == nil {
		cmd.blocks = map[int][]winPipeline{}
	}
	cmd.blocks[len(cmd.words)] = inner
	cmd.words = append(cmd.words, word{text: "$()", dyn: true, start: offset32(start), end: offset32(l.pos)})
}

// word reads one word: quotes removed, escapes and variables resolved.
func (l *winLexer) word(cmd *winCommand) {
	if cmd.words == nil {
		cmd.words = l.mem.words.take(l.countWords())[:0]
	}
	w := word{start: offset32(l.pos)}
	if end := l.plainEnd(); end > l.pos {
		w.text, w.end = l.src[l.pos:end], offset32(end)
		l.pos = end
		cmd.words = append(cmd.words, w)
		return
	}
	if text, ok := l.wholeQuoted(); ok {
		w.text = text
	} else {
		w.text = l.assembled(&w)
	}
	w.end = offset32(l.pos)
	if w.text == "$" || w.text == "@" { // of $( … ) and @( … )
		return
	}
	cmd.words = append(cmd.words, w)
}

// wholeQuoted reads a word that is one quoted string without variables.
func (l *winLexer) wholeQuoted() (text string, ok bool) {
	quote := l.src[l.pos]
	if !isWinQuote(quote) {
		return "", false
	}
	n := strings.IndexByte(l.src[l.pos+1:], quote)
	if n < 0 {
		return "", false
	}
	text, end := l.src[l.pos+1:l.pos+1+n], l.pos+n+2
	if end < len(l.src) && !endsWinWord(l.src[end]) || quote == '"' && strings.ContainsAny(text, "%$") {
		return "", false
	}
	l.pos = end
	return text, true
}

// assembled reads a word piece by piece.
func (l *winLexer) assembled(w *word) string {
	var b strings.Builder
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if endsWinWord(c) || c == '>' && l.endsAtRedirect(b.String()) {
			break
		}
		switch c {
		case '"', '\'':
			l.quoted(&b, w, c)
		case '^', '`':
			l.escape(&b)
		case '%', '$':
			l.variable(&b, w)
		default:
			b.WriteByte(c)
			l.pos++
		}
	}
	return b.String()
}

// countWords guesses how many words are left in the command.
func (l *winLexer) countWords() int {
	n := 1
	for i := l.pos; i < len(l.src) && !endsWinCommand(l.src[i]); i++ {
		if isWinBlank(l.src[i]) {
			n++
		}
	}
	return n
}

// plainEnd is where a word ends that stands for itself; the current position if
// the word here is not of that kind.
func (l *winLexer) plainEnd() int {
	i := l.pos
	for i < len(l.src) && !endsWinWord(l.src[i]) {
		switch l.src[i] {
		case '"', '\'', '^', '`', '%', '$', '>', '@':
			return l.pos
		}
		i++
	}
	return i
}

// endsAtRedirect reports whether a redirection ends the word read so far: it is
// not itself the start of one, such as "2" of 2>nul or ">" of >>log.
func (l *winLexer) endsAtRedirect(text string) bool {
	return strings.Trim(text, "0123456789*>") != ""
}

// escape resolves ^x and `x. Before a line end it joins lines.
func (l *winLexer) escape(b *strings.Builder) {
	l.pos++
	if l.pos >= len(l.src) {
		return
	}
	if l.src[l.pos-1] == '^' && (l.src[l.pos] == ' ' || l.src[l.pos] == '\t') {
		return // a caret does not keep a blank from separating words
	}
	if c := l.src[l.pos]; c != '\n' && c != '\r' {
		b.WriteByte(c)
	}
	l.pos++
}

// quoted reads a quoted piece. A quote without its pair is an apostrophe.
func (l *winLexer) quoted(b *strings.Builder, w *word, quote byte) {
	end := strings.IndexByte(l.src[l.pos+1:], quote)
	if end < 0 {
		if quote == '\'' {
			b.WriteByte(quote)
		}
		l.pos++
		return
	}
	// A backslash does not escape in either language, but programs read \" as
	// a quote, so `cmd /c "rd \"x\""` continues.
	body := l.src[l.pos+1 : l.pos+1+end]
	stop := l.pos + 1 + end
	l.pos++
	if quote == '\'' {
		b.WriteString(body)
		l.pos = stop + 1
		return
	}
	for l.pos < stop {
		if c := l.src[l.pos]; c == '%' || c == '$' {
			l.variable(b, w)
		} else {
			b.WriteByte(c)
			l.pos++
		}
	}
	l.pos = max(l.pos, stop) + 1
}

// variable resolves %name%, $name, ${name} and $env:name.
func (l *winLexer) variable(b *strings.Builder, w *word) {
	name, n := winVariable(l.src[l.pos:])
	if n == 0 {
		b.WriteByte(l.src[l.pos])
		l.pos++
		return
	}
	text := l.src[l.pos : l.pos+n]
	l.pos += n
	v, ok := l.locals[strings.ToLower(name)]
	if !ok {
		v.text, ok = l.vars[strings.ToLower(name)]
	}
	if !ok {
		b.WriteString(text)
		w.dyn = true
		return
	}
	b.WriteString(v.text)
	w.dyn = w.dyn || v.dyn
	w.taint |= v.taint
	if w.source == "" {
		w.source = v.source
	}
}

// winVariable returns the name of the variable that s starts with, and the
// length of the reference; 0 if there is none.
func winVariable(s string) (name string, n int) {
	if s[0] == '%' {
		end := strings.IndexByte(s[1:], '%')
		if end <= 0 || strings.ContainsAny(s[1:1+end], " \t|&;\"'") {
			return "", 0
		}
		name, _, _ = strings.Cut(s[1:1+end], ":")
		return name, end + 2
	}
	if strings.HasPrefix(s, "${") {
		end := strings.IndexByte(s, '}')
		if end < 0 {
			return "", 0
		}
		return strings.TrimPrefix(strings.ToLower(s[2:end]), "env:"), end + 1
	}
	start := 1
	if len(s) > 5 && strings.EqualFold(s[1:5], "env:") {
		start = 5
	}
	end := start
	for end < len(s) && (isWordByte(s[end]) || s[end] >= 0x80) {
		end++
	}
	if end == start {
		return "", 0
	}
	return s[start:end], end
}

// straightQuotes writes typographic quotes as PowerShell reads them. To cmd.exe
// they are letters, so that a line with some is read both ways.
func straightQuotes(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '‘', '’', '‚', '‛':
			return '\''
		case '“', '”', '„':
			return '"'
		}
		return r
	}, s)
}
