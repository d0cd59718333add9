package approvals

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	return r, nil
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
	return fmt.Sprintf("%s %s → %s", r.Tool, prefixText(r.CommandPrefix), r.Effect)
}

// Equal reports whether two rules say the same.
func (r Rule) Equal(o Rule) bool {
	return r.Tool == o.Tool && r.Effect == o.Effect && slices.Equal(r.CommandPrefix, o.CommandPrefix)
}

func prefixText(prefix []string) string {
	if len(prefix) == 0 {
		return "*"
	}
	return strings.Join(prefix, " ")
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
