package safety

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxKept bounds the elements that a slab allocates at a time and keeps for the
// next analysis of a short line: enough for most of them, and little to hold.
// keptLong is the same for long lines, which have a scratch of their own: making
// so much room for each of them would take longer than reading it.
const (
	maxKept  = 256
	keptLong = 16 << 10
)

// slab hands out short-lived slices of one buffer, which the next analysis uses
// again. A command line is read in a few microseconds, and collecting what that
// allocates would cost as much again.
type slab[T any] struct {
	buf []T
	// kept bounds what the buffer grows to, and what is left of it by a reset.
	kept int
}

// take returns n zero elements. There is no room behind them, so that appending
// to them moves them out of the slab.
func (s *slab[T]) take(n int) []T {
	used := len(s.buf)
	if used+n > cap(s.buf) {
		s.buf = make([]T, 0, max(min(2*cap(s.buf), max(s.kept, maxKept)), n)) // what was handed out keeps the old buffer alive
		used = 0
	}
	s.buf = s.buf[:used+n]
	return s.buf[used : used+n : used+n]
}

// one returns a pointer to a copy of v.
func (s *slab[T]) one(v T) *T {
	p := &s.take(1)[0]
	*p = v
	return p
}

// slabMark is a place in a slab.
type slabMark[T any] struct {
	first *T
	used  int
}

// mark returns where the slab is.
func (s *slab[T]) mark() slabMark[T] {
	m := slabMark[T]{used: len(s.buf)}
	if cap(s.buf) > 0 {
		m.first = &s.buf[:1][0]
	}
	return m
}

// release takes back what was handed out since the mark, unless the slab has
// another buffer now.
func (s *slab[T]) release(m slabMark[T]) {
	if cap(s.buf) > 0 && m.first == &s.buf[:1][0] {
		clear(s.buf[m.used:])
		s.buf = s.buf[:m.used]
	}
}

// reset takes everything back, and gives it away if it is more than kept elements.
func (s *slab[T]) reset(kept int) {
	s.kept = kept
	if len(s.buf) == 0 && cap(s.buf) <= kept {
		return
	}
	if cap(s.buf) > kept {
		s.buf = nil
		return
	}
	clear(s.buf)
	s.buf = s.buf[:0]
}

// textSize is how much room a textSlab makes at a time, for dozens of lines.
const textSize = 4 << 10

// textSlab hands out strings of one buffer, which is never written twice: whoever
// keeps one of them keeps the buffer alive.
type textSlab struct {
	b    strings.Builder
	from int
}

// start returns where to write a string of about n bytes.
func (t *textSlab) start(n int) *strings.Builder {
	if t.b.Cap()-t.b.Len() < n {
		t.b.Reset()
		t.b.Grow(max(textSize, n))
	}
	t.from = t.b.Len()
	return &t.b
}

// end returns the string that was written.
func (t *textSlab) end() string { return t.b.String()[t.from:] }

// scratch is the memory of one analysis. Nothing in it may be used after the
// analysis: a sink copies what it keeps.
type scratch struct {
	words    slab[word]
	options  slab[option]
	args     slab[arguments]
	calls    slab[call]
	winCalls slab[winCall]
	outputs  slab[output]
	tree     treeSlabs
	text     textSlab

	winCommands  slab[winCommand]
	winPipelines slab[winPipeline]
}

// commandMark is where the slabs are that no one needs after a command.
type commandMark struct {
	calls   slabMark[call]
	args    slabMark[arguments]
	options slabMark[option]
}

// mark returns where the memory of a command starts.
func (m *scratch) mark() commandMark {
	return commandMark{calls: m.calls.mark(), args: m.args.mark(), options: m.options.mark()}
}

// release takes back what a command needed, so that a line of thousands of them
// works in the caches.
func (m *scratch) release(at *commandMark) {
	m.calls.release(at.calls)
	m.args.release(at.args)
	m.options.release(at.options)
}

// reset takes everything back; each slab keeps up to so many elements.
func (m *scratch) reset(kept int) {
	m.words.reset(kept)
	m.options.reset(kept)
	m.args.reset(kept)
	m.calls.reset(kept)
	m.winCalls.reset(kept)
	m.outputs.reset(kept)
	m.winCommands.reset(kept)
	m.winPipelines.reset(kept)
	m.tree.reset(kept)
}

// treeSlabs holds the syntax trees of scripts that need no parser.
type treeSlabs struct {
	stmts    slab[syntax.Stmt]
	stmtPtrs slab[*syntax.Stmt]
	calls    slab[syntax.CallExpr]
	binaries slab[syntax.BinaryCmd]
	redirs   slab[syntax.Redirect]
	words    slab[syntax.Word]
	wordPtrs slab[*syntax.Word]
	parts    slab[syntax.WordPart]
	lits     slab[syntax.Lit]
	singles  slab[syntax.SglQuoted]
	doubles  slab[syntax.DblQuoted]
	params   slab[syntax.ParamExp]
	assigns  slab[syntax.Assign]
	substs   slab[syntax.CmdSubst]
	files    slab[syntax.ProcSubst]
}

// reset takes everything back; each slab keeps up to so many elements.
func (t *treeSlabs) reset(kept int) {
	t.stmts.reset(kept)
	t.stmtPtrs.reset(kept)
	t.calls.reset(kept)
	t.binaries.reset(kept)
	t.redirs.reset(kept)
	t.words.reset(kept)
	t.wordPtrs.reset(kept)
	t.parts.reset(kept)
	t.lits.reset(kept)
	t.singles.reset(kept)
	t.doubles.reset(kept)
	t.params.reset(kept)
	t.assigns.reset(kept)
	t.substs.reset(kept)
	t.files.reset(kept)
}
