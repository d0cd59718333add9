package auditlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/steerable-go/sidecar/authz/audit"
)

// Names of the files of a chain.
const (
	headFile      = "head.json"
	lockFile      = "lock"
	prunedFile    = "pruned.json"
	quarantineDir = "quarantine"
	segmentExt    = ".jsonl"
)

// OwnerDir returns the directory of an owner's chain below dir. Owners are
// named by a digest, because an owner may be any text and a file name may not.
func OwnerDir(dir, owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return filepath.Join(dir, hex.EncodeToString(sum[:8]))
}

// disk is what the writer does to segments. It is an interface so that tests
// can make it fail.
type disk interface {
	// openSegment opens a segment for appending; create demands that it is new.
	openSegment(path string, create bool) (segmentFile, error)
}

// segmentFile is an open segment.
type segmentFile interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

type osDisk struct{}

var _ disk = osDisk{}

func (osDisk) openSegment(path string, create bool) (segmentFile, error) {
	flags := os.O_WRONLY | os.O_APPEND
	if create {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return syncedFile{f}, nil
}

// syncedFile flushes data only: the length of an append-only file is flushed
// with it.
type syncedFile struct{ *os.File }

func (f syncedFile) Sync() error { return datasync(f.File) }

// segmentPath returns the path of the segment with a number, from 1.
func segmentPath(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", n, segmentExt))
}

// segmentNumbers returns the numbers of all segments in dir, in order. A
// directory that does not exist has none.
func segmentNumbers(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	var numbers []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), segmentExt)
		n, err := strconv.Atoi(name)
		if ok && err == nil && n > 0 && e.Name() == filepath.Base(segmentPath(dir, n)) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// Checkpoint says where a chain ends. It is what head.json holds and what
// "audit head" prints, to be stored elsewhere and given to a later
// verification.
type Checkpoint struct {
	Owner     string     `json:"owner"`
	Count     uint64     `json:"count"`
	Head      audit.Hash `json:"head"`
	Segment   int        `json:"segment"`
	Signed    bool       `json:"signed"`
	Signature string     `json:"sig,omitempty"` // RS256 over the text of Head
	KeyID     string     `json:"kid,omitempty"`
	Version   int        `json:"v"`
}

// Anchor returns what a chain must pass through.
func (c Checkpoint) Anchor() audit.Anchor {
	return audit.Anchor{Owner: c.Owner, Head: audit.Head{Count: c.Count, Hash: c.Head}}
}

// ParseCheckpoint reads a checkpoint. Unknown members, another version or
// anything after it give an error that is [audit.ErrShape].
func ParseCheckpoint(data []byte) (Checkpoint, error) {
	var c Checkpoint
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	err := dec.Decode(&c)
	if err == nil {
		_, err = dec.Token()
	}
	if !errors.Is(err, io.EOF) || c.Version != audit.Version || c.Signed != (c.Signature != "") {
		return Checkpoint{}, fmt.Errorf("%w: no checkpoint of version %d: %w", audit.ErrShape, audit.Version, errors.Join(err, audit.ErrShape))
	}
	return c, nil
}

// readCheckpoint reads a checkpoint's file; nil means that there is none.
func readCheckpoint(path string) (*Checkpoint, error) {
	c, err := LoadCheckpoint(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return &c, nil
	}
}

// LoadCheckpoint reads a checkpoint that was stored in a file of its own.
func LoadCheckpoint(path string) (Checkpoint, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("read checkpoint: %w", err)
	}
	c, err := ParseCheckpoint(data)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("read checkpoint %s: %w", path, err)
	}
	return c, nil
}

// HasChain reports whether an owner has a chain below dir, whole or not.
func HasChain(dir, owner string) bool {
	_, err := os.Stat(OwnerDir(dir, owner))
	return err == nil
}

// Owners returns the owners that have chains below dir, sorted. A chain that
// does not name the owner whose directory it lies in can be verified under no
// name: it gives an error that is [ErrBroken], beside the owners of the others,
// because a chain must not become invisible by being damaged.
func Owners(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	var owners []string
	var strays []error
	for _, e := range entries {
		if !isOwnerDir(e.Name()) {
			continue
		}
		owner, found, err := ownerOf(filepath.Join(dir, e.Name()))
		switch {
		case err != nil:
			strays = append(strays, err)
		case found:
			owners = append(owners, owner)
		}
	}
	slices.Sort(owners)
	return owners, errors.Join(strays...)
}

// isOwnerDir reports whether [OwnerDir] could have made a name.
func isOwnerDir(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == 8 && strings.ToLower(name) == name
}

// ownerOf asks the head, or else the first record; who is not the owner of the
// directory is not believed. Nothing is found where nothing was ever written.
func ownerOf(dir string) (owner string, found bool, err error) {
	c, err := readCheckpoint(filepath.Join(dir, headFile))
	if err == nil && c != nil && OwnerDir(filepath.Dir(dir), c.Owner) == dir {
		return c.Owner, true, nil
	}
	empty := err == nil && c == nil
	numbers, err := segmentNumbers(dir)
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	for _, n := range numbers {
		e, err := firstEntry(segmentPath(dir, n))
		if err == nil && OwnerDir(filepath.Dir(dir), e.Record().Owner()) == dir {
			return e.Record().Owner(), true, nil
		}
		empty = empty && errors.Is(err, io.EOF)
	}
	if empty {
		return "", false, nil
	}
	return "", false, fmt.Errorf("%w: %s does not name its owner", ErrBroken, dir)
}

// firstEntry reads the first entry of a segment; io.EOF says that it is empty.
func firstEntry(path string) (audit.Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return audit.Entry{}, err
	}
	defer func() { _ = f.Close() }() // only read
	for e, err := range audit.Lines(f) {
		return e, err
	}
	return audit.Entry{}, io.EOF
}
