package approvals

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rule allows or denies the calls of one tool, or those of them whose command
// starts with a prefix.
type Rule struct {
	Tool   string
	Effect Effect
	// CommandPrefix holds the leading words of the command. Empty: every call
	// of the tool, even one without a command.
	CommandPrefix []string
}

// parseRule reads one element of a policy file's rules. The tool is returned
// even with an error, if it can be read, because automatic allows are then
// suspended for that tool alone.
func parseRule(raw json.RawMessage) (Rule, error) {
	m, err := fields(raw)
	if err != nil {
		return Rule{}, err
	}
	tool, ok := stringOf(m["tool"])
	if !ok || tool == "" {
		return Rule{}, errors.New("tool is not a non-empty string")
	}
	r := Rule{Tool: tool}
	name, ok := stringOf(m["decision"])
	if !ok {
		return r, errors.New("decision is not a string")
	}
	if r.Effect, err = ParseEffect(name); err != nil {
		return r, err
	}
	if r.CommandPrefix, err = prefixOf(m["commandPrefix"]); err != nil {
		return r, err
	}
	if len(r.CommandPrefix) > 0 && strings.TrimSpace(r.CommandPrefix[0]) == "" {
		return r, errors.New("commandPrefix names no program")
	}
	return r, r.known(m)
}

// known refuses an allow with a member we do not know: it may be a condition,
// or the prefix under a misspelled name. A denial holds all the same.
func (r Rule) known(m map[string]json.RawMessage) error {
	if r.Effect != EffectAllow {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch name {
		case "tool", "decision", "commandPrefix":
		default:
			return fmt.Errorf("an allow with an unknown member %q", clip(name))
		}
	}
	return nil
}

// MarshalJSON writes the rule as the policy file holds it.
func (r Rule) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		Tool          string   `json:"tool"`
		Decision      string   `json:"decision"`
		CommandPrefix []string `json:"commandPrefix,omitempty"`
	}{r.Tool, r.Effect.String(), r.CommandPrefix})
}

// String returns the rule as results and listings show it.
func (r Rule) String() string {
	return fmt.Sprintf("%s %s → %s", Visible(r.Tool), prefixText(r.CommandPrefix), r.Effect)
}

// Equal reports whether two rules say the same.
func (r Rule) Equal(o Rule) bool {
	return r.Tool == o.Tool && r.Effect == o.Effect && slices.Equal(r.CommandPrefix, o.CommandPrefix)
}

// prefixText shows a prefix to a person. Words come from a model: those that
// could be taken for others, or that move a cursor, are quoted.
func prefixText(prefix []string) string {
	if len(prefix) == 0 {
		return "*"
	}
	shown := make([]string, len(prefix))
	for i, word := range prefix {
		shown[i] = Visible(word)
	}
	return strings.Join(shown, " ")
}

// Visible returns text as it may be shown on a terminal: as it is if it is one
// plain word, else quoted with its control and invisible characters escaped.
func Visible(word string) string {
	odd := func(r rune) bool { return r == ' ' || r == '"' || r == utf8.RuneError || !strconv.IsPrint(r) }
	if word == "" || strings.ContainsFunc(word, odd) {
		return strconv.Quote(word)
	}
	return word
}

// applies reports whether the rule covers a call. command is empty when the
// call has none; a rule with a prefix then covers nothing.
func (r Rule) applies(m Matcher, tool, command string) bool {
	if r.Tool != tool {
		return false
	}
	if len(r.CommandPrefix) == 0 {
		return true
	}
	return command != "" && m.Match(r.Effect, r.CommandPrefix, command)
}

// unknown says why it is not known whether a denial covers a call; empty if it
// is known.
func (r Rule) unknown(m Matcher, tool, command string) string {
	if r.Effect == EffectAllow || r.Tool != tool || len(r.CommandPrefix) == 0 || command == "" {
		return ""
	}
	return m.Unknown(r.CommandPrefix, command)
}
