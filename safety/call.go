package safety

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is one simple command under analysis.
type call struct {
	a    *analysis
	name string
	// words are the fields, the program included.
	words []word
	args  *arguments
	f     frame
	sc    *scope
}

// handler looks into the commands of one program: what else they execute, write,
// send or print.
type handler func(c *call) output

// callExpr expands a simple command and walks it.
func (a *analysis) callExpr(c *syntax.CallExpr, f frame, sc *scope) output {
	words := a.expand(c.Args, f, sc)
	var first [4]shadowed
	hidden := first[:0]
	for _, as := range c.Assigns {
		v := a.assigned(as, f, sc)
		a.environment(as.Name.Value, v, f, sc)
		if len(c.Args) > 0 { // only the command, and the scripts it runs, see it
			old, ok := sc.vars[as.Name.Value]
			hidden = append(hidden, shadowed{name: as.Name.Value, old: old, set: ok})
		}
		a.assign(as, v, f, sc)
	}
	var out output
	if len(words) > 0 {
		out = a.simple(words, f, sc)
	}
	for _, w := range words {
		a.feed(w, out, f, sc)
	}
	sc.restore(hidden)
	return out
}

// assigned evaluates the right-hand side of an assignment.
func (a *analysis) assigned(as *syntax.Assign, f frame, sc *scope) value {
	if as.Array == nil {
		return value{fields: []word{a.joined(as.Value, f, sc)}}
	}
	var v value
	for _, elem := range as.Array.Elems {
		if elem.Value != nil {
			v.fields = a.expandWord(v.fields, elem.Value, f, sc)
		}
	}
	return v
}

// assign stores the value of an assignment.
func (a *analysis) assign(as *syntax.Assign, v value, f frame, sc *scope) {
	name := as.Name.Value
	if as.Index != nil && as.Array == nil {
		v = sc.element(name, v)
	} else if as.Append {
		old, ok := sc.vars[name]
		switch {
		case !ok:
		case as.Array != nil:
			v.fields = append(slices.Clone(old.fields), v.fields...)
		default:
			w := v.fields[0]
			a.spend(old, f)
			w.text = appended(old.text(), w.text)
			v.fields = []word{w}
		}
	}
	sc.set(name, v)
}

// environment looks at variables whose value some program will execute.
func (a *analysis) environment(name string, v value, f frame, sc *scope) {
	switch name {
	case "GIT_EXTERNAL_DIFF", "PAGER", "EDITOR", "VISUAL", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "PS4", "RSYNC_RSH", "CVS_RSH", "FCEDIT", "SVN_SSH",
		"RUSTC", "RUSTDOC", "npm_config_script_shell", "NPM_CONFIG_SCRIPT_SHELL":
		a.script(strings.TrimPrefix(v.text(), "|"), f.inner(), sc.fork())
	case "PS0", "PS1", "PS2":
		if strings.Contains(v.text(), "$(") || strings.Contains(v.text(), "`") { // expanded before it is shown
			a.tryScript(`: "`+v.text()+`"`, f.inner(), sc)
		}
	case "BASH_ENV", "ENV":
		a.startupFile(v, f, sc)
	case "TAR_OPTIONS", "MAKEFLAGS", "GNUMAKEFLAGS", "LESS", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS":
		program := strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(name, "GNU")), "flags")
		program, _, _ = strings.Cut(strings.TrimSuffix(program, "5opt"), "_")
		a.tryScript(strings.TrimSuffix(program, "opt")+" "+v.text(), f.inner(), sc)
	default:
		if programVariable(name) {
			a.script(strings.TrimPrefix(v.text(), "!"), f.inner(), sc.fork())
		}
	}
}

// programVariable recognises, by their endings, variables that name a program for
// one purpose or another.
func programVariable(name string) bool {
	cut := strings.LastIndexByte(name, '_')
	if cut < 0 {
		return false
	}
	switch name[cut:] {
	case "_COMMAND", "_EDITOR", "_PAGER", "_ASKPASS", "_WRAPPER", "_RUNNER", "_LINKER":
		return true
	}
	return strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
}

// startupFile runs a file that a shell reads before anything else, if this line
// wrote it.
func (a *analysis) startupFile(v value, f frame, sc *scope) {
	known, ok := sc.read(v.text())
	if len(v.fields) == 1 && v.fields[0].prog != nil {
		known, ok = *v.fields[0].prog, true
	}
	if ok {
		a.script(known.text, f.inner(), sc.fork())
	}
}

// declClause walks declare, export, local and the like.
func (a *analysis) declClause(d *syntax.DeclClause, f frame, sc *scope) output {
	for _, as := range d.Args {
		if as.Name == nil {
			a.subscript(a.joined(as.Value, f, sc).text, f, sc)
			continue
		}
		if as.Naked {
			continue
		}
		v := a.assigned(as, f, sc)
		a.environment(as.Name.Value, v, f, sc)
		a.assign(as, v, f, sc)
	}
	return output{}
}

// simple walks a simple command: it peels wrappers off, reports what each layer
// is, and returns what the command prints.
func (a *analysis) simple(words []word, f frame, sc *scope) output {
	mark := a.mem.mark()
	out := a.layers(words, f, sc)
	a.mem.release(&mark)
	return out
}

// layers is simple in memory that is released afterwards.
func (a *analysis) layers(words []word, f frame, sc *scope) output {
	for n := 0; ; n++ {
		words = a.leadingAssignments(words, f, sc)
		if len(words) == 0 || a.stopped {
			return output{}
		}
		if n > maxWrappers {
			a.giveUp(f)
		}
		if !a.step(f) {
			return output{}
		}
		a.sink.command(words, PlatformUnix)
		if out, done := a.unusualName(words, f, sc); done {
			return out
		}
		c := a.mem.calls.one(call{a: a, name: a.e.canonicalName(words[0].text), words: words, f: f, sc: sc})
		if name, sub, ok := strings.Cut(c.name, " "); ok { // docker-compose is docker compose
			c.name, c.words = name, append([]word{{text: name}, {text: sub}}, words[1:]...)
		}
		inner, out, done := c.run()
		if done {
			return out
		}
		f = f.wrap(c.name)
		words = inner
	}
}

// leadingAssignments drops NAME=value words in front of a command. A shell does
// not treat them so after a wrapper, but env does, and reading them as
// assignments everywhere means that a wrapper never hides one.
func (a *analysis) leadingAssignments(words []word, f frame, sc *scope) []word {
	for len(words) > 0 && strings.IndexByte(words[0].text, '=') >= 0 {
		name, text, ok := assignment(words[0].text)
		if !ok {
			a.oddAssignments(words, f, sc)
			break
		}
		w := words[0]
		w.text = text
		if bare, more := strings.CutSuffix(name, "+"); more {
			old := sc.vars[bare]
			name, w.text = bare, appended(old.text(), text)
		}
		v := value{fields: []word{w}}
		if words[0].text[len(name)] == '[' { // an element of an array
			v = sc.element(name, v)
		}
		a.environment(name, v, f, sc)
		sc.set(name, v)
		words = words[1:]
	}
	return words
}

// assignment takes NAME=value apart. A name ends with a plus sign if the value is
// appended; the index of an array element is left out. Without a name that a shell
// would take, ok is false.
func assignment(text string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(text, "=")
	if !ok {
		return "", "", false
	}
	bare := strings.TrimSuffix(name, "+")
	if open := strings.IndexByte(bare, '['); open > 0 && bare[len(bare)-1] == ']' {
		name, bare = bare[:open], bare[:open]
	}
	return name, value, syntax.ValidName(bare)
}

// appended is the value of a variable after an assignment with "+=".
func appended(old, text string) string {
	if old == "" || len(old)+len(text) > maxValue {
		return text
	}
	return old + text
}

// oddAssignments walks what follows words such as a.b=1. No shell takes those for
// assignments, but env does, and other programs that set variables.
func (a *analysis) oddAssignments(words []word, f frame, sc *scope) {
	for len(words) > 0 && strings.IndexByte(words[0].text, '=') >= 0 {
		words = words[1:]
	}
	if len(words) > 0 {
		a.simple(words, f.wrap("env"), sc.fork())
	}
}

// unusualName handles commands whose program is not a plain name: aliases,
// functions, patterns and unresolved expansions.
func (a *analysis) unusualName(words []word, f frame, sc *scope) (out output, done bool) {
	w := words[0]
	if w.taint&(taintRemote|taintDecoded) != 0 {
		a.executes(output{taint: w.taint, source: w.source}, "sh", f)
	}
	if text, ok := sc.aliases[w.text]; ok {
		delete(sc.aliases, w.text) // an alias does not expand inside itself
		out = a.script(text+" "+quoteWords(words[1:]), f.inner(), sc)
		sc.aliases[w.text] = text
		return out, true
	}
	if len(words) == 1 && len(f.wrappers) > 0 && strings.ContainsAny(w.text, " \t\n") { // many wrappers hand one word to a shell
		a.script(w.text, f.inner(), sc.fork())
	}
	if script, ok := strings.CutPrefix(w.text, "/etc/init.d/"); ok {
		a.emit(a.arguments("service", append([]word{{text: "service"}, {text: script}}, words[1:]...)), f, sc)
	}
	if body, ok := sc.funcs[w.text]; ok && sc.calls < maxDepth {
		return a.callFunction(body, words, f, sc), true
	}
	if known, ok := sc.read(w.text); ok {
		a.executes(known, "sh", f)
		a.script(known.text, f.inner(), sc.fork())
	}
	switch {
	case w.dyn:
		a.dynamicName(words, f, sc)
	case w.glob:
		a.globName(words, f, sc)
	}
	return output{}, false
}

// callFunction walks the body of a function with its arguments.
func (a *analysis) callFunction(body *syntax.Stmt, words []word, f frame, sc *scope) output {
	old := sc.positional
	sc.positional = words[1:]
	sc.calls++
	out := a.stmt(body, fixedFrame(f), sc)
	sc.calls--
	sc.positional = old
	return out
}

// fixedFrame keeps the positions of the call while its body is walked.
func fixedFrame(f frame) frame {
	f.fixed = true
	return f
}

// funcDecl records a function and walks its body, in case nothing calls it
// here: it may be called later.
func (a *analysis) funcDecl(d *syntax.FuncDecl, f frame, sc *scope) output {
	if sc.funcs == nil {
		sc.funcs = map[string]*syntax.Stmt{}
	}
	if d.Name == nil {
		return output{}
	}
	if spawnsItself(d.Name.Value, d.Body) {
		a.report("forkbomb: "+d.Name.Value, ViewArgv, f)
		return output{}
	}
	a.stmt(d.Body, f, sc.fork())
	sc.funcs[d.Name.Value] = d.Body
	return output{}
}

// spawnsItself recognises a fork bomb: a function that calls itself in a pipe or
// in the background.
func spawnsItself(name string, body *syntax.Stmt) bool {
	found := false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && (calls(n.X, name) || calls(n.Y, name)) {
				found = true
			}
		case *syntax.Stmt:
			if n.Background && calls(n, name) {
				found = true
			}
		}
		return !found
	})
	return found
}

// calls reports whether a statement is a call of the named function.
func calls(st *syntax.Stmt, name string) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	return ok && len(c.Args) > 0 && c.Args[0].Lit() == name
}

// run reports one layer of a command. It returns the inner command of a wrapper,
// or what the command prints.
func (c *call) run() (inner []word, out output, done bool) {
	known := c.a.e.names[c.name]
	h := known.handler
	wanted := c.a.sink.wants(c.name)
	if h == nil && known.program == nil {
		c.unlisted()
		if !wanted {
			return nil, passOn(c), true
		}
	}
	c.args = c.a.argumentsOf(known.program, c.name, c.words)
	if c.args.isQuery() {
		return nil, output{dyn: true}, true
	}
	if wanted && !c.args.isPreview() {
		c.a.emit(c.args, c.f, c.sc)
	}
	for _, script := range c.args.values(c.args.prog.ShellOpts...) {
		c.runScript(script)
	}
	if h != nil {
		return nil, h(c), true
	}
	return c.unwrap()
}

// unwrap returns the inner command of a plain wrapper.
func (c *call) unwrap() (inner []word, out output, done bool) {
	switch {
	case len(c.args.rest) > 0 && c.args.prog.Shell:
		return nil, c.a.script(joinWords(c.args.rest), c.f.inner(), c.sc), true
	case len(c.args.rest) > 0:
		return append(c.args.values("--entrypoint"), c.args.rest...), output{}, false
	}
	return nil, passOn(c), true
}

// passOn is the output of a command that is not known to change the kind of
// what it reads: marks survive, text does not.
func passOn(c *call) output {
	out := output{dyn: true, program: c.name}
	if in := c.f.stdin; in != nil {
		out.taint, out.source = in.taint, in.source
	}
	for _, w := range c.words {
		out.mark(w.taint, w.source)
	}
	return out
}

// emit reports a canonical line for the arguments.
func (a *analysis) emit(g *arguments, f frame, sc *scope) {
	v := f.view(a.canonical(g, sc.cwd, f.dialect))
	if a.naive {
		v.kind = ViewNaive
	}
	a.sink.view(v)
}

// report reports a line that is not a simple command.
func (a *analysis) report(line string, kind ViewKind, f frame) {
	v := f.view(line)
	v.kind = kind
	a.sink.view(v)
}

// runScript walks a script held in a word, with the marks of the word.
func (c *call) runScript(w word) output {
	c.a.executes(output{taint: w.taint, source: w.source}, "sh", c.f)
	return c.a.script(w.text, c.f.inner(), c.sc.fork())
}

// joinWords joins words as eval and ssh do.
func joinWords(ws []word) string {
	parts := make([]string, len(ws))
	for i, w := range ws {
		parts[i] = w.text
	}
	return strings.Join(parts, " ")
}

// quoteWords joins words so that a shell reads them back as they are.
func quoteWords(ws []word) string {
	parts := make([]string, len(ws))
	for i, w := range ws {
		parts[i] = "'" + strings.ReplaceAll(w.text, "'", `'\''`) + "'"
	}
	return strings.Join(parts, " ")
}
