package safety

import (
	"maps"
	"slices"
	"strings"
)

// newWinHandlers collects the Windows commands that are looked into.
func newWinHandlers() map[string]winHandler {
	all := map[string]winHandler{
		"cmd": winCmd, "powershell": winPowerShell, "pwsh": winPowerShell, "wsl": winWSL,
		"invoke-expression": winInvoke, "[scriptblock]::create": winInvoke, ".": winDot,
		"set-alias": winAlias, "new-alias": winAlias,
		"start-process": winStartProcess, "start": winStart, "call": winRest, "invoke-command": winPassBlocks, "start-job": winPassBlocks,
		"if": winIf, "for": winFor, "else": winRest, "forfiles": winForfiles, "schtasks": winScheduled, "wmic": winWmic,
		"psexec": winRest, "sudo": winRest, "nohup": winRest, "env": winRest, "command": winRest, "nice": winRest, "time": winRest, "conhost": winRest,
		"timeout": winTimeout, "echo": winEcho, "write-output": winEcho, "write-host": winEcho, "rem": winNothing,
		"get-content": winGetContent, "get-childitem": winList, "get-item": winList, "resolve-path": winList, "cd": winCd, "foreach-object": winForEach,
		"get-wmiobject": winInstances, "get-ciminstance": winInstances, "remove-wmiobject": winRemove, "remove-ciminstance": winRemove,
		"remove-item": winRemove, "del": winDelete, "rd": winDelete, "diskpart": winDiskpart,
		"certutil": winCertutil, "bitsadmin": winDownload, "start-bitstransfer": winDownload,
		"mshta": winRemoteProgram, "regsvr32": winRemoteProgram, "rundll32": winRemoteProgram, "msiexec": winRemoteProgram, "wscript": winRemoteProgram, "cscript": winRemoteProgram,
		"invoke-webrequest": winFetch, "invoke-restmethod": winFetch, "curl": winFetch,
	}
	shells := map[string]winHandler{}
	for _, name := range []string{"bash", "sh", "zsh", "dash", "ksh", "git-bash"} {
		shells[name] = winShell
	}
	maps.Copy(all, shells)
	return all
}

func winNothing(*winCall) (inner []word, out output, done bool) { return nil, output{}, true }

// winRest goes on with the words after the options.
func winRest(c *winCall) (inner []word, out output, done bool) {
	rest := c.words[1:]
	machine := func(text string) bool { return c.name == "psexec" && strings.HasPrefix(text, `\\`) }
	for len(rest) > 1 && (strings.HasPrefix(rest[0].text, "-") || machine(rest[0].text) || isPlainAssignment(rest[0].text)) {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, output{}, true
	}
	return rest, output{}, false
}

// winDot runs a script file, which may be its input when a POSIX shell reads it.
func winDot(c *winCall) (inner []word, out output, done bool) {
	if in := c.f.stdin; in != nil && len(c.words) > 1 && c.words[1].text == "/dev/stdin" {
		c.a.executes(*in, c.name, c.f)
		c.a.tryScript(in.text, c.f.inner(), c.sc)
	}
	return winRest(c)
}

// isPlainAssignment recognises NAME=value, which env takes in front of a command.
func isPlainAssignment(text string) bool {
	return strings.Contains(text, "=") && text[0] != '$'
}

// winTimeout is a wait on Windows and a wrapper elsewhere.
func winTimeout(c *winCall) (inner []word, out output, done bool) {
	rest := c.words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		rest = rest[1:]
	}
	if len(rest) < 2 || rest[0].text[:min(1, len(rest[0].text))] == "/" || strings.EqualFold(rest[1].text, "/nobreak") {
		return nil, output{}, true
	}
	return rest[1:], output{}, false
}

// winCmd runs what follows /c or /k.
func winCmd(c *winCall) (inner []word, out output, done bool) {
	for i, w := range c.words[1:] {
		lower := strings.ToLower(w.text)
		at := strings.LastIndex(lower, "/c")
		if at < 0 {
			at = strings.LastIndex(lower, "/k")
		}
		if at < 0 || strings.Contains(lower[:at], " ") || lower[0] != '/' {
			continue
		}
		text := w.text[at+2:] + " " + joinWords(c.words[i+2:])
		for _, inner := range c.words[i+2:] {
			c.a.executes(output{taint: inner.taint, source: inner.source}, "cmd", c.f)
		}
		return nil, c.nested(text), true
	}
	return nil, c.runInput(), true
}

// runInput runs the standard input as a script.
func (c *winCall) runInput() output {
	if c.f.stdin == nil {
		return output{dyn: true}
	}
	c.a.executes(*c.f.stdin, c.name, c.f)
	in := c.f.stdin.text
	g := c.f.inner()
	g.stdin = nil
	return c.a.windows(in, g, c.sc)
}

// winPowerShell runs a command, an encoded command or its input.
func winPowerShell(c *winCall) (inner []word, out output, done bool) {
	words := c.words[1:]
	for i := 0; i < len(words); i++ {
		text := strings.ToLower(words[i].text)
		if !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "/") || text == "-" {
			if text == "-" {
				return nil, c.runInput(), true
			}
			return nil, c.runText(words[i:]), true
		}
		key := completeParam(c.a.e.win.params["powershell"], text[1:])
		switch {
		case key == "command" && i+1 < len(words):
			if words[i+1].text == "-" {
				return nil, c.runInput(), true
			}
			return nil, c.runText(words[i+1:]), true
		case key == "encodedcommand" && i+1 < len(words):
			c.a.report("pipe: decode | powershell", ViewPipe, c.f)
			if text, ok := decodeUTF16(words[i+1].text); ok {
				c.nested(text)
			}
			return nil, output{dyn: true}, true
		case key == "file" && i+1 < len(words):
			return words[i+1:], output{}, false
		case c.a.e.win.values[key]:
			i++
		}
	}
	return nil, c.runInput(), true
}

// runText runs words as a script, with their marks.
func (c *winCall) runText(words []word) output {
	for _, w := range words {
		c.a.executes(output{taint: w.taint, source: w.source}, "powershell", c.f)
	}
	return c.nested(joinWords(words))
}

// winInvoke is Invoke-Expression: it runs its arguments or its input.
func winInvoke(c *winCall) (inner []word, out output, done bool) {
	all := c.passOn()
	c.a.executes(all, "powershell", c.f)
	if len(c.words) > 1 {
		c.nested(joinWords(c.words[1:]))
	}
	if c.f.stdin != nil {
		c.nested(c.f.stdin.text)
	}
	return nil, output{dyn: true}, true
}

// winWSL runs a POSIX command line.
func winWSL(c *winCall) (inner []word, out output, done bool) {
	rest := c.words[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		switch rest[0].text {
		case "-d", "--distribution", "-u", "--user", "--cd":
			rest = rest[1:]
		}
		rest = rest[min(1, len(rest)):]
	}
	if len(rest) == 0 {
		return nil, output{}, true
	}
	out = c.a.script(joinWords(rest), c.f.inner(), c.sc.fork())
	if slices.ContainsFunc(rest, func(w word) bool { return strings.Contains(w.text, " ") }) { // it may stay one word
		out = c.a.script(quoteWords(rest), c.f.inner(), c.sc.fork())
	}
	return nil, out, true
}

// winAlias gives a command another name.
func winAlias(c *winCall) (inner []word, out output, done bool) {
	names := append(c.args.values("-name", "-value"), c.args.operands...)
	if len(names) > 1 {
		if c.sc.aliases == nil {
			c.sc.aliases = map[string]string{}
		}
		c.sc.aliases[strings.ToLower(names[0].text)] = names[1].text
	}
	return nil, output{}, true
}

// winShell runs a POSIX shell; the script may also be meant for this system.
func winShell(c *winCall) (inner []word, out output, done bool) {
	f := c.f
	f.dialect = PlatformUnix
	c.a.hosted = true
	return nil, c.a.simple(c.portableWords(), f, c.sc.fork()), true
}

// winStart is cmd's start: an optional title, switches, and a command.
func winStart(c *winCall) (inner []word, out output, done bool) {
	rest := c.words[1:]
	if len(rest) > 1 && (strings.Contains(rest[0].text, " ") || rest[0].text == "" || isStartTitle(rest)) {
		rest = rest[1:]
	}
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "/") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, output{}, true
	}
	if strings.HasPrefix(rest[0].text, "-") {
		return winStartProcess(c)
	}
	return rest, output{}, false
}

// isStartTitle recognises a title: a word that a switch follows. A command is
// followed by its arguments, of which a switch of start is unlikely the first.
func isStartTitle(words []word) bool {
	switch strings.ToLower(words[1].text) {
	case "/b", "/d", "/i", "/min", "/max", "/wait", "/low", "/normal", "/high", "/realtime", "/shared", "/separate", "/node", "/affinity", "/machine":
		return !strings.HasPrefix(words[0].text, "/")
	}
	return false
}

// winStartProcess starts a program with an argument list.
func winStartProcess(c *winCall) (inner []word, out output, done bool) {
	g := c.a.winArguments("start-process", c.words)
	program := append(g.values("-filepath"), g.operands...)
	for _, w := range g.values("-argumentlist") {
		for part := range strings.SplitSeq(w.text, ",") {
			program = append(program, word{text: strings.Trim(part, " '\"")})
		}
	}
	for _, w := range c.words[1:] { // an argument list that looks like an option
		if strings.HasPrefix(w.text, "-") && strings.Contains(w.text, " ") {
			program = append(program, w)
		}
	}
	if len(program) == 0 {
		return nil, output{}, true
	}
	c.nested(joinWords(program))
	return nil, output{}, true
}

// winPassBlocks is a cmdlet whose script blocks were walked already.
func winPassBlocks(c *winCall) (inner []word, out output, done bool) { return nil, c.passOn(), true }

// winForEach passes the output of its block on.
func winForEach(c *winCall) (inner []word, out output, done bool) {
	out = c.passOn()
	for _, w := range c.words[1:] {
		if w.prog != nil {
			out.join(*w.prog)
		}
	}
	return nil, out, true
}

// winIf skips the condition of cmd's if. In PowerShell the condition and the
// branches are blocks, which were walked already.
func winIf(c *winCall) (inner []word, out output, done bool) {
	rest := c.words[1:]
	for len(rest) > 0 && (strings.EqualFold(rest[0].text, "not") || strings.EqualFold(rest[0].text, "/i")) {
		rest = rest[1:]
	}
	switch {
	case len(rest) > 2 && (strings.EqualFold(rest[0].text, "exist") || strings.EqualFold(rest[0].text, "defined") || strings.EqualFold(rest[0].text, "errorlevel")):
		return rest[2:], output{}, false
	case len(rest) > 1 && strings.Contains(rest[0].text, "=="):
		return rest[1:], output{}, false
	case len(rest) > 3 && (rest[1].text == "==" || strings.EqualFold(rest[1].text, "equ") || strings.EqualFold(rest[1].text, "neq")):
		return rest[3:], output{}, false
	}
	return nil, output{}, true
}

// winFor runs the command after do with the items of the set.
func winFor(c *winCall) (inner []word, out output, done bool) {
	at := slices.IndexFunc(c.words, func(w word) bool { return strings.EqualFold(w.text, "do") })
	in := slices.IndexFunc(c.words, func(w word) bool { return strings.EqualFold(w.text, "in") })
	if at < 0 || at+1 >= len(c.words) || in < 1 {
		return nil, output{}, true
	}
	name := "%" + strings.TrimLeft(c.words[in-1].text, "%")
	open, closing := strings.IndexByte(c.raw, '('), strings.IndexByte(c.raw, ')')
	if open < 0 || closing < open {
		return c.words[at+1:], output{}, false
	}
	items := strings.FieldsFunc(c.raw[open+1:closing], func(r rune) bool { return strings.ContainsRune(" ,;\t\"'", r) })
	return loopBody(c.words[at+1:], name, items), output{}, false
}

// loopBody replaces the variable of a loop. A word that holds it becomes one word
// per item.
func loopBody(words []word, name string, items []string) []word {
	var out []word
	for _, w := range words {
		text := strings.ReplaceAll(w.text, "%%", "%")
		text = strings.ReplaceAll(text, "%~"+name[1:], name)
		if !strings.Contains(text, name) || len(text) > maxTrim {
			out = append(out, w)
			continue
		}
		for _, item := range items[:min(len(items), maxItems)] {
			p := w
			p.text = strings.ReplaceAll(text, name, item)
			out = append(out, p)
		}
	}
	return out
}

// winForfiles runs the command of /c per file below /p.
func winForfiles(c *winCall) (inner []word, out output, done bool) {
	base := "."
	for i, w := range c.words {
		if strings.EqualFold(w.text, "/p") && i+1 < len(c.words) {
			base = c.words[i+1].text
		}
	}
	for i, w := range c.words {
		if strings.EqualFold(w.text, "/c") && i+1 < len(c.words) {
			line := joinWords(c.words[i+1:])
			for _, name := range []string{"@path", "@PATH", "@file", "@FILE"} {
				line = strings.ReplaceAll(line, name, strings.TrimRight(base, `\`)+`\*`)
			}
			return nil, c.nested(line), true
		}
	}
	return nil, output{}, true
}

// winScheduled runs the command of schtasks /create /tr later.
func winScheduled(c *winCall) (inner []word, out output, done bool) {
	for i, w := range c.words {
		if strings.EqualFold(w.text, "/tr") && i+1 < len(c.words) {
			return nil, c.nested(c.words[i+1].text), true
		}
	}
	return nil, output{}, true
}

// winWmic runs the command of `wmic process call create`.
func winWmic(c *winCall) (inner []word, out output, done bool) {
	i := slices.IndexFunc(c.words, func(w word) bool { return strings.EqualFold(w.text, "create") })
	if i > 0 && i+1 < len(c.words) {
		return nil, c.nested(joinWords(c.words[i+1:])), true
	}
	return nil, output{dyn: true}, true
}

// winEcho prints its arguments.
func winEcho(c *winCall) (inner []word, out output, done bool) {
	out = output{text: joinWords(c.words[1:]) + "\n", program: "echo"}
	for _, w := range c.words[1:] {
		out.dyn = out.dyn || w.dyn
		out.mark(w.taint, w.source)
	}
	return nil, out, true
}

// winGetContent prints files.
func winGetContent(c *winCall) (inner []word, out output, done bool) {
	out = c.passOn()
	for _, w := range c.args.operands {
		if known, ok := c.sc.read(strings.ToLower(w.text)); ok {
			out.join(known)
		}
	}
	return nil, out, true
}

// winList lists directories; the items go down the pipe.
func winList(c *winCall) (inner []word, out output, done bool) {
	g := c.a.winArguments("get-childitem", c.words)
	operands := g.operands
	if len(operands) == 0 {
		operands = []word{{text: "*"}}
	}
	if g.has("-filter", "-include") { // a part of what is there
		operands = slices.Clone(operands)
		for i := range operands {
			if class, _ := c.a.e.classifyWindows(operands[i].text, c.sc.cwd); class == classNone || class == classCwd {
				operands[i].text = strings.TrimRight(operands[i].text, `\/`) + `\x`
			}
		}
	}
	return nil, output{dyn: true, operands: operands, program: "get-childitem"}, true
}

// winInstances lists management objects; the class goes down the pipe.
func winInstances(c *winCall) (inner []word, out output, done bool) {
	return nil, output{dyn: true, operands: append(c.args.values("-class", "-classname"), c.args.operands...), program: c.name}, true
}

// winCd changes the working directory.
func winCd(c *winCall) (inner []word, out output, done bool) {
	if ops := c.args.operands; len(ops) > 0 {
		p := strings.ToLower(strings.ReplaceAll(ops[0].text, "/", `\`))
		if !isAbsoluteWindows(p) && c.sc.cwd != "" {
			p = c.sc.cwd + `\` + p
		}
		c.sc.cwd = cleanWindows(p)
	}
	return nil, output{}, true
}

// winRemove is Remove-Item: without a path it removes what comes down the pipe.
func winRemove(c *winCall) (inner []word, out output, done bool) {
	if len(c.args.operands) == 0 && c.f.stdin != nil && len(c.f.stdin.operands) > 0 {
		g := *c.args
		g.operands = c.f.stdin.operands
		g.opts = append(slices.Clip(g.opts), option{name: "-recurse"})
		c.emit(&g)
	}
	return nil, output{}, true
}

// winDelete is del or rd, which in PowerShell are names of Remove-Item.
func winDelete(c *winCall) (inner []word, out output, done bool) {
	dashed := slices.ContainsFunc(c.words[1:], func(w word) bool { return strings.HasPrefix(w.text, "-") })
	if dashed || len(c.words) == 1 && c.f.stdin != nil {
		c.name = "remove-item"
		c.args = c.a.winArguments("remove-item", c.words)
		if c.isQuery() {
			return nil, output{}, true
		}
		c.emit(c.args)
		return winRemove(c)
	}
	return nil, output{}, true
}

// winDiskpart reads its script from the input.
func winDiskpart(c *winCall) (inner []word, out output, done bool) {
	text := ""
	if c.f.stdin != nil {
		text = c.f.stdin.text
	}
	c.a.report("code: diskpart "+strings.ToLower(strings.Join(strings.Fields(text), " ")), ViewCode, c.f)
	return nil, output{}, true
}
