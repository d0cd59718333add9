package safety

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// view is one reading of a command: a canonical line and where it came from.
type view struct {
	kind     ViewKind
	line     string
	dialect  Platform
	depth    int
	wrappers []string
	// start and end are offsets in the line under analysis.
	start, end int
}

// match describes a match of a rule in v.
func (v view) match(id string, severity Severity) Match {
	return Match{
		Rule: id, Severity: severity, View: v.kind, Depth: v.depth, Line: v.line,
		Start: v.start, End: v.end, Wrappers: v.wrappers,
	}
}

// viewIndex finds the built-in rules that can match a canonical line by the
// line's first word. It takes the expressions apart at their top-level
// alternatives, so that a line is tried only against those that can start with
// its first word; what each can start with is derived from the expression.
type viewIndex struct {
	rules  []*rule
	byWord map[string][]entry
}

// entry is a branch in the list of a word. What decides about most branches lies
// next to each other: they are many, and the memory they lie in is rarely at hand.
type entry struct {
	// needs are the pairs of bytes that every match has.
	needs pairSet
	*branch
}

// newViewIndex indexes the built-in rules of a list. Lines of Windows commands
// are in lower case, as the patterns for them are, so none needs to ignore case.
func newViewIndex(rules []*rule) *viewIndex {
	x := &viewIndex{rules: rules, byWord: map[string][]entry{}}
	for i, r := range rules {
		if !r.builtin {
			continue
		}
		for _, alt := range alternatives(r.Pattern.Pattern) {
			x.add(i, alt)
		}
	}
	return x
}

// add indexes one alternative of rule i.
func (x *viewIndex) add(i int, expr string) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(fmt.Sprintf("bug: rule %s: %v", x.rules[i].ID, err))
	}
	words := firstWords(re)
	if words == nil {
		panic(fmt.Sprintf("bug: rule %s is not anchored at a first word: %s", x.rules[i].ID, expr))
	}
	e := entry{branch: newBranch(i, x.rules[i].Platform, expr, re, words)}
	e.needs = neededPairs(e.literals)
	for _, w := range words {
		if list := x.byWord[w]; len(list) == 0 || list[len(list)-1].branch != e.branch {
			x.byWord[w] = append(list, e)
		}
	}
}

// alternatives splits "(?:a|b)" into "a" and "b". An expression of another form
// is one alternative.
func alternatives(expr string) []string {
	body, ok := strings.CutPrefix(expr, "(?:")
	if !ok {
		return []string{expr}
	}
	var out []string
	depth, start := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '[':
			i = classEnd(body, i)
		case '(':
			depth++
		case ')':
			if depth == 0 {
				if i != len(body)-1 {
					return []string{expr}
				}
				return append(out, body[start:i])
			}
			depth--
		case '|':
			if depth == 0 {
				out = append(out, body[start:i])
				start = i + 1
			}
		}
	}
	return []string{expr}
}

// classEnd is the index of the bracket that closes the class opened at i.
func classEnd(expr string, i int) int {
	for i++; i < len(expr) && expr[i] != ']'; i++ {
		if expr[i] == '\\' {
			i++
		}
	}
	return i
}

// firstWords lists what a match of re can start with, up to the first blank;
// nil if re is not anchored or allows too much.
func firstWords(re *syntax.Regexp) []string {
	if re.Op != syntax.OpConcat || re.Sub[0].Op != syntax.OpBeginText {
		return nil
	}
	w := wordSet{open: []string{""}}
	for _, sub := range re.Sub[1:] {
		if !w.extend(sub) {
			return nil
		}
		if len(w.open) == 0 {
			return w.done
		}
	}
	return nil
}

// wordSet grows the possible first words. Words that reached their blank move
// from open to done.
type wordSet struct {
	open, done []string
}

// extend appends what re can match to every open word.
func (w *wordSet) extend(re *syntax.Regexp) bool {
	switch op := re.Op; {
	case op == syntax.OpLiteral:
		for _, r := range re.Rune {
			w.appendRune(r, re.Flags&syntax.FoldCase != 0)
		}
	case op == syntax.OpCharClass:
		return w.extendClass(re)
	case op == syntax.OpCapture, op == syntax.OpConcat:
		for _, sub := range re.Sub {
			if !w.extend(sub) {
				return false
			}
		}
	case op == syntax.OpAlternate:
		return w.branch(re.Sub)
	case op == syntax.OpQuest:
		return w.branch([]*syntax.Regexp{re.Sub[0], {Op: syntax.OpEmptyMatch}})
	case op != syntax.OpEmptyMatch:
		return len(w.open) == 0
	}
	return len(w.open)+len(w.done) <= maxLiterals*4
}

// appendRune adds one character to every open word, or closes them all.
func (w *wordSet) appendRune(r rune, fold bool) {
	if r == ' ' {
		w.done = append(w.done, w.open...)
		w.open = nil
		return
	}
	s := string(r)
	if fold {
		s = strings.ToLower(s)
	}
	for i := range w.open {
		w.open[i] += s
	}
}

// extendClass appends each member of a small class.
func (w *wordSet) extendClass(re *syntax.Regexp) bool {
	var members []*syntax.Regexp
	for i := 0; i+1 < len(re.Rune); i += 2 {
		if re.Rune[i+1]-re.Rune[i] > 16 {
			return false
		}
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			members = append(members, &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{r}, Flags: re.Flags})
		}
	}
	return w.branch(members)
}

// branch continues every open word with each alternative.
func (w *wordSet) branch(alternatives []*syntax.Regexp) bool {
	start := w.open
	var open []string
	for _, alt := range alternatives {
		w.open = append([]string{}, start...)
		if !w.extend(alt) {
			return false
		}
		open = append(open, w.open...)
	}
	w.open = open
	return true
}

// grader matches canonical lines for one grading. It is the sink of the shell
// analysis.
type grader struct {
	g     *grading
	index *viewIndex
	// offset is where the analysed line starts in the original command, size
	// how long it is.
	offset, size int
	// word is the last first word that was looked up, and branches what it has:
	// whether a line is wanted is asked right before it comes.
	word     string
	branches []entry
}

// lookup returns the branches of lines that start with word.
func (r *grader) lookup(word string) []entry {
	if word != r.word || r.branches == nil {
		r.word, r.branches = word, r.index.byWord[word]
	}
	return r.branches
}

// wants reports whether any rule looks at lines that start with word.
func (r *grader) wants(word string) bool {
	return len(r.lookup(word)) > 0
}

func (r *grader) lazy() bool { return true }

// names calls yield for every first word the rules know.
func (r *grader) names(yield func(string)) {
	for w := range r.index.byWord {
		yield(w)
	}
}

// command ignores argument vectors: rules see canonical lines.
func (r *grader) command([]word, Platform) {}

// view matches one canonical line. A rule that matched already is tried again
// only for an explanation.
func (r *grader) view(v view) {
	v = r.place(v)
	first, _, _ := strings.Cut(v.line, " ")
	r.try(r.lookup(first), v)
}

// try matches the branches of a list.
func (r *grader) try(list []entry, v view) {
	if len(list) == 0 {
		return
	}
	onlyUnix, onlyWindows := !v.dialect.windows(), !v.dialect.unix()
	pairs := pairsOf(v.line)
	for i := range list {
		b := &list[i]
		if !pairs.hasAll(&b.needs) || onlyUnix && !b.unix || onlyWindows && !b.windows {
			continue
		}
		if r.g.explain == nil && r.g.matched.has(b.rule) {
			continue
		}
		if b.match(v.line) {
			r.g.hit(b.rule, v)
		}
	}
}

// complex and unparsed pass on what the analysis could not read.
func (r *grader) opaque(string)  {}
func (r *grader) defines() bool  { return true }
func (r *grader) complex(v view) { r.g.complex(r.place(v)) }

func (r *grader) unparsed(v view) {
	v = r.place(v)
	r.g.notParsed(v)
	r.g.searchFallback(v)
}

// place turns the offsets of a view into those of the original command. What was
// supplied to make a line parse lies past its end.
func (r *grader) place(v view) view {
	v.start, v.end = min(v.start, r.size)+r.offset, min(v.end, r.size)+r.offset
	return v
}
