package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"strings"
)

// Words that stand for more than themselves in an expected frame.
const (
	openMark   = "..."
	absentMark = "<absent>"
	jsonMark   = "<json>"
	oneOfMark  = "<oneof>"
)

// scope is what a comparison knows and learns.
type scope struct {
	dir    string            // what $DIR stands for; empty without a directory
	ids    map[string]string // captured values as JSON text
	joined string            // what earlier frames of a <+ step added up to
	piece  string            // what the present frame adds
}

// clone lets a comparison learn without consequences until it has succeeded.
func (s *scope) clone() *scope {
	return &scope{dir: s.dir, ids: maps.Clone(s.ids), joined: s.joined}
}

// problem is one difference between what was expected and what came.
type problem struct {
	path string // like params.toolCall.arguments[0]
	text string
}

func (p problem) String() string {
	if p.path == "" {
		return p.text
	}
	return p.path + ": " + p.text
}

// matchFrame compares a frame with an expectation.
func (s *scope) matchFrame(want *expectation, got *frame) []problem {
	problems := s.match("", want.value, got.value)
	if len(problems) > 0 || want.id == nil || got.id == nil || isMatcher(want.id) {
		return problems
	}
	if string(want.id) != string(got.id) {
		return []problem{{"id", fmt.Sprintf("want exactly %s, got %s", want.id, got.id)}}
	}
	return nil
}

// isMatcher reports whether raw is a string with a meaning of its own.
func isMatcher(raw json.RawMessage) bool {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return false
	}
	_, _, ok := splitMatcher(s)
	return ok
}

func (s *scope) match(path string, want, got any) []problem {
	switch want := want.(type) {
	case object:
		return s.matchObject(path, want, got)
	case []any:
		return s.matchArray(path, want, got)
	case string:
		return s.matchString(path, strings.ReplaceAll(want, dirMark, s.dir), got)
	case json.Number:
		if n, ok := got.(json.Number); ok && sameNumber(want, n) {
			return nil
		}
		return differ(path, want, got)
	}
	if want == got {
		return nil
	}
	return differ(path, want, got)
}

// matchString compares with a text or a matcher.
func (s *scope) matchString(path, want string, got any) []problem {
	if word, arg, ok := splitMatcher(want); ok {
		return s.matchWord(path, word, arg, got)
	}
	if got != want {
		return differ(path, want, got)
	}
	return nil
}

func differ(path string, want, got any) []problem {
	return []problem{{path, fmt.Sprintf("want %s, got %s", clip(format(want)), clip(format(got)))}}
}

// sameNumber compares by value, so that 5 and 5.0 are the same.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, okX := new(big.Float).SetString(a.String())
	y, okY := new(big.Float).SetString(b.String())
	return okX && okY && x.Cmp(y) == 0
}

func isInteger(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	x, ok := new(big.Float).SetString(n.String())
	return ok && x.IsInt()
}

func (s *scope) matchObject(path string, want object, got any) []problem {
	if len(want) == 1 && want[0].key == jsonMark {
		return s.matchText(path, want[0].value, got)
	}
	if len(want) == 1 && want[0].key == oneOfMark {
		return s.matchOneOf(path, want[0].value, got)
	}
	o, ok := got.(object)
	if !ok {
		return differ(path, want, got)
	}
	var problems []problem
	_, open := want.get(openMark)
	for _, m := range o {
		if _, named := want.get(m.key); !named && !open {
			problems = append(problems, problem{join(path, m.key), "not expected: " + clip(format(m.value))})
		}
	}
	for _, m := range want {
		if m.key != openMark {
			problems = append(problems, s.matchMember(path, m, o)...)
		}
	}
	return problems
}

func (s *scope) matchMember(path string, want member, got object) []problem {
	value, present := got.get(want.key)
	switch {
	case want.value == absentMark && present:
		return []problem{{join(path, want.key), "must be absent, got " + clip(format(value))}}
	case want.value == absentMark:
		return nil
	case !present:
		return []problem{{join(path, want.key), "missing, want " + clip(format(want.value))}}
	}
	return s.match(join(path, want.key), want.value, value)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (s *scope) matchArray(path string, want []any, got any) []problem {
	a, ok := got.([]any)
	if !ok {
		return differ(path, want, got)
	}
	if n := len(want); n > 0 && want[n-1] == openMark {
		want = want[:n-1]
		if len(a) > len(want) {
			a = a[:len(want)]
		}
	}
	if len(a) != len(want) {
		return []problem{{path, fmt.Sprintf("want %d elements, got %d: %s", len(want), len(a), clip(format(got)))}}
	}
	var problems []problem
	for i := range want {
		problems = append(problems, s.match(fmt.Sprintf("%s[%d]", path, i), want[i], a[i])...)
	}
	return problems
}

// matchText compares the JSON inside a string.
func (s *scope) matchText(path string, want, got any) []problem {
	text, ok := got.(string)
	if !ok {
		return []problem{{path, "want a string that holds JSON, got " + clip(format(got))}}
	}
	v, err := parseValue([]byte(text))
	if err != nil {
		return []problem{{path, fmt.Sprintf("want a string that holds JSON, got %s: %v", clip(format(got)), err)}}
	}
	return s.match(path+"(json)", want, v)
}

func (s *scope) matchOneOf(path string, want, got any) []problem {
	choices, _ := want.([]any)
	for _, choice := range choices {
		try := s.clone()
		if len(try.match(path, choice, got)) == 0 {
			*s = *try
			return nil
		}
	}
	return []problem{{path, fmt.Sprintf("want one of %s, got %s", clip(format(want)), clip(format(got)))}}
}

// splitMatcher takes "<word:arg>" apart. Text that merely looks like one, such
// as "<b>bold</b>", is text.
func splitMatcher(text string) (word, arg string, ok bool) {
	inner, found := strings.CutPrefix(text, "<")
	if !found || !strings.HasSuffix(inner, ">") {
		return "", "", false
	}
	word, arg, hasArg := strings.Cut(inner[:len(inner)-1], ":")
	switch word {
	case "any", "string", "int", "number", "bool", "object", "array", "absent":
		return word, "", !hasArg
	case "re", "id", "join":
		return word, arg, hasArg
	}
	return "", "", false
}

func (s *scope) matchWord(path, word, arg string, got any) []problem {
	switch word {
	case "any":
		return nil
	case "re":
		return matchPattern(path, arg, got)
	case "id":
		return s.matchID(path, arg, got)
	case "join":
		return s.matchJoin(path, arg, got)
	}
	if ok := word == kindOf(got) || word == "bool" && kindOf(got) == "boolean" || word == "int" && isInteger(got); !ok {
		return []problem{{path, fmt.Sprintf("want %s, got %s", word, clip(format(got)))}}
	}
	return nil
}

func matchPattern(path, pattern string, got any) []problem {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return []problem{{path, err.Error()}}
	}
	text, ok := got.(string)
	if !ok || !re.MatchString(text) {
		return []problem{{path, fmt.Sprintf("want a string like /%s/, got %s", pattern, clip(format(got)))}}
	}
	return nil
}

func (s *scope) matchID(path, arg string, got any) []problem {
	name, pattern, _ := strings.Cut(arg, ":")
	text := format(got)
	if old, known := s.ids[name]; known && old != text {
		return []problem{{path, fmt.Sprintf("want %s as before (%s), got %s", old, name, clip(text))}}
	}
	if pattern != "" {
		if problems := matchPattern(path, pattern, got); len(problems) > 0 {
			return problems
		}
	}
	s.ids[name] = text
	return nil
}

func (s *scope) matchJoin(path, whole string, got any) []problem {
	piece, ok := got.(string)
	if !ok || piece == "" || !strings.HasPrefix(whole, s.joined+piece) {
		return []problem{{path, fmt.Sprintf("want pieces of %q after %q, got %s", whole, s.joined, clip(format(got)))}}
	}
	s.piece = piece
	return nil
}

// maxShown keeps a message readable when a frame is a megabyte long.
const maxShown = 400

// clip shortens text for messages.
func clip(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxShown], ""), len(text))
}
