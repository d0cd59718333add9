package safety

import "strings"

// builtinHandlers are the shell builtins that change what later commands mean.
func builtinHandlers() map[string]handler {
	return map[string]handler{
		"cd": cdCommand, "pushd": cdCommand, "chdir": cdCommand,
		"alias": aliasCommand, "unalias": unaliasCommand, "unset": unsetCommand,
		"set": setCommand, "shift": shiftCommand, "read": readCommand,
		"mapfile": mapfileCommand, "readarray": mapfileCommand,
		"command": commandCommand, "exec": execCommand,
		"export": declareWords, "declare": declareWords, "local": declareWords, "readonly": declareWords, "typeset": declareWords,
	}
}

func cdCommand(c *call) output {
	dir := ""
	if len(c.args.operands) > 0 {
		dir = c.args.operands[0].text
	}
	if dir != "-" {
		c.sc.cd(dir)
	}
	return output{}
}

func aliasCommand(c *call) output {
	for _, w := range c.args.operands {
		if name, text, ok := strings.Cut(w.text, "="); ok {
			if c.sc.aliases == nil {
				c.sc.aliases = map[string]string{}
			}
			c.sc.aliases[name] = text
			if c.a.sink.defines() {
				c.a.script(text, c.f.inner(), c.sc.fork())
			}
		}
	}
	return output{}
}

func unaliasCommand(c *call) output {
	for _, w := range c.args.operands {
		delete(c.sc.aliases, w.text)
	}
	return output{}
}

func unsetCommand(c *call) output {
	for _, w := range c.args.operands {
		c.a.subscript(w.text, c.f, c.sc)
		delete(c.sc.vars, w.text)
	}
	return output{}
}

// setCommand sets the positional parameters.
func setCommand(c *call) output {
	words := c.words[1:]
	for len(words) > 0 && len(words[0].text) > 1 && strings.IndexByte("-+", words[0].text[0]) >= 0 && words[0].text != "--" {
		if strings.HasSuffix(words[0].text, "o") && len(words) > 1 {
			words = words[1:]
		}
		words = words[1:]
	}
	if len(words) > 0 && words[0].text == "--" {
		c.sc.positional = words[1:]
	} else if len(words) > 0 {
		c.sc.positional = words
	}
	return output{}
}

func shiftCommand(c *call) output {
	if len(c.sc.positional) > 0 {
		c.sc.positional = c.sc.positional[1:]
	}
	return output{}
}

// readCommand assigns a line of the input to variables.
func readCommand(c *call) output {
	g := c.a.arguments("read", c.words)
	for _, w := range c.words[1:] {
		c.a.subscript(w.text, c.f, c.sc)
	}
	in := c.input()
	line, _, _ := strings.Cut(in.text, "\n")
	fields := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(c.sc.ifs(), r) })
	if g.has("-a") && len(g.operands) > 0 {
		var v value
		for _, field := range fields[:min(len(fields), maxWords)] {
			v.fields = append(v.fields, word{text: field, taint: in.taint, source: in.source})
		}
		c.sc.set(g.operands[0].text, v)
		return output{}
	}
	for i, w := range g.operands {
		v := word{taint: in.taint, source: in.source, dyn: in.text == ""}
		switch {
		case in.text == "":
			v.text = "$" + w.text
		case i >= len(fields):
		case i == len(g.operands)-1:
			v.text = strings.Join(fields[i:], " ")
		default:
			v.text = fields[i]
		}
		c.sc.set(w.text, value{fields: []word{v}})
	}
	return output{}
}

// mapfileCommand assigns the lines of the input to an array.
func mapfileCommand(c *call) output {
	in := c.input()
	for _, w := range c.args.operands {
		c.a.subscript(w.text, c.f, c.sc)
	}
	if len(c.args.operands) == 0 || in.text == "" {
		return output{}
	}
	var v value
	for line := range strings.SplitSeq(strings.TrimSuffix(in.text, "\n"), "\n") {
		if len(v.fields) < maxWords {
			v.fields = append(v.fields, word{text: line, taint: in.taint, source: in.source})
		}
	}
	c.sc.set(c.args.operands[0].text, v)
	return output{}
}

// commandCommand is `command`: a wrapper, or a query with -v.
func commandCommand(c *call) output {
	if c.args.has("-v", "-V") {
		return output{text: joinWords(c.args.rest) + "\n", program: "command"}
	}
	if len(c.args.rest) == 0 {
		return output{}
	}
	f := c.f.wrap("command")
	return c.a.peel(c.args.rest, f, c.sc)
}

// execCommand is `exec`: a wrapper, or only redirections.
func execCommand(c *call) output {
	if len(c.args.rest) == 0 {
		c.sc.stdin = c.f.stdin
		return output{}
	}
	f := c.f.wrap("exec")
	return c.a.peel(c.args.rest, f, c.sc)
}

// declareWords handles declaration builtins that reach the analysis as words,
// behind a wrapper.
func declareWords(c *call) output {
	for _, w := range c.words[1:] {
		c.a.subscript(w.text, c.f, c.sc)
	}
	c.a.leadingAssignments(c.args.operands, c.f, c.sc)
	return output{}
}
