package auditlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/signing"
	"github.com/steerable-go/sidecar/internal/atomicfile"
)

// Actions of records about a chain itself.
const (
	actionRecovered = "audit.recovered" // a torn line was moved to quarantine
	actionPruned    = "audit.pruned"    // old segments were removed
)

// VerifyOptions says which chain to verify and against what.
type VerifyOptions struct {
	Dir   string
	Owner string

	// Verifier, if set, must accept every signature in the chain and in the
	// heads, and one of them must stand at the chain's end: signatures that are
	// not there are no valid ones. Without it signatures are counted but not
	// checked.
	Verifier *signing.Verifier

	// Head is a checkpoint that was stored elsewhere. The one beside the
	// chain is held against it too.
	Head *Checkpoint
}

// Report is what [Verify] found.
type Report struct {
	audit.Result
	Pruned     uint64 // records that were removed on the record, before the first that is left
	Recoveries uint64 // torn lines that were moved to quarantine
	HeadSigned bool   // a head was signed by the verifier's key
	External   bool   // the tail is pinned by a head that was stored elsewhere
}

// Verify reads the whole chain of an owner and reports the first fault. The
// error is about reading; what was read wrong is in the report.
func Verify(opts VerifyOptions) (Report, error) {
	dir := OwnerDir(opts.Dir, opts.Owner)
	unlock, err := readLock(dir)
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	beside, err := readCheckpoint(filepath.Join(dir, headFile))
	if err != nil {
		return Report{}, err
	}
	tomb, err := readCheckpoint(filepath.Join(dir, prunedFile))
	if err != nil {
		return Report{}, err
	}
	v := verification{opts: opts, dir: dir, tomb: tomb}
	rep, err := v.run(opts.Head)
	if err != nil || !rep.OK {
		return rep, err
	}
	if beside == nil {
		return rep, nil
	}
	// The head beside the chain pins it against everybody who could not also
	// rewrite the head.
	local, err := v.run(beside)
	if err != nil || !local.OK {
		return local, err
	}
	local.External = rep.TailPinned
	local.TailPinned = local.TailPinned || rep.TailPinned
	local.HeadSigned = local.HeadSigned || rep.HeadSigned
	return local, nil
}

// readLock keeps writers out while a chain is read, if the chain has a lock
// that can be taken: a copy on a read-only disk has no writers.
func readLock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	var lock *atomicfile.Lock // nil unlocks nothing
	if _, missing := os.Stat(path); missing == nil {
		if lock, err = acquire(path, defaultWait); err != nil && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	return func() { _ = lock.Unlock() }, nil
}

// verification is one walk over a chain.
type verification struct {
	opts   VerifyOptions
	dir    string
	tomb   *Checkpoint
	pinned bool // a signed head has confirmed the end of the chain
}

// run walks the chain and holds it against a checkpoint, if there is one.
func (v *verification) run(head *Checkpoint) (Report, error) {
	rep := Report{}
	opts := audit.Options{Owner: v.opts.Owner, Signature: v.signature()}
	if v.tomb != nil {
		opts.Start = audit.Head{Count: v.tomb.Count, Hash: v.tomb.Head}
		rep.Pruned = v.tomb.Count
	}
	if head != nil {
		anchor := head.Anchor()
		opts.Anchor = &anchor
		rep.HeadSigned = v.accepts(head)
	}
	buried := v.tomb == nil
	sealed := false // the last entry, and with it all before it, is signed
	rep.Result = audit.Verify(v.entries(func(e audit.Entry) {
		buried = buried || v.buries(e)
		sig, _ := e.Signature()
		sealed = sig != ""
		if e.Record().Action() == actionRecovered {
			rep.Recoveries++
		}
	}), opts)
	var line *audit.LineError
	if rep.Err != nil && !errors.As(rep.Err, &line) {
		return rep, rep.Err
	}
	rep.External = head != nil && head == v.opts.Head && rep.TailPinned
	switch {
	case !rep.OK:
	case !buried:
		// A tombstone that the chain does not speak of was not set by prune.
		rep.fail(audit.CodeAnchorMismatch)
	case v.opts.Verifier != nil && !v.signed(head, &rep, sealed):
		rep.fail(audit.CodeSignature)
	}
	return rep, nil
}

// accepts reports whether the verifier's key signed a checkpoint.
func (v *verification) accepts(c *Checkpoint) bool {
	key := v.opts.Verifier
	return c.KeyID == key.KeyID() && key.Verify(c.Head.String(), c.Signature)
}

// signed reports whether no checkpoint has a wrong signature, and a right one
// stands at the end of the chain: that of the last entry, or of a head.
func (v *verification) signed(head *Checkpoint, rep *Report, sealed bool) bool {
	if head != nil && head.Signed && !rep.HeadSigned || v.tomb != nil && v.tomb.Signed && !v.accepts(v.tomb) {
		return false
	}
	v.pinned = v.pinned || rep.HeadSigned && rep.TailPinned
	return sealed || v.pinned || rep.Records == 0
}

// entries yields the chain and shows each entry on the way.
func (v *verification) entries(show func(audit.Entry)) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		for e, err := range Entries(v.opts.Dir, v.opts.Owner) {
			show(e)
			if !yield(e, err) {
				return
			}
		}
	}
}

// signature returns the check of an entry's signature, nil without a key.
func (v *verification) signature() func(e audit.Entry) bool {
	key := v.opts.Verifier
	if key == nil {
		return nil
	}
	return func(e audit.Entry) bool {
		sig, kid := e.Signature()
		return kid == key.KeyID() && key.Verify(e.Hash().String(), sig)
	}
}

func (r *Report) fail(code audit.Code) {
	r.OK, r.Code, r.At, r.TailPinned, r.External = false, code, r.Records, false, false
}

// buries reports whether an entry is the record of the pruning that left the
// tombstone.
func (v *verification) buries(e audit.Entry) bool {
	if e.Record().Action() != actionPruned {
		return false
	}
	var m prunedMeta
	return json.Unmarshal(e.Meta(), &m) == nil && m.Count == v.tomb.Count && m.Head == v.tomb.Head
}

// Entries yields the entries of an owner's chain as they stand in the files, in
// order, without verifying them, and after the first fault an error and nothing
// more. Segments that a pruning has not finished to remove are left out.
func Entries(dir, owner string) iter.Seq2[audit.Entry, error] {
	return func(yield func(audit.Entry, error) bool) {
		r, err := openSegments(OwnerDir(dir, owner))
		if err != nil {
			yield(audit.Entry{}, err)
			return
		}
		defer func() { _ = r.Close() }() // only read
		for e, err := range audit.Lines(r) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// openSegments returns all segments of a chain as one stream.
func openSegments(dir string) (io.ReadCloser, error) {
	numbers, err := liveSegments(dir)
	if err != nil {
		return nil, err
	}
	s := &segments{}
	for _, n := range numbers {
		s.paths = append(s.paths, segmentPath(dir, n))
	}
	return s, nil
}

// liveSegments returns the numbers of the segments that do not lie before the
// tombstone.
func liveSegments(dir string) ([]int, error) {
	numbers, err := segmentNumbers(dir)
	if err != nil {
		return nil, err
	}
	tomb, err := readCheckpoint(filepath.Join(dir, prunedFile))
	if err != nil || tomb == nil {
		return numbers, err
	}
	for len(numbers) > 1 && beginsBy(segmentPath(dir, numbers[1]), tomb.Count) {
		numbers = numbers[1:]
	}
	return numbers, nil
}

// beginsBy reports whether a segment begins with a record up to a number. What
// cannot be read is for the verification to find.
func beginsBy(path string, sequence uint64) bool {
	e, err := firstEntry(path)
	return err == nil && e.Record().Sequence() <= sequence
}

// segments reads files one after the other, with one of them open at a time.
type segments struct {
	paths []string
	file  *os.File
}

func (s *segments) Read(p []byte) (int, error) {
	for {
		if s.file == nil {
			if len(s.paths) == 0 {
				return 0, io.EOF
			}
			f, err := os.Open(s.paths[0])
			if err != nil {
				return 0, fmt.Errorf("read audit segment: %w", err)
			}
			s.file, s.paths = f, s.paths[1:]
		}
		n, err := s.file.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read audit segment: %w", err)
		}
		if err := s.Close(); err != nil {
			return 0, err
		}
	}
}

// Close closes the file that is open.
func (s *segments) Close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}

// CurrentHead walks the chain of an owner and returns a checkpoint of where it
// really ends, signed if there is a signer. A chain that does not verify has no
// head to show.
func CurrentHead(opts VerifyOptions, signer *signing.Signer) (Checkpoint, error) {
	rep, err := Verify(opts)
	if err != nil {
		return Checkpoint{}, err
	}
	if !rep.OK {
		return Checkpoint{}, fmt.Errorf("%w: record %d: %s", ErrBroken, rep.At, rep.Code)
	}
	numbers, err := segmentNumbers(OwnerDir(opts.Dir, opts.Owner))
	if err != nil {
		return Checkpoint{}, err
	}
	c := Checkpoint{Owner: opts.Owner, Count: rep.Head.Count, Head: rep.Head.Hash, Version: audit.Version}
	if len(numbers) > 0 {
		c.Segment = numbers[len(numbers)-1]
	}
	if signer == nil {
		beside, err := readCheckpoint(filepath.Join(OwnerDir(opts.Dir, opts.Owner), headFile))
		if err == nil && beside != nil && beside.Head == c.Head && beside.Count == c.Count {
			return *beside, nil // the writer may have signed it
		}
		return c, nil
	}
	if c.Signature, err = signer.Sign(c.Head.String()); err != nil {
		return Checkpoint{}, err
	}
	c.Signed, c.KeyID = true, signer.KeyID()
	return c, nil
}
