package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrUnreadableKept is returned when an allow is to be stored in place of an
// entry that cannot be read and may have been a denial.
var ErrUnreadableKept = errors.New("the stored entry cannot be read; revoke it first")

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
	return &Store{file: newJSONFile(path, now, parseStore)}
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

func (s storeState) unusable() []Problem { return s.problems }

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
	value, err := marshal(kind)
	if err != nil {
		return nil, err
	}
	placed := kind == ""
	var list []member
	for _, m := range s.entries {
		if m.name == category {
			if placed {
				continue
			}
			m.value, placed = value, true
		}
		list = append(list, m)
	}
	if !placed {
		list = append(list, member{category, value})
	}
	return encodeObject(list, " ")
}

// Set keeps an answer for a category. An allow replaces neither a denial nor an
// entry that cannot be read: it fails with [ErrDenialKept] or
// [ErrUnreadableKept].
func (s *Store) Set(ctx context.Context, category string, effect Effect) error {
	return s.file.update(ctx, func(state storeState) ([]byte, error) {
		if effect == EffectDeny {
			return state.set(category, DenyAlways.String())
		}
		if was, found := state.lookup(category); found && was == EffectDeny {
			return nil, ErrDenialKept
		}
		if slices.ContainsFunc(state.problems, func(p Problem) bool { return p.Tool == category }) {
			return nil, ErrUnreadableKept
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
func (s *Store) Check() []Problem { return s.file.load().problems() }

// Accept ends the suspension of automatic allows that a damaged store caused.
// It returns the names under which the damaged files are kept.
func (s *Store) Accept(ctx context.Context) ([]string, error) { return s.file.accept(ctx) }
