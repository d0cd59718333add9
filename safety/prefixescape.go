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
	// Until says that the options end at the first operand.
	Until bool `json:"until"`
	// Wrapper says that an operand is a command, Always why the program is
	// refused whatever its arguments are.
	Wrapper bool   `json:"wrapper"`
	Always  string `json:"always"`
	// Special names a check of its own.
	Special string `json:"special"`
}

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
	args := e.arguments(name, words)
	for _, sub := range m.rows(name, args) {
		if r := sub.check(words, max(covered, 1), args); r.Reason != "" {
			return r
		}
	}
	return PrefixMatch{}
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
	return out
}

// wrapped handles programs whose operand is a command. The inner command must
// be part of the prefix, and its own options are checked too.
func (m *Matcher) wrapped(name string, words []word, covered int) PrefixMatch {
	e := m.engine()
	args := e.arguments(name, words)
	row := m.options()[name]
	if len(args.rest) == 0 {
		if p := e.program(name); row != nil && row.Wrapper || p != nil && p.Wrap && name != "docker" && name != "kubectl" {
			if covered < len(words) || row != nil && row.Wrapper {
				return no(ReasonWrapper, name)
			}
		}
		return m.module(name, words, covered)
	}
	start := len(words) - len(args.rest)
	switch {
	case args.prog.Shell:
		// The rest is a script on another host or terminal; the prefix has
		// approved the place, not what is run there.
		return no(ReasonWrapper, name)
	case start >= covered:
		return no(ReasonWrapper, name)
	case row != nil && row.Wrapper && slices.ContainsFunc(words[:start], func(w word) bool { return strings.HasPrefix(w.text, "-I") || strings.HasPrefix(w.text, "-i") }):
		return no(ReasonWrapper, name)
	}
	return m.escapes(args.rest, covered-start)
}

// module checks `python -m pytest` by the row of pytest.
func (m *Matcher) module(name string, words []word, covered int) PrefixMatch {
	if name != "python" || len(words) < 3 || words[1].text != "-m" || covered < 3 {
		return PrefixMatch{}
	}
	return m.escapes(words[2:], covered-2)
}

// check tests the words from covered on against a row.
func (r *escapeRow) check(words []word, covered int, args *arguments) PrefixMatch {
	if r.Always != "" {
		return no(ReasonOption, args.command()+": "+r.Always)
	}
	operands, subs := 0, len(args.subs)
	value := false
	for i, w := range words[1:] {
		text := w.text
		option := len(text) > 1 && text[0] == '-'
		inside := i+1 < covered
		if value {
			value = false
			continue
		}
		value = option && len(text) == 2 && strings.IndexByte(r.Values, text[1]) >= 0
		switch {
		case text == "--" && !r.Single:
			return r.operandsFrom(words, i+2, covered, operands, args)
		case option && inside:
		case option:
			if subs > 0 && r.refusedBefore(text) || r.refuses(text) {
				return no(ReasonOption, text)
			}
		default:
			if subs > 0 {
				subs--
			} else {
				operands++
			}
			if r.Until {
				return r.special(words, covered, args)
			}
			if r.refusesOperand(text, operands) && !inside {
				return no(ReasonOption, text)
			}
		}
	}
	return r.special(words, covered, args)
}

// operandsFrom checks the words after "--".
func (r *escapeRow) operandsFrom(words []word, from, covered, operands int, args *arguments) PrefixMatch {
	for i := from; i < len(words); i++ {
		operands++
		if r.refusesOperand(words[i].text, operands) && i >= covered {
			return no(ReasonOption, words[i].text)
		}
	}
	return r.special(words, covered, args)
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
		return d == name || len(name) > 3 && strings.HasPrefix(d, name)
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
