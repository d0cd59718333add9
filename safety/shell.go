package safety

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// sink receives what the analysis finds.
type sink interface {
	// wants reports whether lines that start with word are of interest.
	wants(word string) bool
	// lazy says that only lines of interest matter, not every command.
	lazy() bool
	// names calls yield for every first word of interest.
	names(yield func(string))
	// view receives a canonical line.
	view(v view)
	// command receives the fields of every simple command, once as written and
	// once per wrapper that was peeled off. They must not be kept.
	command(words []word, dialect Platform)
	// complex receives the place where a limit was hit.
	complex(v view)
	// unparsed receives a script that is not valid syntax.
	unparsed(v view)
	// opaque receives a program that runs text which is not known.
	opaque(program string)
	// defines says that what an alias stands for matters before it is used.
	defines() bool
}

// analysis reads one command line.
type analysis struct {
	e    *engine
	sink sink
	mem  *scratch
	// size is the length of the line; parsed counts bytes parsed so far,
	// expanded bytes taken from variables, steps statements and commands.
	size, parsed, expanded, steps int
	// root is the state of the shell at the start of the line.
	root scope
	// stopped says that a limit was hit and nothing more is read.
	stopped bool
	// hosted says that the POSIX shell runs on Windows, so that scripts are read
	// in the language of that system, too.
	hosted bool
	// invalid says that a script was not valid syntax.
	invalid bool
	// walked are the substitutions that were evaluated, noted while noting says
	// that leftOut will ask for them.
	walked map[syntax.Node]bool
	noting bool
	// naive says that the current words were guessed, not parsed.
	naive bool
	// patterns are those that stood for programs, with what they may name.
	patterns map[string][]string
}

// frame is where in the nest of scripts the analysis stands.
type frame struct {
	depth int
	// kind is how commands at this place are reported, and dialect the
	// language they are in; empty is the POSIX shell.
	kind    ViewKind
	dialect Platform
	// fixed says that positions are those of the enclosing command, start to
	// end, because the script is not a literal part of the line.
	fixed      bool
	start, end int
	wrappers   []string
	// stdin is what a command reads, nil if nothing is known.
	stdin *output
	// net says that a redirection of the statement is a network connection.
	net bool
}

// view starts a view at the frame's place.
func (f frame) view(line string) view {
	v := view{
		kind: f.kind, line: line, dialect: f.dialect, depth: f.depth,
		wrappers: f.wrappers, start: f.start, end: f.end,
	}
	if v.dialect == "" {
		v.dialect = PlatformUnix
	}
	return v
}

// at narrows the frame to a piece of the script it stands in.
func (f frame) at(start, end int) frame {
	if !f.fixed {
		f.start, f.end = start, end
	}
	return f
}

// wrap is the frame of a command behind one more wrapper.
func (f frame) wrap(name string) frame {
	f.wrappers = append(slices.Clip(f.wrappers), name)
	return f
}

// inner is the frame of a script that a command of f executes.
func (f frame) inner() frame {
	f.depth++
	f.fixed = true
	f.kind = ViewNested
	f.dialect = PlatformUnix
	return f
}

// budget is how many bytes the line may cause to be parsed.
func (a *analysis) budget() int { return parsedFactor*a.size + parsedBase }

// step counts a statement or command and reports whether there may be more.
func (a *analysis) step(f frame) bool {
	a.steps++
	if a.steps > maxSteps && !a.stopped {
		a.giveUp(f)
	}
	return !a.stopped
}

// giveUp stops the analysis at a limit.
func (a *analysis) giveUp(f frame) {
	a.stopped = true
	a.sink.complex(f.view(""))
}

// analyse reads a whole command line in the languages of platform. If that is
// both, gate may say that valid POSIX lines need not be read as Windows ones;
// nil opens always. Nor need a line that was too complex as a POSIX one: no other
// reading can raise its grade.
func (e *engine) analyse(line string, platform Platform, s sink, gate *winGate) {
	idle, kept := &e.analyses, maxKept
	if len(line) > longScript {
		idle, kept = &e.longAnalyses, keptLong
	}
	a, ok := idle.Get().(*analysis)
	if !ok {
		a = &analysis{e: e, mem: &scratch{}}
	}
	once := false
	if platform.unix() {
		a.start(line, s)
		a.script(line, frame{kind: ViewArgv, end: len(line)}, &a.root)
		once = gate != nil && (a.stopped || !a.invalid && !gate.opens(line))
	}
	if platform.windows() && !once {
		a.start(line, s)
		a.windows(line, frame{kind: ViewArgv, end: len(line)}, &a.root)
		if straight := straightQuotes(line); straight != line {
			a.start(straight, s)
			a.windows(straight, frame{kind: ViewArgv, end: len(line), fixed: true}, &a.root)
		}
	}
	a.start("", nil) // lets go of the line
	a.mem.reset(kept)
	idle.Put(a)
}

// start makes a as good as new for a line, except for the memory it has.
func (a *analysis) start(line string, s sink) {
	*a = analysis{e: a.e, mem: a.mem, sink: s, size: len(line)}
}

// script reads a shell script and returns what it prints.
func (a *analysis) script(src string, f frame, sc *scope) output {
	a.parsed += len(src)
	if a.stopped || strings.TrimSpace(src) == "" {
		return output{}
	}
	if f.depth > maxDepth || a.parsed > a.budget() || nestedTooDeep(src) {
		a.giveUp(f)
		return output{dyn: true}
	}
	if out, ok := a.common(src, f, sc); ok {
		return out
	}
	file, err := a.parse(src)
	if err != nil {
		if closed, ok := closeDocument(src, err); ok {
			a.parsed += len(closed)
			file, err = a.parse(closed)
		}
	}
	if err != nil {
		a.invalid = true
		a.sink.unparsed(f.view(src))
		a.guess(src, err, f, sc)
		return output{dyn: true}
	}
	outer := a.noting
	a.noting = true
	out := a.stmts(file.Stmts, f, sc)
	a.leftOut(file, src, f, sc)
	a.noting = outer
	return out
}

// common reads the scripts that do not take the parser.
func (a *analysis) common(src string, f frame, sc *scope) (out output, ok bool) {
	if words, ok := a.plainCommand(src); ok {
		if f.depth == 0 && f.stdin == nil && len(words) > 0 && a.isIdle(words) {
			return output{}, true
		}
		return a.simple(words, f, sc), true
	}
	if len(src) > longScript && f.depth == 0 {
		return a.streamTree(src, f, sc)
	}
	list, ok, _ := a.readTree(src)
	if !ok {
		return output{}, false
	}
	return a.stmts(list, f, sc), true
}

// stmts walks a list of statements.
func (a *analysis) stmts(list []*syntax.Stmt, f frame, sc *scope) output {
	if len(list) == 1 {
		return a.stmt(list[0], f, sc)
	}
	var all joiner
	for _, st := range list {
		if a.stopped {
			break
		}
		all.add(a.stmt(st, f, sc))
	}
	return all.sum()
}

// stmt walks one statement with its redirections.
func (a *analysis) stmt(st *syntax.Stmt, f frame, sc *scope) output {
	if st == nil || a.stopped {
		return output{}
	}
	f = f.at(int(st.Pos().Offset()), int(st.End().Offset()))
	if !a.step(f) {
		return output{}
	}
	if f.stdin == nil {
		f.stdin = sc.stdin
	}
	targets := a.redirect(st.Redirs, &f, sc)
	var out output
	if st.Cmd != nil {
		out = a.node(st.Cmd, f, sc)
	}
	for _, t := range targets {
		if isNetDevice(t.name) && out.taint&taintSecret != 0 {
			a.sends("/dev/tcp", f)
		}
		sc.write(t.name, out, t.add)
		a.feed(t.word, out, f, sc)
		if t.stdout {
			out = output{}
		}
	}
	return out
}

// node walks one command of any kind.
func (a *analysis) node(cmd syntax.Command, f frame, sc *scope) output {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		return a.callExpr(c, f, sc)
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return a.pipeline(c, f, sc)
		}
		out := a.stmt(c.X, f, sc)
		out.join(a.stmt(c.Y, f, sc))
		return out
	case *syntax.Subshell:
		return a.subshell(c.Stmts, f, sc)
	case *syntax.Block:
		return a.stmts(c.Stmts, f, sc)
	case *syntax.FuncDecl:
		return a.funcDecl(c, f, sc)
	case *syntax.DeclClause:
		return a.declClause(c, f, sc)
	case *syntax.TimeClause:
		return a.timeClause(c, f, sc)
	case *syntax.CoprocClause:
		return a.stmt(c.Stmt, f, sc)
	case *syntax.TestClause:
		a.tests(c.X, f, sc)
	case *syntax.ArithmCmd:
		a.arithmeticNames(c.X, f, sc)
	case *syntax.LetClause, *syntax.TestDecl:
	default:
		return a.compound(cmd, f, sc)
	}
	return output{}
}

// timeClause walks the command behind the keyword time. Options of the program
// of that name look like a command to the parser.
func (a *analysis) timeClause(c *syntax.TimeClause, f frame, sc *scope) output {
	if c.Stmt != nil {
		if call, ok := c.Stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && strings.HasPrefix(call.Args[0].Lit(), "-") {
			return a.simple(append([]word{{text: "time"}}, a.expand(call.Args, f, sc)...), f, sc)
		}
	}
	return a.stmt(c.Stmt, f, sc)
}

// compound walks the commands that choose or repeat. Every branch is read: which
// one runs is not known.
func (a *analysis) compound(cmd syntax.Command, f frame, sc *scope) output {
	var out output
	switch c := cmd.(type) {
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			out.join(a.stmts(c.Cond, f, sc))
			out.join(a.stmts(c.Then, f, sc))
		}
	case *syntax.WhileClause:
		out.join(a.stmts(c.Cond, f, sc))
		out.join(a.stmts(c.Do, f, sc))
	case *syntax.ForClause:
		return a.forClause(c, f, sc)
	case *syntax.CaseClause:
		a.joined(c.Word, f, sc)
		for _, item := range c.Items {
			out.join(a.stmts(item.Stmts, f, sc))
		}
	}
	return out
}

// subshell walks statements whose changes of state are lost.
func (a *analysis) subshell(list []*syntax.Stmt, f frame, sc *scope) output {
	return a.stmts(list, f, sc.fork())
}

// pipeline walks the stages of a pipe; each reads what the one before printed.
func (a *analysis) pipeline(c *syntax.BinaryCmd, f frame, sc *scope) output {
	stages := []*syntax.Stmt{c.Y}
	left := c.X
	for {
		next, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok || next.Op != syntax.Pipe && next.Op != syntax.PipeAll || len(left.Redirs) > 0 {
			break
		}
		stages = append(stages, next.Y)
		left = next.X
	}
	out := a.stmt(left, f, sc)
	for _, stage := range slices.Backward(stages) {
		g := f
		g.stdin = a.mem.outputs.one(out)
		out = a.stmt(stage, g, sc)
	}
	return out
}

// forClause walks a loop once per value, and once with all values together if
// there are many.
func (a *analysis) forClause(c *syntax.ForClause, f frame, sc *scope) output {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		return a.stmts(c.Do, f, sc)
	}
	items := a.expand(iter.Items, f, sc)
	if !iter.InPos.IsValid() {
		items = sc.positional
	}
	name := iter.Name.Value
	if len(items) == 0 || len(items) > maxItems {
		sc.set(name, value{fields: items})
		if len(items) == 0 {
			sc.set(name, value{fields: []word{{text: "$" + name, dyn: true}}})
		}
		return a.stmts(c.Do, f, sc)
	}
	var out output
	for _, item := range items {
		sc.set(name, value{fields: []word{item}})
		out.join(a.stmts(c.Do, f, sc))
	}
	return out
}

// tests expands the words of [[ … ]] for the substitutions in them.
func (a *analysis) tests(x syntax.TestExpr, f frame, sc *scope) {
	switch t := x.(type) {
	case *syntax.Word:
		a.joined(t, f, sc)
	case *syntax.BinaryTest:
		a.tests(t.X, f, sc)
		a.tests(t.Y, f, sc)
	case *syntax.UnaryTest:
		if w, ok := t.X.(*syntax.Word); ok && t.Op == syntax.TsVarSet {
			a.subscript(a.joined(w, f, sc).text, f, sc)
			return
		}
		a.tests(t.X, f, sc)
	case *syntax.ParenTest:
		a.tests(t.X, f, sc)
	}
}

// parse reads a script with a pooled parser.
func (e *engine) parse(src string) (*syntax.File, error) {
	p, ok := e.parsers.Get().(*syntax.Parser)
	if !ok {
		p = syntax.NewParser(syntax.Variant(syntax.LangBash))
	}
	defer e.parsers.Put(p)
	file, err := p.Parse(strings.NewReader(src), "")
	if err != nil {
		return nil, err //nolint:wrapcheck // read with errors.As by errorOffset
	}
	return file, nil
}

// parse reads a script whatever bytes it holds: a rule that denies must not be
// dodged by some that are not text.
func (a *analysis) parse(src string) (*syntax.File, error) { return a.e.parse(validText(src)) }

// validText replaces bytes that are not UTF-8, each by one other. Shells take them
// as they are, but the parser would refuse the script.
func validText(src string) string {
	if utf8.ValidString(src) {
		return src
	}
	out := []byte(src)
	for i := 0; i < len(out); {
		r, n := utf8.DecodeRune(out[i:])
		if r == utf8.RuneError && n == 1 {
			out[i] = '_'
		}
		i += n
	}
	return string(out)
}

// errorOffset is where a parse error is, or -1.
func errorOffset(err error) int {
	if pe, ok := errors.AsType[syntax.ParseError](err); ok && pe.Pos.IsValid() {
		return int(pe.Pos.Offset())
	}
	return -1
}
