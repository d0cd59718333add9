package safety

import (
	"maps"
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
	// names are words, in lower case, that only the Windows reading knows.
	names map[string]bool
	// programs are all the others that a reading knows. In upper case they mean
	// nothing to POSIX shells.
	programs map[string]bool
	// variables are the names, in lower case, of those that Windows resolves.
	variables map[string]string
	// roots are the first words of the system folders of Windows.
	roots map[string]bool
	// longest is the length of the longest of the words.
	longest int
}

// maxGateWord is the length of the longest word that the gate looks up.
const maxGateWord = 48

// newWinGate collects the names: commands and aliases of the tables, the first
// words of Windows rules, and the roots and suffixes that tell a Windows path.
// Commands in shared mean the same in both readings.
func newWinGate(e *engine, rules []*rule, x *viewIndex) *winGate {
	t := e.win
	g := &winGate{names: map[string]bool{}, programs: map[string]bool{}, variables: t.variables, roots: map[string]bool{}}
	for word, branches := range x.byWord {
		g.programs[word] = true
		for _, b := range branches {
			if rules[b.rule].Platform == PlatformWindows {
				g.names[word] = true
			}
		}
	}
	addNames(g.names, maps.Keys(t.handlers))
	addNames(g.names, maps.Keys(t.aliases))
	addNames(g.names, maps.Keys(t.params))
	for _, name := range t.marks {
		g.names[name] = true
	}
	addNames(g.programs, maps.Keys(e.programs))
	addNames(g.programs, maps.Keys(e.aliases))
	addNames(g.programs, maps.Keys(e.handlers))
	addNames(g.programs, maps.Keys(g.names))
	for _, name := range t.shared {
		delete(g.names, name)
	}
	for name := range t.system {
		first, _, _ := strings.Cut(strings.TrimPrefix(name, "$"), " ")
		g.roots[strings.TrimSuffix(first, ".bin")] = true
	}
	for name := range g.programs {
		g.longest = min(maxGateWord, max(g.longest, len(name)))
	}
	return g
}

// addNames puts names into a set.
func addNames(set map[string]bool, names func(yield func(string) bool)) {
	for name := range names {
		set[name] = true
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
	var token [maxGateWord]byte
	n, upper := 0, false
	for i := 0; i <= len(line); i++ {
		c := byte(' ')
		if i < len(line) {
			c = line[i]
		}
		switch {
		case isWordByte(c) || c == '-' && n > 0:
			if n++; n <= len(token) {
				token[n-1] = foldByte(c)
				upper = upper || token[n-1] != c
			}
			continue
		case c == '"' || c == '\'':
			s.quote = toggleQuote(s.quote, c)
			continue
		}
		if n > 0 && n <= g.longest && s.word(string(token[:n]), upper) {
			return true
		}
		n, upper = 0, false
		if i < len(line) && s.mark(i) {
			return true
		}
	}
	return s.doubts()
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

// word looks at a word in lower case; upper says that it was not.
func (s *gateScan) word(name string, upper bool) bool {
	afterProgram := s.known
	s.known = s.g.programs[name]
	switch {
	case s.g.names[name]:
		return true
	case upper && name == "head":
		s.head = true
	case upper && s.known:
		return true
	case name == "rm":
		s.removes = true
	case name == "curl":
		s.fetches = true
	case name == "com": // a suffix of programs, and of hosts
		return afterProgram
	case s.g.roots[name]:
		s.doubtful = true
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
