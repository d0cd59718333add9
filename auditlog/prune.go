package auditlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/internal/atomicfile"
)

// prunedMeta is the side object of the record of a pruning.
type prunedMeta struct {
	Count uint64     `json:"count"` // records removed since genesis
	Head  audit.Hash `json:"head"`  // fingerprint of the last of them
}

// Prune removes the segments of an owner that lie wholly before a sequence
// number, except the last, and returns how many records of the chain are gone
// since genesis. The chain says so itself: a record is written and flushed
// first, then a signed tombstone that holds the fingerprint at which the rest
// begins, and then the files go. A crash in between leaves segments that
// readers skip and the next pruning removes. A chain that does not verify is
// not pruned: what is left would look whole.
func (l *Log) Prune(ctx context.Context, owner string, before uint64) (uint64, error) {
	rep, err := Verify(VerifyOptions{Dir: l.opts.Dir, Owner: owner})
	if err != nil {
		return 0, err
	}
	if !rep.OK {
		return 0, fmt.Errorf("prune: %w: record %d: %s", ErrBroken, rep.At, rep.Code)
	}
	dir := OwnerDir(l.opts.Dir, owner)
	gone, keep, err := pruneAt(dir, before)
	if err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	if gone.Count > rep.Pruned {
		if err := l.bury(ctx, dir, owner, gone); err != nil {
			return 0, fmt.Errorf("prune: %w", err)
		}
	}
	return max(gone.Count, rep.Pruned), removeBefore(dir, keep)
}

// pruneAt returns the head at the end of what can go, and the number of the
// first segment that stays.
func pruneAt(dir string, before uint64) (audit.Head, int, error) {
	numbers, err := segmentNumbers(dir)
	if err != nil || len(numbers) == 0 {
		return audit.Head{}, 0, err
	}
	var gone audit.Head
	keep := numbers[0]
	for _, n := range numbers[1:] {
		e, err := firstEntry(segmentPath(dir, n))
		if errors.Is(err, io.EOF) {
			break // an empty last segment stays together with the one before
		}
		if err != nil {
			return audit.Head{}, 0, err
		}
		if e.Record().Sequence() > before {
			break
		}
		gone, keep = audit.Head{Count: e.Record().Sequence(), Hash: e.Record().PrevHash()}, n
	}
	return gone, keep, nil
}

// bury records a pruning in the chain and leaves the tombstone.
func (l *Log) bury(ctx context.Context, dir, owner string, gone audit.Head) error {
	meta, err := json.Marshal(prunedMeta{Count: gone.Count, Head: gone.Hash})
	if err != nil {
		return err
	}
	c := chain{owner: owner}
	if _, err := l.Append(ctx, Record{Fields: c.own(actionPruned, meta), Durable: true}); err != nil {
		return err
	}
	tomb := Checkpoint{Owner: owner, Count: gone.Count, Head: gone.Hash, Version: audit.Version}
	if s := l.opts.Signer; s != nil {
		if tomb.Signature, err = s.Sign(gone.Hash.String()); err != nil {
			return err
		}
		tomb.Signed, tomb.KeyID = true, s.KeyID()
	}
	data, err := json.Marshal(tomb)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, prunedFile), append(data, '\n'), 0o600)
}

// removeBefore removes the segments below a number, oldest first, so that what
// a crash leaves is still one row.
func removeBefore(dir string, keep int) error {
	numbers, err := segmentNumbers(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range numbers {
		if n < keep {
			errs = append(errs, os.Remove(segmentPath(dir, n)))
		}
	}
	return errors.Join(append(errs, atomicfile.SyncDir(dir))...)
}
