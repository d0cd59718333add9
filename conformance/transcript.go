package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Transcript is one recorded session and what it proves. It is read-only once
// parsed and may be played several times at once.
type Transcript struct {
	// Name is the file's name without its directory and extension.
	Name string
	// Comment is the prose in front of the first section.
	Comment string

	path     string
	data     []byte
	args     []string
	env      []string
	files    []file
	usesDir  bool
	model    string // the section's text
	replies  []Reply
	hasModel bool
	ignore   []*expectation
	steps    []numbered
	requests []any // nil when the transcript does not look at them
}

// numbered is a step and its line.
type numbered struct {
	line int
	text string
	step step
}

// readyFrame is the step that scripts are given when they do not start with it.
const readyFrame = `{"jsonrpc":"2.0","method":"lifecycle.ready","params":"<object>"}`

// ParseFile reads a transcript. An error names the file and the line.
func ParseFile(path string) (*Transcript, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a transcript that is already in memory. The path serves messages
// and gives the transcript its name.
func Parse(path string, data []byte) (*Transcript, error) {
	base := filepath.Base(path)
	t := &Transcript{Name: strings.TrimSuffix(base, filepath.Ext(base)), path: path, data: data}
	comment, sections := splitArchive(data)
	t.Comment = strings.TrimSpace(comment)
	if t.Comment == "" {
		return nil, fmt.Errorf("%s: a transcript says in its comment what it proves", path)
	}
	t.usesDir = strings.Contains(string(data), dirMark)
	seen := map[string]bool{}
	for _, s := range sections {
		if seen[s.name] {
			return nil, fmt.Errorf("%s:%d: section %q is repeated", path, s.line-1, s.name)
		}
		seen[s.name] = true
		if err := t.parseSection(s); err != nil {
			return nil, err
		}
	}
	if len(t.steps) == 0 {
		return nil, fmt.Errorf("%s: the script is missing", path)
	}
	if !t.hasModel && strings.Contains(string(data), "$LLM") {
		return nil, fmt.Errorf("%s: $LLM is used without a model", path)
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	return t, t.addReady()
}

func (t *Transcript) parseSection(s section) error {
	if name, ok := strings.CutPrefix(s.name, "file "); ok {
		return t.parseFileSection(s, name)
	}
	switch s.name {
	case "args":
		t.args = strings.Fields(s.text)
	case "env":
		return eachLine(s, func(number int, line string) error {
			t.env = append(t.env, line)
			return t.at(number, checkEnv(line))
		})
	case "model", "requests":
		if err := t.parseModel(s); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", t.path, s.line, s.name, err)
		}
	case "ignore":
		return eachLine(s, func(number int, line string) error {
			e, err := parseExpectation(number, "<", line)
			t.ignore = append(t.ignore, e)
			return t.at(number, err)
		})
	case "script":
		return eachLine(s, func(number int, line string) error {
			st, err := parseStep(number, line)
			t.steps = append(t.steps, numbered{number, line, st})
			_, files := st.(fileStep)
			t.usesDir = t.usesDir || files
			return t.at(number, err)
		})
	default:
		return fmt.Errorf("%s:%d: unknown section %q", t.path, s.line-1, s.name)
	}
	return nil
}

// parseModel reads what the model answers or what it must be sent.
func (t *Transcript) parseModel(s section) error {
	text, err := expandRepeats(s.text)
	if err != nil {
		return err
	}
	if s.name == "model" {
		t.hasModel, t.model = true, text
		return decodeStrict(text, &t.replies)
	}
	v, err := parseValue([]byte(text))
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("want an array, this is %s", kindOf(v))
	}
	t.requests = list
	return nil
}

// at adds the place to an error.
func (t *Transcript) at(line int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s:%d: %w", t.path, line, err)
}

// eachLine calls fn for every line of a section that says something.
func eachLine(s section, fn func(number int, line string) error) error {
	number := s.line - 1
	for line := range strings.Lines(s.text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := fn(number, line); err != nil {
			return err
		}
	}
	return nil
}

// addReady lets a script begin when the peer has said that it is ready.
func (t *Transcript) addReady() error {
	if t.awaitsReady() {
		return nil
	}
	e, err := parseExpectation(t.steps[0].line, "<", readyFrame)
	if err != nil {
		return fmt.Errorf("bug: %w", err)
	}
	t.steps = append([]numbered{{e.line, "< " + readyFrame, e}}, t.steps...)
	return nil
}

// awaitsReady reports whether the script expects lifecycle.ready before it
// sends anything.
func (t *Transcript) awaitsReady() bool {
	for _, n := range t.steps {
		switch st := n.step.(type) {
		case sendStep:
			return false
		case *expectation:
			if strings.Contains(st.text, "lifecycle.ready") {
				return true
			}
		}
	}
	return false
}

// decodeStrict decodes JSON and refuses members it does not know, so that a
// misspelt one is noticed.
func decodeStrict(text string, into any) error {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if dec.More() {
		return errTrailing
	}
	return nil
}
