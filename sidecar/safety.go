package sidecar

import (
	"fmt"
	"slices"
	"sync"

	"github.com/steerable-go/sidecar/safety"
)

// classifiers makes the classifiers of turns and keeps the plain ones: their
// expressions compile once.
type classifiers struct {
	extra []safety.Pattern // the operator's rules, part of every set

	mu    sync.Mutex // guards following
	plain map[safety.Set]*safety.Classifier
	match map[safety.Platform]matcher
}

// matcher returns the matcher of a platform, which turns share.
func (c *classifiers) matcher(p safety.Platform) matcher {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.match[p]
	if !ok {
		if c.match == nil {
			c.match = map[safety.Platform]matcher{}
		}
		m = newMatcher(p)
		c.match[p] = m
	}
	return m
}

// base returns the classifier of a built-in set with the operator's rules.
func (c *classifiers) base(set safety.Set) (*safety.Classifier, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.plain[set]; made != nil {
		return made, nil
	}
	made, err := safety.New(set)
	if err != nil {
		return nil, err
	}
	if len(c.extra) > 0 {
		if made, err = made.With(c.extra...); err != nil {
			return nil, err
		}
	}
	if c.plain == nil {
		c.plain = map[safety.Set]*safety.Classifier{}
	}
	c.plain[set] = made
	return made, nil
}

// get returns the classifier a turn asks for. A rule that cannot be used is an
// error, and so is the id of a rule that does not exist. The operator's rules
// cannot be switched off by a request.
func (c *classifiers) get(set string, disabled []string, patterns []safety.Pattern) (*safety.Classifier, error) {
	name := safety.SetDefault
	if set != "" {
		name = safety.Set(set)
	}
	made, err := c.base(name)
	if err != nil {
		return nil, err
	}
	for _, p := range c.extra {
		if slices.Contains(disabled, p.ID) {
			return nil, fmt.Errorf("disabledPatternIds: %q is the operator's rule and stays", p.ID)
		}
	}
	if len(disabled) > 0 {
		if made, err = made.Without(disabled...); err != nil {
			return nil, err
		}
	}
	if len(patterns) > 0 {
		return made.With(patterns...)
	}
	return made, nil
}
