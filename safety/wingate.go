package safety

import "strings"

// winGate decides whether a line that is valid POSIX shell must also be read as a
// Windows one. Both readings of a line agree unless it has something that only
// cmd.exe or PowerShell gives a meaning: their escapes and variables, drives,
// switches, or a command of theirs. Most lines have nothing of the kind, and
// reading them once halves the work when the platform is not known. What only a
// POSIX shell has, such as here-documents and case, does not open the gate: to
// Windows such a line is an error.
type winGate struct {
	// names are words, in lower case, that only the Windows reading knows.
	names map[string]bool
	// longest is the length of the longest of them.
	longest int
}

// newWinGate collects the names: commands and aliases of the tables, the first
// words of Windows rules, and the roots and suffixes that tell a Windows path.
// Commands in shared mean the same in both readings.
func newWinGate(t *winTables, rules []*rule, x *viewIndex) *winGate {
	g := &winGate{names: map[string]bool{}}
	add := func(name string) {
		g.names[name] = true
		g.longest = max(g.longest, len(name))
	}
	for name := range t.handlers {
		add(name)
	}
	for name := range t.aliases {
		add(name)
	}
	for name := range t.params {
		add(name)
	}
	for word, branches := range x.byWord {
		for _, b := range branches {
			if rules[b.rule].Platform == PlatformWindows {
				add(word)
			}
		}
	}
	for _, name := range t.marks {
		add(name)
	}
	for _, name := range t.shared {
		delete(g.names, name)
	}
	return g
}

// opens reports whether the Windows reading of line may differ. Quotes are looked
// through: a quoted half of a word does not hide it.
func (g *winGate) opens(line string) bool {
	var token [32]byte
	n := 0
	for i := 0; i <= len(line); i++ {
		c := byte(' ')
		if i < len(line) {
			c = line[i]
		}
		switch {
		case isWordByte(c) || c == '-' && n > 0:
			if n++; n <= len(token) {
				token[n-1] = foldByte(c)
			}
			continue
		case c == '"' || c == '\'':
			continue
		}
		if n > 0 && n <= min(g.longest, len(token)) && g.names[string(token[:n])] {
			return true
		}
		n = 0
		if i < len(line) && isWindowsMark(line, i) {
			return true
		}
	}
	return false
}

// isWindowsMark reports whether the punctuation at i means something to Windows
// that it does not mean to a POSIX shell.
func isWindowsMark(line string, i int) bool {
	c, rest, before, next := line[i], line[i+1:], byte(' '), byte(' ')
	if rest != "" {
		next = rest[0]
	}
	if i > 0 {
		before = line[i-1]
	}
	switch c {
	case '^', '`', '#':
		return true
	case '\\':
		return strings.IndexByte(" \n.;$()/|{}", next) < 0
	case '%':
		return isWordByte(next) || strings.IndexByte("~*%", next) >= 0
	case '{':
		return next != '}' && before != '$'
	case ':':
		return endsDrive(line[:i], rest)
	case ',':
		return strings.IndexByte("~/*.$\"'", next) >= 0
	case '$':
		return assignsVariable(rest)
	case '@', '-', '/':
		return isArgumentMark(c, before, rest)
	}
	return c >= 0x80
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
