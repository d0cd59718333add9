package safety

import (
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// singleUnix returns the words of a single POSIX command.
func (m *Matcher) singleUnix(line string) ([]word, bool) {
	file, err := m.engine().parse(line)
	if err != nil || len(file.Stmts) != 1 {
		return nil, false
	}
	c, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || file.Stmts[0].Background || file.Stmts[0].Negated {
		return nil, false
	}
	a := allowWalk{m: m}
	words := make([]word, len(c.Args))
	for i, w := range c.Args {
		if words[i], ok = a.literal(w, false); !ok {
			return nil, false
		}
	}
	return words, true
}

// singleWindows returns the arguments of a single Windows command.
func (m *Matcher) singleWindows(line string) ([]word, bool) {
	if !windowsQuotesClosed(line) || hasWindowsSyntax(line) {
		return nil, false
	}
	return splitWindows(line), true
}

// allowWindows reports whether an allow covers a Windows line. Only a single
// command without operators, variables or escapes can be covered: the two
// shells of the platform disagree on everything else.
func (m *Matcher) allowWindows(prefix []string, cmd string) PrefixMatch {
	line := strings.TrimSpace(cmd)
	switch {
	case line == "":
		return no(ReasonEmpty, "")
	case len(line) > MaxLine:
		return no(ReasonTooComplex, "")
	case m.platform != PlatformWindows:
		// The POSIX reading was checked already and is the stricter one where
		// both apply; what it cannot see are the operators of cmd.exe.
		if strings.ContainsAny(line, "%^") {
			return no(ReasonExpansion, "")
		}
		return PrefixMatch{Matches: true}
	case !windowsQuotesClosed(line):
		return no(ReasonUnparsed, "quote")
	}
	for part := range strings.SplitSeq(line, "&&") {
		part = strings.TrimSpace(trimNullSink(strings.TrimSpace(part)))
		// Where quotes do not close, the && stood inside them, and what
		// follows is not quoted as it seems to be.
		if !windowsQuotesClosed(part) || hasWindowsSyntax(part) {
			return no(ReasonStructure, "operator, variable or escape")
		}
		words := splitWindows(part)
		if len(words) == 0 {
			return no(ReasonEmpty, "")
		}
		if r := m.coveredWindows(words, prefix); !r.Matches {
			return r
		}
	}
	return PrefixMatch{Matches: true}
}

// coveredWindows compares the words of one command, the program without regard
// to letter case or the extension of executables.
func (m *Matcher) coveredWindows(words []word, prefix []string) PrefixMatch {
	if len(words) < len(prefix) {
		return no(ReasonNotCovered, joinWords(words))
	}
	for i, want := range prefix {
		if i == 0 && sameExecutable(words[0].text, want) {
			continue
		}
		if words[i].text != want {
			return no(ReasonNotCovered, words[i].text)
		}
	}
	name := m.engine().win.winName(words[0].text)
	switch name {
	case "cmd", "powershell", "pwsh", "wsl", "invoke-expression", "start", "start-process", "call", "forfiles", "for", "if":
		if len(prefix) < len(words) {
			return no(ReasonWrapper, name)
		}
	}
	portable := append([]word{}, words...)
	portable[0].text = name
	if why := m.escapes(portable, len(prefix)); why.Reason != "" {
		return why
	}
	return m.escapesWindows(portable, len(prefix))
}

// escapesWindows checks the words against the row that a program has for this
// platform only. Neither its switches nor parameters of PowerShell mind the case
// of letters.
func (m *Matcher) escapesWindows(words []word, covered int) PrefixMatch {
	name := m.engine().win.winName(words[0].text)
	lower := wordsOf(texts(words))
	for i := range lower {
		lower[i].text = strings.ToLower(lower[i].text)
	}
	if row := m.options()["windows "+name]; row != nil {
		if r := row.check(lower, max(covered, 1), m.engine().arguments(name, lower)); r.Reason != "" {
			return r
		}
	}
	return PrefixMatch{Matches: true}
}

// sameExecutable compares program names as Windows finds them.
func sameExecutable(a, b string) bool {
	return strings.EqualFold(trimExecutable(a), trimExecutable(b))
}

// trimExecutable removes the extension of executables.
func trimExecutable(s string) string {
	if len(s) > 4 && strings.EqualFold(s[len(s)-4:], ".exe") {
		return s[:len(s)-4]
	}
	return s
}

// trimNullSink removes redirections that discard output.
func trimNullSink(line string) string {
	for _, sink := range []string{"2>&1", "2>nul", "2>NUL", "2> nul", "2> NUL", ">nul", ">NUL", "> nul", "> NUL", "2>$null", "2> $null", ">$null", "> $null"} {
		for strings.HasSuffix(line, sink) {
			line = strings.TrimRight(strings.TrimSuffix(line, sink), " ")
		}
	}
	return line
}

// hasWindowsSyntax reports whether either shell would read more than words, or
// the two would not read the same ones. Inside double quotes only variables and
// line ends matter.
func hasWindowsSyntax(line string) bool {
	quoted, doubles := false, strings.Contains(line, `"`)
	for i, r := range line {
		switch r {
		case '"':
			// Bash, which hosts of this platform have too, takes \" for a quote
			// that is not one.
			if i > 0 && line[i-1] == '\\' {
				return true
			}
			quoted = !quoted
		case '\'':
			// Quotes in PowerShell alone: what looks quoted by a double quote
			// inside them is not.
			if !quoted && doubles {
				return true
			}
		default:
			if isWindowsSyntax(r, quoted) {
				return true
			}
		}
	}
	return false
}

// isWindowsSyntax reports whether a character means more than itself.
func isWindowsSyntax(r rune, quoted bool) bool {
	switch r {
	case '%', '$', '`', '!', '\n', '\r', 0:
		return true
	case '|', '&', ';', '<', '>', '^', '(', ')', '{', '}', '@', '#':
		return !quoted
	case '“', '”', '„', '‘', '’', '‚', '‛': // quotes in PowerShell
		return true
	}
	return r != ' ' && r != '\t' && unicode.IsSpace(r) // separates words in PowerShell
}

// windowsQuotesClosed reports whether every double quote has its pair.
func windowsQuotesClosed(line string) bool { return strings.Count(line, `"`)%2 == 0 }

// splitWindows splits a command line as CommandLineToArgvW does: backslashes are
// literal unless they stand before a double quote, where two make one and an odd
// one escapes the quote.
func splitWindows(line string) []word {
	var out []word
	var b strings.Builder
	quoted, started := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\':
			n := 0
			for i+n < len(line) && line[i+n] == '\\' {
				n++
			}
			started = true
			if i+n < len(line) && line[i+n] == '"' {
				b.WriteString(strings.Repeat(`\`, n/2))
				if n%2 == 1 {
					b.WriteByte('"')
					n++
				}
			} else {
				b.WriteString(strings.Repeat(`\`, n))
			}
			i += n - 1
		case c == '"':
			quoted, started = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			if started {
				out = append(out, word{text: b.String()})
				b.Reset()
				started = false
			}
		default:
			b.WriteByte(c)
			started = true
		}
	}
	if started {
		out = append(out, word{text: b.String()})
	}
	return out
}
