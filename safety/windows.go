package safety

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf16"
)

// windows reads a cmd.exe or PowerShell line and returns what it prints.
func (a *analysis) windows(src string, f frame, sc *scope) output {
	a.parsed += len(src)
	if a.stopped || strings.TrimSpace(src) == "" {
		return output{}
	}
	if f.depth > maxDepth || a.parsed > a.budget() || nestedTooDeep(src) {
		a.giveUp(f)
		return output{dyn: true}
	}
	if a.e.win.posix[a.e.win.winName(firstField(src))] {
		// Git Bash and its kin read the rest of the line themselves. What they
		// are told to run may still be meant for this system.
		a.hosted = true
		return a.script(src, f, sc)
	}
	f.dialect = PlatformWindows
	out := a.winLine(src, f, sc)
	if variants := unbalanced(src); len(variants) > 0 && !a.naive {
		a.naive = true
		for _, v := range variants {
			a.winLine(v, fixedFrame(f), sc.fork())
		}
		a.naive = false
		if strings.Count(src, `"`)%2 == 1 || strings.Count(src, "(") != strings.Count(src, ")") {
			a.sink.unparsed(f.view(src))
		}
	}
	return out
}

// unbalanced lists a line without each quote or bracket that may be one too
// many; nil if all have their pair. Neither language says what such a line
// means, and a stray quote must not hide what it holds.
func unbalanced(src string) []string {
	var out []string
	for _, mark := range []string{`"`, "'"} {
		if strings.Count(src, mark)%2 == 1 {
			first, last := strings.Index(src, mark), strings.LastIndex(src, mark)
			out = append(out, src[:last]+src[last+1:])
			if first != last {
				out = append(out, src[:first]+src[first+1:])
			}
		}
	}
	if opened, closed := strings.Count(src, "("), strings.Count(src, ")"); opened > closed {
		at := strings.LastIndexByte(src, '(')
		out = append(out, strings.TrimSuffix(src[:at], "$")+" "+src[at+1:])
	} else if closed > opened {
		at := strings.IndexByte(src, ')')
		out = append(out, src[:at]+" "+src[at+1:])
	}
	return out
}

// winLine reads a line as it is.
func (a *analysis) winLine(src string, f frame, sc *scope) output {
	l := winLexer{src: src, mem: a.mem, vars: a.e.win.variables}
	return a.winPipelines(l.block(0), f, sc)
}

// firstField is the first word of a line, quotes and all.
func firstField(s string) string {
	s = strings.TrimLeft(s, " \t\r\n")
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		return s[:i]
	}
	return s
}

// winPipelines walks a list of pipelines.
func (a *analysis) winPipelines(list []winPipeline, f frame, sc *scope) output {
	var all joiner
	for _, p := range list {
		g := f
		var last output
		for i := range p {
			if a.stopped {
				return all.sum()
			}
			last = a.winCommand(&p[i], g, sc)
			if i+1 < len(p) {
				g.stdin = a.mem.outputs.one(last)
			}
		}
		all.add(last)
	}
	return all.sum()
}

// winCommand walks one command: first what is nested in it, then itself.
func (a *analysis) winCommand(cmd *winCommand, f frame, sc *scope) output {
	f = f.at(cmd.start, cmd.end)
	words := cmd.words
	if len(cmd.blocks) > 0 {
		words = slices.Clone(words)
	}
	for i := range words {
		inner, ok := cmd.blocks[i]
		if !ok {
			continue
		}
		out := a.winPipelines(inner, f, sc)
		words[i].taint, words[i].source, words[i].prog = out.taint, out.source, a.mem.outputs.one(out)
		if len(out.operands) == 1 { // what Get-Item and the like return
			words[i].text, words[i].dyn = out.operands[0].text, false
		}
		if out.text != "" && !out.dyn {
			words[i].text, words[i].dyn = strings.TrimRight(out.text, "\r\n"), false
		}
		if len(words) == 1 {
			return out
		}
	}
	words, targets := a.winRedirects(words, f)
	if len(words) == 0 {
		return output{}
	}
	if cmd.literal {
		return output{text: joinWords(words)}
	}
	a.winCode(cmd.raw, words, f)
	words = winItems(words, f, sc)
	if len(words) == 0 {
		return output{dyn: true}
	}
	out := a.winSimple(words, cmd.raw, f, sc)
	for _, t := range targets {
		sc.write(strings.ToLower(t), out, false)
	}
	return out
}

// winRedirects takes the redirections out of the words and lists the files
// written.
func (a *analysis) winRedirects(words []word, f frame) (rest []word, targets []string) {
	if !slices.ContainsFunc(words, func(w word) bool { return strings.IndexByte(w.text, '>') >= 0 }) {
		return words, nil
	}
	for i := 0; i < len(words); i++ {
		text := words[i].text
		body := strings.TrimLeft(text, "0123456789*")
		if body == "" || body[0] != '>' || len(text)-len(body) > 1 {
			rest = append(rest, words[i])
			continue
		}
		name := strings.TrimLeft(body, ">")
		if name == "" && i+1 < len(words) {
			i++
			name = words[i].text
		}
		if name == "" || name[0] == '&' || strings.EqualFold(name, "nul") || strings.EqualFold(name, "$null") {
			continue
		}
		targets = append(targets, name)
		if class, clean := a.e.classifyWindows(name, ""); class == classDevice || class == classWindows {
			a.report("write: <"+string(class)+">"+clean, ViewRedirect, f)
		}
	}
	return rest, targets
}

// winItems replaces the current item of a pipeline by what came down it, and
// variables assigned from commands by their marks.
func winItems(words []word, f frame, sc *scope) []word {
	if f.stdin == nil && len(sc.vars) == 0 {
		return words
	}
	var out []word
	for _, w := range words {
		lower := strings.ToLower(w.text)
		name, _, _ := strings.Cut(strings.TrimPrefix(lower, "$"), ".")
		switch v, known := sc.vars[name]; {
		case f.stdin != nil && (lower == "$_" || strings.HasPrefix(lower, "$_.") || lower == "$psitem") && len(f.stdin.operands) > 0:
			out = append(out, f.stdin.operands...)
			continue
		case f.stdin != nil && lower == "$_":
			w.taint, w.source = f.stdin.taint, f.stdin.source
		case known && strings.HasPrefix(lower, "$") && len(v.fields) == 1:
			w.taint, w.source, w.prog = v.fields[0].taint, v.fields[0].source, v.fields[0].prog
		}
		out = append(out, w)
	}
	return out
}

// winCode reports the text of a command that calls into .NET. Commands that
// only print or search are left out: their arguments are data.
func (a *analysis) winCode(raw string, words []word, f frame) {
	array := strings.IndexByte(raw, '[') >= 0
	if !array && (strings.IndexByte(raw, '(') < 0 || strings.IndexByte(raw, '.') < 0 && !strings.Contains(raw, "::")) {
		return
	}
	if a.e.win.silent[a.e.win.winName(words[0].text)] {
		return
	}
	a.report("code: powershell "+strings.ToLower(strings.Join(strings.Fields(raw), " ")), ViewCode, f)
}

// winSimple walks a command without redirections.
func (a *analysis) winSimple(words []word, raw string, f frame, sc *scope) output {
	for n := 0; ; n++ {
		if n > maxWrappers || len(f.wrappers) > maxWrappers {
			a.giveUp(f)
		}
		if !a.step(f) {
			return output{}
		}
		if a.winAssignment(words, raw, f, sc) {
			return output{}
		}
		if words[0].prog != nil && len(words) == 1 { // a group behind a wrapper
			return *words[0].prog
		}
		if text, ok := sc.aliases[strings.ToLower(words[0].text)]; ok {
			words = append([]word{{text: text}}, words[1:]...)
		}
		a.sink.command(words, PlatformWindows)
		if _, _, ok := assignment(words[0].text); ok && len(words) > 1 { // a POSIX shell runs what follows
			return a.simple(words, f.posix(), sc.fork())
		}
		if w := words[0]; w.taint&(taintRemote|taintDecoded) != 0 {
			a.executes(output{taint: w.taint, source: w.source}, "powershell", f)
		}
		c := a.mem.winCalls.one(winCall{a: a, name: a.e.win.winName(words[0].text), words: words, raw: raw, f: f, sc: sc})
		inner, out, done := c.run()
		if done {
			return out
		}
		f = f.wrap(c.name)
		words = inner
	}
}

// posix is the frame of a command of f that a POSIX shell runs.
func (f frame) posix() frame {
	f.dialect = PlatformUnix
	return f
}

// winAssignment handles `$x = command`; it reports whether words is one.
func (a *analysis) winAssignment(words []word, raw string, f frame, sc *scope) bool {
	name, rest, glued := strings.Cut(words[0].text, "=")
	if !strings.HasPrefix(name, "$") {
		return false
	}
	inner := words[1:]
	switch {
	case glued && rest != "":
		first := words[0]
		first.text = rest
		inner = append([]word{first}, inner...)
	case !glued && len(inner) > 0 && inner[0].text == "=":
		inner = inner[1:]
	case !glued:
		return false
	}
	if _, val, _ := strings.Cut(raw, "="); len(inner) == 0 || strings.IndexAny(strings.TrimSpace(val), `'"`) == 0 {
		return true // a string, which the lexer remembers
	}
	out := a.winSimple(inner, "", f, sc)
	for _, w := range inner {
		out.mark(w.taint, w.source)
	}
	sc.set(strings.ToLower(name[1:]), value{fields: []word{{text: out.text, dyn: true, taint: out.taint, source: out.source}}})
	return true
}

// winCall is one Windows command under analysis.
type winCall struct {
	a     *analysis
	name  string
	words []word
	raw   string
	args  *arguments
	f     frame
	sc    *scope
}

// winHandler looks into one Windows command. It returns an inner command to go
// on with, or what the command prints.
type winHandler func(c *winCall) (inner []word, out output, done bool)

// run reports one layer of a command.
func (c *winCall) run() (inner []word, out output, done bool) {
	t := c.a.e.win
	h := t.handlers[c.name]
	if t.wrappers[c.name] && !c.a.sink.wants(c.name) && len(c.words) > 1 && c.words[1].text != "/?" {
		return h(c)
	}
	c.args = c.a.winArguments(c.name, c.words)
	if c.isQuery() {
		return nil, output{dyn: true}, true
	}
	if out, ok := c.runsFile(); ok {
		return nil, out, true
	}
	if h == nil && (c.words[0].prog != nil || strings.HasPrefix(c.name, "$")) {
		c.unknown()
	}
	if h == nil && c.portable() {
		return nil, c.a.simple(c.portableWords(), c.f, c.sc), true
	}
	if c.a.sink.wants(c.name) {
		c.emit(c.args)
	}
	if h != nil {
		return h(c)
	}
	return nil, c.passOn(), true
}

// isQuery recognises commands that only ask for help or a preview.
func (c *winCall) isQuery() bool {
	if c.args.has("/?", "-?", "-whatif") {
		return true
	}
	return len(c.args.operands) == 0 && c.args.has("--help", "--version", "-help")
}

// unknown looks at a command whose program is the value of an expression: its
// parameters may be those of a recursive delete.
func (c *winCall) unknown() {
	if g := c.a.winArguments("remove-item", c.words); g.has("-recurse") {
		c.emit(g)
	}
}

// portable reports whether the command is a program that exists on both systems
// and is described by the POSIX tables.
func (c *winCall) portable() bool {
	switch c.name {
	case "find", "sort", "more", "tree", "format", "shutdown", "timeout", "set", "echo", "cd", "net", "sc", "reg", "time", "date", "at", "mount", "kill", "rm", "mv", "cp", "env", "history":
		return false
	}
	known := c.a.e.names[c.a.e.canonicalName(c.name)]
	return known.program != nil || known.handler != nil
}

// portableWords are the words with the program reduced to its name.
func (c *winCall) portableWords() []word {
	words := c.a.mem.words.take(len(c.words))
	copy(words, c.words)
	words[0].text = c.name
	return words
}

// passOn is the output of a command that is not known: marks survive.
func (c *winCall) passOn() output {
	out := output{dyn: true, program: c.name}
	if in := c.f.stdin; in != nil {
		out.taint, out.source = in.taint, in.source
	}
	for _, w := range c.words {
		out.mark(w.taint, w.source)
	}
	if len(c.words) == 1 && strings.Contains(c.words[0].text, " ") { // a string is its own value
		out.text = c.words[0].text
	}
	lower := strings.ToLower(c.raw)
	switch {
	case strings.Contains(lower, "downloadstring") || strings.Contains(lower, "downloaddata") || strings.Contains(lower, "getstringasync") || strings.Contains(lower, "openread("):
		out.mark(taintRemote, "fetch")
	case strings.Contains(lower, "frombase64string"):
		out.mark(taintDecoded, "")
	}
	return out
}

// emit reports a canonical line.
func (c *winCall) emit(g *arguments) {
	c.a.sink.view(c.f.view(c.a.winCanonical(g, c.sc.cwd)))
}

// nested reads text as another Windows line.
func (c *winCall) nested(text string) output {
	g := c.f.inner()
	return c.a.windows(text, g, c.sc)
}

// runsFile handles a program that is a file this line wrote or fetched.
func (c *winCall) runsFile() (output, bool) {
	if len(c.sc.files) == 0 {
		return output{}, false
	}
	known, ok := c.sc.read(strings.ToLower(strings.TrimLeft(c.words[0].text, `.\/`)))
	if !ok {
		known, ok = c.sc.read(strings.ToLower(c.words[0].text))
	}
	if !ok {
		return output{}, false
	}
	c.a.executes(known, c.name, c.f)
	return c.nested(known.text), true
}

// decodeUTF16 decodes the argument of -EncodedCommand.
func decodeUTF16(text string) (string, bool) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(stripSpace(text), "="))
	if err != nil || len(raw)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = uint16(raw[2*i]) | uint16(raw[2*i+1])<<8
	}
	return string(utf16.Decode(units)), true
}
