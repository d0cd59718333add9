package safety

import "strings"

// carries looks for a command among the words that a prefix does not cover of a
// program that is not known: it may run it. It returns the word that looks like
// one.
func (m *Matcher) carries(words []word, covered int) (string, bool) {
	for i := covered; i < len(words); i++ {
		text := words[i].text
		last := i == len(words)-1 && words[i-1].text != "--"
		if !last && m.isKnown(text) || m.isCommandLine(text) {
			return text, true
		}
	}
	return "", false
}

// isKnown reports whether a word names a program of the tables.
func (m *Matcher) isKnown(text string) bool {
	if text == "" || text[0] == '-' {
		return false
	}
	e := m.engine()
	name := e.canonicalName(text)
	return e.names[name].program != nil || e.names[name].handler != nil || m.options()[name] != nil && name != otherPrograms
}

// isCommandLine reports whether text with blanks reads as a command of a known
// program.
func (m *Matcher) isCommandLine(text string) bool {
	if !strings.ContainsAny(strings.TrimSpace(text), " \t\n") || len(text) > MaxLine || nestedTooDeep(text) {
		return false
	}
	words, ok := m.singleUnix(text)
	if !ok { // more than one command, or what cannot be read
		fields := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()", r) })
		return len(fields) > 0 && m.isKnown(fields[0])
	}
	return len(words) > 1 && m.isKnown(words[0].text)
}

// runsOthers recognises programs that run the command they are given. Some have
// subcommands that do something else.
func runsOthers(name string) (runs, subcommands bool) {
	switch name {
	case "cross-env", "cross-env-shell", "concurrently", "systemd-cat", "ifne", "logsave", "dtach", "tsp", "watchexec", "nodemon", "hyperfine":
		return true, false
	case "lerna", "tox", "nvm", "dotenvx", "chamber", "fnm", "podman", "toolbox", "distrobox":
		return true, true
	}
	return false, false
}
