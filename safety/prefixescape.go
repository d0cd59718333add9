package safety

import (
	_ "embed" // the tables
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed tables/prefix.json
var prefixJSON []byte

// escapeRow lists what makes a program do more than its name says: options and
// operands that run another program or write a file. A prefix that ends before
// them does not cover them.
type escapeRow struct {
	// Before are options that are refused in front of the subcommand.
	Before []string `json:"before"`
	// Deny are long options; abbreviations of them are refused too, except
	// those in Allow. Exact are refused as they are.
	Deny  []string `json:"deny"`
	Allow []string `json:"allow"`
	Exact []string `json:"exact"`
	// Short are refused option letters, Values letters that take a value.
	Short  string `json:"short"`
	Values string `json:"values"`
	// Single says that long options start with one dash.
	Single bool `json:"single"`
	// Words are refused starts of operands.
	Words []string `json:"words"`
	// Operands is the number of operands after which the next is written.
	Operands *int `json:"operands"`
	// Input says that what it reads can run programs, or are more arguments.
	Input bool `json:"input"`
	// Until says that the options end at the first operand.
	Until bool `json:"until"`
	// Wrapper says that an operand is a command, Always why the program is
	// refused whatever its arguments are.
	Wrapper bool   `json:"wrapper"`
	Always  string `json:"always"`
	// Special names a check of its own.
	Special string `json:"special"`
}

// otherPrograms names the row of the programs without one.
const otherPrograms = "*"

// newEscapeRows reads the embedded table.
func newEscapeRows() map[string]*escapeRow {
	var rows map[string]*escapeRow
	if err := json.Unmarshal(prefixJSON, &rows); err != nil {
		panic(fmt.Sprintf("bug: prefix table: %v", err))
	}
	return rows
}

// escapes returns why the words after the first covered ones are not covered,
// or an empty answer.
func (m *Matcher) escapes(words []word, covered int) PrefixMatch {
	e := m.engine()
	name := e.canonicalName(words[0].text)
	if base, sub, ok := strings.Cut(name, " "); ok {
		name, words, covered = base, append([]word{{text: base}, {text: sub}}, words[1:]...), covered+1
	}
	row := m.options()[name]
	if row != nil && row.Always != "" && covered < len(words)+1 {
		return no(ReasonOption, name+": "+row.Always)
	}
	if r := m.wrapped(name, words, covered); r.Reason != "" {
		return r
	}
	if row == nil && e.program(name) == nil {
		if text, ok := m.carries(words, max(covered, 1)); ok {
			return no(ReasonWrapper, text)
		}
	}
	args := e.arguments(name, words)
	for _, sub := range m.rows(name, args) {
		if r := sub.check(words, max(covered, 1), args); r.Reason != "" {
			return r
		}
	}
	return PrefixMatch{}
}

// inputRuns reports whether a command would run what it is given to read.
func (m *Matcher) inputRuns(words []word) bool {
	e := m.engine()
	name := e.canonicalName(words[0].text)
	if row := m.options()[name]; row != nil && row.Input {
		return true
	}
	rest := e.arguments(name, words).rest
	return len(rest) > 0 && len(rest) < len(words) && m.inputRuns(rest)
}

// rows lists the rows for a program and its subcommands.
func (m *Matcher) rows(name string, args *arguments) []*escapeRow {
	var out []*escapeRow
	if row := m.options()[name]; row != nil {
		out = append(out, row)
	}
	for i := range args.subs {
		if row := m.options()[name+" "+strings.Join(args.subs[:i+1], " ")]; row != nil {
			out = append(out, row)
		}
	}
	if len(out) == 0 {
		out = append(out, m.options()[otherPrograms])
	}
	return out
}

// wrapped handles programs whose operand is a command. The inner command must
// be part of the prefix, and its own options are checked too.
func (m *Matcher) wrapped(name string, words []word, covered int) PrefixMatch {
	args := m.engine().arguments(name, words)
	for len(args.rest) > 0 && isAssignment(args.rest[0].text) { // env NAME=value
		args.rest = args.rest[1:]
	}
	row := m.options()[name]
	wrapper := row != nil && row.Wrapper
	if len(args.rest) == 0 {
		if wrapper || m.isPlainWrapper(name) && covered < len(words) {
			return no(ReasonWrapper, name)
		}
		return m.module(name, words, covered)
	}
	start := len(words) - len(args.rest)
	// The rest of ssh and the like is a script for another place; a prefix
	// approves the place, not what is run there. xargs -I puts its input
	// anywhere, into the program's name even.
	placeholder := wrapper && slices.ContainsFunc(words[:start], func(w word) bool {
		return strings.HasPrefix(w.text, "-I") || strings.HasPrefix(w.text, "-i")
	})
	if args.prog.Shell || start >= covered || placeholder {
		return no(ReasonWrapper, name)
	}
	return m.escapes(args.rest, covered-start)
}

// isAssignment recognises NAME=value.
func isAssignment(text string) bool {
	_, _, ok := assignment(text)
	return ok
}

// isPlainWrapper recognises programs that do nothing but run another.
func (m *Matcher) isPlainWrapper(name string) bool {
	p := m.engine().program(name)
	return p != nil && p.Wrap && p.Subs == 0
}

// module checks `python -m pytest` by the row of pytest.
func (m *Matcher) module(name string, words []word, covered int) PrefixMatch {
	if name != "python" || len(words) < 3 || words[1].text != "-m" || covered < 3 {
		return PrefixMatch{}
	}
	return m.escapes(words[2:], covered-2)
}

// rowCheck is the state of checking words against a row.
type rowCheck struct {
	row *escapeRow
	// subs are the subcommand words still to come, operands those seen.
	subs, operands int
	// value says that the next word is the value of an option, dashes that the
	// options have ended.
	value, dashes bool
}

// check tests the words from covered on against a row.
func (r *escapeRow) check(words []word, covered int, args *arguments) PrefixMatch {
	if r.Always != "" {
		return no(ReasonOption, args.command()+": "+r.Always)
	}
	c := rowCheck{row: r, subs: len(args.subs)}
	for i, w := range words[1:] {
		refused, stop := c.word(w.text)
		if refused && i+1 >= covered {
			return no(ReasonOption, w.text)
		}
		if stop {
			break
		}
	}
	return r.special(words, covered, args)
}

// word tests one word. stop says that what follows belongs to another program.
func (c *rowCheck) word(text string) (refused, stop bool) {
	r := c.row
	switch option := len(text) > 1 && text[0] == '-' && !c.dashes; {
	case c.value:
		c.value = false
		return false, false
	case text == "--" && !r.Single && !c.dashes:
		c.dashes = true
		return false, false
	case option:
		c.value = len(text) == 2 && strings.IndexByte(r.Values, text[1]) >= 0
		return c.subs > 0 && r.refusedBefore(text) || r.refuses(text), false
	case c.subs > 0:
		c.subs--
	default:
		c.operands++
	}
	return !r.Until && r.refusesOperand(text, c.operands), r.Until
}

// refusesOperand reports whether an operand writes or runs something.
func (r *escapeRow) refusesOperand(text string, n int) bool {
	if r.Operands != nil && n > *r.Operands {
		return true
	}
	return slices.ContainsFunc(r.Words, func(word string) bool { return refusedWord(text, word) })
}

// refusedWord compares an operand with a refused word. One that is not only
// letters is the start of what is refused, as in "ext::".
func refusedWord(text, word string) bool {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
		return text == word
	}
	return strings.HasPrefix(text, word)
}

// refusedBefore reports whether an option is refused before the subcommand.
func (r *escapeRow) refusedBefore(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	return slices.ContainsFunc(r.Before, func(o string) bool {
		return o == name || len(o) == 2 && strings.HasPrefix(text, o)
	})
}

// refuses reports whether an option is refused anywhere.
func (r *escapeRow) refuses(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	if slices.Contains(r.Exact, name) || slices.ContainsFunc(r.Words, func(word string) bool { return refusedWord(text, word) }) {
		return true
	}
	if r.Single {
		return slices.Contains(r.Deny, strings.TrimLeft(name, "-"))
	}
	if !strings.HasPrefix(text, "--") {
		return slices.Contains(r.Deny, name) || r.refusesLetters(text)
	}
	return !slices.Contains(r.Allow, name) && slices.ContainsFunc(r.Deny, func(d string) bool {
		return d == name || len(name) > 2 && strings.HasPrefix(d, name)
	})
}

// refusesLetters looks for refused letters in a group of short options.
func (r *escapeRow) refusesLetters(text string) bool {
	for i := 1; i < len(text); i++ {
		if strings.IndexByte(r.Short, text[i]) >= 0 {
			return true
		}
		if strings.IndexByte(r.Values, text[i]) >= 0 {
			return false
		}
	}
	return false
}
