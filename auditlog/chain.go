package auditlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/internal/atomicfile"
)

// chain is one owner's chain as this process knows it. What it knows may be old
// until it holds the lock and has looked. Not safe for concurrent use.
type chain struct {
	opts  Options
	disk  disk
	owner string
	dir   string

	file    segmentFile // nil before the first append
	segment int         // number of the open segment
	size    int64       // its length, as far as it was checked
	head    audit.Head  // after that length
	lagging int         // commits since head.json was written
	fault   error       // why nothing may be appended any more
}

func newChain(opts Options, d disk, owner string) *chain {
	return &chain{opts: opts, disk: d, owner: owner, dir: OwnerDir(opts.Dir, owner)}
}

func (c *chain) close() error {
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("close audit segment: %w", err)
	}
	return nil
}

// append commits the records of some requests and fills in their receipts. If
// it returns an error, none of them was acknowledged.
func (c *chain) append(requests []*request) error {
	if c.fault != nil {
		return c.fault
	}
	lock, err := c.lock()
	if err != nil {
		return err
	}
	if err = c.refresh(); err != nil {
		// What was half read must not be taken for known next time.
		err = errors.Join(err, c.reset())
	} else {
		err = c.commit(requests)
	}
	if errors.Is(err, ErrBroken) {
		c.fault = err
	}
	return errors.Join(err, lock.Unlock())
}

// lock takes the chain's lock, and makes its directory first.
func (c *chain) lock() (*atomicfile.Lock, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create audit chain: %w", err)
	}
	return acquire(filepath.Join(c.dir, lockFile), c.opts.LockTimeout)
}

// acquire waits for a lock. It has no caller's context: the writer serves many
// callers, and each of them stops waiting on its own.
func acquire(path string, wait time.Duration) (*atomicfile.Lock, error) {
	lock, err := atomicfile.AcquireWithin(path, wait)
	if errors.Is(err, atomicfile.ErrLocked) {
		return nil, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return lock, err
}

// commit appends lines for all requests that can be written.
func (c *chain) commit(requests []*request) error {
	if c.size >= c.opts.MaxSegment {
		if err := c.rotate(); err != nil {
			return err
		}
	}
	b := builder{chain: c, head: c.head}
	durable := c.opts.Sync == SyncAlways
	for _, r := range requests {
		b.add(r)
		durable = durable || r.record.Durable && c.opts.Sync == SyncMutations
	}
	if len(b.entries) == 0 {
		return nil
	}
	if err := b.finish(); err != nil {
		return err
	}
	if err := c.write(b.lines); err != nil {
		return err
	}
	if durable {
		if err := c.file.Sync(); err != nil {
			// After a failed flush the kernel may have dropped the pages
			// and called them clean; a second try would prove nothing.
			return c.seal(fmt.Errorf("flush audit segment: %w", err))
		}
	}
	c.size += int64(len(b.lines))
	c.head = b.head
	// A head on disk must not lead a chain that is not.
	if !durable && c.opts.Sync != SyncNever {
		return nil
	}
	// Replacing a file costs as much as flushing one. While full batches show
	// that the next commit is waiting, the head may lag behind a little.
	if c.lagging++; len(requests) >= c.opts.MaxBatch && c.lagging < maxLag {
		return nil
	}
	return c.writeHead(b.sig, b.keyID)
}

// maxLag bounds how many full commits head.json may lag behind.
const maxLag = 16

// builder makes the lines of one commit.
type builder struct {
	chain      *chain
	head       audit.Head
	entries    []audit.Entry
	lines      []byte
	sig, keyID string // of the last entry
}

// add makes the entry of a request. A record that cannot be one is refused
// alone.
func (b *builder) add(r *request) {
	e, next, err := b.head.Next(r.record.Fields)
	if err != nil {
		r.err = err
		return
	}
	b.entries, b.head = append(b.entries, e), next
	r.receipt = Receipt{Owner: r.record.Owner, Sequence: e.Record().Sequence(), Hash: e.Hash(), Signed: b.chain.opts.Signer != nil}
}

// finish signs the last entry, or all of them, and makes the lines.
func (b *builder) finish() error {
	s := b.chain.opts.Signer
	for i, e := range b.entries {
		if s != nil && (b.chain.opts.SignRecords || i == len(b.entries)-1) {
			sig, err := s.Sign(e.Hash().String())
			if err == nil {
				e, err = e.WithSignature(sig, s.KeyID())
			}
			if err != nil {
				return fmt.Errorf("sign audit record: %w", err)
			}
			b.sig, b.keyID = sig, s.KeyID()
		}
		b.lines = e.AppendLine(b.lines)
	}
	return nil
}

// write appends bytes or none.
func (c *chain) write(lines []byte) error {
	_, err := c.file.Write(lines)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("write audit segment: %w", err)
	// A part of the lines may be in the file. It must not stay: the next
	// record would be glued to it.
	if cut := c.file.Truncate(c.size); cut != nil {
		return c.seal(errors.Join(err, cut))
	}
	return err
}

// seal ends the chain for this process.
func (c *chain) seal(cause error) error {
	c.fault = fmt.Errorf("%w: %w", ErrSealed, cause)
	return c.fault
}

// rotate begins the next segment.
func (c *chain) rotate() error {
	f, err := c.disk.openSegment(segmentPath(c.dir, c.segment+1), true)
	if err != nil {
		return fmt.Errorf("create audit segment: %w", err)
	}
	// The directory entry must be as safe as what is written into the file.
	if err := atomicfile.SyncDir(c.dir); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := c.close(); err != nil {
		return errors.Join(err, f.Close())
	}
	c.file, c.segment, c.size = f, c.segment+1, 0
	return nil
}

func (c *chain) writeHead(sig, keyID string) error {
	data, err := json.Marshal(Checkpoint{
		Owner: c.owner, Count: c.head.Count, Head: c.head.Hash, Segment: c.segment,
		Signed: sig != "", Signature: sig, KeyID: keyID, Version: audit.Version,
	})
	if err != nil {
		return fmt.Errorf("encode audit head: %w", err)
	}
	// The lock is held, so one temporary name is enough.
	path := filepath.Join(c.dir, headFile)
	if err := os.WriteFile(path+".tmp", append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write audit head: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("replace audit head: %w", err)
	}
	c.lagging = 0
	return nil
}
