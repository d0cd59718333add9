package schemas

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Set checks texts against the embedded schemas. Nothing is read or compiled
// before a schema's first use, so a process pays only for the frames it sees.
// The zero value is ready, and a Set may be used concurrently.
type Set struct {
	engines atomic.Pointer[map[string]engine] // by name; a map is never changed
	mu      sync.Mutex                        // held while engines is replaced
}

// engine decides about instances of one schema. Its argument has not been
// checked at all; its errors are those of [Set.Check].
type engine interface {
	check(raw []byte) error
}

// New returns an empty Set. It costs nothing.
func New() *Set {
	return &Set{}
}

// Check returns nil if raw is one JSON value that satisfies the named schema. A
// text that breaks the rules of [Valid] gives a [*SyntaxError], wherever its
// first violation of the schema lies; every other failure is a
// [*ValidationError], a name that does not exist included.
func (s *Set) Check(name string, raw []byte) error {
	if known := s.engines.Load(); known != nil {
		if e, ok := (*known)[name]; ok {
			return e.check(raw)
		}
	}
	e, err := s.compile(name)
	if err != nil {
		return &ValidationError{Keyword: "$ref", Message: "no usable schema " + clip(name)}
	}
	return e.check(raw)
}

// compile adds the named schema to the set.
func (s *Set) compile(name string) (engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := map[string]engine{}
	if old := s.engines.Load(); old != nil {
		if e, ok := (*old)[name]; ok {
			return e, nil
		}
		known = maps.Clone(*old)
	}
	e, err := newEngine(name)
	if err != nil {
		return nil, err
	}
	known[name] = e
	s.engines.Store(&known)
	return e, nil
}

// newEngine prepares the fast engine if it understands the schema, else the
// complete one.
func newEngine(name string) (engine, error) {
	if root, err := build(name); err == nil {
		return &table{root: root}, nil
	}
	return newJudge(name)
}

// table is the engine for schemas that a builder understands: one pass over the
// text, without decoding it.
type table struct {
	root *node
}

func (t *table) check(raw []byte) error {
	s := scanner{raw: raw}
	if i := s.check(t.root, space(raw, 0)); i >= 0 && s.end(i) {
		return nil
	}
	if s.fault.reason != "" {
		return &SyntaxError{Offset: s.fault.offset, Reason: s.fault.reason}
	}
	// The violation may come before a syntax error, which counts more.
	if err := Valid(raw); err != nil {
		return err
	}
	return s.fault.violation()
}
