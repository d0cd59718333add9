package conformance

import (
	"fmt"
	"math"
)

// block is a run of expectations without anything sent in between. Frames of
// one lane arrive in order; the lanes interleave freely. Steps without a lane
// share one.
type block struct {
	lanes []*lane
}

type lane struct {
	steps  []*expectation
	pos    int
	joined string // what the pieces at pos added up to
}

func newBlock(steps []*expectation) *block {
	b := &block{}
	byName := map[string]*lane{}
	for _, e := range steps {
		l := byName[e.lane]
		if l == nil {
			l = &lane{}
			byName[e.lane] = l
			b.lanes = append(b.lanes, l)
		}
		l.steps = append(l.steps, e)
	}
	return b
}

// done reports whether nothing is missing.
func (b *block) done() bool {
	return b.next() == nil
}

// next returns the first step that still has to be met.
func (b *block) next() *expectation {
	for _, l := range b.lanes {
		for _, e := range l.steps[l.pos:] {
			if !e.optional {
				return e
			}
		}
	}
	return nil
}

// refusal is why no lane took a frame: the closest step and its differences.
type refusal struct {
	step     *expectation
	problems []problem
}

// offer gives a frame to the first lane that expects it. When none does, the
// refusal speaks of the lane that came closest.
func (b *block) offer(s *scope, f *frame) *refusal {
	var closest *refusal
	for _, l := range b.lanes {
		r := l.offer(s, f)
		if r == nil {
			return nil
		}
		if closest == nil || r.distance() < closest.distance() {
			closest = r
		}
	}
	return closest
}

// distance orders refusals: a frame of another kind is further away than one
// with any number of wrong members.
func (r *refusal) distance() int {
	if r.step == nil {
		return math.MaxInt
	}
	d := len(r.problems)
	for _, p := range r.problems {
		if p.path == "method" || p.path == "id" {
			d += foreign
		}
	}
	return d
}

// foreign is more than any frame has members.
const foreign = 1 << 20

// offer tries the step at hand and, while steps are optional, those after it.
func (l *lane) offer(s *scope, f *frame) *refusal {
	closest := &refusal{}
	for i := l.pos; i < len(l.steps); i++ {
		e := l.steps[i]
		try := s.clone()
		try.joined = ""
		if i == l.pos {
			try.joined = l.joined
		}
		problems := try.matchFrame(e, f)
		if len(problems) == 0 {
			s.ids = try.ids
			l.advance(i, try.joined+try.piece)
			return nil
		}
		if try.joined != "" {
			problems = append(problems, problem{"", fmt.Sprintf("the pieces so far are %q of %q", try.joined, e.join)})
		}
		if r := (&refusal{e, problems}); r.distance() < closest.distance() {
			closest = r
		}
		if !e.optional {
			break
		}
	}
	return closest
}

// advance moves past step i, or stays when more pieces have to come.
func (l *lane) advance(i int, joined string) {
	l.pos, l.joined = i+1, ""
	if e := l.steps[i]; e.join != joined {
		l.pos, l.joined = i, joined
	}
}
