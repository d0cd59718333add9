package auditlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/steerable-go/sidecar/authz/audit"
)

// Record is what [Log.Append] writes.
type Record struct {
	audit.Fields

	// Durable asks for a flush under [SyncMutations]: something is about to
	// happen that cannot be taken back.
	Durable bool
}

// Receipt says where a record is.
type Receipt struct {
	Owner    string
	Sequence uint64
	Hash     audit.Hash
	Signed   bool // the head of its commit, or the record itself, is signed
}

// Log appends to the chains of all owners in one directory. It is safe for
// concurrent use. Close it to release files and the writer.
type Log struct {
	opts   Options
	disk   disk
	queue  chan *request
	stop   chan struct{} // closed by Close
	once   sync.Once
	done   chan struct{}     // closed when the writer has ended
	chains map[string]*chain // owned by the writer
}

// request is a record on its way to the writer.
type request struct {
	record  Record
	receipt Receipt
	err     error
	done    chan struct{}
}

// Open checks where the log lies and starts its writer. No chain is opened
// before its first record. Errors are [ErrExposed], or those of the file
// system.
func Open(opts Options) (*Log, error) {
	return open(opts, osDisk{})
}

func open(opts Options, d disk) (*Log, error) {
	if !filepath.IsAbs(opts.Dir) {
		return nil, fmt.Errorf("open audit log: %q is no absolute path", opts.Dir)
	}
	if err := checkExposure(opts.Dir, opts.WritableRoots); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create audit log: %w", err)
	}
	if err := checkExposure(opts.Dir, opts.WritableRoots); err != nil {
		return nil, err // a directory on the way appeared as a link meanwhile
	}
	if err := checkPrivate(opts.Dir); err != nil {
		return nil, err
	}
	l := &Log{
		opts:   opts.withDefaults(),
		disk:   d,
		queue:  make(chan *request),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		chains: map[string]*chain{},
	}
	go l.write() // ends when stop is closed; Close waits for it
	return l, nil
}

// Append writes one record to its owner's chain and returns when it is as safe
// as [Options.Sync] demands. Any error means that the record must be taken for
// not written: what it announces must not happen. If ctx ends first the record
// may still be written.
func (l *Log) Append(ctx context.Context, r Record) (Receipt, error) {
	req := &request{record: r, done: make(chan struct{})}
	select {
	case l.queue <- req:
	case <-l.stop:
		return Receipt{}, ErrClosed
	case <-ctx.Done():
		return Receipt{}, fmt.Errorf("append audit record: %w", ctx.Err())
	}
	select {
	case <-req.done:
		return req.receipt, req.err
	case <-ctx.Done():
		return Receipt{}, fmt.Errorf("append audit record: %w", ctx.Err())
	}
}

// Close ends the writer after the commit it is at, and closes all files. It may
// be called more than once.
func (l *Log) Close() error {
	l.once.Do(func() { close(l.stop) })
	<-l.done
	var errs []error
	for _, c := range l.chains {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// write takes batches from the queue. Everybody who came while the last commit
// was being flushed is waiting to send, so that the busier the log is, the
// larger the batches are; an idle log adds no delay.
func (l *Log) write() {
	defer close(l.done)
	for {
		var batch []*request
		select {
		case <-l.stop:
			return
		case r := <-l.queue:
			batch = append(batch, r)
		}
		for more := true; more && len(batch) < l.opts.MaxBatch; {
			select {
			case r := <-l.queue:
				batch = append(batch, r)
			default:
				more = false
			}
		}
		l.commit(batch)
	}
}

// commit writes a batch, owner by owner.
func (l *Log) commit(batch []*request) {
	var owners []string
	byOwner := map[string][]*request{}
	for _, r := range batch {
		owner := r.record.Owner
		if byOwner[owner] == nil {
			owners = append(owners, owner)
		}
		byOwner[owner] = append(byOwner[owner], r)
	}
	for _, owner := range owners {
		c := l.chains[owner]
		if c == nil {
			c = newChain(l.opts, l.disk, owner)
			l.chains[owner] = c
		}
		requests := byOwner[owner]
		if err := c.append(requests); err != nil {
			for _, r := range requests {
				r.receipt, r.err = Receipt{}, fmt.Errorf("append audit record: %w", err)
			}
		}
		for _, r := range requests {
			close(r.done)
		}
	}
}
