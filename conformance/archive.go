package conformance

import (
	"bytes"
	"strings"
)

// section is one file of a txtar archive and where its content starts, which
// messages need and the txtar package does not tell.
type section struct {
	name string
	line int // number of the first line of content, from 1
	text string
}

// splitArchive reads the txtar format: a comment, then sections that each start
// with a line "-- name --". There are no syntax errors in txtar.
func splitArchive(data []byte) (comment string, sections []section) {
	var body strings.Builder
	store := func() {
		if n := len(sections); n > 0 {
			sections[n-1].text = body.String()
		} else {
			comment = body.String()
		}
		body.Reset()
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if name, ok := marker(string(line)); ok {
			store()
			sections = append(sections, section{name: name, line: number + 1})
			continue
		}
		body.Write(line)
	}
	store()
	return comment, sections
}

// marker returns the name on a line that starts a section.
func marker(line string) (name string, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	if !strings.HasPrefix(line, "-- ") || !strings.HasSuffix(line, " --") || len(line) < len("-- x --") {
		return "", false
	}
	name = strings.TrimSpace(line[len("-- ") : len(line)-len(" --")])
	return name, name != ""
}
