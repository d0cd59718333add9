package safety

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unknownWord stands for a word of which nothing is known.
func unknownWord(text string) word { return word{text: text, dyn: true} }

// runs looks at a program that runs another: what it is given may be, or may
// hide, the command that is denied.
func (s *denySink) runs(words []word, dialect Platform) {
	if dialect == PlatformWindows {
		s.runsWindows(words)
		return
	}
	e := s.m.engine()
	name := e.canonicalName(words[0].text)
	switch name {
	case "xargs":
		s.runsItems(e.xargsInner(words))
		return
	case "find":
		for _, inner := range parseFind(words[1:]).execs {
			s.runsItems(s.findItems(inner))
		}
		return
	case "eval":
		s.scripts(name, words[1:])
		return
	}
	p := e.program(name)
	if p == nil {
		return
	}
	args := e.arguments(name, words)
	s.scripts(name, args.values(args.prog.ShellOpts...))
	if args.has("-c", "--command") { // of a shell
		s.scripts(name, args.operands)
	}
	if args.prog.Shell {
		s.scripts(name, args.rest)
	}
	if before := len(words) - len(args.rest); args.prog.Wrap && len(args.rest) > 0 {
		// Without quotes it may be several words, and its last the program.
		if i := slices.IndexFunc(words[1:before], isUnknown); i >= 0 {
			s.note(mayCover, words[i+1].text)
		}
	}
}

// scripts looks for the output of commands in text that is run. Variables are
// found where that text is read.
func (s *denySink) scripts(program string, texts []word) {
	for _, w := range texts {
		if w.dyn && strings.Contains(w.text, "$(") {
			s.opaque(program)
			return
		}
	}
}

// runsItems tests a command that is given items.
func (s *denySink) runsItems(words []word) {
	if len(words) == 0 {
		return
	}
	if c, unknown := s.m.startsWith(words, s.prefix, PlatformUnix); c == mayCover {
		s.note(c, unknown.text)
	}
}

// xargsInner is the command that xargs runs, with what it reads.
func (e *engine) xargsInner(words []word) []word {
	args := e.arguments("xargs", words)
	if len(args.rest) == 0 {
		return nil
	}
	placeholder := ""
	if args.has("-i", "--replace") {
		placeholder = "{}"
	}
	for _, w := range args.values("-I", "-i", "--replace") {
		if w.text != "" {
			placeholder = w.text
		}
	}
	if placeholder == "" {
		return append(slices.Clone(args.rest), unknownWord("$()"))
	}
	return withUnknown(args.rest, placeholder)
}

// findItems is a command of find with the files it is given. Those are no
// options, so that a prefix with one is not looked for among them.
func (s *denySink) findItems(inner []word) []word {
	options := slices.ContainsFunc(s.prefix, func(p string) bool { return strings.HasPrefix(p, "-") })
	if options || len(inner) == 0 {
		return nil
	}
	return withUnknown(inner, "{}")
}

// withUnknown replaces a placeholder by what is not known.
func withUnknown(words []word, placeholder string) []word {
	out := slices.Clone(words)
	for i, w := range out {
		if strings.Contains(w.text, placeholder) {
			out[i] = unknownWord(strings.ReplaceAll(w.text, placeholder, "$()"))
		}
	}
	return out
}

// runsWindows looks at the programs of Windows that run text.
func (s *denySink) runsWindows(words []word) {
	switch name := s.m.engine().win.winName(words[0].text); name {
	case "invoke-expression":
		if len(words) == 1 {
			s.opaque(name)
		}
		fallthrough
	case "cmd", "powershell", "pwsh", "start", "start-process", "call":
		i := slices.IndexFunc(words[1:], func(w word) bool { return w.prog == nil && isUnknown(w) })
		if i >= 0 {
			s.note(mayCover, words[i+1].text)
		}
	}
}

// onlyShown reports whether an unknown value of PowerShell is not run but part
// of an expression, or shown.
func (s *denySink) onlyShown(words []word) bool {
	name := words[0].text
	called := func(operator string) bool { return strings.Contains(s.line, operator+name) }
	switch {
	case slices.ContainsFunc([]string{"& ", "&", ". "}, called):
		return false
	case len(words) > 1:
		return isExpression(words[1:])
	}
	return strings.HasPrefix(name, "$") && name != "$()" || words[0].prog != nil
}

// windowsUnknowns marks the variables of both shells of Windows, and lists of
// arguments as in @args, as what is not known.
func windowsUnknowns(words []word) []word {
	out := slices.Clone(words)
	for i, w := range out {
		list, isList := strings.CutPrefix(w.text, "@")
		switch {
		case i == 0 && w.text == "*", i > 0 && isList && syntax.ValidName(list):
			out[i] = unknownWord("$()")
		case w.dyn && strings.Count(w.text, "%") > 1:
			first, last := strings.IndexByte(w.text, '%'), strings.LastIndexByte(w.text, '%')
			out[i].text = w.text[:first] + "$()" + w.text[last+1:]
		case w.dyn && len(w.text) > 5 && strings.EqualFold(w.text[:5], "$env:"):
			out[i].text = "$" + w.text[5:]
		}
	}
	return out
}
