package safety

import (
	"maps"
	"strings"
)

// newHandlers collects the programs whose commands are looked into.
func newHandlers() map[string]handler {
	all := map[string]handler{}
	for _, group := range []map[string]handler{
		printHandlers(), shellHandlers(), builtinHandlers(), remoteHandlers(), interpreterHandlers(),
		searchHandlers(), fileHandlers(), networkHandlers(), databaseHandlers(), toolHandlers(), consoleHandlers(), launcherHandlers(), archiveHandlers(),
	} {
		maps.Copy(all, group)
	}
	return all
}

// shellHandlers are the shells and what runs a script like one.
func shellHandlers() map[string]handler {
	out := map[string]handler{
		"eval": evalCommand, "source": sourceCommand, ".": sourceCommand, "trap": trapCommand,
		"su": suCommand, "env": envCommand, "crontab": crontabCommand, "at": atCommand,
		"parallel": parallelCommand, "xargs": xargsCommand,
	}
	for _, name := range []string{"sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "fish", "rbash", "csh", "tcsh", "yash", "elvish", "nu", "osh"} {
		out[name] = shellCommand
	}
	return out
}

// shellCommand is a shell: it runs the script given with -c, a file, or its
// standard input.
func shellCommand(c *call) output {
	if c.args.has("-n") { // only checks the syntax
		return output{dyn: true}
	}
	fromNetwork := c.f.stdin != nil && c.f.stdin.taint&taintRemote != 0 && c.f.stdin.source == "nc"
	if c.f.net || fromNetwork && c.args.has("-i") {
		c.a.report("shell: "+c.name, ViewArgv, c.f)
	}
	c.startupFiles()
	ops := c.args.operands
	for len(ops) > 1 && strings.HasPrefix(ops[0].text, "+") { // switches options off
		ops = ops[1:]
	}
	switch {
	case c.args.has("-c", "--command"):
		if len(ops) == 0 { // a script that looks like an option
			ops = c.words[len(c.words)-1:]
		}
		return c.runCommand(ops)
	case len(ops) == 0 || c.args.has("-s") || ops[0].text == "-" || ops[0].text == "/dev/stdin":
		return c.runInput()
	}
	return c.runFile(ops[0], ops[1:])
}

// startupFiles runs the files that a shell is told to read first.
func (c *call) startupFiles() {
	for _, w := range c.args.values("--rcfile", "--init-file") {
		c.runFile(w, nil)
	}
}

// runCommand runs the script of -c. The words after it are its name and its
// positional parameters.
func (c *call) runCommand(ops []word) output {
	inner := c.sc.fork()
	if len(ops) > 1 {
		inner.positional = ops[2:]
	}
	c.a.executes(output{taint: ops[0].taint, source: ops[0].source}, c.name, c.f)
	if c.a.hosted {
		c.a.windows(ops[0].text, c.f.inner(), inner.fork())
	}
	return c.a.script(ops[0].text, c.f.inner(), inner)
}

// runInput runs the standard input as a script.
func (c *call) runInput() output {
	in := c.f.stdin
	if in == nil || in.dyn {
		c.a.sink.opaque(c.name)
	}
	if in == nil {
		return output{dyn: true, program: c.name}
	}
	c.a.executes(*in, c.name, c.f)
	if in.dyn && in.taint == 0 && in.program != "" && in.program != "cat" && in.program != "echo" {
		c.a.report("pipe: "+in.program+" | "+c.name, ViewPipe, c.f)
	}
	g := c.f.inner()
	g.stdin = nil
	out := c.a.script(in.text, g, c.sc.fork())
	out.dyn, out.program = true, c.name
	return out
}

// runFile runs a file as a script, if this line wrote it.
func (c *call) runFile(file word, args []word) output {
	known, ok := c.sc.read(file.text)
	if file.prog != nil {
		known, ok = *file.prog, true
	}
	if !ok {
		return passOn(c)
	}
	if known.dyn {
		c.a.sink.opaque(c.name)
	}
	c.a.executes(known, c.name, c.f)
	g := c.f.inner()
	g.stdin = nil
	inner := c.sc.fork()
	inner.positional = args
	return c.a.script(known.text, g, inner)
}

func evalCommand(c *call) output {
	words := c.words[1:]
	if len(words) > 0 && words[0].text == "--" {
		words = words[1:]
	}
	for _, w := range words {
		c.a.executes(output{taint: w.taint, source: w.source}, "eval", c.f)
	}
	return c.a.script(joinWords(words), c.f.inner(), c.sc)
}

func sourceCommand(c *call) output {
	if len(c.args.operands) == 0 {
		return output{}
	}
	file := c.args.operands[0]
	if file.text == "/dev/stdin" {
		return c.runInput()
	}
	return c.runFile(file, c.args.operands[1:])
}

func trapCommand(c *call) output {
	if len(c.args.operands) > 1 && c.args.operands[0].text != "-" {
		c.runScript(c.args.operands[0])
	}
	return output{}
}

// suCommand: the script of -c was run already; without it a shell reads the
// standard input.
func suCommand(c *call) output {
	if c.args.has("-u", "--user") { // of runuser: what follows is no user but a command
		return c.a.peel(c.args.operands, c.f.wrap(c.name), c.sc)
	}
	if c.f.stdin != nil && len(c.args.values("-c", "--command")) == 0 {
		c.a.script(c.f.stdin.text, c.f.inner(), c.sc.fork())
	}
	return passOn(c)
}

// envCommand is env: a wrapper whose -S takes a command line, and which prints
// the environment when nothing follows.
func envCommand(c *call) output {
	rest := c.args.rest
	if lines := c.args.values("-S", "--split-string"); len(lines) > 0 {
		return c.a.script("env "+lines[0].text+" "+quoteWords(rest), c.f.inner(), c.sc)
	}
	if len(rest) > 1 && rest[0].text == "-" { // is -i, and more options may follow
		return c.a.peel(append([]word{c.words[0]}, rest[1:]...), c.f.wrap("env"), c.sc)
	}
	onlyAssignments := true
	for _, w := range rest {
		onlyAssignments = onlyAssignments && (w.text == "-" || strings.Contains(w.text, "="))
	}
	if onlyAssignments {
		c.a.leadingAssignments(rest, c.f, c.sc)
		out := output{dyn: true, program: "env"}
		out.mark(taintSecret, "")
		return out
	}
	f, sc := c.f.wrap("env"), c.sc
	for _, dir := range c.args.values("-C", "--chdir") {
		sc = sc.fork()
		sc.cd(dir.text)
	}
	return c.a.peel(rest, f, sc)
}

// peel continues with the inner command of a wrapper that has a handler. The
// step limit bounds how long such a chain can be.
func (a *analysis) peel(words []word, f frame, sc *scope) output {
	if len(f.wrappers) > maxWrappers {
		a.giveUp(f)
		return output{}
	}
	return a.simple(words, f, sc)
}

// crontabCommand installs a table: what it will run is in its input or file.
func crontabCommand(c *call) output {
	var table output
	switch ops := c.args.operands; {
	case len(ops) == 0 && c.f.stdin == nil:
		return output{dyn: true}
	case len(ops) == 0 || ops[0].text == "-":
		c.a.report("crontab -- -", ViewArgv, c.f)
		table = c.input()
	default:
		table, _ = c.sc.read(ops[0].text)
	}
	for line := range strings.SplitSeq(table.text, "\n") {
		c.a.script(cronCommand(line), c.f.inner(), c.sc.fork())
	}
	return output{}
}

// cronCommand removes the time fields of a line.
func cronCommand(line string) string {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return ""
	}
	fields := 5
	if line[0] == '@' {
		fields = 1
	}
	for ; fields > 0; fields-- {
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return ""
		}
		line = strings.TrimLeft(line[i:], " \t")
	}
	return line
}

// atCommand runs its input later.
func atCommand(c *call) output {
	for _, file := range c.args.values("-f") {
		return c.runFile(file, nil)
	}
	if c.f.stdin != nil {
		return c.runInput()
	}
	return output{}
}
