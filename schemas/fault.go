package schemas

import (
	"slices"
	"strings"
)

// maxName is to how many bytes a name of the instance is cut in a pointer.
const maxName = 64

// fault is what ended a scan. Either reason or keyword is set.
type fault struct {
	offset  int
	reason  Reason
	keyword string
	message string
	path    []string // of the offending value, innermost name first
}

// fail records broken JSON and returns the index that stands for a fault.
func (s *scanner) fail(offset int, reason Reason) int {
	s.fault.offset, s.fault.reason = min(offset, len(s.raw)), reason
	return -1
}

// reject records a value that does not satisfy its schema.
func (s *scanner) reject(keyword, message string) int {
	s.fault.keyword, s.fault.message = keyword, message
	return -1
}

// within records that the fault lies in the member or element of that name.
func (s *scanner) within(name string) int {
	s.fault.path = append(s.fault.path, name)
	return -1
}

// violation is the fault as callers see it.
func (f *fault) violation() *ValidationError {
	path := slices.Clone(f.path)
	slices.Reverse(path)
	return &ValidationError{Pointer: pointer(path), Keyword: f.keyword, Message: f.message}
}

// pointer joins names to a JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(escape.Replace(clip(name)))
	}
	return b.String()
}

// clip shortens a text that may come from the instance.
func clip(text string) string {
	if len(text) <= maxName {
		return text
	}
	return strings.ToValidUTF8(text[:maxName], "") + "…"
}
