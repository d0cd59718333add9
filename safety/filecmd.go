package safety

import (
	"path"
	"strings"
)

// fileHandlers are the programs that write files they name.
func fileHandlers() map[string]handler {
	return map[string]handler{
		"tee": teeCommand, "dd": ddCommand, "sponge": teeCommand,
		"cp": copyCommand, "mv": copyCommand, "ln": copyCommand,
		"truncate": touchCommand, "shred": touchCommand,
		"tar": tarCommand, "zip": zipCommand, "rsync": rsyncCommand,
	}
}

// teeCommand writes its input to files and passes it on.
func teeCommand(c *call) output {
	in := c.input()
	for _, w := range c.args.operands {
		if isNetDevice(w.text) {
			c.a.report("send: /dev/tcp", ViewRedirect, c.f)
			c.sendsInput()
		}
		c.a.writes(w, ViewArgv, c.f, c.sc)
		c.sc.write(w.text, in, c.args.has("-a", "--append"))
	}
	return in
}

// ddCommand copies between files named by operands. Writing a device is a rule
// of its own for dd, so only other targets are reported here.
func ddCommand(c *call) output {
	out := c.input()
	toFile := false
	for _, w := range c.args.operands {
		key, name, _ := strings.Cut(w.text, "=")
		switch key {
		case "if":
			out = output{dyn: true}
			if known, ok := c.sc.read(name); ok {
				out = known
			}
			if c.a.isSecret(name, c.sc) {
				out.mark(taintSecret, "")
			}
		case "of":
			toFile = true
			if class, _ := c.a.e.classify(name, c.sc.cwd); class != classDevice {
				c.a.writes(word{text: name}, ViewArgv, c.f, c.sc)
			}
			c.sc.write(name, out, false)
		}
	}
	if toFile {
		return output{}
	}
	return out
}

// copyCommand writes its last operand, or into it.
func copyCommand(c *call) output {
	ops := c.args.operands
	dirs := c.args.values("-t", "--target-directory")
	switch {
	case len(dirs) > 0:
		for _, w := range ops {
			c.copyTo(w, word{text: dirs[0].text + "/" + path.Base(w.text)})
		}
	case len(ops) >= 2:
		last := ops[len(ops)-1]
		for _, w := range ops[:len(ops)-1] {
			c.copyTo(w, last)
		}
	}
	return output{}
}

// copyTo records one copy. Whether the target is a directory is not known, so
// for system directories the file inside it is looked at too.
func (c *call) copyTo(from, to word) {
	c.a.writes(to, ViewArgv, c.f, c.sc)
	if class, _ := c.a.e.classify(to.text, c.sc.cwd); class == classSystem {
		c.a.writes(word{text: strings.TrimSuffix(to.text, "/") + "/" + path.Base(from.text)}, ViewArgv, c.f, c.sc)
	}
	if known, ok := c.sc.read(from.text); ok {
		c.sc.write(to.text, known, false)
	}
	if dir := path.Base(path.Dir(from.text)); dir == "bin" || dir == "sbin" { // a program under another name
		if c.sc.aliases == nil {
			c.sc.aliases = map[string]string{}
		}
		name := to.text
		if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "~") {
			name = "./" + fileKey(name)
		}
		c.sc.aliases[name] = from.text
		c.sc.aliases[strings.TrimSuffix(name, "/")+"/"+path.Base(from.text)] = from.text
	}
}

// touchCommand changes the files it names.
func touchCommand(c *call) output {
	for _, w := range c.args.operands {
		c.a.writes(w, ViewArgv, c.f, c.sc)
	}
	return output{}
}

// tarCommand runs helper programs given by options.
func tarCommand(c *call) output {
	for _, w := range c.args.values("--checkpoint-action") {
		if line, ok := strings.CutPrefix(w.text, "exec="); ok {
			c.runScript(word{text: line, taint: w.taint, source: w.source})
		}
	}
	for _, w := range c.args.values("--to-command", "-I", "--use-compress-program", "-F", "--info-script", "--new-volume-script", "--rsh-command") {
		c.runScript(w)
	}
	c.unpacks()
	out := passOn(c)
	c.markSecrets(&out)
	return out
}

// zipCommand can be told to test an archive with any command.
func zipCommand(c *call) output {
	for i, w := range c.words {
		if (w.text == "-TT" || w.text == "--unzip-command") && i+1 < len(c.words) {
			c.runScript(c.words[i+1])
		}
	}
	if c.args.has("-m", "--move") && len(c.args.operands) > 1 {
		c.removes(c.args.operands[1:])
	}
	out := passOn(c)
	c.markSecrets(&out)
	return out
}

// rsyncCommand runs a transport command and may send files away.
func rsyncCommand(c *call) output {
	for _, w := range c.args.values("-e", "--rsh", "--rsync-path") {
		c.runScript(w)
	}
	ops := c.args.operands
	if len(ops) >= 2 && !isRemoteName(ops[len(ops)-1].text) {
		c.a.writes(ops[len(ops)-1], ViewArgv, c.f, c.sc)
	}
	return transferCommand(c)
}

// isRemoteName recognises host:path and URLs.
func isRemoteName(s string) bool {
	i := strings.IndexByte(s, ':')
	return i > 0 && strings.IndexByte(s[:i], '/') < 0
}
