package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrDenialKept is returned when an allow is to be stored where a denial is
// already kept. A denial ends only when somebody revokes it.
var ErrDenialKept = errors.New("a stored denial stands; revoke it first")

// Store is the durable store of answers by category, approvals.json: a flat
// object whose values are "allow_always" or "deny_always". It is safe for
// concurrent use by goroutines and processes.
type Store struct {
	file jsonFile[storeState]
}

// OpenStore names the file; it is read when it is needed. now stamps the names
// of damaged files; nil means the wall clock.
func OpenStore(path string, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{file: jsonFile[storeState]{path: path, now: now, parse: parseStore}}
}

// StoredAnswer is one usable entry of a [Store].
type StoredAnswer struct {
	Category string
	Effect   Effect
}

// storeState is what the file holds; it is never changed once parsed.
type storeState struct {
	entries  []member // as written, for the next write
	answers  []StoredAnswer
	problems []Problem
}

// parseStore reads the file. Values that are not one of the two durable kinds
// are problems of their category, not of the file.
func parseStore(raw []byte) (storeState, error) {
	list, err := members(raw)
	if err != nil {
		return storeState{}, err
	}
	s := storeState{entries: list}
	for i, m := range list {
		kind, ok := stringOf(m.value)
		switch {
		case ok && kind == AllowAlways.String():
			s.answers = append(s.answers, StoredAnswer{m.name, EffectAllow})
		case ok && kind == DenyAlways.String():
			s.answers = append(s.answers, StoredAnswer{m.name, EffectDeny})
		case ok:
			s.problems = append(s.problems, Problem{i, m.name, fmt.Sprintf("unknown value %q, want allow_always or deny_always", clip(kind))})
		default:
			s.problems = append(s.problems, Problem{i, m.name, "value is not a string, want allow_always or deny_always"})
		}
	}
	return s, nil
}

// lookup returns the answer for a category. Where the file names it twice, a
// denial among them wins.
func (s storeState) lookup(category string) (effect Effect, found bool) {
	for _, a := range s.answers {
		if a.Category != category {
			continue
		}
		if a.Effect == EffectDeny {
			return EffectDeny, true
		}
		effect, found = a.Effect, true
	}
	return effect, found
}

// set returns the file with the category's entries replaced by one; an empty
// kind removes them.
func (s storeState) set(category, kind string) ([]byte, error) {
	var b bytes.Buffer
	put := func(name string, value []byte) error {
		key, err := marshal(name)
		if err != nil {
			return err
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
		return nil
	}
	placed := kind == ""
	value, err := marshal(kind)
	if err != nil {
		return nil, err
	}
	for _, m := range s.entries {
		v := []byte(m.value)
		if m.name == category {
			if placed {
				continue
			}
			v, placed = value, true
		}
		if err := put(m.name, v); err != nil {
			return nil, err
		}
	}
	if !placed {
		if err := put(category, value); err != nil {
			return nil, err
		}
	}
	return indent("{"+b.String()+"}", " ")
}

func indent(compact, by string) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(compact), "", by); err != nil {
		return nil, fmt.Errorf("encode approvals: %w", err)
	}
	return b.Bytes(), nil
}

// Set keeps an answer for a category. An allow does not replace a denial or an
// entry that cannot be read: it fails with [ErrDenialKept].
func (s *Store) Set(ctx context.Context, category string, effect Effect) error {
	return s.file.update(ctx, func(state storeState) ([]byte, error) {
		if effect == EffectDeny {
			return state.set(category, DenyAlways.String())
		}
		if was, found := state.lookup(category); found && was == EffectDeny {
			return nil, ErrDenialKept
		}
		for _, p := range state.problems {
			if p.Tool == category {
				return nil, fmt.Errorf("entry %d: %s", p.Index, p.Text)
			}
		}
		return state.set(category, AllowAlways.String())
	})
}

// Revoke removes what the store holds for a category, denials and entries that
// cannot be read included, and reports whether there was anything. It fails on
// a damaged file.
func (s *Store) Revoke(ctx context.Context, category string) (bool, error) {
	holds := func(state storeState) bool {
		return slices.ContainsFunc(state.entries, func(m member) bool { return m.name == category })
	}
	now := s.file.load()
	if now.damage != nil || !holds(now.value) {
		return false, now.damage // without making a lock file for a mistyped path
	}
	removed := false
	err := s.file.update(ctx, func(state storeState) ([]byte, error) {
		if removed = holds(state); !removed {
			return nil, nil
		}
		return state.set(category, "")
	})
	return removed && err == nil, err
}

// List returns the usable entries in the order of the file.
func (s *Store) List() []StoredAnswer { return s.file.load().value.answers }

// Missing reports whether there is no file, which is the same as an empty one.
func (s *Store) Missing() bool { return !s.file.load().exists }

// Check returns everything about the file that cannot be used or that waits
// for a person.
func (s *Store) Check() []Problem {
	state := s.file.load()
	return append(fileProblems(state), state.value.problems...)
}

// Accept ends the suspension of automatic allows that a damaged store caused.
// It returns the names under which the damaged files are kept.
func (s *Store) Accept(ctx context.Context) ([]string, error) { return s.file.accept(ctx) }

// fileProblems lists the problems of a file as a whole.
func fileProblems[T any](s snapshot[T]) []Problem {
	var list []Problem
	if s.damage != nil {
		list = append(list, Problem{Index: -1, Text: "damaged: " + s.damage.Error()})
	}
	if s.blind != nil {
		list = append(list, Problem{Index: -1, Text: s.blind.Error()})
	}
	for _, name := range s.aside {
		list = append(list, Problem{Index: -1, Text: "set aside as damaged: " + name})
	}
	return list
}
