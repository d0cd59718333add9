package conformance

import "fmt"

// check finds what would make a transcript pass or fail by accident.
func (t *Transcript) check() error {
	for i, r := range t.replies {
		if _, err := r.pieces(); err != nil {
			return fmt.Errorf("%s: reply %d: %w", t.path, i+1, err)
		}
		if r.Error != nil && (r.Error.Status < 400 || r.Error.Status > 599) {
			return fmt.Errorf("%s: reply %d: error.status is %d", t.path, i+1, r.Error.Status)
		}
	}
	if _, err := checkMatchers(t.requests); err != nil {
		return fmt.Errorf("%s: requests: %w", t.path, err)
	}
	for i := range t.steps {
		if err := t.checkOptional(i); err != nil {
			return err
		}
	}
	return nil
}

// checkOptional refuses an optional frame at the end of its lane: the player
// could not know for how long to wait for it.
func (t *Transcript) checkOptional(i int) error {
	e, ok := t.steps[i].step.(*expectation)
	if !ok || !e.optional {
		return nil
	}
	for _, later := range t.steps[i+1:] {
		next, ok := later.step.(*expectation)
		if !ok {
			break
		}
		if next.lane == e.lane && !next.optional {
			return nil
		}
	}
	return fmt.Errorf("%s:%d: an optional frame needs one behind it that must come", t.path, e.line)
}
