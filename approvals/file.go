package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/steerable-go/sidecar/internal/atomicfile"
)

const (
	// filePerm keeps answers from other users of the machine.
	filePerm = 0o600
	dirPerm  = 0o700
	// maxFileBytes bounds what is read; a larger file counts as damaged.
	maxFileBytes = 4 << 20
	corruptMark  = ".corrupt-"
	acceptedMark = ".accepted-"
	// lockWait bounds the wait for another process, which holds the lock for
	// the time of one small write.
	lockWait = 5 * time.Second
)

// Problem is a part of a file that cannot be used. Automatic allows for Tool
// are suspended while it is there, all of them if Tool is empty.
type Problem struct {
	Index int    // of the entry or rule, from 0; -1 for the file itself
	Tool  string // the tool or category it names, if that can be read
	Text  string
}

// contents is what a [jsonFile] was parsed into.
type contents interface {
	// unusable lists the parts that cannot be used.
	unusable() []Problem
}

// jsonFile is a JSON file that other processes read and change too. Readers
// take no lock: the file is only ever replaced as a whole. It is read anew each
// time, which costs less than a tool call by far and, unlike comparing times
// and inode numbers, cannot miss a change made within one clock tick; only the
// parse is saved while the bytes are the same.
type jsonFile[T contents] struct {
	path  string
	now   func() time.Time
	parse func(raw []byte) (T, error)

	mu     sync.Mutex // guards following
	known  bool
	raw    []byte
	value  T
	damage error
}

// newJSONFile names a file; now stamps the names of damaged ones, and nil means
// the wall clock.
func newJSONFile[T contents](path string, now func() time.Time, parse func(raw []byte) (T, error)) jsonFile[T] {
	if now == nil {
		now = time.Now
	}
	return jsonFile[T]{path: path, now: now, parse: parse}
}

// snapshot is the state of a file at one moment.
type snapshot[T contents] struct {
	value  T
	damage error // the file is there and cannot be used
	exists bool
	aside  []string // files that were damaged and wait for a person
	blind  error    // the directory cannot be searched for such files
}

// suspends says why no call may be allowed automatically; empty if nothing does.
func (s snapshot[T]) suspends() string {
	switch {
	case s.damage != nil:
		return "an approvals file is damaged"
	case len(s.aside) > 0:
		return "a damaged approvals file was set aside and nobody has accepted that yet"
	case s.blind != nil:
		return "the directory of an approvals file cannot be read"
	}
	return ""
}

// problems lists everything that cannot be used or that waits for a person.
func (s snapshot[T]) problems() []Problem {
	var list []Problem
	if s.damage != nil {
		list = append(list, Problem{Index: -1, Text: "damaged: " + s.damage.Error()})
	}
	if s.blind != nil {
		list = append(list, Problem{Index: -1, Text: s.blind.Error()})
	}
	for _, name := range s.aside {
		list = append(list, Problem{Index: -1, Text: "set aside as damaged: " + name})
	}
	return append(list, s.value.unusable()...)
}

// load reads the file. A missing file is an empty one.
func (f *jsonFile[T]) load() snapshot[T] {
	var s snapshot[T]
	if f == nil {
		return s
	}
	s.aside, s.blind = f.setAside(corruptMark)
	raw, exists, err := readFile(f.path)
	s.exists = exists
	if err != nil {
		s.damage = err
		return s
	}
	if !exists {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known || !bytes.Equal(raw, f.raw) {
		f.raw, f.known = raw, true
		f.value, f.damage = f.parse(raw)
	}
	s.value, s.damage = f.value, f.damage
	return s
}

// update changes the file under its lock. change gets what the file holds now
// and returns what it shall hold, or nil to leave it alone. A damaged file is
// moved aside first and change starts from nothing.
func (f *jsonFile[T]) update(ctx context.Context, change func(T) ([]byte, error)) error {
	return f.locked(ctx, func() error {
		s := f.load()
		raw, err := change(s.value)
		if err != nil || raw == nil {
			return err
		}
		if s.damage != nil {
			if err := f.moveAside(corruptMark); err != nil {
				return err
			}
		}
		if err := atomicfile.Write(f.path, raw, filePerm); err != nil {
			return fmt.Errorf("write approvals %s: %w", f.path, err)
		}
		return nil
	})
}

// locked runs do while no other process changes the file. It goes on when ctx
// ends, because an answer that a person gave must not be lost to the end of
// the turn; instead it gives up when another process holds the lock for long.
func (f *jsonFile[T]) locked(ctx context.Context, do func() error) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockWait)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(f.path), dirPerm); err != nil {
		return fmt.Errorf("create directory of approvals: %w", err)
	}
	lock, err := atomicfile.Acquire(ctx, f.path+".lock")
	if err != nil {
		return fmt.Errorf("lock approvals %s: %w", f.path, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return do()
}

// moveAside renames the file so that nothing in it is lost. The caller holds
// the lock.
func (f *jsonFile[T]) moveAside(mark string) error {
	_, err := rename(f.path, f.path+mark+f.now().UTC().Format("20060102T150405Z"))
	return err
}

// rename moves a file to a name that is still free and returns the name. The
// caller holds the lock.
func rename(from, to string) (string, error) {
	free := to
	for n := 1; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", fmt.Errorf("set approvals aside: %w", err)
		}
		free = to + "-" + strconv.Itoa(n)
	}
	if err := os.Rename(from, free); err != nil {
		return "", fmt.Errorf("set approvals aside: %w", err)
	}
	return free, nil
}

// setAside lists the files beside this one that carry a mark, sorted.
func (f *jsonFile[T]) setAside(mark string) ([]string, error) {
	dir, base := filepath.Split(f.path)
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read directory of approvals: %w", err)
	}
	var found []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), base+mark) {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(found)
	return found, nil
}

// accept ends the suspension that a damaged file caused. The damaged files are
// kept under another name, which is returned for each.
func (f *jsonFile[T]) accept(ctx context.Context) ([]string, error) {
	var kept []string
	if s := f.load(); s.damage == nil && len(s.aside) == 0 {
		return nil, s.blind
	}
	err := f.locked(ctx, func() error {
		if f.load().damage != nil {
			if err := f.moveAside(corruptMark); err != nil {
				return err
			}
		}
		aside, err := f.setAside(corruptMark)
		if err != nil {
			return err
		}
		for _, name := range aside {
			stamp := strings.TrimPrefix(filepath.Base(name), filepath.Base(f.path)+corruptMark)
			to, err := rename(name, f.path+acceptedMark+stamp)
			if err != nil {
				return err
			}
			kept = append(kept, to)
		}
		return atomicfile.SyncDir(filepath.Dir(f.path))
	})
	return kept, err
}

// readFile reads a regular file of bounded size.
func readFile(path string) (raw []byte, exists bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		// A link to nothing says that there was a file: its denials are not
		// there to be read, which is not the same as none.
		if link, err := os.Lstat(path); err == nil && link.Mode()&fs.ModeSymlink != 0 {
			return nil, true, fmt.Errorf("read approvals %s: a link to nothing", path)
		}
		return nil, false, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("read approvals: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, true, fmt.Errorf("read approvals %s: not a regular file", path)
	}
	if info.Size() > maxFileBytes {
		return nil, true, fmt.Errorf("read approvals %s: larger than %d bytes", path, maxFileBytes)
	}
	raw, err = os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, fmt.Errorf("read approvals: %w", err)
	}
	return raw, true, nil
}

// marshal encodes without the escapes for HTML that would make a file with
// "&&" in it unreadable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode approvals: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
