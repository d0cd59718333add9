package safety

import (
	"slices"
	"strings"
)

// dynamicName looks at a command whose program is not known: its arguments may
// be those of a recursive delete, or hold program text.
func (a *analysis) dynamicName(words []word, f frame, sc *scope) {
	g := a.arguments("rm", words)
	g.name = "dynamic:"
	a.emit(g, f, sc)
	a.unknownCode(words[1:], f, sc)
}

// unknownCode reads what an unknown program is given with -c or -e as a shell
// would, if it is a script, and as any other interpreter would.
func (a *analysis) unknownCode(args []word, f frame, sc *scope) {
	for i, w := range args[:max(len(args)-1, 0)] {
		if f.depth > maxDepth || !isCodeOption(w.text) {
			continue
		}
		text := args[i+1].text
		a.tryScript(text, f.inner(), sc)
		if a.parsed+len(text) <= a.budget()/2 {
			a.code("unknown", text, f.inner(), sc)
		}
		return
	}
}

// isCodeOption recognises the options, alone or at the end of a cluster, by which
// shells and other interpreters take program text.
func isCodeOption(text string) bool {
	switch text {
	case "--eval", "--command":
		return true
	}
	return len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.IndexByte("ceE", text[len(text)-1]) >= 0
}

// globName walks the commands that a pattern in place of a program may stand
// for: every program that a rule, a handler or a wrapper knows. A pattern
// without a directory expands to names of the working directory, which are then
// looked up as programs.
func (a *analysis) globName(words []word, f frame, sc *scope) {
	pattern, ok := programPattern(words[0].text)
	if !ok || a.naive {
		return
	}
	names, ok := a.patterns[pattern]
	if !ok {
		if len(a.patterns) == maxPatterns {
			a.giveUp(f)
			return
		}
		if a.patterns == nil {
			a.patterns = map[string][]string{}
		}
		names = a.programsLike(pattern)
		a.patterns[pattern] = names
	}
	for _, name := range names {
		if !a.step(f) {
			return
		}
		a.simple(slices.Concat([]word{{text: name}}, words[1:]), f, sc.fork())
	}
}

// programPattern returns the pattern for the name of a program; ok is false for
// files of the project and for patterns that say nothing about the name.
func programPattern(text string) (pattern string, ok bool) {
	slash := strings.LastIndexByte(text, '/')
	pattern = simplePattern(text[slash+1:])
	switch {
	case slash >= 0 && text[0] != '/' && !strings.HasPrefix(text, ".."):
		return "", false
	case !isPattern(pattern) || strings.Trim(pattern, "*") == "":
		return "", false
	}
	return pattern, true
}

// isPattern reports whether text has a pattern character that means something.
func isPattern(text string) bool {
	if strings.ContainsAny(text, "*?") {
		return true
	}
	open := strings.IndexByte(text, '[')
	return open >= 0 && strings.IndexByte(text[open:], ']') > 1
}

// simplePattern replaces the pattern lists of extended patterns, as in "@(a|b)",
// by the pattern of anything.
func simplePattern(text string) string {
	for {
		open := strings.IndexByte(text, '(')
		if open < 1 || strings.IndexByte("@?*+!", text[open-1]) < 0 {
			return text
		}
		end := strings.IndexByte(text[open:], ')')
		if end < 0 {
			return text
		}
		text = text[:open-1] + "*" + text[open+end+1:]
	}
}

// programsLike lists the programs of interest whose name a pattern matches.
func (a *analysis) programsLike(pattern string) []string {
	names := map[string]bool{}
	add := func(name string) {
		if globMatch(pattern, name) && !strings.ContainsAny(name, ": ") {
			names[name] = true
		}
	}
	a.sink.names(add)
	for name := range a.e.handlers {
		add(name)
	}
	for name := range a.e.aliases {
		add(name)
	}
	for name, p := range a.e.programs {
		if p.Wrap || len(p.ShellOpts) > 0 {
			add(name)
		}
	}
	out := make([]string, 0, len(names))
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
