package safety

import (
	"slices"
	"strings"
)

// denySink tests every command of a line against a prefix.
type denySink struct {
	m       *Matcher
	prefix  []string
	matched bool
	// limited says that a part of the line was not read, failed that it does
	// not parse.
	limited, failed bool
	detail          string
}

func (s *denySink) wants(string) bool { return false }
func (s *denySink) lazy() bool        { return false }
func (s *denySink) view(view)         {}
func (s *denySink) complex(view)      { s.limited = true }
func (s *denySink) unparsed(view)     { s.failed = true }

// names calls yield for the denied program.
func (s *denySink) names(yield func(string)) { yield(baseName(s.prefix[0])) }

// command tests one layer of a command.
func (s *denySink) command(words []word, dialect Platform) {
	if !s.matched && s.m.startsWith(words, s.prefix, dialect) {
		s.matched = true
		s.detail = joinWords(words[:min(len(words), len(s.prefix)+2)])
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
	s := &denySink{m: m, prefix: prefix}
	m.engine().analyse(line, m.platform, s, nil)
	switch {
	case s.matched:
		return PrefixMatch{Matches: true, Reason: ReasonDenied, Detail: s.detail}
	case s.limited:
		return PrefixMatch{Matches: true, Reason: ReasonTooComplex}
	}
	return no(ReasonNotCovered, "")
}

// startsWith reports whether a command starts with the words of a prefix,
// directories, global options and the order of flags aside.
func (m *Matcher) startsWith(words []word, prefix []string, dialect Platform) bool {
	switch {
	case isUnknown(words[0]) && dialect == PlatformWindows:
		return !isExpression(words[1:]) // else it may be the whole prefix
	case isUnknown(words[0]):
		return true
	case !m.sameProgram(words[0], prefix[0], dialect):
		return false
	case hasPrefixWords(words, prefix):
		return true
	}
	e := m.engine()
	name := e.canonicalName(words[0].text)
	if dialect == PlatformWindows {
		name = e.canonicalName(e.win.winName(words[0].text))
	}
	args := e.arguments(name, words)
	plain := slices.Concat(wordsOf(args.subs), args.operands, args.rest)
	for i, sub := range args.subs { // which lost their marks
		plain[i].dyn, plain[i].glob = strings.Contains(sub, "$"), isPattern(sub)
	}
	flags := map[string]bool{}
	for _, o := range args.opts {
		flags[o.name] = true
		if o.has {
			flags[o.name+"="+o.value.text] = true
			plain = append(plain, word{}) // keeps operands from joining up over it
		}
	}
	want := e.arguments(name, wordsOf(prefix))
	for _, o := range want.opts {
		name := o.name
		if o.has {
			name += "=" + o.value.text
		}
		if !flags[name] && !slices.ContainsFunc(words, isUnknown) { // which may be the option
			return false
		}
	}
	return mayStartWith(plain, slices.Concat(want.subs, texts(want.operands), texts(want.rest)))
}

// sameProgram reports whether a command word names, or may stand for, the first
// word of a prefix.
func (m *Matcher) sameProgram(w word, want string, dialect Platform) bool {
	if w.text == want {
		return true
	}
	if dialect == PlatformWindows {
		t := m.engine().win
		if w.prog != nil { // strings put together by an operator
			w.text = strings.ReplaceAll(w.text, "+", "")
		}
		return sameRemoval(t.winName(w.text), t.winName(want))
	}
	w.text = baseName(w.text)
	return mayBe(w, baseName(want))
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
func mayStartWith(words []word, prefix []string) bool {
	reached := make([]bool, len(prefix)+1) // how much of the prefix may be covered
	reached[0] = true
	for _, w := range words {
		next := make([]bool, len(reached))
		for n, ok := range reached[:len(prefix)] {
			switch {
			case !ok:
			case isUnknown(w):
				return true
			case mayBe(w, prefix[n]):
				next[n+1] = true
			}
		}
		if reached[len(prefix)] {
			return true
		}
		reached = next
	}
	return reached[len(prefix)]
}

// mayBe reports whether a word is, or may stand for, what is wanted.
func mayBe(w word, want string) bool {
	if w.text == want {
		return true
	}
	if w.dyn {
		w.text = wildcards(w.text)
	}
	pattern := simplePattern(w.text)
	return (w.dyn || w.glob && isPattern(pattern)) && globMatch(pattern, want)
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
