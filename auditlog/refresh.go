package auditlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/internal/atomicfile"
)

// refresh brings what the process knows of a chain up to date, under its lock:
// it opens the last segment, reads what was appended since it last looked, and
// repairs what a crash left behind.
func (c *chain) refresh() error {
	if c.file != nil {
		info, err := os.Stat(segmentPath(c.dir, c.segment))
		_, next := os.Lstat(segmentPath(c.dir, c.segment+1))
		if err == nil && info.Size() == c.size && errors.Is(next, fs.ErrNotExist) {
			return nil // nobody else has written
		}
	}
	numbers, err := segmentNumbers(c.dir)
	if err != nil {
		return err
	}
	if len(numbers) == 0 {
		return c.begin()
	}
	if c.file != nil && !slices.Contains(numbers, c.segment) {
		// Others have gone on and pruned what this process had open.
		if err := c.reset(); err != nil {
			return err
		}
	}
	for _, n := range numbers {
		if n < c.segment {
			continue
		}
		if n != c.segment {
			if err := c.enter(n, n == numbers[len(numbers)-1]); err != nil {
				return err
			}
		}
	}
	if c.file == nil {
		return fmt.Errorf("%w: segment %d is gone", ErrBroken, c.segment)
	}
	return c.readOn()
}

// reset forgets what the process knows of the chain.
func (c *chain) reset() error {
	err := c.close()
	c.segment, c.size, c.head = 0, 0, audit.Head{}
	return err
}

// begin makes the first segment of a chain that has none.
func (c *chain) begin() error {
	anchor, err := readCheckpoint(filepath.Join(c.dir, headFile))
	if err != nil {
		return err
	}
	if c.file != nil || anchor != nil && anchor.Count > 0 {
		return fmt.Errorf("%w: all segments are gone", ErrBroken)
	}
	c.segment, c.head = 0, audit.Head{}
	return c.rotate()
}

// enter goes on to a segment: to the next one after the end of the one before,
// or, when the process knows nothing yet, straight to the last.
func (c *chain) enter(n int, last bool) error {
	if c.file == nil && c.segment == 0 && !last {
		return nil
	}
	if c.file != nil {
		if err := c.readOn(); err != nil { // what is left of the segment before
			return err
		}
		if err := c.close(); err != nil {
			return err
		}
	}
	f, err := c.disk.openSegment(segmentPath(c.dir, n), false)
	if err != nil {
		return fmt.Errorf("open audit segment: %w", err)
	}
	first := c.segment == 0
	c.file, c.segment, c.size = f, n, 0
	if first {
		return c.start()
	}
	return nil
}

// start finds the head before the segment that the process sees first.
func (c *chain) start() error {
	e, err := firstEntry(segmentPath(c.dir, c.segment))
	switch {
	case err == nil:
		c.head = audit.Head{Count: e.Record().Sequence(), Hash: e.Record().PrevHash()}
	case c.segment == 1:
		c.head = audit.Head{} // nothing yet, or a torn first line
	default:
		// A crash between creating the segment and writing to it.
		if c.head, err = c.endOf(c.segment - 1); err != nil {
			return err
		}
	}
	if err := c.readOn(); err != nil {
		return err
	}
	return c.checkAnchor()
}

// endOf returns the head at the end of a segment.
func (c *chain) endOf(n int) (audit.Head, error) {
	first, err := firstEntry(segmentPath(c.dir, n))
	if err != nil {
		return audit.Head{}, fmt.Errorf("%w: segment %d: %w", ErrBroken, n, err)
	}
	f, err := os.Open(segmentPath(c.dir, n))
	if err != nil {
		return audit.Head{}, fmt.Errorf("read audit segment: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	start := audit.Head{Count: first.Record().Sequence(), Hash: first.Record().PrevHash()}
	res := audit.Verify(audit.Lines(f), audit.Options{Owner: c.owner, Start: start})
	if !res.OK {
		return audit.Head{}, broken(n, res)
	}
	return res.Head, nil
}

func broken(segment int, res audit.Result) error {
	return fmt.Errorf("%w: segment %d, record %d: %s", ErrBroken, segment, res.Head.Count, res.Code)
}

// checkAnchor refuses to go on behind a tail that was cut off: the next record
// would hide it.
func (c *chain) checkAnchor() error {
	anchor, err := readCheckpoint(filepath.Join(c.dir, headFile))
	if err != nil || anchor == nil {
		return err
	}
	if anchor.Owner != c.owner || anchor.Count > c.head.Count || anchor.Count == c.head.Count && anchor.Head != c.head.Hash {
		return fmt.Errorf("%w: head.json says %d records, the chain has %d", ErrBroken, anchor.Count, c.head.Count)
	}
	return nil
}

// readOn checks what is in the open segment beyond what is known, and repairs
// its end.
func (c *chain) readOn() error {
	path := segmentPath(c.dir, c.segment)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read audit segment: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read audit segment: %w", err)
	}
	if info.Size() < c.size {
		return fmt.Errorf("%w: segment %d became shorter", ErrBroken, c.segment)
	}
	if _, err := f.Seek(c.size, io.SeekStart); err != nil {
		return fmt.Errorf("read audit segment: %w", err)
	}
	var read int64
	res := audit.Verify(audit.LinesTo(f, &read), audit.Options{Owner: c.owner, Start: c.head})
	if !res.OK && res.Code != audit.CodeNoFinalNewline && res.Code != audit.CodeTornTail {
		return broken(c.segment, res)
	}
	c.size, c.head = c.size+read, res.Head
	if res.Code == audit.CodeNoFinalNewline {
		return c.finishLine()
	}
	if res.Code == audit.CodeTornTail {
		return c.quarantine(f, info.Size())
	}
	return nil
}

// finishLine writes the newline that a crash kept from a whole entry.
func (c *chain) finishLine() error {
	if err := c.write([]byte("\n")); err != nil {
		return err
	}
	c.size++
	return nil
}

// quarantine moves what a crash left of a line to a file of its own, cuts it
// off, and says so in the chain. The copy is flushed before anything is cut:
// nothing is ever lost.
func (c *chain) quarantine(f *os.File, size int64) error {
	torn := make([]byte, size-c.size)
	if _, err := f.ReadAt(torn, c.size); err != nil {
		return fmt.Errorf("read torn audit line: %w", err)
	}
	dir := filepath.Join(c.dir, quarantineDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create quarantine: %w", err)
	}
	digest := audit.HashOf(torn)
	name := fmt.Sprintf("%06d-%d-%x.bin", c.segment, c.size, digest[:8])
	if err := atomicfile.Write(filepath.Join(dir, name), torn, 0o600); err != nil {
		return fmt.Errorf("quarantine torn audit line: %w", err)
	}
	if err := c.file.Truncate(c.size); err != nil {
		return fmt.Errorf("cut off torn audit line: %w", err)
	}
	meta := fmt.Appendf(nil, `{"bytes":%d,"digest":"%s","segment":%d}`, len(torn), digest, c.segment)
	note := &request{record: Record{Fields: c.own(actionRecovered, meta), Durable: true}}
	if err := c.commit([]*request{note}); err != nil {
		return err
	}
	return note.err
}

// own returns the fields of a record about the chain itself.
func (c *chain) own(action string, meta []byte) audit.Fields {
	return audit.Fields{Owner: c.owner, Action: action, Decision: "ALLOW", Risk: "low", Meta: meta}
}
