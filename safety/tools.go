package safety

import (
	"slices"
	"strings"
)

// toolHandlers are development tools that run commands they are given.
func toolHandlers() map[string]handler {
	return map[string]handler{
		"git": gitCommand, "vim": vimCommand, "man": manCommand, "make": makeCommand,
		"gpg": gpgCommand, "kubectl": kubectlCommand, "less": lessCommand,
	}
}

// gitCommand follows configuration and options that name programs.
func gitCommand(c *call) output {
	for _, w := range c.args.values("-c", "--config") {
		key, val, _ := strings.Cut(w.text, "=")
		c.gitSetting(key, val)
	}
	c.gitSubcommand()
	for _, w := range c.args.values("-x", "--exec", "--extcmd", "--upload-pack", "--receive-pack", "-O", "--open-files-in-pager") {
		c.runScript(w)
	}
	if c.args.sub() == "clone" {
		for _, w := range c.args.values("-u") {
			c.runScript(w)
		}
	}
	return output{dyn: true, program: "git"}
}

// gitSubcommand follows the operands of subcommands that run something.
func (c *call) gitSubcommand() {
	ops := c.args.operands
	switch c.args.command() {
	case "git config":
		if len(ops) > 1 {
			c.gitSetting(ops[0].text, ops[1].text)
		}
	case "git submodule foreach":
		c.a.script(joinWords(c.wordsAfter("foreach")), c.f.inner(), c.sc.fork())
	case "git bisect run":
		if inner := c.wordsAfter("run"); len(inner) > 0 {
			c.a.peel(inner, c.f, c.sc)
		}
	case "git filter-branch":
		for _, o := range c.args.opts {
			if o.has && strings.HasSuffix(o.name, "-filter") {
				c.runScript(o.value)
			}
		}
	case "git clone", "git fetch", "git ls-remote", "git pull":
		for _, w := range ops {
			if line, ok := strings.CutPrefix(w.text, "ext::"); ok {
				c.a.script(strings.ReplaceAll(line, "% ", " "), c.f.inner(), c.sc.fork())
			}
		}
	}
}

// wordsAfter lists the words after a subcommand, options in front left out.
func (c *call) wordsAfter(sub string) []word {
	i := slices.IndexFunc(c.words, func(w word) bool { return w.text == sub })
	rest := c.words[i+1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0].text, "-") {
		rest = rest[1:]
	}
	return rest
}

// gitSetting looks at a configuration value that git would execute.
func (c *call) gitSetting(key, val string) {
	if line, ok := strings.CutPrefix(val, "!"); ok {
		c.a.script(line, c.f.inner(), c.sc.fork())
		return
	}
	key = strings.ToLower(key)
	switch key {
	case "core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.askpass", "core.gitproxy", "sequence.editor", "diff.external", "credential.helper", "gpg.program", "web.browser":
		c.a.script(val, c.f.inner(), c.sc.fork())
		return
	}
	if strings.HasPrefix(key, "alias.") {
		c.a.script("git "+val, c.f.inner(), c.sc.fork())
		return
	}
	for _, suffix := range []string{".command", ".cmd", ".textconv", ".clean", ".smudge", ".process", ".driver"} {
		if strings.HasSuffix(key, suffix) {
			c.a.script(val, c.f.inner(), c.sc.fork())
		}
	}
}

// vimCommand runs the shell escapes among the commands given to an editor.
func vimCommand(c *call) output {
	lines := c.args.values("-c", "--cmd")
	for _, w := range c.args.operands {
		if rest, ok := strings.CutPrefix(w.text, "+"); ok {
			lines = append(lines, word{text: rest})
		}
	}
	for _, w := range lines {
		text := strings.TrimLeft(w.text, ": %")
		if _, line, ok := strings.Cut(text, "!"); ok { // as in "silent !ls" and "w !ls"
			c.runScript(word{text: strings.TrimRight(line, `'"`)})
		}
		c.a.code("vim", text, c.f, c.sc)
	}
	return output{}
}

// manCommand runs a pager.
func manCommand(c *call) output {
	for _, w := range c.args.values("-P", "--pager", "-H") {
		c.runScript(w)
	}
	return output{dyn: true}
}

// lessCommand runs commands that start with an exclamation mark.
func lessCommand(c *call) output {
	for _, w := range c.args.operands {
		if line, ok := strings.CutPrefix(strings.TrimLeft(w.text, "+"), "!"); ok {
			c.runScript(word{text: line})
		}
	}
	return passOn(c)
}

// makeCommand runs recipes given on its input or with --eval.
func makeCommand(c *call) output {
	c.makeVariables()
	texts := c.args.values("--eval")
	for _, w := range c.args.values("-f", "--file", "--makefile") {
		known, ok := c.sc.read(w.text)
		switch {
		case w.text == "-" || w.text == "/dev/stdin":
			texts = append(texts, word{text: c.input().text})
		case w.prog != nil:
			texts = append(texts, word{text: w.prog.text})
		case ok:
			texts = append(texts, word{text: known.text})
		}
	}
	for _, w := range texts {
		if strings.Contains(w.text, "$(shell ") {
			c.a.tryScript(`: "`+strings.ReplaceAll(strings.ReplaceAll(w.text, `"`, ""), "$(shell ", "$(")+`"`, c.f.inner(), c.sc)
		}
		for line := range strings.SplitSeq(w.text, "\n") {
			if _, recipe, ok := strings.Cut(line, ";"); ok {
				line = recipe
			} else if !strings.HasPrefix(line, "\t") {
				continue
			}
			c.runScript(word{text: strings.TrimLeft(line, "\t @-")})
		}
	}
	return output{dyn: true}
}

// makeVariables follows variables that name the programs of recipes.
func (c *call) makeVariables() {
	shell, flags := word{}, ""
	for _, w := range c.args.operands {
		name, text, ok := strings.Cut(w.text, "=")
		if !ok {
			continue
		}
		w.text = text
		switch strings.TrimRight(strings.TrimSpace(name), ":+?!") {
		case "SHELL":
			shell = w
		case ".SHELLFLAGS":
			flags = text
		case "CC", "CXX", "CPP", "LD", "AR", "AS", "MAKE", "LEX", "YACC", "GO", "CARGO", "PYTHON", "NODE", "NPM":
			c.runScript(w)
		}
	}
	if shell.text != "" {
		shell.text = strings.TrimSpace(shell.text) + " " + flags
		c.runScript(shell)
	}
}

// gpgCommand can print private keys.
func gpgCommand(c *call) output {
	out := encodedOutput(c)
	if c.args.has("--export-secret-keys", "--export-secret-subkeys") {
		out.mark(taintSecret, "")
	}
	if c.args.has("-d", "--decrypt") {
		out.mark(taintDecoded, "")
	}
	return out
}

// kubectlCommand: exec and run wrap a command, get may print secrets.
func kubectlCommand(c *call) output {
	if len(c.args.rest) > 0 {
		f := c.f.wrap("kubectl")
		return c.a.peel(c.args.rest, f, c.sc)
	}
	out := passOn(c)
	if c.args.sub() == "get" && len(c.args.operands) > 0 && strings.HasPrefix(c.args.operands[0].text, "secret") {
		out.mark(taintSecret, "")
	}
	return out
}
