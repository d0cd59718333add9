package conformance

import (
	"errors"
	"fmt"
	"strings"
)

// Mismatch is where a session left its transcript.
type Mismatch struct {
	// Transcript is the transcript's name.
	Transcript string
	// Path and Line say which line of which file was at hand. Line is 0 for
	// what belongs to no line.
	Path string
	// Line counts from 1.
	Line int
	// Step is that line.
	Step string
	// Got is the frame that came instead, or empty.
	Got string
	// Problems are the differences, each with the path of the member.
	Problems []string
	// Trace is the end of the exchange before it went wrong.
	Trace []string
	// Stderr is the end of what the peer wrote to stderr.
	Stderr []string
}

// String tells the whole story on several lines.
func (m *Mismatch) String() string {
	var b strings.Builder
	if m.Line > 0 {
		fmt.Fprintf(&b, "%s:%d: %s\n", m.Path, m.Line, clip(m.Step))
	} else {
		fmt.Fprintf(&b, "%s\n", m.Path)
	}
	for _, p := range m.Problems {
		fmt.Fprintf(&b, "    %s\n", p)
	}
	if m.Got != "" {
		fmt.Fprintf(&b, "  got\n    < %s\n", clip(m.Got))
	}
	writeBlock(&b, "before that", m.Trace)
	writeBlock(&b, "stderr", m.Stderr)
	return strings.TrimRight(b.String(), "\n")
}

// mismatchError carries a Mismatch up to the player's surface.
type mismatchError struct{ m *Mismatch }

func (e *mismatchError) Error() string { return e.m.String() }

// split tells a mismatch from an error that kept the session from being
// played.
func split(err error) (*Mismatch, error) {
	if e, ok := errors.AsType[*mismatchError](err); ok {
		return e.m, nil
	}
	return nil, err
}

func writeBlock(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "    %s\n", clip(line))
	}
}

// tail returns the last n elements.
func tail(lines []string, n int) []string {
	return lines[max(0, len(lines)-n):]
}
