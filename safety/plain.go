package safety

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plainClass sorts the bytes of a line that plainCommand accepts.
type plainClass byte

const (
	plainOther plainClass = 'o' // needs the parser
	plainText  plainClass = 't' // stands for itself
	plainBlank plainClass = 'b'
	plainQuote plainClass = 'q'
	plainGlob  plainClass = 'g'
)

// plainClasses lists the classes of all bytes.
const plainClasses = "" +
	"oooooooooboooooo" + // NUL to SI
	"oooooooooooooooo" + // DLE to US
	"boqootoqoogttttt" + // blank to /
	"tttttttttttootog" + // 0 to ?
	"tttttttttttttttt" + // @ to O
	"tttttttttttgottt" + // P to _
	"ottttttttttttttt" + // ` to o
	"tttttttttttoooto" + // p to DEL
	"tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt" + // beyond ASCII
	"tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"

// classOfPlain is the class of one byte.
func classOfPlain(c byte) plainClass {
	return plainClass(plainClasses[c])
}

// plainCommand splits a line that holds nothing but words, some of them quoted.
// Most commands are like that, and need no parser.
func (a *analysis) plainCommand(src string) ([]word, bool) {
	if !isPlain(src) {
		return nil, false
	}
	var words []word
	for i := 0; i < len(src); {
		if classOfPlain(src[i]) == plainBlank {
			i++
			continue
		}
		w, end := plainWord(src, i)
		if words == nil {
			if syntax.IsKeyword(w.text) || isDeclaration(w.text) || w.text == "[[" {
				return nil, false
			}
			words = a.mem.words.take(1 + strings.Count(src[end:], " "))[:0]
		}
		words = append(words, w)
		i = end
	}
	return words, true
}

// isPlain reports whether every byte is of a class that plainCommand accepts and
// every quote is closed.
func isPlain(src string) bool {
	for i := 0; i < len(src); i++ {
		switch c := src[i]; classOfPlain(c) {
		case plainOther:
			return false
		case plainQuote:
			end := strings.IndexByte(src[i+1:], c)
			if end < 0 || c == '"' && strings.ContainsAny(src[i+1:i+1+end], "$`\\") {
				return false
			}
			i += end + 1
		case plainGlob:
			// An index such as a[1]=x is an assignment.
			if c == '[' && strings.IndexByte(src[i:], '=') >= 0 {
				return false
			}
		case plainText, plainBlank:
		}
	}
	return true
}

// plainWord reads the word at i.
func plainWord(src string, i int) (word, int) {
	var w word
	quoted, end := false, i
	for ; end < len(src); end++ {
		class := classOfPlain(src[end])
		if class == plainBlank {
			break
		}
		w.glob = w.glob || class == plainGlob
		if class == plainQuote {
			quoted = true
			end += 1 + strings.IndexByte(src[end+1:], src[end])
		}
	}
	w.text = src[i:end]
	w.start, w.end = offset32(i), offset32(end)
	if quoted {
		w.text = unquotePlain(w.text)
	}
	return w, end
}

// unquotePlain removes the quotes of a word; nothing inside them is special.
func unquotePlain(s string) string {
	if end := len(s) - 1; strings.IndexByte(s[1:], s[0]) == end-1 && classOfPlain(s[0]) == plainQuote {
		return s[1:end] // one quoted string
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if classOfPlain(s[i]) == plainQuote {
			end := i + 1 + strings.IndexByte(s[i+1:], s[i])
			b.WriteString(s[i+1 : end])
			i = end
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// isDeclaration recognises the builtins that the parser treats as syntax.
func isDeclaration(name string) bool {
	switch name {
	case "declare", "local", "export", "readonly", "typeset", "let", "time", "coproc":
		return true
	}
	return false
}

// isIdle reports whether a command that stands alone on a line can be passed
// over: no rule looks at it, and all that is known about it is what it prints.
func (a *analysis) isIdle(words []word) bool {
	program := words[0].text
	if !a.sink.lazy() || strings.IndexByte(program, '=') >= 0 || strings.ContainsAny(program, "*?[") {
		return false
	}
	if len(words) > 2 && words[1].text == "-v" { // of printf and test: names a variable
		return false
	}
	name := a.e.canonicalName(program)
	if a.sink.wants(name) || strings.IndexByte(name, ' ') >= 0 {
		return false
	}
	known := a.e.names[name]
	if known.program != nil && len(known.program.ShellOpts) > 0 { // its options may run something
		return false
	}
	return known.prints || known.handler == nil && known.program == nil && !mayLaunch(words[1:])
}
