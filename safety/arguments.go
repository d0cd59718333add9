package safety

import (
	"slices"
	"strings"
)

// blank stands for white space inside a word of a canonical line.
const blank = "␣"

// option is one option with its value.
type option struct {
	name  string
	value word
	// has says that a value was given.
	has bool
}

// arguments is a command line taken apart.
type arguments struct {
	name     string
	subs     []string
	first    [2]string // room for most subs
	opts     []option
	operands []word
	// rest is the inner command of a wrapper.
	rest []word
	// dashes says that "--" ended the options.
	dashes bool
	prog   *program
}

// has reports whether one of the options was given.
func (g *arguments) has(names ...string) bool {
	return slices.ContainsFunc(g.opts, func(o option) bool { return slices.Contains(names, o.name) })
}

// values lists the values of the named options.
func (g *arguments) values(names ...string) []word {
	var out []word
	for _, o := range g.opts {
		if o.has && slices.Contains(names, o.name) {
			out = append(out, o.value)
		}
	}
	return out
}

// sub is the first subcommand, or empty.
func (g *arguments) sub() string {
	if len(g.subs) == 0 {
		return ""
	}
	return g.subs[0]
}

// command is the name with its subcommands.
func (g *arguments) command() string {
	if len(g.subs) == 0 {
		return g.name
	}
	return g.name + " " + strings.Join(g.subs, " ")
}

// argumentParser takes a command line apart.
type argumentParser struct {
	e     *engine
	mem   *scratch
	prog  *program
	words []word
	out   *arguments
	// seen are the option letters without a value given so far. A line of
	// thousands of them is not worth thousands of options.
	seen [2]uint64
}

// arguments takes words apart by the table row of a program. words[0] is the
// program itself.
func (e *engine) arguments(name string, words []word) *arguments {
	return e.argumentsIn(&scratch{}, e.program(name), name, words)
}

// arguments takes words apart for as long as the analysis lasts.
func (a *analysis) arguments(name string, words []word) *arguments {
	return a.argumentsOf(a.e.program(name), name, words)
}

// argumentsOf is arguments for a program that was looked up; nil has no row.
func (a *analysis) argumentsOf(p *program, name string, words []word) *arguments {
	return a.e.argumentsIn(a.mem, p, name, words)
}

// argumentsIn takes words apart in the memory of mem.
func (e *engine) argumentsIn(mem *scratch, prog *program, name string, words []word) *arguments {
	p := argumentParser{e: e, mem: mem, prog: prog, words: words}
	p.out = mem.args.one(arguments{name: name, opts: mem.options.take(countOptions(words))[:0]})
	if p.prog == nil {
		p.prog = e.unlisted
	}
	for i := 1; i < len(words); {
		i = p.next(i)
	}
	p.out.prog = p.prog
	return p.out
}

// countOptions guesses how many options words hold: a cluster counts as a few.
func countOptions(words []word) int {
	n := 0
	for _, w := range words[1:] {
		switch {
		case strings.HasPrefix(w.text, "--"):
			n++
		case strings.HasPrefix(w.text, "-"):
			n += min(len(w.text)-1, 4)
		}
	}
	return n
}

// next consumes the word at i and returns the index of the following one.
func (p *argumentParser) next(i int) int {
	text := p.words[i].text
	switch {
	case text == "--" && len(p.out.subs) < p.prog.Subs:
		return i + 1
	case text == "--":
		return p.afterDashes(i + 1)
	case p.isOption(text) && !p.isRest():
		return p.option(i)
	case len(p.out.subs) < p.prog.Subs:
		if p.out.subs == nil {
			p.out.subs = p.out.first[:0]
		}
		p.out.subs = append(p.out.subs, text)
		if sub := p.e.subprogram(p.out); sub != nil {
			p.prog = sub
		}
		return i + 1
	case p.prog.Wrap && len(p.out.operands) >= p.prog.Skip:
		p.out.rest = p.words[i:]
		return len(p.words)
	}
	if p.out.operands == nil {
		p.out.operands = p.mem.words.take(len(p.words) - i)[:0]
	}
	p.out.operands = append(p.out.operands, p.words[i])
	return i + 1
}

// isRest reports whether everything from here on belongs to the inner command,
// options included.
func (p *argumentParser) isRest() bool {
	return p.prog.Wrap && !p.prog.Loose && p.prog.Skip > 0 && len(p.out.operands) >= p.prog.Skip
}

// afterDashes takes everything from i as operands, or as the inner command.
func (p *argumentParser) afterDashes(i int) int {
	rest := p.words[i:]
	p.out.dashes = true
	if p.prog.Wrap || p.prog.WrapDash {
		for len(rest) > 0 && p.prog.Wrap && len(p.out.operands) < p.prog.Skip {
			p.out.operands = append(p.out.operands, rest[0])
			rest = rest[1:]
		}
		p.out.rest = rest
		return len(p.words)
	}
	p.out.operands = append(p.out.operands, rest...)
	return len(p.words)
}

// isOption reports whether a word is an option here.
func (p *argumentParser) isOption(text string) bool {
	if len(text) < 2 || text[0] != '-' {
		return false
	}
	if isShell(p.out.name) && strings.ContainsAny(text, " \t\n") { // a script, whatever it starts with
		return false
	}
	// After the signal, a number with a dash is a process group.
	if p.prog.Signals && len(p.out.opts) > 0 && text[1] >= '0' && text[1] <= '9' {
		return false
	}
	return true
}

// option consumes the option at i.
func (p *argumentParser) option(i int) int {
	w := p.words[i]
	if slices.Contains(p.prog.RestOpts, w.text) {
		p.out.rest = p.words[i+1:]
		return len(p.words)
	}
	if p.prog.Signals && !p.prog.takesValue(w.text) && !strings.HasPrefix(w.text, "--") {
		p.out.opts = append(p.out.opts, option{name: w.text})
		return i + 1
	}
	if strings.HasPrefix(w.text, "--") || p.prog.Single || p.prog.takesValue(w.text) {
		return p.longOption(i)
	}
	for j := 1; j < len(w.text); j++ {
		name := p.e.letters[2*int(w.text[j]):][:2]
		rest := word{text: w.text[j+1:], dyn: w.dyn, taint: w.taint, source: w.source, prog: w.prog}
		if strings.Contains(p.prog.Attached, name) {
			p.out.opts = append(p.out.opts, option{name: name, value: rest, has: rest.text != ""})
			return i + 1
		}
		if !p.prog.takesValue(name) {
			p.letter(w.text[j], name)
			continue
		}
		if rest.text == "" && i+1 < len(p.words) {
			i++
			rest = p.words[i]
		}
		rest.text = strings.TrimPrefix(rest.text, "=")
		p.out.opts = append(p.out.opts, option{name: name, value: rest, has: true})
		break
	}
	return i + 1
}

// letter adds an option of one letter without a value, once.
func (p *argumentParser) letter(c byte, name string) {
	if c < 128 {
		if p.seen[c/64]&(1<<(c%64)) != 0 {
			return
		}
		p.seen[c/64] |= 1 << (c % 64)
	}
	p.out.opts = append(p.out.opts, option{name: name})
}

// longOption consumes an option whose name is more than one letter.
func (p *argumentParser) longOption(i int) int {
	w := p.words[i]
	name, text, has := strings.Cut(w.text, "=")
	name = p.complete(name)
	val := w
	val.text = text
	if !has && p.prog.takesValue(name) && i+1 < len(p.words) {
		i++
		val, has = p.words[i], true
		if slices.Contains(p.prog.Pairs, name) {
			i++
		}
	}
	if !has {
		val = word{}
	}
	p.out.opts = append(p.out.opts, option{name: name, value: val, has: has})
	return i + 1
}

// complete resolves the abbreviation of a long option. An ambiguous one stays,
// as the program would refuse it.
func (p *argumentParser) complete(name string) string {
	abbreviated, ok := strings.CutPrefix(name, "--")
	if !ok || abbreviated == "" || slices.Contains(p.prog.Long, abbreviated) {
		return name
	}
	found := ""
	for _, long := range p.prog.Long {
		if strings.HasPrefix(long, abbreviated) {
			if found != "" && !strings.HasPrefix(long, found) && !strings.HasPrefix(found, long) {
				return name
			}
			if found == "" || len(long) < len(found) {
				found = long
			}
		}
	}
	if found == "" {
		return name
	}
	return "--" + found
}

// isQuery reports whether the command only asks for help or its version, which
// every program here answers without acting when nothing else is given.
func (g *arguments) isQuery() bool {
	if len(g.operands) == 1 && g.operands[0].text == "help" && len(g.subs) > 0 {
		return true
	}
	if len(g.operands) > 0 || len(g.rest) > 0 {
		return false
	}
	if len(g.subs) > 0 && len(g.opts) == 1 && g.opts[0].name == "-h" {
		return true
	}
	for _, o := range g.opts {
		switch o.name {
		case "--help", "--version", "-help", "-version":
			return true
		}
		if slices.Contains(g.prog.Help, o.name) && len(g.opts) == 1 {
			return true
		}
	}
	return false
}

// isPreview reports whether the command only says what it would do.
func (g *arguments) isPreview() bool {
	found := false
	for _, o := range g.opts {
		if g.prog.listed(o, func(p *program) []string { return p.Unless }) {
			return false
		}
		found = found || g.prog.listed(o, func(p *program) []string { return p.Preview })
	}
	return found
}

// listed reports whether an option is in a list of the program or of the
// program that it is a subcommand of.
func (p *program) listed(o option, list func(*program) []string) bool {
	for ; p != nil; p = p.parent {
		if names := list(p); slices.Contains(names, o.name) || o.has && slices.Contains(names, o.name+"="+o.value.text) {
			return true
		}
	}
	return false
}

// size guesses the length of the canonical line.
func (g *arguments) size() int {
	const class = 12
	n := len(g.name) + len(" -- --paths")
	for _, s := range g.subs {
		n += 1 + len(s)
	}
	for _, o := range g.opts {
		n += 2 + len(o.name) + min(len(o.value.text), maxShown)
	}
	for _, w := range g.operands {
		n += class + min(len(w.text), maxShown)
	}
	return n
}

// canonical renders the canonical line. Whether the options ended with an explicit
// "--", which separates branches from paths in git, shows as "--paths".
func (a *analysis) canonical(g *arguments, cwd string, dialect Platform) string {
	b := a.mem.text.start(g.size())
	b.WriteString(g.name)
	for _, s := range g.subs {
		writeWord(b, s)
	}
	for _, o := range g.opts {
		writeWord(b, o.name)
		if o.has {
			b.WriteByte('=')
			writeEscaped(b, o.value.text)
		}
	}
	if g.dashes {
		b.WriteString(" --paths")
	}
	b.WriteString(" --")
	for _, w := range g.operands {
		b.WriteByte(' ')
		if dialect == PlatformWindows {
			a.e.writeWindowsOperand(b, w.text, cwd)
		} else {
			a.e.writeOperand(b, w.text, cwd)
		}
	}
	return a.mem.text.end()
}

// writeOperand renders an operand with the class of the path it names. In
// key=value operands, as of dd, the value is the path.
func (e *engine) writeOperand(b *strings.Builder, text, cwd string) {
	if key, value, ok := strings.Cut(text, "="); ok && len(key) < 12 && !strings.ContainsAny(key, "/.~") {
		writeEscaped(b, key+"=")
		text = value
	}
	class, clean := e.classify(text, cwd)
	if class != classNone {
		b.WriteString("<" + string(class) + ">")
	}
	writeEscaped(b, clean)
}

// writeWord writes a blank and a word.
func writeWord(b *strings.Builder, s string) {
	b.WriteByte(' ')
	writeEscaped(b, s)
}

// maxShown bounds how much of one word a canonical line shows. No pattern looks
// further, and a line of long words would be searched for long.
const maxShown = 1024

// writeEscaped writes a word without white space.
func writeEscaped(b *strings.Builder, s string) {
	if len(s) > maxShown {
		s = s[:maxShown]
	}
	if !strings.ContainsAny(s, " \t\r\n\v\f") {
		b.WriteString(s)
		return
	}
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\r', '\n', '\v', '\f':
			b.WriteString(blank)
		default:
			b.WriteByte(c)
		}
	}
}
