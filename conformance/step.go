package conformance

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// step is one line of a script.
type step any

type (
	// sendStep writes to the peer's stdin.
	sendStep struct {
		text    string // still with $LLM, @repeat and captures
		raw     []byte // in place of text
		newline bool
	}
	// stderrStep wants a line of stderr, or the absence of one.
	stderrStep struct {
		pattern *regexp.Regexp
		absent  bool
	}
	// quietStep wants nothing to arrive.
	quietStep struct{ wait time.Duration }
	// stallStep stops reading stdout.
	stallStep struct{ wait time.Duration }
	// signalStep sends a signal by name.
	signalStep struct{ name string }
	// eofStep closes the peer's stdin.
	eofStep struct{}
	// exitStep waits for the peer's end.
	exitStep struct {
		code   int
		within time.Duration
	}
)

// expectation is a frame that has to arrive.
type expectation struct {
	line     int
	prefix   string // "<", "<+", "<~a?"
	text     string // the JSON of the transcript
	value    any
	id       json.RawMessage // as it is written; nil when absent
	lane     string
	optional bool
	join     string // what the pieces of a <+ step add up to
}

// parseStep reads one line that is neither blank nor a comment.
func parseStep(number int, line string) (step, error) {
	head, rest, _ := strings.Cut(line, " ")
	switch {
	case head == ">":
		return sendStep{text: rest, newline: true}, nil
	case head == ">part":
		return sendStep{text: rest}, nil
	case head == ">hex":
		raw, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
		if err != nil {
			return nil, fmt.Errorf("bytes to send: %w", err)
		}
		return sendStep{raw: raw}, nil
	case head == "!":
		return parseEvent(rest)
	case strings.HasPrefix(head, "<"):
		if s, ok, err := parseStderr(head, rest); ok {
			return s, err
		}
		return parseExpectation(number, head, rest)
	}
	return nil, fmt.Errorf("unknown step %q", head)
}

// parseStderr recognises the steps about stderr.
func parseStderr(head, rest string) (s stderrStep, ok bool, err error) {
	pattern, absent := strings.CutPrefix(rest, "no ")
	pattern, isStderr := strings.CutPrefix(pattern, "stderr ")
	if head != "<" || !isStderr {
		return s, false, nil
	}
	if len(pattern) < 2 || pattern[0] != '/' || pattern[len(pattern)-1] != '/' {
		return s, true, fmt.Errorf("want /regexp/ after stderr, got %q", pattern)
	}
	re, err := regexp.Compile(pattern[1 : len(pattern)-1])
	return stderrStep{pattern: re, absent: absent}, true, err
}

func parseEvent(text string) (step, error) {
	if st, ok, err := parseFileStep(text); ok {
		return st, err
	}
	return parseHostEvent(text)
}

// parseHostEvent reads what a host does or notices besides sending lines.
func parseHostEvent(text string) (step, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, fmt.Errorf("an event is missing")
	}
	switch name := words[0]; {
	case name == "eof" && len(words) == 1:
		return eofStep{}, nil
	case name == "signal" && len(words) == 2 && (words[1] == "TERM" || words[1] == "INT"):
		return signalStep{words[1]}, nil
	case name == "none" && len(words) == 2:
		d, err := time.ParseDuration(words[1])
		return quietStep{d}, err
	case name == "stall" && len(words) == 2:
		d, err := time.ParseDuration(words[1])
		return stallStep{d}, err
	case name == "exit" && len(words) == 4 && words[2] == "within":
		return parseExit(words[1], words[3])
	}
	return nil, fmt.Errorf("unknown event %q", text)
}

func parseExit(code, within string) (step, error) {
	n, err := strconv.Atoi(code)
	if err != nil {
		return nil, fmt.Errorf("exit code: %w", err)
	}
	d, err := time.ParseDuration(within)
	return exitStep{n, d}, err
}

func parseExpectation(number int, prefix, text string) (*expectation, error) {
	text, err := expandRepeats(text)
	if err != nil {
		return nil, err
	}
	e := &expectation{line: number, prefix: prefix, text: text}
	mode := strings.TrimPrefix(prefix, "<")
	if laned, ok := strings.CutPrefix(mode, "~"); ok {
		e.lane = "~" + strings.TrimRight(laned, "+?")
		mode = laned[len(e.lane)-1:]
		if e.lane == "~" {
			e.lane = fmt.Sprintf("~line %d", number) // a lane of its own
		}
	}
	if mode != "" && mode != "+" && mode != "?" {
		return nil, fmt.Errorf("unknown step %q", prefix)
	}
	e.optional = mode == "?"
	v, err := parseValue([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("expected frame: %w", err)
	}
	if _, ok := v.(object); !ok {
		return nil, fmt.Errorf("expected frame is %s, want an object", kindOf(v))
	}
	e.value = v
	var ids struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal([]byte(text), &ids); err != nil {
		return nil, fmt.Errorf("expected frame: %w", err)
	}
	e.id = ids.ID
	joins, err := checkMatchers(v)
	if err != nil {
		return nil, err
	}
	if (mode == "+") != (len(joins) == 1) || len(joins) > 1 {
		return nil, fmt.Errorf("a <+ step has exactly one <join:…>, and no other step has one")
	}
	if len(joins) == 1 {
		e.join = joins[0]
	}
	return e, nil
}

// checkMatchers finds mistakes in an expected value before they can match by
// accident, and collects the arguments of its join matchers.
func checkMatchers(v any) (joins []string, err error) {
	switch v := v.(type) {
	case string:
		return checkWord(v)
	case []any:
		for _, e := range v {
			found, err := checkMatchers(e)
			if err != nil {
				return nil, err
			}
			joins = append(joins, found...)
		}
	case object:
		for _, m := range v {
			found, err := checkMatchers(m.value)
			if err != nil {
				return nil, err
			}
			joins = append(joins, found...)
		}
	}
	return joins, nil
}

func checkWord(text string) (joins []string, err error) {
	word, arg, ok := splitMatcher(text)
	if !ok {
		return nil, nil
	}
	switch word {
	case "re":
		_, err = regexp.Compile(arg)
	case "id":
		_, pattern, _ := strings.Cut(arg, ":")
		_, err = regexp.Compile(pattern)
	case "join":
		joins = []string{arg}
	}
	return joins, err
}
