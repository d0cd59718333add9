package audit

import (
	"errors"
	"iter"
)

// Code names a fault of a chain. The empty Code means none was found.
type Code string

// The faults, in the order in which a record is checked for them; then those
// of the end of a chain.
const (
	CodeShape        Code = "SHAPE"
	CodeOwner        Code = "OWNER"
	CodeSequence     Code = "SEQUENCE"
	CodePrevHash     Code = "PREV_HASH"
	CodeHashMismatch Code = "HASH_MISMATCH"
	CodeSignature    Code = "SIGNATURE"

	CodeTornTail       Code = "TORN_TAIL"        // a crash, not a forgery: everything before it stands
	CodeNoFinalNewline Code = "NO_FINAL_NEWLINE" // the last entry is whole
	CodeTruncated      Code = "TRUNCATED"        // shorter than the anchor says
	CodeAnchorMismatch Code = "ANCHOR_MISMATCH"
)

// Anchor is a head that was stored apart from the chain. Without one, removing
// the newest records cannot be seen.
type Anchor struct {
	Owner string
	Head  Head
}

// Options says what a chain is held against. The zero value starts at genesis,
// takes the owner from the first record and pins nothing.
type Options struct {
	Owner  string // the owner all records must have; "" takes the first record's
	Start  Head   // where the chain begins, if older records were pruned
	Anchor *Anchor

	// Signature, if set, must accept every entry that carries a signature.
	Signature func(e Entry) bool
}

// Result is what [Verify] found.
type Result struct {
	OK         bool
	Records    uint64 // valid records before the first fault
	At         uint64 // index of the faulty record in the input, if not OK
	Code       Code
	Err        error // what the input's error said, if it caused the fault
	TailPinned bool  // an anchor confirms that nothing follows the last record
	Signed     uint64
	Owner      string
	Head       Head // after the last valid record
}

// Verify walks the entries and reports the first fault. An error of the input
// ends the walk: a [LineError] gives its code, any other error SHAPE, because
// what cannot be read has not been verified.
//
// A chain that is longer than its anchor verifies if it passes through the
// anchor, but its tail is then not pinned.
func Verify(entries iter.Seq2[Entry, error], opts Options) Result {
	w := walk{opts: opts, res: Result{OK: true, Owner: opts.Owner, Head: opts.Start}}
	w.anchor() // an anchor may lie at the very start
	for e, err := range entries {
		var line *LineError
		switch {
		case errors.As(err, &line):
			w.fault(line.Code, err)
		case err != nil:
			w.fault(CodeShape, err)
		default:
			w.entry(e)
		}
		if !w.res.OK {
			return w.res
		}
	}
	w.end()
	return w.res
}

// walk is the state of one verification.
type walk struct {
	opts   Options
	res    Result
	passed bool // the chain went through the anchor
}

func (w *walk) fault(code Code, err error) {
	w.res.OK, w.res.Code, w.res.Err, w.res.At = false, code, err, w.res.Records
	w.res.TailPinned = false
}

func (w *walk) entry(e Entry) {
	r := &e.record
	if w.res.Records == 0 && w.res.Owner == "" {
		w.res.Owner = r.owner
	}
	switch {
	case r.owner != w.res.Owner:
		w.fault(CodeOwner, nil)
	case r.sequence != w.res.Head.Count:
		w.fault(CodeSequence, nil)
	case r.prev != w.res.Head.Hash:
		w.fault(CodePrevHash, nil)
	case r.Hash() != e.hash:
		w.fault(CodeHashMismatch, nil)
	case e.sig != "" && w.opts.Signature != nil && !w.opts.Signature(e):
		w.fault(CodeSignature, nil)
	default:
		w.res.Records++
		w.res.Head = Head{Count: r.sequence + 1, Hash: e.hash}
		if e.sig != "" {
			w.res.Signed++
		}
		w.anchor()
	}
}

// anchor compares the place the walk has reached with the anchor's.
func (w *walk) anchor() {
	a := w.opts.Anchor
	if a == nil || a.Head.Count != w.res.Head.Count {
		return
	}
	if a.Head.Hash != w.res.Head.Hash {
		w.fault(CodeAnchorMismatch, nil)
		return
	}
	w.passed = true
}

func (w *walk) end() {
	a := w.opts.Anchor
	switch {
	case a == nil:
	case w.res.Owner != "" && a.Owner != w.res.Owner:
		w.fault(CodeAnchorMismatch, nil)
	case w.passed:
		w.res.TailPinned = a.Head.Count == w.res.Head.Count
	case a.Head.Count > w.res.Head.Count:
		w.fault(CodeTruncated, nil)
	default: // the anchor lies before the first record that is left
		w.fault(CodeAnchorMismatch, nil)
	}
}
