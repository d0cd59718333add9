package safety

import "strings"

// remoteHandlers run commands elsewhere: on hosts, in containers, in terminals.
func remoteHandlers() map[string]handler {
	return map[string]handler{
		"ssh": sshCommand, "ansible": ansibleCommand, "salt": saltCommand,
		"tmux": tmuxCommand, "screen": screenCommand, "hyperfine": hyperfineCommand,
		"machinectl": passOn,
	}
}

// connection runs the helper commands of ssh, scp and sftp.
func (c *call) connection() {
	for _, w := range c.args.values("-o") {
		at := strings.IndexAny(w.text, " =") // both "Key value" and "Key=value" are accepted
		if at < 0 {
			continue
		}
		key, line := w.text[:at], w.text[at+1:]
		switch strings.ToLower(key) {
		case "proxycommand", "localcommand", "knownhostscommand":
			c.runScript(word{text: line, taint: w.taint, source: w.source})
		}
	}
}

// sshCommand runs its rest on a host, and helper commands here.
func sshCommand(c *call) output {
	c.connection()
	if c.f.stdin != nil && c.f.stdin.taint&taintSecret != 0 {
		c.a.sends("ssh", c.f)
	}
	if len(c.args.rest) == 0 {
		if c.f.stdin != nil {
			return c.runInput()
		}
		return c.remote("ssh")
	}
	f := c.f.inner().wrap("ssh")
	out := c.a.script(joinWords(c.args.rest), f, newScope())
	out.dyn = true
	out.mark(taintRemote, "ssh")
	return out
}

// ansibleCommand runs the argument of its command and shell modules.
func ansibleCommand(c *call) output {
	module := "command"
	for _, w := range c.args.values("-m", "--module-name") {
		module = w.text
	}
	switch module {
	case "command", "shell", "raw", "script", "win_shell", "win_command":
		for _, w := range c.args.values("-a", "--args") {
			c.runScript(w)
		}
	}
	return output{dyn: true}
}

// saltCommand runs the argument of cmd.run.
func saltCommand(c *call) output {
	if ops := c.args.operands; len(ops) > 2 && strings.HasPrefix(ops[1].text, "cmd.") {
		c.runScript(ops[2])
	}
	return output{dyn: true}
}

// tmuxCommand runs commands in new windows, or types them into old ones.
func tmuxCommand(c *call) output {
	ops := c.args.operands
	switch c.args.sub() {
	case "send-keys", "send":
		for _, w := range ops {
			if w.text != "Enter" && w.text != "C-m" {
				c.runScript(w)
			}
		}
	case "new-session", "new", "new-window", "neww", "split-window", "splitw", "run-shell", "run", "respawn-pane", "popup", "display-popup", "if-shell":
		if len(ops) > 0 {
			c.runScript(word{text: joinWords(ops)})
		}
	}
	return output{}
}

// screenCommand runs its rest in a terminal, or types into one.
func screenCommand(c *call) output {
	rest := c.args.rest
	if c.args.has("-X") && len(rest) > 1 && rest[0].text == "stuff" {
		text := strings.NewReplacer("^M", "\n", `\n`, "\n", `\r`, "\n").Replace(rest[1].text)
		return c.runScript(word{text: text})
	}
	if len(rest) == 0 || c.args.has("-X") {
		return output{}
	}
	return c.a.peel(rest, c.f, c.sc)
}

// hyperfineCommand times command lines.
func hyperfineCommand(c *call) output {
	for _, w := range append(c.args.values("-p", "-s", "-c", "--prepare", "--setup", "--cleanup"), c.args.operands...) {
		c.runScript(w)
	}
	return output{}
}
