package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// recorder collects how the expected frames of a transcript have to change.
type recorder struct {
	lines   map[int]string // new text by line; empty deletes the line
	extra   []string       // frames after the last step
	lastOne int            // line of the last step
}

func (r *recorder) surplus(f *frame) { r.extra = append(r.extra, "< "+format(f.value)) }

// Update plays a transcript and returns its file with every expected frame
// rewritten to what came: members that already match keep their matchers,
// frames that did not come are removed, frames too many are added at the end.
// Laned frames are not rewritten; they must match. The result needs reading
// before it is believed: it states what the peer does, not what it should do.
func (p *Player) Update(ctx context.Context, t *Transcript) ([]byte, *Mismatch, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := p.open(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	defer s.close(ctx)
	s.recorder = &recorder{lines: map[int]string{}, lastOne: t.steps[len(t.steps)-1].line}
	if mismatch, err := split(s.run(ctx)); mismatch != nil || err != nil {
		return nil, mismatch, err
	}
	return s.recorder.apply(t.data), nil, nil
}

// oneLane reports whether frames come in a fixed order.
func oneLane(run []*expectation) bool {
	for _, e := range run {
		if e.lane != "" {
			return false
		}
	}
	return true
}

// record is expect for a run that may be rewritten.
func (s *session) record(ctx context.Context, run []*expectation) error {
	var pending *frame
	joined := ""
	for i := 0; i < len(run); i++ {
		e := run[i]
		if pending == nil {
			f, err := s.nextFrame(ctx)
			switch {
			case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF):
				s.recorder.lines[e.line] = ""
				continue
			case err != nil:
				return s.missing(ctx, e, err)
			}
			pending = f
		}
		try := s.scope.clone()
		try.joined = joined
		problems := try.matchFrame(e, pending)
		joined = ""
		switch {
		case len(problems) == 0 && e.join != try.joined+try.piece:
			joined = try.joined + try.piece
			i-- // more pieces have to come
		case len(problems) > 0 && e.optional:
			continue // the frame may be the next one
		case len(problems) > 0:
			s.recorder.lines[e.line] = "< " + format(merge(e.value, pending.value, try))
		}
		s.scope.ids, pending = try.ids, nil
	}
	return nil
}

// merge takes what matches from want and the rest from got.
func merge(want, got any, s *scope) any {
	if len(s.match("", want, got)) == 0 {
		return want
	}
	w, isObject := want.(object)
	g, alsoObject := got.(object)
	if !isObject || !alsoObject {
		return got
	}
	merged := object{}
	for _, m := range g {
		if old, named := w.get(m.key); named {
			merged = append(merged, member{m.key, merge(old, m.value, s)})
		} else if _, open := w.get(openMark); !open {
			merged = append(merged, m)
		}
	}
	for _, m := range w {
		_, present := g.get(m.key)
		if m.key == openMark || m.value == absentMark && !present {
			merged = append(merged, m)
		}
	}
	return merged
}

// apply writes the new file.
func (r *recorder) apply(data []byte) []byte {
	var b strings.Builder
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		text, changed := r.lines[number]
		switch {
		case !changed:
			b.WriteString(line)
		case text != "":
			fmt.Fprintln(&b, text)
		}
		if number == r.lastOne {
			for _, e := range r.extra {
				fmt.Fprintln(&b, e)
			}
		}
	}
	return []byte(b.String())
}
