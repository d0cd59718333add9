package safety

import (
	"iter"
	"slices"
	"strings"
)

// searchHandlers are the programs that run a command per item.
func searchHandlers() map[string]handler {
	return map[string]handler{"find": findCommand, "fd": fdCommand}
}

// findCall is a find command taken apart.
type findCall struct {
	paths    []word
	filtered bool
	deletes  bool
	// execs are the commands run per file.
	execs [][]word
	// writes are files that lists are printed to.
	writes []word
}

// parseFind takes the words after the program name apart.
func parseFind(words []word) findCall {
	var fc findCall
	i := 0
	for i < len(words) && (words[i].text == "-H" || words[i].text == "-L" || words[i].text == "-P" || words[i].text == "-D" || strings.HasPrefix(words[i].text, "-O")) {
		if words[i].text == "-D" {
			i++
		}
		i++
	}
	for i < len(words) && !isFindExpression(words[i].text) {
		fc.paths = append(fc.paths, words[i])
		i++
	}
	if len(fc.paths) == 0 {
		fc.paths = []word{{text: "."}}
	}
	for i < len(words) {
		i = fc.next(words, i)
	}
	return fc
}

// isFindExpression reports whether a word starts the expression.
func isFindExpression(text string) bool {
	return text == "(" || text == "!" || text == "," || len(text) > 1 && text[0] == '-'
}

// next consumes one primary of the expression.
func (fc *findCall) next(words []word, i int) int {
	switch text := words[i].text; text {
	case "-delete":
		fc.deletes = true
	case "-exec", "-execdir", "-ok", "-okdir":
		end := i + 1
		for end < len(words) && words[end].text != ";" && (words[end].text != "+" || words[end-1].text != "{}") {
			end++
		}
		fc.execs = append(fc.execs, words[i+1:min(end, len(words))])
		return end + 1
	case "-fprint", "-fprint0", "-fls", "-fprintf":
		if i+1 < len(words) {
			fc.writes = append(fc.writes, words[i+1])
		}
		return i + 2
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname", "-newer", "-mtime", "-mmin", "-atime",
		"-amin", "-ctime", "-cmin", "-size", "-user", "-group", "-perm", "-inum", "-samefile", "-links":
		fc.filtered = fc.filtered || i+1 < len(words) && words[i+1].text != "*"
		return i + 2
	case "-empty", "-nouser", "-nogroup":
		fc.filtered = true
	case "-type", "-maxdepth", "-mindepth", "-printf", "-fstype", "-used", "-xtype", "-context":
		return i + 2
	}
	return i + 1
}

// found lists words for what the search finds: the start paths, something below
// them if a filter leaves most of a harmless tree alone, and everything below
// them if any of it matters.
func (fc *findCall) found(a *analysis, sc *scope) []word {
	out := make([]word, len(fc.paths))
	for i, w := range fc.paths {
		out[i] = w
		class, _ := a.e.classify(w.text, sc.cwd)
		switch {
		case class.matters() && class != classVar:
			out[i].text = strings.TrimSuffix(w.text, "/") + "/**"
		case fc.filtered:
			out[i].text = strings.TrimSuffix(w.text, "/") + "/{}"
		}
	}
	return out
}

func findCommand(c *call) output {
	fc := parseFind(c.words[1:])
	found := fc.found(c.a, c.sc)
	if fc.deletes {
		g := &arguments{name: "find", opts: []option{{name: "-delete"}}, operands: found}
		if fc.filtered {
			g.opts = append(g.opts, option{name: "-filter"})
		}
		c.a.emit(g, c.f, c.sc)
	}
	for _, w := range fc.writes {
		c.a.writes(w, ViewRedirect, c.f, c.sc)
	}
	for _, inner := range fc.execs {
		c.runPerItem(inner, "{}", found)
	}
	out := output{dyn: true, operands: found, program: "find"}
	for _, w := range fc.paths {
		if c.a.isSecret(w.text, c.sc) {
			out.mark(taintSecret, "")
		}
	}
	return out
}

// runPerItem runs a command with a placeholder replaced by the items. Without a
// placeholder in it, the items are not arguments.
func (c *call) runPerItem(inner []word, placeholder string, items []word) {
	if len(inner) == 0 {
		return
	}
	f := c.f.wrap(c.name)
	c.a.peel(substitute(inner, placeholder, items), f, c.sc)
}

// substitute replaces a placeholder. A word that is the placeholder becomes all
// items; one that contains it gets the first.
func substitute(inner []word, placeholder string, items []word) []word {
	var out []word
	for _, w := range inner {
		switch {
		case w.text == placeholder:
			out = append(out, items...)
		case placeholder != "" && strings.Contains(w.text, placeholder) && len(items) > 0 && len(items[0].text) < maxTrim:
			w.text = strings.ReplaceAll(w.text, placeholder, items[0].text)
			w.taint |= items[0].taint
			w.source = items[0].source
			out = append(out, w)
		default:
			out = append(out, w)
		}
	}
	return out
}

// fdCommand is fd: pattern, paths, and a command after -x or -X.
func fdCommand(c *call) output {
	words := c.words
	i := slices.IndexFunc(words, func(w word) bool {
		return w.text == "-x" || w.text == "-X" || w.text == "--exec" || w.text == "--exec-batch"
	})
	var inner []word
	if i > 0 {
		inner = words[i+1:]
		if end := slices.IndexFunc(inner, func(w word) bool { return w.text == ";" }); end >= 0 {
			inner = inner[:end]
		}
		words = words[:i]
	}
	g := c.a.arguments("fd", words)
	fc := findCall{paths: []word{{text: "."}}}
	if len(g.operands) > 1 {
		fc.paths = g.operands[1:]
	}
	fc.filtered = len(g.operands) > 0 && g.operands[0].text != "." && g.operands[0].text != "" || g.has("-e", "--extension")
	found := fc.found(c.a, c.sc)
	if !slices.ContainsFunc(inner, func(w word) bool { return strings.Contains(w.text, "{") }) && len(inner) > 0 {
		inner = append(slices.Clip(inner), word{text: "{}"})
	}
	c.runPerItem(inner, "{}", found)
	return output{dyn: true, operands: found, program: "fd"}
}

// xargsCommand runs a command with arguments from its input.
func xargsCommand(c *call) output {
	in := c.input()
	items := slices.Clone(in.operands)
	if c.args.has("-0", "--null") && in.text != "" {
		for item := range strings.SplitSeq(strings.TrimRight(in.text, "\x00\n"), "\x00") {
			items = append(items, word{text: item, taint: in.taint, source: in.source})
		}
	} else {
		for item := range c.xargsItems(in.text) {
			items = append(items, word{text: strings.Trim(item, `"'`), taint: in.taint, source: in.source})
		}
	}
	if len(items) == 0 && in.taint != 0 {
		items = []word{{text: "$()", dyn: true, taint: in.taint, source: in.source}}
	}
	items = items[:min(len(items), maxWords)]
	inner := c.args.rest
	if len(inner) == 0 {
		return passOn(c)
	}
	placeholder := ""
	for _, w := range c.args.values("-I", "-J", "-i", "--replace") {
		placeholder = w.text
	}
	if c.args.has("-i", "--replace") && placeholder == "" {
		placeholder = "{}"
	}
	f := c.f.wrap("xargs")
	f.stdin = nil
	if placeholder != "" {
		inner = unknownProgram(inner, placeholder, len(items))
		return c.a.peel(substitute(inner, placeholder, items), f, c.sc)
	}
	return c.a.peel(append(slices.Clone(inner), items...), f, c.sc)
}

// xargsItems splits the input: with a placeholder an item is a whole line.
func (c *call) xargsItems(text string) iter.Seq[string] {
	if text != "" && c.args.has("-I", "-i", "--replace") {
		return func(yield func(string) bool) {
			for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
				if !yield(strings.TrimLeft(line, " \t")) { // as xargs does
					return
				}
			}
		}
	}
	return strings.FieldsSeq(text)
}

// unknownProgram marks a program that is one of the items when none is known.
func unknownProgram(inner []word, placeholder string, items int) []word {
	if items > 0 || !strings.Contains(inner[0].text, placeholder) {
		return inner
	}
	program := word{text: strings.ReplaceAll(inner[0].text, placeholder, "$()"), dyn: true}
	return append([]word{program}, inner[1:]...)
}

// parallelCommand runs a command line per argument.
func parallelCommand(c *call) output {
	words := c.args.rest
	var items []word
	if i := slices.IndexFunc(words, func(w word) bool { return w.text == ":::" || w.text == "::::" }); i >= 0 {
		items = words[i+1:]
		words = words[:i]
	} else {
		in := c.input()
		items = append(items, in.operands...)
		if len(words) == 0 { // every line is a command
			return c.runScript(word{text: in.text, taint: in.taint, source: in.source})
		}
		for item := range strings.FieldsSeq(in.text) {
			items = append(items, word{text: item, taint: in.taint, source: in.source})
		}
	}
	line := joinWords(words)
	switch {
	case line == "":
		for _, item := range items[:min(len(items), maxItems)] {
			c.runScript(item)
		}
		return output{}
	case strings.Contains(line, "{}"):
		line = strings.ReplaceAll(line, "{}", joinWords(items))
	default:
		line += " " + joinWords(items)
	}
	if len(line) > maxValue {
		c.a.giveUp(c.f)
		return output{}
	}
	return c.a.script(line, c.f.inner(), c.sc.fork())
}
