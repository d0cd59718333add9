package safety

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// winGate decides whether a line that is valid POSIX shell must also be read as a
// Windows one. Both readings of a line agree unless it has something that only
// cmd.exe or PowerShell gives a meaning: their escapes and variables, drives,
// switches, or a command of theirs. Most lines have nothing of the kind, and
// reading them once halves the work when the platform is not known. In doubt the
// gate opens: that costs time and nothing else.
//
// What only a POSIX shell has, such as here-documents and case, does not open it:
// to Windows such a line is an error. Nor do brackets and quotes that only
// Windows counts as unbalanced, as in "smile :)".
type winGate struct {
	// words are the words, in lower case, that mean something to the gate: the
	// kind of each in the low byte, its hash in the others. They are at the place
	// that the hash says or right behind it.
	words [gateSlots]uint64
	// variables are the names, in lower case, of those that Windows resolves.
	variables map[string]string
	// longest is the length of the longest of the words.
	longest int
}

// maxGateWord is the length of the longest word that the gate looks up.
const maxGateWord = 48

// gateSlots is more than twice the number of words, and a power of two.
const gateSlots = 4096

// gateWord says what a word is; it may be several things.
type gateWord uint8

const (
	// gateName is a word that only the Windows reading knows.
	gateName gateWord = 1 << iota
	// gateProgram is any program that a reading knows. In capitals it means
	// nothing to POSIX shells.
	gateProgram
	// gateRoot is the first word of the name of a system folder of Windows.
	gateRoot
	// gateRemove, gateFetch, gateHead and gateCom are rm, curl, head, which in
	// capitals is also a revision of git, and the suffix of programs and hosts.
	gateRemove
	gateFetch
	gateHead
	gateCom
)

// gateHash is the hash of a word, a byte at a time.
type gateHash uint64

// add adds a byte. The factor is the golden ratio of 64 bits, whose multiples
// spread well in the high bits.
func (h *gateHash) add(c byte) { *h = (*h + gateHash(c) + 1) * 0x9e3779b97f4a7c15 }

// slot returns where to look for the word first, and what is there in the bytes
// above the low one.
func (h gateHash) slot() (at int, tag uint64) {
	return int(h >> 52 % gateSlots), uint64(h) &^ 0xff
}

// newWinGate collects the names: commands and aliases of the tables, the first
// words of Windows rules, and the roots and suffixes that tell a Windows path.
// Commands in shared mean the same in both readings.
func newWinGate(e *engine, rules []*rule, x *viewIndex) *winGate {
	t := e.win
	g := &winGate{variables: t.variables}
	words := gateWords{}
	for word, branches := range x.byWord {
		words[word] |= gateProgram
		if slices.ContainsFunc(branches, func(b entry) bool { return rules[b.rule].Platform == PlatformWindows }) {
			words[word] |= gateName
		}
	}
	for _, names := range []iter.Seq[string]{maps.Keys(t.handlers), maps.Keys(t.aliases), maps.Keys(t.params), slices.Values(t.marks)} {
		words.add(gateName|gateProgram, names)
	}
	for _, names := range []iter.Seq[string]{maps.Keys(e.programs), maps.Keys(e.aliases), maps.Keys(e.handlers)} {
		words.add(gateProgram, names)
	}
	for _, name := range t.shared {
		words[name] &^= gateName
	}
	for name := range t.system {
		first, _, _ := strings.Cut(strings.TrimPrefix(name, "$"), " ")
		words[strings.TrimSuffix(first, ".bin")] |= gateRoot
	}
	for name, kind := range map[string]gateWord{"rm": gateRemove, "curl": gateFetch, "head": gateHead, "com": gateCom} {
		words[name] |= kind
	}
	for name, kind := range words {
		g.insert(name, kind)
	}
	return g
}

// insert adds a word. Two words with one hash would be a bug.
func (g *winGate) insert(word string, kind gateWord) {
	g.longest = min(maxGateWord, max(g.longest, len(word)))
	if kind == 0 {
		return
	}
	var h gateHash
	for i := range len(word) {
		h.add(word[i])
	}
	at, tag := h.slot()
	for ; g.words[at] != 0; at = (at + 1) % gateSlots {
		if g.words[at]&^0xff == tag {
			panic("bug: the gate takes " + word + " for another word")
		}
	}
	g.words[at] = tag | uint64(kind)
}

// gateWords collects the words.
type gateWords map[string]gateWord

// add says of words what they are.
func (g gateWords) add(kind gateWord, words iter.Seq[string]) {
	for word := range words {
		g[word] |= kind
	}
}

// gateScan is what the gate has seen of a line so far.
type gateScan struct {
	g    *winGate
	line string
	// quote is the quote that is open.
	quote byte
	// removes, fetches and writes say that the line has rm, a download or a file
	// that is written, saves that it may be the download; pipes and lists that
	// there is another command.
	removes, fetches, writes, saves, pipes, lists bool
	// doubtful says that the arguments of rm may be others on Windows, head that
	// the program of that name may be spelt in capitals, as revisions are in git.
	doubtful, head bool
	// known says that the last word is a program.
	known bool
}

// opens reports whether the Windows reading of line may differ. Quotes are looked
// through: a quoted half of a word does not hide it.
func (g *winGate) opens(line string) bool {
	s := gateScan{g: g, line: line}
	var word gateHash
	n, upper := 0, false
	for i := 0; i <= len(line); i++ {
		c := byte(' ')
		if i < len(line) {
			c = line[i]
		}
		switch {
		case isWordByte(c) || c == '-' && n > 0:
			lower := foldByte(c)
			word.add(lower)
			upper = upper || lower != c
			n++
			continue
		case c == '"' || c == '\'':
			s.quote = toggleQuote(s.quote, c)
			continue
		}
		if n > 0 && n <= g.longest && s.word(g.kind(word), upper) {
			return true
		}
		word, n, upper = 0, 0, false
		if i < len(line) && s.mark(i) {
			return true
		}
	}
	return s.doubts()
}

// kind says what a word is. Another word with the same hash would at worst open
// the gate.
func (g *winGate) kind(word gateHash) gateWord {
	at, tag := word.slot()
	for ; g.words[at] != 0; at = (at + 1) % gateSlots {
		if g.words[at]&^0xff == tag {
			return gateWord(g.words[at] & 0xff)
		}
	}
	return 0
}

// doubts reports whether what was seen may mean something else to Windows when
// taken together: what rm removes, or where a file that is run later came from.
func (s *gateScan) doubts() bool {
	switch {
	case s.removes && (s.doubtful || s.pipes):
	case s.fetches && (s.lists || s.pipes && s.saves):
	case s.writes && (s.lists || s.pipes):
	case s.head && s.pipes:
	default:
		return false
	}
	return true
}

// word looks at a word of some kind; upper says that it was not in lower case.
func (s *gateScan) word(kind gateWord, upper bool) bool {
	afterProgram := s.known
	s.known = kind&gateProgram != 0
	switch {
	case kind == 0:
	case kind&gateName != 0:
		return true
	case upper && kind&gateHead != 0:
		s.head = true
	case upper && s.known:
		return true
	case kind&gateCom != 0:
		return afterProgram
	default:
		s.removes = s.removes || kind&gateRemove != 0
		s.fetches = s.fetches || kind&gateFetch != 0
		s.doubtful = s.doubtful || kind&gateRoot != 0
	}
	return false
}

// mark looks at the punctuation at i and reports whether it means something to
// Windows that it does not mean to a POSIX shell.
func (s *gateScan) mark(i int) bool {
	c, rest := s.line[i], s.line[i+1:]
	before, next := s.around(i)
	s.note(c, rest)
	switch c {
	case '^', '`', '#':
		return true
	case '\\':
		return s.quote == 0 && !isLastEscape(rest) || strings.IndexByte(" \n.;$()/|{}", next) < 0
	case '%':
		return isWordByte(next) || strings.IndexByte("~*%", next) >= 0
	case '{':
		return next != '}' && before != '$'
	case ':':
		return endsDrive(s.line[:i], rest)
	case ',':
		return strings.IndexByte("~/*.$\"'", next) >= 0
	case '$':
		return assignsVariable(rest) || s.g.resolves(rest)
	case '@', '-', '/':
		return isArgumentMark(c, before, rest)
	}
	return c >= 0x80
}

// around returns the bytes before and after the one at i, blanks at the ends.
func (s *gateScan) around(i int) (before, next byte) {
	before, next = ' ', ' '
	if i > 0 {
		before = s.line[i-1]
	}
	if i+1 < len(s.line) {
		next = s.line[i+1]
	}
	return before, next
}

// note remembers punctuation that matters together with something else.
func (s *gateScan) note(c byte, rest string) {
	s.known = s.known && c == '.'
	switch c {
	case '\\', ':', ',':
		s.doubtful = true
	case '-':
		s.saves = s.saves || strings.ContainsAny(firstField(rest), "oO")
	case '|':
		s.pipes = true
	case ';', '&', '\n':
		s.lists = true
	case '>':
		file := strings.TrimLeft(rest, "> ")
		s.writes = s.writes || !strings.HasPrefix(file, "&") && !strings.HasPrefix(file, "/dev/null")
	}
}

// isLastEscape recognises the escaped semicolon that ends a find command.
func isLastEscape(rest string) bool {
	return strings.HasPrefix(rest, ";") && strings.Trim(rest[1:], " \t\n") == ""
}

// endsDrive reports whether the colon between before and rest ends the name of a
// drive, or separates the static member of a type.
func endsDrive(before, rest string) bool {
	if strings.HasPrefix(rest, ":") {
		return true
	}
	n := len(before)
	letter := n > 0 && isWordByte(before[n-1]) && (n == 1 || !isWordByte(before[n-2]))
	return letter && !strings.HasPrefix(rest, "//")
}

// isArgumentMark reports whether c starts a Windows argument: a splat or array,
// a parameter of PowerShell, which is written in full, or a switch of cmd.exe.
func isArgumentMark(c, before byte, rest string) bool {
	switch c {
	case '@':
		return startsWord(before)
	case '/':
		return startsWord(before) && isSwitch(rest)
	}
	return len(rest) > 1 && 'A' <= rest[0] && rest[0] <= 'Z' && 'a' <= rest[1] && rest[1] <= 'z'
}

// startsWord reports whether what follows c starts a word.
func startsWord(c byte) bool { return strings.IndexByte(" \t\n\"'&|;(<>=", c) >= 0 }

// assignsVariable recognises PowerShell's "$x =", given what follows the dollar,
// and its environment.
func assignsVariable(s string) bool {
	s = strings.TrimPrefix(s, "{")
	n := 0
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	if n == 0 {
		return false
	}
	s = strings.TrimLeft(strings.TrimPrefix(s[n:], "}"), " \t+")
	return strings.HasPrefix(s, "=") || strings.HasPrefix(s, ":")
}

// resolves reports whether Windows knows the variable that s starts with, after
// the dollar, and a POSIX shell does not know the same.
func (g *winGate) resolves(s string) bool {
	s = strings.TrimPrefix(s, "{")
	n := 0
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	if n == 0 || s[:n] == "HOME" || s[:n] == "PWD" {
		return false
	}
	_, ok := g.variables[strings.ToLower(s[:n])]
	return ok
}

// isSwitch reports whether text after a slash looks like a switch or the drive
// of Git Bash, and not like a path.
func isSwitch(s string) bool {
	n := 0
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	if n == 1 {
		return true
	}
	if n == 0 || n > 12 || n < len(s) && strings.IndexByte(" \t\n:\"'&|;/", s[n]) < 0 {
		return n == 0 && s != "" && (s[0] == '?' || s[0] == '/')
	}
	if n < len(s) && s[n] == '/' {
		return false
	}
	switch s[:n] {
	case "etc", "tmp", "usr", "var", "home", "bin", "sbin", "dev", "root", "opt", "proc", "sys", "lib", "lib64", "boot", "srv", "run", "data", "app", "workspace", "repo", "src", "project", "Users":
		return false
	}
	return true
}
