package sandbox

import (
	"errors"
	"strings"
)

var errNUL = errors.New("a command cannot hold a NUL byte")

// Quote joins argv into a command line for a POSIX shell: every word in
// single quotes, in which no character but the quote itself has a meaning.
// Double quotes or backslashes would bring in "!", "$" and line endings, on
// which shells differ. argv must not hold NUL bytes.
func Quote(argv []string) string {
	var b strings.Builder
	for i, arg := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(arg, "'", `'\''`))
		b.WriteByte('\'')
	}
	return b.String()
}
