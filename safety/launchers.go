package safety

import "strings"

// launcherHandlers start the commands that they are given in some way of their own.
func launcherHandlers() map[string]handler {
	return map[string]handler{
		"concurrently": concurrentCommand, "runcon": runconCommand, "pwsh": pwshCommand,
	}
}

// concurrentCommand runs each of its operands as a script.
func concurrentCommand(c *call) output {
	for _, w := range c.args.operands {
		c.runScript(w)
	}
	return output{dyn: true}
}

// runconCommand runs its rest, after a security context unless options make one up.
func runconCommand(c *call) output {
	rest := c.args.rest
	if len(rest) > 1 && strings.Contains(rest[0].text, ":") {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return output{}
	}
	return c.a.peel(rest, c.f.wrap(c.name), c.sc)
}

// pwshCommand reads what PowerShell is told to run as Windows does.
func pwshCommand(c *call) output {
	words := c.words[1:]
	for i, w := range words {
		key := strings.ToLower(w.text)
		switch {
		case !strings.HasPrefix(key, "-"), i+1 == len(words):
		case strings.HasPrefix("-command", key) && len(key) > 1:
			c.a.windows(joinWords(words[i+1:]), c.f.inner(), c.sc.fork())
		case strings.HasPrefix("-encodedcommand", key) || key == "-ec":
			if text, ok := decodeUTF16(words[i+1].text); ok {
				c.a.windows(text, c.f.inner(), c.sc.fork())
			}
		}
	}
	if in := c.f.stdin; in != nil && in.text != "" {
		c.a.windows(in.text, c.f.inner(), c.sc.fork())
	}
	return interpreterCommand(c, interpreters()["pwsh"])
}

// unlisted looks into the words of a program about which nothing is known: many
// start the command behind "--", or the one in an option that says so.
func (c *call) unlisted() {
	for i, w := range c.words[1:] {
		if !strings.HasPrefix(w.text, "--") {
			continue
		}
		rest := c.words[i+2:]
		if w.text == "--" {
			if len(rest) > 1 {
				c.a.peel(rest, c.f.wrap(c.name), c.sc.fork())
			}
			return
		}
		switch name, text, attached := strings.Cut(w.text, "="); name {
		case "--exec", "--command", "--preview", "--pager", "--run":
			if !attached && len(rest) > 0 {
				text = rest[0].text
			}
			if strings.IndexByte(text, ' ') > 0 {
				c.a.tryScript(text, c.f.inner(), c.sc)
			}
		}
	}
}

// mayLaunch reports whether unlisted may find something in the words.
func mayLaunch(words []word) bool {
	for _, w := range words {
		if strings.HasPrefix(w.text, "--") {
			return true
		}
	}
	return false
}
