package safety

import (
	"slices"
	"strings"
)

// coverage says whether a deny rule covers a command. Of several answers the
// greatest counts.
type coverage uint8

const (
	notCovered coverage = iota
	// mayCover is a command with an unknown word where the prefix would be.
	mayCover
	isCovered
)

// denySink tests every command of a line against a prefix.
type denySink struct {
	m       *Matcher
	prefix  []string
	line    string
	covered coverage
	// limited says that a part of the line was not read.
	limited bool
	// detail is the command that is covered, or the word that is not known.
	detail string
}

func (s *denySink) wants(string) bool { return false }
func (s *denySink) lazy() bool        { return false }
func (s *denySink) defines() bool     { return false }
func (s *denySink) view(view)         {}
func (s *denySink) complex(view)      { s.limited = true }
func (s *denySink) unparsed(view)     {}

// opaque receives a program that runs text which is not known.
func (s *denySink) opaque(program string) { s.note(mayCover, "what "+program+" runs") }

// names calls yield for the denied program.
func (s *denySink) names(yield func(string)) { yield(baseName(s.prefix[0])) }

// note keeps the greatest answer and the first of its details.
func (s *denySink) note(c coverage, detail string) {
	if c > s.covered {
		s.covered, s.detail = c, detail
	}
}

// command tests one layer of a command.
func (s *denySink) command(words []word, dialect Platform) {
	if s.covered == isCovered {
		return
	}
	if dialect == PlatformWindows {
		words = windowsUnknowns(words)
	}
	switch c, unknown := s.m.startsWith(words, s.prefix, dialect); {
	case c == isCovered:
		s.note(c, joinWords(words[:min(len(words), len(s.prefix)+2)]))
	case dialect == PlatformWindows && unknown.text == words[0].text && s.onlyShown(words):
	case c == mayCover:
		s.note(c, unknown.text)
	}
	if s.covered == notCovered {
		s.runs(words, dialect)
	}
}

// matchDeny reports whether any command of the line starts with the prefix.
// A line past a limit is denied: what was not read may be what is denied.
func (m *Matcher) matchDeny(prefix []string, cmd string) PrefixMatch {
	line := strings.TrimSpace(cmd)
	switch {
	case len(prefix) == 0:
		return PrefixMatch{Matches: true, Reason: ReasonDenied}
	case line == "":
		return no(ReasonEmpty, "")
	case len(line) > MaxLine:
		return PrefixMatch{Matches: true, Reason: ReasonTooComplex}
	}
	s := &denySink{m: m, prefix: prefix, line: line}
	m.engine().analyse(line, m.platform, s, nil)
	switch {
	case s.covered == isCovered:
		return PrefixMatch{Matches: true, Reason: ReasonDenied, Detail: s.detail}
	case s.limited:
		return PrefixMatch{Matches: true, Reason: ReasonTooComplex}
	case s.covered == mayCover:
		return no(ReasonUncertain, s.detail)
	}
	return no(ReasonNotCovered, "")
}

// startsWith reports whether a command starts with the words of a prefix,
// directories, global options and the order of flags aside. If it only may, it
// returns the word that decides.
func (m *Matcher) startsWith(words []word, prefix []string, dialect Platform) (coverage, word) {
	program := m.sameProgram(words[0], prefix[0], dialect)
	switch {
	case program != isCovered:
		return program, words[0]
	case hasPrefixWords(words, prefix):
		return isCovered, word{}
	}
	e := m.engine()
	name := e.canonicalName(words[0].text)
	if dialect == PlatformWindows {
		name = e.canonicalName(e.win.winName(words[0].text))
	}
	args := e.arguments(name, words)
	want := e.arguments(name, wordsOf(prefix))
	c, unknown := hasOptions(words, args, want)
	if c == notCovered {
		return c, unknown
	}
	plain := slices.Concat(wordsOf(args.subs), args.operands, args.rest)
	for i, sub := range args.subs { // which lost their marks
		plain[i].dyn, plain[i].glob = strings.Contains(sub, "$"), isPattern(sub)
	}
	for _, o := range args.opts {
		if o.has { // keeps operands from joining up over it
			plain = append(plain, word{})
		}
	}
	rest, next := mayStartWith(plain, slices.Concat(want.subs, texts(want.operands), texts(want.rest)))
	if rest < c {
		return rest, next
	}
	return c, unknown
}

// hasOptions reports whether a command has the options of a prefix.
func hasOptions(words []word, args, want *arguments) (coverage, word) {
	flags := map[string]bool{}
	for _, o := range args.opts {
		flags[o.name] = true
		if o.has {
			flags[o.name+"="+o.value.text] = true
		}
	}
	all, unknown := isCovered, word{}
	for _, o := range want.opts {
		name := o.name
		if o.has {
			name += "=" + o.value.text
		}
		if flags[name] {
			continue
		}
		best := notCovered
		for _, w := range words[1:] {
			if c := mayBeOption(w, name); c > best {
				best = c
				if c == mayCover {
					unknown = w
				}
			}
		}
		all = min(all, best)
	}
	return all, unknown
}

// mayBeOption reports whether a word that was not recognised is, or may stand
// for, an option. One letter may stand anywhere in a group of them.
func mayBeOption(w word, name string) coverage {
	if isUnknown(w) {
		return mayCover
	}
	if len(name) != 2 || len(w.text) < 2 || w.text[0] != '-' || w.text[1] == '-' || !w.dyn && !w.glob {
		return mayBe(w, name)
	}
	pattern, found := w.text, isCovered
	if w.dyn {
		pattern, found = wildcards(w.text), mayCover
	}
	for i := 1; i < len(pattern); i++ {
		if pattern[i] == '*' || globOne(pattern[i:], name[1]) > 0 {
			return found
		}
	}
	return notCovered
}

// sameProgram reports whether a command word names, or may stand for, the first
// word of a prefix. A file in a directory of the project is another program.
func (m *Matcher) sameProgram(w word, want string, dialect Platform) coverage {
	switch {
	case w.text == want:
		return isCovered
	case isUnknown(w) && isProjectFile(w.text):
		return notCovered
	case isUnknown(w):
		return mayCover
	}
	if dialect == PlatformWindows {
		t := m.engine().win
		if w.prog != nil { // strings put together by an operator
			w.text = strings.ReplaceAll(w.text, "+", "")
		}
		if sameRemoval(t.winName(w.text), t.winName(want)) {
			return isCovered
		}
		return notCovered
	}
	if isProjectFile(w.text) && w.dyn {
		return notCovered
	}
	w.text = baseName(w.text)
	return mayBe(w, baseName(want))
}

// isProjectFile recognises a path that leads down from the working directory
// through a directory whose name is known.
func isProjectFile(text string) bool {
	slash := strings.LastIndexByte(text, '/')
	return slash > 0 && strings.IndexByte("/~$", text[0]) < 0 && !strings.Contains(text[:slash+1], "../") && !strings.Contains(text[:slash], "$")
}

// isExpression reports whether a value that rest follows is part of an expression
// of PowerShell: a member of it is named, it is assigned to, or compared. By
// itself it is only shown.
func isExpression(rest []word) bool {
	if len(rest) == 0 || rest[0].text == "" || rest[0].text == "in" { // of foreach
		return true
	}
	text := strings.ToLower(rest[0].text)
	switch strings.TrimLeft(text, "-ci") {
	case "eq", "ne", "gt", "lt", "ge", "le", "like", "notlike", "match", "notmatch", "ontains", "notcontains", "n", "notin", "replace", "split", "join", "s", "snot", "as",
		"and", "or", "xor", "not", "band", "bor", "bxor", "f", "shl", "shr":
		return text[0] == '-'
	}
	return strings.IndexByte(".=+-*/%![(,?:|<>", text[0]) >= 0 && !isParameter(text)
}

// isParameter recognises the name of a parameter, as in "-Path".
func isParameter(text string) bool {
	return len(text) > 2 && text[0] == '-' && text[1] >= 'a' && text[1] <= 'z'
}

// sameRemoval compares names of Windows. Those by which cmd.exe deletes are other
// names of one cmdlet in PowerShell.
func sameRemoval(a, b string) bool {
	const cmdlet = "remove-item"
	deletes := func(name string) bool { return name == "del" || name == "rd" }
	return a == b || a == cmdlet && deletes(b) || b == cmdlet && deletes(a)
}

// mayStartWith reports whether words start with those of a prefix, or may: a
// word that is not known may be none of them, one, or several.
func mayStartWith(words []word, prefix []string) (coverage, word) {
	reached := make([]coverage, len(prefix)+1) // whether so much of the prefix is covered
	reached[0] = isCovered
	var unknown word
	for _, w := range words {
		if reached[len(prefix)] > notCovered {
			break
		}
		next := make([]coverage, len(reached))
		for n, c := range reached[:len(prefix)] {
			if c == notCovered {
				continue
			}
			if isUnknown(w) {
				return mayCover, w
			}
			same := mayBe(w, prefix[n])
			if same == mayCover {
				unknown = w
			}
			next[n+1] = max(next[n+1], min(c, same))
		}
		reached = next
	}
	return reached[len(prefix)], unknown
}

// mayBe reports whether a word is, or may stand for, what is wanted. A pattern
// stands for every name it matches.
func mayBe(w word, want string) coverage {
	if w.text == want {
		return isCovered
	}
	if w.dyn {
		if globMatch(simplePattern(wildcards(w.text)), want) {
			return mayCover
		}
		return notCovered
	}
	pattern := simplePattern(w.text)
	if w.glob && isPattern(pattern) && globMatch(pattern, want) {
		return isCovered
	}
	return notCovered
}

// isUnknown reports whether nothing is known about a word: it is an expansion, or
// a value in brackets, and no more.
func isUnknown(w word) bool {
	if w.prog != nil && strings.Trim(w.text, "()$@") == "" {
		return true
	}
	return w.dyn && strings.Trim(wildcards(baseName(w.text)), "*?") == ""
}

// baseName is the last component of a path.
func baseName(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// hasPrefixWords compares word by word, the program excepted.
func hasPrefixWords(words []word, prefix []string) bool {
	if len(words) < len(prefix) {
		return false
	}
	for i := 1; i < len(prefix); i++ {
		if words[i].text != prefix[i] {
			return false
		}
	}
	return true
}

// wildcards replaces what could not be resolved, which stands in a text as it was
// written, by the pattern of anything.
func wildcards(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '$' {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteByte('*')
		i += unresolvedLen(text[i:])
	}
	return b.String()
}

// unresolvedLen is the length of the expansion that text starts with.
func unresolvedLen(text string) int {
	if len(text) > 1 && (text[1] == '(' || text[1] == '{') {
		closing := ")}"[strings.IndexByte("({", text[1])]
		if end := strings.LastIndexByte(text, closing); end > 0 {
			return end + 1
		}
		return len(text)
	}
	n := 1
	for n < len(text) && isNameByte(text[n]) && strings.IndexByte(".:$-", text[n]) < 0 {
		n++
	}
	if n == 1 && len(text) > 1 && strings.IndexByte("@*#?!$-", text[1]) >= 0 {
		n++
	}
	return n
}

// texts are the texts of words.
func texts(ws []word) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.text
	}
	return out
}

// wordsOf makes words of texts.
func wordsOf(list []string) []word {
	out := make([]word, len(list))
	for i, s := range list {
		out[i] = word{text: s}
	}
	return out
}
