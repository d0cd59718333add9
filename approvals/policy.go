package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// policyVersion is the only version of the policy file there is.
const policyVersion = "1"

// ErrNoRule is returned when a rule to be removed is not there.
var ErrNoRule = errors.New("no such rule")

// Policy is the file of ordered rules, {"version":1,"rules":[…]}. Denials win
// wherever they stand; among allows the first that matches is named. It is
// safe for concurrent use by goroutines and processes.
type Policy struct {
	file jsonFile[policyState]
}

// OpenPolicy names the file; it is read when it is needed. now stamps the
// names of damaged files; nil means the wall clock.
func OpenPolicy(path string, now func() time.Time) *Policy {
	return &Policy{file: newJSONFile(path, now, parsePolicy)}
}

// PolicyPath returns where rules are kept: policyPath, else
// approval-policy.json beside the store, else nowhere (the empty string).
func PolicyPath(policyPath, storePath string) string {
	if policyPath != "" || storePath == "" {
		return policyPath
	}
	return filepath.Join(filepath.Dir(storePath), "approval-policy.json")
}

// IndexedRule is a usable rule and its place in the file, from 0.
type IndexedRule struct {
	Index int
	Rule
}

// policyState is what the file holds; it is never changed once parsed.
type policyState struct {
	root     []member          // as written, for the next write
	raw      []json.RawMessage // the rules as written, unusable ones included
	rules    []IndexedRule
	problems []Problem
}

func (s policyState) unusable() []Problem { return s.problems }

// parsePolicy reads the file. A rule that cannot be read is a problem of the
// tool it names; the others hold.
func parsePolicy(raw []byte) (policyState, error) {
	list, err := members(raw)
	if err != nil {
		return policyState{}, err
	}
	m, err := fields(raw)
	if err != nil {
		return policyState{}, err
	}
	s := policyState{root: list}
	if v, ok := m["version"]; ok && string(v) != policyVersion {
		s.problems = append(s.problems, Problem{Index: -1, Text: "version is not " + policyVersion})
	}
	rules, ok := m["rules"]
	if !ok {
		if _, versioned := m["version"]; len(m) > 1 || len(m) == 1 && !versioned {
			// Perhaps a misspelled name, under which there are denials.
			return policyState{}, errors.New("rules are missing, and other members are there")
		}
		return s, nil
	}
	if s.raw, err = elements(rules); err != nil {
		return policyState{}, fmt.Errorf("rules: %w", err)
	}
	for i, raw := range s.raw {
		rule, err := parseRule(raw)
		if err != nil {
			s.problems = append(s.problems, Problem{i, rule.Tool, err.Error()})
			continue
		}
		s.rules = append(s.rules, IndexedRule{i, rule})
	}
	return s, nil
}

// find returns the first rule of an effect that covers a call.
func (s policyState) find(effect Effect, m Matcher, tool, command string) (IndexedRule, bool) {
	for _, r := range s.rules {
		if r.Effect == effect && r.applies(m, tool, command) {
			return r, true
		}
	}
	return IndexedRule{}, false
}

// encode returns the file with the given rules and everything else as it was.
func (s policyState) encode(rules []json.RawMessage) ([]byte, error) {
	list := append([]byte("["), bytes.Join(asBytes(rules), []byte(","))...)
	list = append(list, ']')
	root := slices.Clone(s.root)
	if len(root) == 0 {
		root = []member{{"version", json.RawMessage(policyVersion)}}
	}
	at := slices.IndexFunc(root, func(m member) bool { return m.name == "rules" })
	if at < 0 {
		at, root = len(root), append(root, member{name: "rules"})
	}
	root[at].value = list
	text, err := encodeObject(root, "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

func asBytes(rules []json.RawMessage) [][]byte {
	list := make([][]byte, len(rules))
	for i, r := range rules {
		list[i] = r
	}
	return list
}

// Add appends a rule; an equal one that is already there makes it a no-op.
func (p *Policy) Add(ctx context.Context, rule Rule) error {
	raw, err := rule.MarshalJSON()
	if err != nil {
		return err
	}
	return p.file.update(ctx, func(s policyState) ([]byte, error) {
		for _, r := range s.rules {
			if r.Equal(rule) {
				return nil, nil
			}
		}
		return s.encode(append(slices.Clip(s.raw), raw))
	})
}

// Revoke removes the rule at an index, usable or not. It returns the rule as
// the file held it; [ErrNoRule] if there is none. It fails on a damaged file.
func (p *Policy) Revoke(ctx context.Context, index int) (string, error) {
	now := p.file.load()
	if now.damage != nil {
		return "", now.damage
	}
	if index >= len(now.value.raw) { // without making a lock file for a mistyped path
		return "", fmt.Errorf("rule %d of %d: %w", index, len(now.value.raw), ErrNoRule)
	}
	var removed string
	err := p.file.update(ctx, func(s policyState) ([]byte, error) {
		if index < 0 || index >= len(s.raw) {
			return nil, fmt.Errorf("rule %d of %d: %w", index, len(s.raw), ErrNoRule)
		}
		var text bytes.Buffer
		if err := json.Compact(&text, s.raw[index]); err != nil {
			return nil, fmt.Errorf("rule %d: %w", index, err)
		}
		removed = text.String()
		rest := append([]json.RawMessage{}, s.raw[:index]...)
		return s.encode(append(rest, s.raw[index+1:]...))
	})
	if err != nil {
		return "", err
	}
	return removed, nil
}

// List returns the usable rules in order.
func (p *Policy) List() []IndexedRule { return p.file.load().value.rules }

// Missing reports whether there is no file, which is the same as an empty one.
func (p *Policy) Missing() bool { return !p.file.load().exists }

// Check returns everything about the file that cannot be used or that waits
// for a person.
func (p *Policy) Check() []Problem { return p.file.load().problems() }

// Accept ends the suspension of automatic allows that a damaged policy caused.
// It returns the names under which the damaged files are kept.
func (p *Policy) Accept(ctx context.Context) ([]string, error) { return p.file.accept(ctx) }
