package safety

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of guessing at a line that does not parse.
const (
	// maxGuessStarts is how many words from the start the rest of the line is
	// parsed again from: enough for a wrapper in front of a compound command.
	maxGuessStarts = 6
	// maxGuessWords is how many words a naive command has.
	maxGuessWords = 32
)

// guess reads a script that the parser rejects. Another shell may accept it, or
// the error may be there to hide something, so it is read in every way that is
// likely: the pieces before and after the error, the script with the missing
// end supplied, and word by word.
func (a *analysis) guess(src string, err error, f frame, sc *scope) {
	if a.naive {
		return
	}
	if at := errorOffset(err); at >= 0 && at < len(src) {
		a.tryScript(src[:at], f, sc)
		a.tryScript(src[at+1:], f, sc)
		a.tryScript(src[:at]+" "+src[at+1:], f, sc)
	}
	at := 0
	for range maxGuessStarts {
		a.tryEnds(src[at:], f, sc)
		next := strings.IndexAny(src[at:], " \t\n")
		if next < 0 {
			break
		}
		at = len(src) - len(strings.TrimLeft(src[at+next:], " \t\n"))
	}
	a.naive = true
	a.guessWords(src, f, sc)
	a.naive = false
}

// tryScript walks a piece of a script if it parses. Guesses end quietly at half
// the parsing limit: the naive reading covers what they leave out.
func (a *analysis) tryScript(src string, f frame, sc *scope) bool {
	if a.stopped || a.parsed+len(src) > a.budget()/2 || nestedTooDeep(src) {
		return false
	}
	a.parsed += len(src)
	list, ok, open := a.readTree(src)
	if ok {
		a.stmts(list, fixedFrame(f), sc.fork())
	}
	if ok || open {
		return ok
	}
	file, err := a.parse(src)
	if err != nil {
		closed, ok := closeDocument(src, err)
		if !ok {
			return false
		}
		if file, err = a.parse(closed); err != nil {
			return false
		}
	}
	a.stmts(file.Stmts, fixedFrame(f), sc.fork())
	return true
}

// tryEnds walks a piece of a script as it is, or with the end that it lacks.
func (a *analysis) tryEnds(src string, f frame, sc *scope) {
	for _, end := range []string{"", `"`, "'", "`", ")", "}", "; }", "; fi", "; done", " :"} {
		if a.tryScript(src+end, f, sc) {
			return
		}
	}
}

// guessWords reads the line without any grammar: segments between operator
// characters, quotes removed, a command starting at every word. It takes time
// linear in the line: a command is cut at maxGuessWords.
func (a *analysis) guessWords(src string, f frame, sc *scope) {
	f = fixedFrame(f)
	for list := range strings.FieldsFuncSeq(src, func(r rune) bool { return strings.ContainsRune(";&\n(){}`", r) }) {
		g := f
		for stage := range strings.SplitSeq(list, "|") {
			g.stdin = a.mem.outputs.one(a.guessStage(stage, g, sc))
		}
	}
}

// guessStage reads one stage of a naive pipeline.
func (a *analysis) guessStage(stage string, f frame, sc *scope) output {
	fields := strings.Fields(stage)
	words := a.mem.words.take(len(fields))
	for i, field := range fields {
		text, glob := unescape(a.e.unquoter.Replace(field))
		whole := text
		if cut := strings.IndexAny(text, "<>"); cut > 0 {
			text = text[:cut]
		}
		words[i] = word{text: naiveHome(text), glob: glob, dyn: strings.Contains(text, "$")}
		if name, ok := naiveTarget(whole, fields, i); ok {
			a.writes(word{text: name}, ViewNaive, f, sc)
		}
	}
	var out output
	for i := range words {
		if a.stopped {
			break
		}
		if words[i].text == "" || words[i].text[0] == '<' || words[i].text[0] == '>' {
			continue
		}
		o := a.simple(words[i:min(len(words), i+maxGuessWords)], f, sc)
		if i == 0 {
			out = o
		}
		out.mark(o.taint, o.source)
	}
	return out
}

// naiveHome resolves the home variable at the start of a word.
func naiveHome(text string) string {
	for _, name := range []string{"$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(text, name); ok {
			return "~" + rest
		}
	}
	return text
}

// naiveTarget recognises an output redirection in fields[i].
func naiveTarget(text string, fields []string, i int) (string, bool) {
	at := strings.IndexByte(text, '>')
	if at < 0 {
		return "", false
	}
	name := strings.TrimLeft(text[at:], ">|")
	if name == "" && i+1 < len(fields) {
		name = strings.Trim(fields[i+1], `"'`)
	}
	return name, name != ""
}

// closeDocument supplies the missing end of a here-document, which a shell
// accepts with a warning.
func closeDocument(src string, err error) (string, bool) {
	pe, ok := errors.AsType[syntax.ParseError](err)
	if !ok {
		return "", false
	}
	_, rest, ok := strings.Cut(pe.Text, "unclosed here-document `")
	if !ok {
		return "", false
	}
	return src + "\n" + strings.TrimSuffix(rest, "`") + "\n", true
}
