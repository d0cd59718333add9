package safety

import "strings"

// consoleHandlers are programs with a command language of their own in which
// other programs can be started.
func consoleHandlers() map[string]handler {
	out := map[string]handler{
		"gdb": debuggerCommand, "lldb": debuggerCommand, "m4": macroCommand, "bind": bindCommand,
		"capsh": capshCommand, "start-stop-daemon": serviceStarter, "hg": hgCommand, "cargo": cargoCommand,
	}
	for _, name := range []string{"ed", "dc", "lftp", "ftp", "gnuplot", "mail", "mailx", "telnet", "sftp"} {
		out[name] = consoleCommand
	}
	return out
}

// consoleCommand runs the escapes to the shell on its input and in its options.
func consoleCommand(c *call) output {
	texts := c.args.values("-c", "-e")
	if c.f.stdin != nil {
		texts = append(texts, word{text: c.f.stdin.text})
	}
	for _, w := range texts {
		for line := range strings.FieldsFuncSeq(w.text, func(r rune) bool { return r == '\n' || r == ';' }) {
			c.escape(line, "!", "r !", "w !", "e !", "~!", "local ", "shell ")
		}
	}
	switch c.name {
	case "gnuplot":
		for _, w := range texts {
			c.a.code("gnuplot", w.text, c.f, c.sc)
		}
	case "mail", "mailx", "telnet":
		return pipeToNetwork(c)
	case "ftp", "lftp":
		return transferCommand(c)
	case "sftp":
		c.connection()
		return transferCommand(c)
	}
	return passOn(c)
}

// escape runs what follows one of the escapes at the start of a line.
func (c *call) escape(line string, escapes ...string) {
	line = strings.TrimSpace(line)
	for _, escape := range escapes {
		if rest, ok := strings.CutPrefix(line, escape); ok {
			c.runScript(word{text: rest})
			return
		}
	}
}

// debuggerCommand runs the escapes to the shell and to Python of a debugger, and
// the program it is to debug.
func debuggerCommand(c *call) output {
	lines := c.args.values("-ex", "--ex", "-iex", "--iex", "-eval-command", "--eval-command", "-init-eval-command", "--init-eval-command",
		"-o", "--one-line", "-O", "--one-line-before-file")
	if c.f.stdin != nil {
		lines = append(lines, word{text: c.f.stdin.text})
	}
	for _, w := range lines {
		for line := range strings.SplitSeq(w.text, "\n") {
			c.escape(line, "shell ", "!", "platform shell ", "make ")
			for _, python := range []string{"python ", "py ", "script ", "pi "} {
				if text, ok := strings.CutPrefix(line, python); ok {
					c.a.code("python", text, c.f.inner(), c.sc)
				}
			}
			if _, line, ok := strings.Cut(line, "|"); ok { // of pipe
				c.runScript(word{text: line})
			}
		}
	}
	if len(c.args.rest) > 0 {
		return c.a.peel(c.args.rest, c.f.wrap(c.name), c.sc)
	}
	return passOn(c)
}

// macroCommand runs the commands of m4's syscmd and esyscmd.
func macroCommand(c *call) output {
	for call := range strings.SplitSeq(c.input().text, "syscmd(") {
		line, _, ok := strings.Cut(call, ")")
		if ok {
			c.runScript(word{text: strings.Trim(line, "`' ")})
		}
	}
	return passOn(c)
}

// bindCommand runs the command that bind -x ties to a key.
func bindCommand(c *call) output {
	for _, w := range c.args.values("-x") {
		_, line, _ := strings.Cut(w.text, ":")
		c.runScript(word{text: line})
	}
	return output{}
}

// capshCommand hands what follows the dashes to a shell.
func capshCommand(c *call) output {
	if len(c.args.rest) == 0 {
		return passOn(c)
	}
	shell := append([]word{{text: "bash"}}, c.args.rest...)
	return c.a.peel(shell, c.f.wrap(c.name), c.sc)
}

// serviceStarter starts the program of an option with what follows the dashes.
func serviceStarter(c *call) output {
	for _, program := range c.args.values("-a", "--startas", "-x", "--exec") {
		return c.a.peel(append([]word{program}, c.args.rest...), c.f.wrap(c.name), c.sc)
	}
	return passOn(c)
}

// hgCommand follows configuration that names programs.
func hgCommand(c *call) output {
	for _, w := range c.args.values("--config") {
		_, line, _ := strings.Cut(w.text, "=")
		c.runScript(word{text: strings.TrimPrefix(line, "!")})
	}
	return passOn(c)
}

// cargoCommand follows configuration that names programs: runners, wrappers,
// compilers and the like, as strings or lists of them.
func cargoCommand(c *call) output {
	for _, w := range c.args.values("--config") {
		key, text, _ := strings.Cut(w.text, "=")
		if !namesProgram(key) && !namesProgram(text) {
			continue
		}
		tokens := stringTokens(lexCode(text))
		switch {
		case len(tokens) == 0:
			c.runScript(word{text: text})
		case len(tokens) == 1:
			c.runScript(word{text: tokens[0]})
		default:
			c.runScript(word{text: strings.Join(tokens, " ")})
		}
	}
	if len(c.args.rest) > 0 {
		return c.a.peel(c.args.rest, c.f.wrap(c.name), c.sc)
	}
	return passOn(c)
}

// namesProgram reports whether a setting of cargo is, or holds, a program.
func namesProgram(key string) bool {
	for _, part := range []string{"runner", "wrapper", "linker", "rustc", "rustdoc", "credential-", "alias.", "git-fetch"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}
