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

func (s *denySink) wants(string) bool  { return false }
func (s *denySink) lazy() bool         { return false }
func (s *denySink) names(func(string)) {}
func (s *denySink) view(view)          {}
func (s *denySink) complex(view)       { s.limited = true }
func (s *denySink) unparsed(view)      { s.failed = true }

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
	if !m.sameProgram(words[0].text, prefix[0], dialect) {
		return false
	}
	if hasPrefixWords(words, prefix) {
		return true
	}
	e := m.engine()
	name := e.canonicalName(words[0].text)
	if dialect == PlatformWindows {
		name = e.canonicalName(e.win.winName(words[0].text))
	}
	args := e.arguments(name, words)
	plain := slices.Concat(args.subs, texts(args.operands), texts(args.rest))
	flags := map[string]bool{}
	for _, o := range args.opts {
		flags[o.name] = true
		if o.has {
			flags[o.name+"="+o.value.text] = true
			plain = append(plain, "") // keeps operands from joining up over it
		}
	}
	want := e.arguments(name, wordsOf(prefix))
	for _, o := range want.opts {
		name := o.name
		if o.has {
			name += "=" + o.value.text
		}
		if !flags[name] {
			return false
		}
	}
	wantPlain := slices.Concat(want.subs, texts(want.operands), texts(want.rest))
	return len(wantPlain) <= len(plain) && slices.Equal(wantPlain, plain[:len(wantPlain)])
}

// sameProgram compares a command word with the first word of a prefix.
func (m *Matcher) sameProgram(text, want string, dialect Platform) bool {
	if text == want {
		return true
	}
	if dialect == PlatformWindows {
		t := m.engine().win
		return t.winName(text) == t.winName(want)
	}
	return baseName(text) == baseName(want)
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
