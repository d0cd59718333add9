package safety

import "strings"

// sedScript is what a sed script does besides editing text.
type sedScript struct {
	// commands are command lines it executes.
	commands []string
	// writes are the files it writes.
	writes []string
	// executes says that it runs text it computes (the e flag of s).
	executes bool
	// unsure says that it holds a letter that is not a known command.
	unsure bool
}

// parseSed reads a sed script. It follows the grammar of GNU sed: an optional
// address, one letter, and arguments that depend on the letter. Not every sed
// takes a delimiter in brackets for text; a script with one is read both ways.
func parseSed(script string) sedScript {
	p := sedParser{src: script, brackets: true}
	p.script()
	if p.bracketed {
		p.pos, p.brackets = 0, false
		p.script()
	}
	return p.out
}

// sedParser is the state of parseSed.
type sedParser struct {
	src string
	pos int
	// brackets says that a delimiter in brackets is text, bracketed that there
	// was one.
	brackets, bracketed bool
	out                 sedScript
}

// script consumes all commands.
func (p *sedParser) script() {
	for p.pos < len(p.src) {
		p.command()
	}
}

// command consumes addresses and one command.
func (p *sedParser) command() {
	p.address()
	if p.pos >= len(p.src) {
		return
	}
	c := p.src[p.pos]
	p.pos++
	switch c {
	case 's':
		p.substitute()
	case 'y':
		p.pair(false)
	case 'e':
		if line := p.line(); line != "" {
			p.out.commands = append(p.out.commands, line)
		} else {
			p.out.executes = true
		}
	case 'w', 'W':
		p.out.writes = append(p.out.writes, p.line())
	case 'a', 'i', 'c', 'r', 'R', '#':
		p.line()
	case ':', 'b', 't', 'T': // a label ends where the next command may start
		p.skipFlags(" \t")
		p.skipTo(" \t\n;}")
	case 'd', 'D', 'p', 'P', 'q', 'Q', 'n', 'N', 'g', 'G', 'h', 'H', 'x', 'l', '=', 'z', 'F':
	default:
		p.out.unsure = true
	}
}

// address consumes what may stand before a command.
func (p *sedParser) address() {
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case strings.IndexByte(" \t\n;,!$+~{}", c) >= 0 || '0' <= c && c <= '9':
			p.pos++
		case c == '/':
			p.delimited(p.brackets)
			p.skipFlags("IM")
		case c == '\\' && p.pos+1 < len(p.src):
			p.pos++
			p.delimited(p.brackets)
			p.skipFlags("IM")
		default:
			return
		}
	}
}

// delimited consumes a delimiter and the text up to its next occurrence, and
// returns the text.
func (p *sedParser) delimited(brackets bool) string {
	if p.pos >= len(p.src) {
		return ""
	}
	delim := p.src[p.pos]
	p.pos++
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos] != delim {
		switch p.src[p.pos] {
		case '\\':
			p.pos++
		case '[':
			p.bracket(brackets, delim)
		}
		p.pos++
	}
	text := p.src[min(start, len(p.src)):min(p.pos, len(p.src))]
	p.pos = min(p.pos+1, len(p.src))
	return text
}

// bracket looks at a bracket expression with the delimiter in it, and goes to
// its last character if it is text.
func (p *sedParser) bracket(skip bool, delim byte) {
	rest := p.src[p.pos+1:]
	set := strings.TrimLeft(rest[:min(2, len(rest))], "^]") // a bracket that comes first is text
	first := min(2, len(rest)) - len(set)
	end := strings.IndexByte(rest[first:], ']')
	if end < 0 || strings.IndexByte(rest[:first+end], delim) < 0 {
		return
	}
	p.bracketed = true
	if skip {
		p.pos += first + end
	}
}

// pair consumes two texts between three delimiters and returns the second.
func (p *sedParser) pair(brackets bool) string {
	p.delimited(brackets)
	if p.pos > 0 {
		p.pos-- // the middle delimiter opens the second text
	}
	return p.delimited(false)
}

// substitute consumes the arguments of s. A replacement that is executed is a
// command line.
func (p *sedParser) substitute() {
	delim := p.src[min(p.pos, len(p.src)-1)]
	text := p.pair(p.brackets)
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == 'e':
			p.out.executes = true
			p.out.commands = append(p.out.commands, strings.ReplaceAll(text, `\`+string(delim), string(delim)))
		case c == 'w':
			p.pos++
			p.out.writes = append(p.out.writes, p.line())
			return
		case strings.IndexByte("gpiImM0123456789", c) < 0:
			return
		}
		p.pos++
	}
}

// skipTo goes to the next byte of a set.
func (p *sedParser) skipTo(set string) {
	for p.pos < len(p.src) && strings.IndexByte(set, p.src[p.pos]) < 0 {
		p.pos++
	}
}

// skipFlags consumes letters of a set.
func (p *sedParser) skipFlags(set string) {
	for p.pos < len(p.src) && strings.IndexByte(set, p.src[p.pos]) >= 0 {
		p.pos++
	}
}

// line consumes the rest of the line.
func (p *sedParser) line() string {
	rest := p.src[p.pos:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	p.pos += len(rest)
	return strings.TrimSpace(rest)
}

// sedScripts lists the scripts of a sed command and the files it edits.
func sedScripts(g *arguments) (scripts, files []word) {
	scripts = g.values("-e", "--expression")
	files = g.operands
	if len(scripts) == 0 && !g.has("-f", "--file") && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	return scripts, files
}

// sedCommand looks into sed scripts for the commands that run programs.
func sedCommand(c *call) output {
	scripts, files := sedScripts(c.args)
	out := rewriteOutput(c)
	for _, w := range scripts {
		s := parseSed(w.text)
		for _, line := range s.commands {
			c.a.script(line, c.f.inner(), c.sc.fork())
		}
		for _, name := range s.writes {
			c.a.writes(word{text: name}, ViewRedirect, c.f, c.sc)
		}
		if s.executes {
			out.mark(taintDecoded, "")
		}
	}
	if c.args.has("-i", "--in-place") {
		for _, w := range files {
			c.a.writes(w, ViewArgv, c.f, c.sc)
		}
	}
	for _, w := range files {
		if c.a.isSecret(w.text, c.sc) {
			out.mark(taintSecret, "")
		}
	}
	return out
}
