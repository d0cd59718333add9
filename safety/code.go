package safety

import (
	"slices"
	"strings"
)

// interpreter describes how a language is started.
type interpreter struct {
	// code lists the options that take program text.
	code []string
	// stdin says that without a file the standard input is the program.
	stdin bool
}

// interpreters returns the languages by canonical program name.
func interpreters() map[string]interpreter {
	return map[string]interpreter{
		"python":    {code: []string{"-c"}, stdin: true},
		"node":      {code: []string{"-e", "-p", "-pe", "--eval", "--print"}, stdin: true},
		"perl":      {code: []string{"-e", "-E"}, stdin: true},
		"ruby":      {code: []string{"-e"}, stdin: true},
		"php":       {code: []string{"-r", "-B", "-R", "-E"}, stdin: true},
		"lua":       {code: []string{"-e"}, stdin: true},
		"Rscript":   {code: []string{"-e"}, stdin: true},
		"osascript": {code: []string{"-e"}, stdin: true},
		"groovy":    {code: []string{"-e"}, stdin: true},
		"julia":     {code: []string{"-e", "-E", "--eval", "--print"}, stdin: true},
		"elixir":    {code: []string{"-e", "--eval"}},
		"erl":       {code: []string{"-eval"}},
		"scala":     {code: []string{"-e"}},
		"tclsh":     {stdin: true}, "wish": {stdin: true}, "guile": {code: []string{"-c"}, stdin: true},
		"expect":  {code: []string{"-c"}, stdin: true},
		"emacs":   {code: []string{"--eval", "-eval", "--execute", "-execute"}},
		"octave":  {code: []string{"--eval"}, stdin: true},
		"ghc":     {code: []string{"-e"}, stdin: true},
		"sbcl":    {code: []string{"--eval"}, stdin: true},
		"raku":    {code: []string{"-e"}, stdin: true},
		"swift":   {code: []string{"-e"}, stdin: true},
		"clojure": {code: []string{"-e", "--eval"}, stdin: true},
		"bun":     {code: []string{"-e", "--eval", "-p"}},
		"deno":    {stdin: true},
		"ts-node": {code: []string{"-e", "--eval"}, stdin: true}, "tsx": {code: []string{"-e", "--eval"}, stdin: true},
		"pwsh": {code: []string{"-c", "-command", "-Command"}, stdin: true},
	}
}

// interpreterHandlers are the languages and awk.
func interpreterHandlers() map[string]handler {
	out := map[string]handler{"awk": awkCommand}
	for name, lang := range interpreters() {
		out[name] = func(c *call) output { return interpreterCommand(c, lang) }
	}
	return out
}

// interpreterCommand runs program text from an option, a file or its input.
func interpreterCommand(c *call, lang interpreter) output {
	if c.f.net {
		c.a.report("shell: "+c.name, ViewArgv, c.f)
	}
	if out, done := c.subcommandOf(); done {
		return out
	}
	texts := c.args.values(lang.code...)
	var printed strings.Builder
	for _, w := range texts {
		c.a.executes(output{taint: w.taint, source: w.source}, c.name, c.f)
		printed.WriteString(c.a.code(c.name, w.text, c.f, c.sc))
	}
	ops := c.args.operands
	if (c.name == "perl" || c.name == "ruby") && c.args.has("-i") && len(texts) > 0 {
		c.editsInPlace(ops)
	}
	switch {
	case len(texts) > 0 || c.args.has("-m", "-S"):
	case len(ops) > 0 && ops[0].text != "-" && ops[0].text != "/dev/stdin":
		c.codeFile(ops[0])
	case lang.stdin && c.f.stdin != nil:
		c.a.executes(*c.f.stdin, c.name, c.f)
		printed.WriteString(c.a.code(c.name, c.f.stdin.text, c.f, c.sc))
	}
	out := passOn(c)
	out.text = printed.String()
	return out
}

// subcommandOf handles interpreters whose words are a command of their own:
// `python -m pip`, `deno eval`, `bun x`.
func (c *call) subcommandOf() (output, bool) {
	switch c.name {
	case "python":
		i := slices.IndexFunc(c.words, func(w word) bool { return w.text == "-m" })
		if i > 0 && i+1 < len(c.words) && len(c.args.values("-c")) == 0 {
			f := c.f.wrap("python")
			return c.a.peel(c.words[i+1:], f, c.sc), true
		}
	case "deno":
		if ops := c.args.operands; len(ops) > 1 && ops[0].text == "eval" {
			c.a.code(c.name, ops[1].text, c.f, c.sc)
			return passOn(c), true
		} else if len(ops) > 1 && ops[0].text == "run" {
			c.codeFile(ops[1])
			return passOn(c), true
		}
	case "bun":
		if len(c.args.rest) > 0 {
			return c.a.peel(c.args.rest, c.f, c.sc), true
		}
	}
	return output{}, false
}

// codeFile runs a program file, if it came from this line or from the network.
func (c *call) codeFile(file word) {
	known, ok := c.sc.read(file.text)
	switch {
	case file.prog != nil:
		known, ok = *file.prog, true
	case strings.HasPrefix(file.text, "https://") || strings.HasPrefix(file.text, "http://"):
		known = output{taint: taintRemote, source: "fetch"}
		ok = true
	}
	if ok {
		c.a.executes(known, c.name, c.f)
		c.a.code(c.name, known.text, c.f, c.sc)
	}
}

// code looks into program text: it reports the text itself, and reads on in the
// commands it runs and the files it deletes. It returns the strings that the
// program prints.
func (a *analysis) code(lang, text string, f frame, sc *scope) (printed string) {
	a.parsed += len(text)
	if a.stopped || strings.TrimSpace(text) == "" {
		return ""
	}
	if f.depth > maxDepth || a.parsed > a.budget() {
		a.giveUp(f)
		return ""
	}
	a.report("code: "+lang+" "+strings.Join(strings.Fields(text), " "), ViewCode, f)
	tokens := lexCode(text)
	var out strings.Builder
	if lang == "tclsh" || lang == "wish" || lang == "expect" {
		a.tclCode(text, f, sc)
	}
	for _, c := range codeCalls(tokens) {
		a.codeCall(lang, c, tokens, f, sc)
		if prints(c) && out.Len() <= len(text) {
			out.WriteString(strings.Join(c.literals, " ") + "\n")
		}
	}
	return out.String()
}

// prints recognises functions that print their arguments.
func prints(c codeCall) bool {
	switch c.short {
	case "print", "printf", "println", "puts", "echo", "say", "write", "log", "cat", "putstrln":
		return true
	}
	return false
}

// codeCall handles one call in program text.
func (a *analysis) codeCall(lang string, c codeCall, tokens []token, f frame, sc *scope) {
	switch {
	case c.tick:
		if lang == "perl" || lang == "ruby" || lang == "php" || lang == "julia" {
			a.script(c.literals[0], f.inner(), sc.fork())
		}
	case evaluates(lang, c):
		for _, text := range c.literals {
			a.code(lang, text, f.inner(), sc)
		}
	case executesCommand(c):
		if lang == "awk" && len(c.literals) > 1 { // strings side by side are one
			c.literals = []string{strings.Join(c.literals, "")}
		}
		a.codeExec(c, tokens, f, sc)
	case deletesTree(c), deletesFile(c):
		if len(c.literals) == 0 { // the path is in a variable: any string may be it
			c.literals = stringTokens(tokens)
		}
		a.codeDelete(c, f, sc)
	case writesFile(c):
		a.codeWrite(c, f, sc)
	}
}

// stringTokens lists the first strings of a program.
func stringTokens(tokens []token) []string {
	var out []string
	for _, t := range tokens {
		if t.kind == tokenString && len(out) < maxItems {
			out = append(out, homeLiteral(t.text))
		}
	}
	return out
}

// writesFile recognises functions that open or write files.
func writesFile(c codeCall) bool {
	return c.short == "open" || c.short == "file_put_contents" || strings.HasPrefix(c.short, "writefile") || strings.HasPrefix(c.short, "appendfile")
}

// evaluates recognises functions that run their argument as program text.
func evaluates(lang string, c codeCall) bool {
	switch c.short {
	case "eval", "instance_eval", "class_eval", "loadstring", "runinthiscontext", "runinnewcontext":
		return true
	case "exec":
		return lang == "python" && !strings.Contains(c.name, ".")
	}
	return false
}

// executesCommand recognises functions that start other programs.
func executesCommand(c codeCall) bool {
	switch c.short {
	case "system", "popen", "popen2", "popen3", "exec", "execsync", "execfile", "execfilesync", "spawn", "spawnsync", "shell_exec",
		"passthru", "proc_open", "pcntl_exec", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe",
		"spawnl", "spawnlp", "spawnv", "spawnvp", "posix_spawn", "check_output", "check_call", "getoutput", "getstatusoutput",
		"create_subprocess_shell", "create_subprocess_exec", "shell-command", "shell-command-to-string", "start-process", "call-process",
		"execute", "run-program", "system2", "capture2", "capture2e", "capture3", "run", "call", "command", "execa", "cmd", "sh", "script", "runprocess", "$":
		return true
	}
	return false
}

// deletesTree recognises recursive deletes.
func deletesTree(c codeCall) bool {
	switch c.short {
	case "rmtree", "rmsync", "rm_rf", "rm_r", "remove_tree", "remove_dir_all", "rimraf", "rimrafsync", "removesync", "rmdirsync",
		"remove_entry_secure", "remove_dir", "delete_tree", "delete-directory", "removeall", "remove_entry", "rm":
		return true
	}
	switch c.name {
	case "fse.remove", "fs.remove", "fs.rmdir", "del.sync":
		return true
	}
	return false
}

// deletesFile recognises deletes of single files.
func deletesFile(c codeCall) bool {
	switch c.short {
	case "unlink", "unlinksync", "rmdir", "rm_f", "delete-file":
		return true
	}
	switch c.name {
	case "os.remove", "os.rmdir", "os.removedirs", "file.delete", "file.unlink", "dir.delete", "dir.unlink", "file.remove":
		return true
	}
	return false
}

// codeExec reads on in a command that program text starts.
func (a *analysis) codeExec(c codeCall, tokens []token, f frame, sc *scope) {
	literals := c.literals
	if c.before != "" && len(literals) == 0 { // "rm x".execute()
		literals = []string{c.before}
	}
	switch {
	case len(literals) == 0 && !c.indirect:
		return
	case len(literals) > 0 && (strings.ContainsAny(strings.TrimSpace(literals[0]), " \t\n;|&$`") || len(literals) == 1):
		a.script(literals[0], f.inner(), sc.fork())
	case len(literals) > 0:
		words := make([]word, len(literals))
		for i, text := range literals {
			words[i] = word{text: text}
		}
		a.script(quoteWords(words), f.inner(), sc.fork())
	}
	if !c.indirect {
		return
	}
	// The command is in a variable: any string of the program may be it.
	tried := 0
	for _, t := range tokens {
		if t.kind == tokenString && strings.ContainsAny(t.text, " \t") && tried < maxItems {
			tried++
			a.script(t.text, f.inner(), sc.fork())
		}
	}
}

// codeDelete reports files that program text deletes as the rm they amount to.
func (a *analysis) codeDelete(c codeCall, f frame, sc *scope) {
	g := &arguments{name: "rm", opts: []option{{name: "-f"}}}
	if deletesTree(c) {
		g.opts = append(g.opts, option{name: "-r"})
	}
	for _, text := range c.literals {
		g.operands = append(g.operands, word{text: text})
	}
	f = f.inner()
	v := f.view(a.canonical(g, sc.cwd, f.dialect))
	v.kind = ViewCode
	a.sink.view(v)
	a.sink.command(append([]word{{text: "rm"}}, g.operands...), PlatformUnix)
}

// codeWrite reports files that program text writes.
func (a *analysis) codeWrite(c codeCall, f frame, sc *scope) {
	if len(c.literals) == 0 {
		return
	}
	if c.short == "open" && (len(c.literals) < 2 || !strings.ContainsAny(c.literals[1], "wa+x>")) {
		return
	}
	a.writes(word{text: c.literals[0]}, ViewCode, f.inner(), sc)
}

// tclCode reads the commands that Tcl runs without quotes around them.
func (a *analysis) tclCode(text string, f frame, sc *scope) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		for _, verb := range []string{"exec ", "spawn ", "system "} {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), verb); ok {
				a.script(rest, f.inner(), sc.fork())
			}
		}
	}
}

// awkCommand looks into awk programs: system(), and pipes to and from commands.
func awkCommand(c *call) output {
	texts := c.args.values("-e", "--source")
	if len(texts) == 0 && len(c.args.operands) > 0 && !c.args.has("-f", "--file") {
		texts = c.args.operands[:1]
	}
	var printed strings.Builder
	for _, w := range texts {
		printed.WriteString(c.a.code("awk", w.text, c.f, c.sc))
		tokens := lexCode(w.text)
		for i, t := range tokens {
			piped := i > 0 && tokens[i-1].text == "|" || i+1 < len(tokens) && tokens[i+1].text == "|"
			if t.kind == tokenString && piped {
				c.a.script(t.text, c.f.inner(), c.sc.fork())
			}
		}
	}
	out := rewriteOutput(c)
	out.text += printed.String()
	if len(c.args.operands) > 1 {
		if slices.ContainsFunc(c.args.values("-i", "--include"), func(w word) bool { return w.text == "inplace" }) {
			c.editsInPlace(c.args.operands[1:])
		}
		for _, w := range c.args.operands[1:] {
			if c.a.isSecret(w.text, c.sc) {
				out.mark(taintSecret, "")
			}
		}
	}
	return out
}
