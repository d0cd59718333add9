package auditlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/steerable-go/sidecar/authz/signing"
)

// Errors of this package. Each means that a record was not acknowledged or a
// chain could not be read.
var (
	ErrClosed  = errors.New("audit log is closed")
	ErrExposed = errors.New("audit log or its key lies where others may write or read")
	ErrSealed  = errors.New("audit chain is sealed after a failed write")
	ErrBroken  = errors.New("audit chain is broken")
	ErrBusy    = errors.New("audit chain is locked by another process")
)

// Sync says when records are flushed to the disk before they are acknowledged.
// The zero value is the safest.
type Sync uint8

// When to flush, safest first.
const (
	SyncAlways    Sync = iota // every commit
	SyncMutations             // commits with a record that asks for it
	SyncNever                 // leave it to the operating system
)

// ParseSync reads exactly "always", "mutations" or "off", the values of
// STEERABLE_AUDIT_FSYNC. Anything else is an error and [SyncAlways].
func ParseSync(s string) (Sync, error) {
	switch s {
	case "always":
		return SyncAlways, nil
	case "mutations":
		return SyncMutations, nil
	case "off":
		return SyncNever, nil
	default:
		return SyncAlways, fmt.Errorf("unknown audit sync %q", s)
	}
}

// Options configures a [Log]. Only Dir is required.
type Options struct {
	Dir string // created with mode 0700; must be absolute

	// WritableRoots are the directories into which sandboxed commands may
	// write. The log must be in none of them, and none of them in the log.
	WritableRoots []string

	// Signer signs the head of each commit, nil signs nothing. SignRecords
	// makes it sign every record, at about a millisecond each.
	Signer      *signing.Signer
	SignRecords bool

	Sync Sync

	MaxSegment  int64         // bytes after which a new segment begins; 0 means 8 MiB
	MaxBatch    int           // most records of one commit; 0 means 64
	LockTimeout time.Duration // how long to wait for another process; 0 means 5 s
}

// Defaults: a segment is small enough to be read at a start, a batch large
// enough that flushing no longer dominates, and a healthy process holds the
// lock for milliseconds.
const (
	defaultSegment = 8 << 20
	defaultBatch   = 64
	defaultWait    = 5 * time.Second
)

func (o Options) withDefaults() Options {
	if o.MaxSegment <= 0 {
		o.MaxSegment = defaultSegment
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = defaultBatch
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = defaultWait
	}
	return o
}

// checkExposure compares real paths, because a link may lead out of a root or
// into one.
func checkExposure(dir string, roots []string) error {
	path, err := realPath(dir)
	if err != nil {
		return err
	}
	for _, root := range roots {
		r, err := realPath(root)
		if err != nil {
			return err
		}
		if inside(path, r) || inside(r, path) {
			return fmt.Errorf("%w: %s and %s", ErrExposed, dir, root)
		}
	}
	return nil
}

// inside reports whether path is dir or below it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// realPath resolves links in the part of path that exists.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", path, err)
	}
	rest := ""
	for {
		found, err := filepath.EvalSymlinks(abs)
		if err == nil {
			return filepath.Join(found, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) || filepath.Dir(abs) == abs {
			return "", fmt.Errorf("resolve %s: %w", path, err)
		}
		if _, err := os.Lstat(abs); err == nil {
			return "", fmt.Errorf("resolve %s: a link that leads nowhere", path)
		}
		abs, rest = filepath.Dir(abs), filepath.Join(filepath.Base(abs), rest)
	}
}
