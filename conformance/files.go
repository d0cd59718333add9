package conformance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// dirMark stands for the session's directory in everything a transcript sends,
// expects, passes to the command or has its model say.
const dirMark = "$DIR"

// Modes of what is made for a session: what a careful host uses.
const (
	filePerm = 0o600
	dirPerm  = 0o700
)

// file is a file that is there before the command starts.
type file struct {
	name string // below the session's directory, with slashes
	text string
}

// fileStep looks at a file or changes one, as somebody else on the machine
// would.
type fileStep struct {
	verb string // "file", "no" or "write"
	name string // below the session's directory; a pattern unless written
	text string // what is written
	want any    // what the file must hold
}

// parseFileSection reads a section that is a file.
func (t *Transcript) parseFileSection(s section, name string) error {
	if err := checkLocal(name); err != nil {
		return fmt.Errorf("%s:%d: %w", t.path, s.line-1, err)
	}
	t.files, t.usesDir = append(t.files, file{name, s.text}), true
	return nil
}

// checkLocal keeps a transcript from touching anything but its own directory.
func checkLocal(name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("file %q is not below the session's directory", name)
	}
	return nil
}

// parseFileStep recognises the events about files.
func parseFileStep(text string) (st fileStep, ok bool, err error) {
	verb, rest, _ := strings.Cut(text, " ")
	if verb == "no" {
		if rest, ok = strings.CutPrefix(rest, "file "); !ok {
			return st, false, nil
		}
	}
	if verb != "file" && verb != "no" && verb != "write" {
		return st, false, nil
	}
	st.verb = verb
	st.name, st.text, _ = strings.Cut(rest, " ")
	if err := checkLocal(st.name); err != nil {
		return st, true, err
	}
	if (st.text == "") != (verb == "no") {
		return st, true, fmt.Errorf("want %q to be followed by a name and, unless it must be absent, by text", verb)
	}
	if verb == "file" {
		st.want, err = parseMatcher(st.text)
	}
	return st, true, err
}

// parseMatcher reads what a file must hold.
func parseMatcher(text string) (any, error) {
	text, err := expandRepeats(text)
	if err != nil {
		return nil, err
	}
	v, err := parseValue([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("expected content: %w", err)
	}
	joins, err := checkMatchers(v)
	if err == nil && len(joins) > 0 {
		err = errors.New("<join:…> is for frames")
	}
	if err != nil {
		return nil, fmt.Errorf("expected content: %w", err)
	}
	return v, nil
}

// makeDir makes the session's directory and what is in it. The caller removes
// it.
func makeDir(files []file) (dir string, err error) {
	dir, err = os.MkdirTemp("", "conformance-")
	if err != nil {
		return "", fmt.Errorf("make the session's directory: %w", err)
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved // what the command reports has no links in it
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		text := strings.ReplaceAll(f.text, dirMark, filepath.ToSlash(dir))
		err = os.MkdirAll(filepath.Dir(path), dirPerm)
		if err == nil {
			err = os.WriteFile(path, []byte(text), filePerm)
		}
		if err != nil {
			_ = os.RemoveAll(dir)
			return "", fmt.Errorf("make the session's files: %w", err)
		}
	}
	return filepath.ToSlash(dir), nil
}

// inDir writes the session's directory into a text.
func (s *session) inDir(text string) string {
	return strings.ReplaceAll(text, dirMark, s.scope.dir)
}

// playFile carries out a step about files.
func (s *session) playFile(n numbered, st fileStep) error {
	s.log(n.text)
	path := filepath.Join(filepath.FromSlash(s.scope.dir), filepath.FromSlash(st.name))
	if st.verb == "write" {
		if err := replaceFile(path, s.inDir(st.text)+"\n"); err != nil {
			return s.t.at(n.line, err)
		}
		return nil
	}
	found, err := filepath.Glob(path)
	if err != nil {
		return s.t.at(n.line, err)
	}
	switch {
	case st.verb == "no" && len(found) > 0:
		return s.mismatch(n, "", fmt.Sprintf("there must be no such file: %q", found))
	case st.verb == "no":
		return nil
	case len(found) != 1:
		return s.mismatch(n, "", fmt.Sprintf("want one such file, there are %d: %q", len(found), found))
	}
	return s.compareFile(n, st.want, found[0])
}

// replaceFile changes a file as editors do: a reader sees the old content or
// the new.
func replaceFile(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), filePerm); err != nil {
		return fmt.Errorf("write a session's file: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write a session's file: %w", err)
	}
	return nil
}

// compareFile compares a file's text when a string is expected, else the JSON
// in it.
func (s *session) compareFile(n numbered, want any, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return s.mismatch(n, "", err.Error())
	}
	var got any = string(data)
	if _, isText := want.(string); !isText {
		if got, err = parseValue(data); err != nil {
			return s.mismatch(n, clip(string(data)), "the file is not JSON: "+err.Error())
		}
	}
	var texts []string
	for _, p := range s.scope.match("", want, got) {
		texts = append(texts, p.String())
	}
	if len(texts) > 0 {
		return s.mismatch(n, clip(string(data)), texts...)
	}
	return nil
}

// checkEnv reads one line of the section env.
func checkEnv(line string) error {
	re, err := regexp.Compile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	if err != nil {
		return fmt.Errorf("bug: %w", err)
	}
	if !re.MatchString(line) {
		return fmt.Errorf("want NAME=VALUE, got %q", line)
	}
	return nil
}
