package auditlog

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/signing"
	"github.com/steerable-go/sidecar/internal/atomicfile"
)

func record(owner, action string) Record {
	return Record{Fields: audit.Fields{Owner: owner, Action: action, Capability: "file.read", Decision: "ALLOW", Risk: "low", Meta: []byte(`{"callId":"c1"}`)}}
}

func newLog(t testing.TB, opts Options) *Log {
	t.Helper()
	if opts.Dir == "" {
		opts.Dir = t.TempDir()
	}
	l, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func mustAppend(t testing.TB, l *Log, owner, action string) Receipt {
	t.Helper()
	r, err := l.Append(t.Context(), record(owner, action))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustVerify(t testing.TB, dir, owner string, want uint64) Report {
	t.Helper()
	rep, err := Verify(VerifyOptions{Dir: dir, Owner: owner})
	if err != nil || !rep.OK || rep.Records != want {
		t.Fatalf("verify: %+v, %v; want %d records", rep, err, want)
	}
	return rep
}

func TestSequencesPerOwner(t *testing.T) {
	l := newLog(t, Options{})
	got := map[string][]uint64{}
	for _, owner := range []string{"u1", "u2", "u1", "u2", "u2"} {
		r := mustAppend(t, l, owner, "a")
		got[owner] = append(got[owner], r.Sequence)
	}
	if want := "map[u1:[0 1] u2:[0 1 2]]"; fmt.Sprint(got) != want {
		t.Errorf("sequences %v, want %s", got, want)
	}
	for owner, n := range map[string]uint64{"u1": 2, "u2": 3, "nobody": 0} {
		if rep := mustVerify(t, l.opts.Dir, owner, n); rep.TailPinned != (n > 0) {
			t.Errorf("%s: tail pinned %v", owner, rep.TailPinned)
		}
	}
	owners, err := Owners(l.opts.Dir)
	if err != nil || strings.Join(owners, " ") != "u1 u2" {
		t.Errorf("owners %q, %v", owners, err)
	}
}

func TestConcurrentWriters(t *testing.T) {
	l := newLog(t, Options{})
	seen := make([]bool, 400)
	var mu sync.Mutex // guards seen
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				r, err := l.Append(t.Context(), record("u1", fmt.Sprintf("w%d-%d", w, i)))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if seen[r.Sequence] {
					t.Errorf("sequence %d twice", r.Sequence)
				}
				seen[r.Sequence] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	mustVerify(t, l.opts.Dir, "u1", 400)
}

func TestReopenAndRotate(t *testing.T) {
	dir := t.TempDir()
	n := uint64(0)
	for range 3 {
		l, err := Open(Options{Dir: dir, MaxSegment: 1500})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if r := mustAppend(t, l, "u1", "a"); r.Sequence != n {
				t.Fatalf("sequence %d, want %d", r.Sequence, n)
			}
			n++
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	numbers, err := segmentNumbers(OwnerDir(dir, "u1"))
	if err != nil || len(numbers) < 5 {
		t.Fatalf("segments %v, %v", numbers, err)
	}
	if rep := mustVerify(t, dir, "u1", n); !rep.TailPinned {
		t.Error("tail is not pinned")
	}
	for _, name := range []string{headFile, lockFile, "000001.jsonl"} {
		info, err := os.Stat(filepath.Join(OwnerDir(dir, "u1"), name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// Two logs on one directory, as two processes have them, take turns.
func TestTwoLogsShareAChain(t *testing.T) {
	dir := t.TempDir()
	a, b := newLog(t, Options{Dir: dir, MaxSegment: 2000}), newLog(t, Options{Dir: dir, MaxSegment: 2000})
	for i := range 40 {
		l := a
		if i%3 == 1 {
			l = b
		}
		if r := mustAppend(t, l, "u1", "a"); r.Sequence != uint64(i) {
			t.Fatalf("sequence %d, want %d", r.Sequence, i)
		}
	}
	mustVerify(t, dir, "u1", 40)
}

func TestAppendErrors(t *testing.T) {
	l := newLog(t, Options{})
	if _, err := l.Append(t.Context(), record("u\xff", "a")); !errors.Is(err, audit.ErrShape) {
		t.Errorf("invalid owner: %v", err)
	}
	bad := record("u1", "a")
	bad.Meta = []byte("{\n}")
	if _, err := l.Append(t.Context(), bad); !errors.Is(err, audit.ErrShape) {
		t.Errorf("invalid side object: %v", err)
	}
	mustAppend(t, l, "u1", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, record("u1", "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), record("u1", "a")); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestBusyChain(t *testing.T) {
	l := newLog(t, Options{LockTimeout: 20 * time.Millisecond})
	mustAppend(t, l, "u1", "a")
	lock, err := atomicfile.TryLock(filepath.Join(OwnerDir(l.opts.Dir, "u1"), lockFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), record("u1", "b")); !errors.Is(err, ErrBusy) {
		t.Errorf("locked: %v, want %v", err, ErrBusy)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, "u1", "c")
	mustVerify(t, l.opts.Dir, "u1", 2)
}

// faultyDisk fails on demand.
type faultyDisk struct {
	osDisk
	write, truncate, sync error
	partial               int // bytes that a failing write still writes
}

type faultyFile struct {
	segmentFile
	disk *faultyDisk
}

func (d *faultyDisk) openSegment(path string, create bool) (segmentFile, error) {
	f, err := d.osDisk.openSegment(path, create)
	return faultyFile{f, d}, err
}

func (f faultyFile) Write(p []byte) (int, error) {
	if f.disk.write != nil {
		n, _ := f.segmentFile.Write(p[:min(f.disk.partial, len(p))])
		return n, f.disk.write
	}
	return f.segmentFile.Write(p)
}

func (f faultyFile) Truncate(size int64) error {
	if f.disk.truncate != nil {
		return f.disk.truncate
	}
	return f.segmentFile.Truncate(size)
}

func (f faultyFile) Sync() error {
	if f.disk.sync != nil {
		return f.disk.sync
	}
	return f.segmentFile.Sync()
}

func faultyLog(t *testing.T, d *faultyDisk) *Log {
	t.Helper()
	l, err := open(Options{Dir: t.TempDir()}, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	d := &faultyDisk{partial: 40}
	l := faultyLog(t, d)
	mustAppend(t, l, "u1", "a")
	d.write = syscall.ENOSPC
	if _, err := l.Append(t.Context(), record("u1", "lost")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("full disk: %v", err)
	}
	mustVerify(t, l.opts.Dir, "u1", 1)
	d.write = nil
	if r := mustAppend(t, l, "u1", "b"); r.Sequence != 1 {
		t.Errorf("sequence %d, want 1", r.Sequence)
	}
	mustVerify(t, l.opts.Dir, "u1", 2)
}

func TestChainIsSealed(t *testing.T) {
	for name, d := range map[string]*faultyDisk{
		"after a flush that failed":                  {sync: syscall.EIO},
		"after a write that could not be taken back": {write: syscall.ENOSPC, truncate: syscall.EIO, partial: 10},
	} {
		t.Run(name, func(t *testing.T) {
			fault := *d
			*d = faultyDisk{partial: d.partial}
			l := faultyLog(t, d)
			mustAppend(t, l, "u1", "a")
			*d = fault
			if _, err := l.Append(t.Context(), record("u1", "b")); !errors.Is(err, ErrSealed) {
				t.Errorf("%v, want %v", err, ErrSealed)
			}
			*d = faultyDisk{}
			if _, err := l.Append(t.Context(), record("u1", "c")); !errors.Is(err, ErrSealed) {
				t.Errorf("afterwards: %v, want %v", err, ErrSealed)
			}
			mustAppend(t, l, "u2", "others go on")
			// The next process finds out what is there.
			next := newLog(t, Options{Dir: l.opts.Dir})
			mustAppend(t, next, "u1", "d")
			if rep, err := Verify(VerifyOptions{Dir: l.opts.Dir, Owner: "u1"}); err != nil || !rep.OK {
				t.Errorf("%+v, %v", rep, err)
			}
		})
	}
}

func TestTornTail(t *testing.T) {
	for _, tt := range []struct {
		name    string
		harm    func(data []byte) []byte
		records uint64 // after one more append
		torn    bool
	}{
		{"line cut off", func(d []byte) []byte { return d[:len(d)-20] }, 4, true}, // 2 + recovered + new
		{"only the newline missing", func(d []byte) []byte { return d[:len(d)-1] }, 4, false},
		{"garbage behind", func(d []byte) []byte { return append(d, "{\"event"...) }, 5, true},
		{"zeros behind", func(d []byte) []byte { return append(d, make([]byte, 300)...) }, 5, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			l := newLog(t, Options{Dir: dir})
			for range 3 {
				mustAppend(t, l, "u1", "a")
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			path := segmentPath(OwnerDir(dir, "u1"), 1)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			harmed := tt.harm(bytes.Clone(data))
			if err := os.WriteFile(path, harmed, 0o600); err != nil {
				t.Fatal(err)
			}
			if len(harmed) < len(data)-1 {
				// The head beside a chain says more than a crash can leave.
				if err := os.Remove(filepath.Join(OwnerDir(dir, "u1"), headFile)); err != nil {
					t.Fatal(err)
				}
			}
			rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1"})
			if err != nil || rep.OK || rep.Code != audit.CodeTornTail && rep.Code != audit.CodeNoFinalNewline {
				t.Errorf("before repair: %+v, %v", rep, err)
			}
			l = newLog(t, Options{Dir: dir})
			mustAppend(t, l, "u1", "next")
			if rep := mustVerify(t, dir, "u1", tt.records); rep.Recoveries != map[bool]uint64{true: 1}[tt.torn] {
				t.Errorf("%d recoveries", rep.Recoveries)
			}
			files, err := filepath.Glob(filepath.Join(OwnerDir(dir, "u1"), quarantineDir, "*"))
			if err != nil || len(files) > 0 != tt.torn {
				t.Fatalf("quarantine holds %q, %v", files, err)
			}
			if tt.torn {
				kept, err := os.ReadFile(files[0])
				if err != nil || !bytes.HasSuffix(harmed, kept) || len(kept) == 0 {
					t.Errorf("quarantined %q, %v", kept, err)
				}
			}
		})
	}
}

// A chain that was tampered with takes no more records: they would lend it
// their credit.
func TestBrokenChainsAreRefused(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"changed record": func(t *testing.T, dir string) {
			rewrite(t, segmentPath(dir, 2), func(d []byte) []byte { return bytes.Replace(d, []byte("ALLOW"), []byte("DENY"), 1) })
		},
		"cut off tail": func(t *testing.T, dir string) {
			rewrite(t, segmentPath(dir, 2), func(d []byte) []byte { return d[:bytes.IndexByte(d, '\n')+1] })
		},
		"segments gone": func(t *testing.T, dir string) {
			for _, n := range []int{1, 2, 3} {
				if err := os.Remove(segmentPath(dir, n)); err != nil && n < 3 {
					t.Fatal(err)
				}
			}
		},
		"damaged head": func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, headFile), func([]byte) []byte { return []byte("{}") })
		},
		"head of another chain": func(t *testing.T, dir string) {
			rewrite(t, filepath.Join(dir, headFile), func(d []byte) []byte { return bytes.Replace(d, []byte(`"u1"`), []byte(`"u2"`), 1) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := newLog(t, Options{Dir: dir, MaxSegment: 1200})
			for n := 0; n < 2; {
				mustAppend(t, l, "u1", "a")
				mustAppend(t, l, "u1", "a")
				numbers, err := segmentNumbers(OwnerDir(dir, "u1"))
				if err != nil {
					t.Fatal(err)
				}
				n = len(numbers)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			harm(t, OwnerDir(dir, "u1"))
			l = newLog(t, Options{Dir: dir})
			if _, err := l.Append(t.Context(), record("u1", "b")); err == nil {
				t.Fatal("appended to a broken chain")
			}
			if _, err := l.Append(t.Context(), record("u1", "b")); err == nil {
				t.Fatal("appended at the second try")
			}
			if rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1"}); err == nil && rep.OK {
				t.Errorf("verifies: %+v", rep)
			}
		})
	}
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A running process sees that somebody shortened or changed what it wrote.
func TestTamperingWhileRunning(t *testing.T) {
	l := newLog(t, Options{})
	for range 3 {
		mustAppend(t, l, "u1", "a")
	}
	rewrite(t, segmentPath(OwnerDir(l.opts.Dir, "u1"), 1), func(d []byte) []byte { return d[:bytes.IndexByte(d, '\n')+1] })
	for range 2 {
		if _, err := l.Append(t.Context(), record("u1", "b")); !errors.Is(err, ErrBroken) {
			t.Errorf("%v, want %v", err, ErrBroken)
		}
	}
}

func TestAnySingleByteChangeIsFound(t *testing.T) {
	dir := t.TempDir()
	l := newLog(t, Options{Dir: dir, MaxSegment: 500})
	for range 3 {
		mustAppend(t, l, "u1", "a")
	}
	numbers, err := segmentNumbers(OwnerDir(dir, "u1"))
	if err != nil || len(numbers) < 2 {
		t.Fatal(numbers, err)
	}
	for _, n := range numbers {
		path := segmentPath(OwnerDir(dir, "u1"), n)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			for _, c := range []byte{whole[i] ^ 1, '\n'} {
				if c == whole[i] {
					continue
				}
				bad := bytes.Clone(whole)
				bad[i] = c
				if err := os.WriteFile(path, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				if rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1"}); err == nil && rep.OK {
					t.Fatalf("segment %d, byte %d %q changed to %q: not found", n, i, whole[i], c)
				}
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustVerify(t, dir, "u1", 3)
}

func TestExposure(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "work")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(filepath.Join(root, "sub"), link); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(base, "dangling")
	if err := os.Symlink(filepath.Join(base, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(base, "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		dir   string
		roots []string
		ok    bool
	}{
		{"beside", filepath.Join(base, "audit"), []string{root}, true},
		{"no roots", filepath.Join(base, "audit"), nil, true},
		{"name that only begins the same", root + "-audit", []string{root}, true},
		{"inside", filepath.Join(root, "audit"), []string{root}, false},
		{"the root itself", root, []string{root}, false},
		{"around a root", base, []string{root}, false},
		{"second root", filepath.Join(root, "a", "b"), []string{shared, root}, false},
		{"through a link", filepath.Join(link, "audit"), []string{root}, false},
		{"root through a link", filepath.Join(root, "sub", "audit"), []string{link}, false},
		{"dots", filepath.Join(base, "x", "..", "work", "audit"), []string{root}, false},
		{"link that leads nowhere", filepath.Join(dangling, "audit"), []string{root}, false},
		{"everybody may write", shared, nil, false},
		{"relative", "audit", nil, false},
		{"root of the file system", filepath.Join(base, "audit"), []string{"/"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := Open(Options{Dir: tt.dir, WritableRoots: tt.roots})
			if err == nil {
				_ = l.Close()
			}
			if (err == nil) != tt.ok {
				t.Errorf("Open: %v, want ok %v", err, tt.ok)
			}
			if err != nil && tt.dir != "audit" && tt.name != "link that leads nowhere" && !errors.Is(err, ErrExposed) {
				t.Errorf("%v, want %v", err, ErrExposed)
			}
		})
	}
}

func TestParseSync(t *testing.T) {
	for word, want := range map[string]Sync{"always": SyncAlways, "mutations": SyncMutations, "off": SyncNever} {
		if got, err := ParseSync(word); err != nil || got != want {
			t.Errorf("%s: %v, %v", word, got, err)
		}
	}
	if got, err := ParseSync("Always"); err == nil || got != SyncAlways {
		t.Errorf("unknown word: %v, %v", got, err)
	}
}

// What is flushed when: observed at the disk.
func TestSyncPolicies(t *testing.T) {
	for _, tt := range []struct {
		sync      Sync
		durable   bool
		flushed   bool
		headMoves bool
	}{
		{SyncAlways, false, true, true},
		{SyncAlways, true, true, true},
		{SyncMutations, false, false, false},
		{SyncMutations, true, true, true},
		{SyncNever, true, false, true},
	} {
		d := &faultyDisk{}
		l, err := open(Options{Dir: t.TempDir(), Sync: tt.sync}, d)
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, "u1", "a")
		r := record("u1", "b")
		r.Durable = tt.durable
		if _, err := l.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		head, err := readCheckpoint(filepath.Join(OwnerDir(l.opts.Dir, "u1"), headFile))
		if moved := head != nil && head.Count == 2; err != nil || moved != tt.headMoves {
			t.Errorf("%+v: head %+v, %v", tt, head, err)
		}
		d.sync = syscall.EIO
		_, err = l.Append(t.Context(), r)
		if flushed := errors.Is(err, syscall.EIO); flushed != tt.flushed {
			t.Errorf("%+v: flushed %v (%v)", tt, flushed, err)
		}
		_ = l.Close()
	}
}

func newSigner(t testing.TB) (*signing.Signer, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := LoadSigner(path)
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

func TestKeys(t *testing.T) {
	_, path := newSigner(t)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSigner(path); !errors.Is(err, ErrExposed) {
		t.Errorf("key that others may read: %v", err)
	}
	if _, err := LoadSigner(filepath.Dir(path)); err == nil {
		t.Error("directory as a key")
	}
	if _, err := LoadSigner(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing key: %v", err)
	}
	if _, err := LoadVerifier(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing public key: %v", err)
	}
	if _, err := LoadVerifier(path); !errors.Is(err, signing.ErrKey) {
		t.Errorf("private key as a public one: %v", err)
	}
	if _, err := ReadSigner(strings.NewReader("x")); !errors.Is(err, signing.ErrKey) {
		t.Errorf("no key: %v", err)
	}
}

func TestSigning(t *testing.T) {
	s, _ := newSigner(t)
	other, _ := newSigner(t)
	for _, each := range []bool{false, true} {
		dir := t.TempDir()
		l := newLog(t, Options{Dir: dir, Signer: s, SignRecords: each})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { _, _ = l.Append(t.Context(), record("u1", "a")) })
		}
		wg.Wait()
		rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1", Verifier: s.Verifier()})
		if err != nil || !rep.OK || !rep.HeadSigned || rep.Signed == 0 || each && rep.Signed != 20 {
			t.Errorf("records signed %v: %+v, %v", each, rep, err)
		}
		rep, err = Verify(VerifyOptions{Dir: dir, Owner: "u1", Verifier: other.Verifier()})
		if err != nil || rep.OK || rep.Code != audit.CodeSignature {
			t.Errorf("another key: %+v, %v", rep, err)
		}
	}
	l := newLog(t, Options{})
	if r := mustAppend(t, l, "u1", "a"); r.Signed {
		t.Error("signed without a key")
	}
	if rep, err := Verify(VerifyOptions{Dir: l.opts.Dir, Owner: "u1", Verifier: s.Verifier()}); err != nil || rep.Code != audit.CodeSignature || rep.HeadSigned || rep.Signed != 0 {
		t.Errorf("unsigned: %+v, %v", rep, err)
	}
}

// A head that was stored elsewhere shows that the tail was cut off even by
// somebody who rewrote the head beside the chain.
func TestExternalHead(t *testing.T) {
	dir := t.TempDir()
	s, _ := newSigner(t)
	l := newLog(t, Options{Dir: dir, MaxSegment: 1000})
	for range 3 {
		mustAppend(t, l, "u1", "a")
	}
	old, err := os.ReadFile(filepath.Join(OwnerDir(dir, "u1"), headFile))
	if err != nil {
		t.Fatal(err)
	}
	oldFiles := map[string][]byte{}
	numbers, _ := segmentNumbers(OwnerDir(dir, "u1"))
	for _, n := range numbers {
		oldFiles[segmentPath(OwnerDir(dir, "u1"), n)], _ = os.ReadFile(segmentPath(OwnerDir(dir, "u1"), n))
	}
	for range 3 {
		mustAppend(t, l, "u1", "b")
	}
	head, err := CurrentHead(VerifyOptions{Dir: dir, Owner: "u1"}, s)
	if err != nil || head.Count != 6 || !head.Signed {
		t.Fatalf("%+v, %v", head, err)
	}
	check := func(head Checkpoint) Report {
		rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1", Verifier: s.Verifier(), Head: &head})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	if rep := check(head); !rep.OK || !rep.TailPinned || !rep.External || !rep.HeadSigned {
		t.Errorf("%+v", rep)
	}
	forged := head
	forged.Signature = head.Signature[:len(head.Signature)-4] + "AAAA"
	if rep := check(forged); rep.OK || rep.Code != audit.CodeSignature {
		t.Errorf("forged head: %+v", rep)
	}
	// Back to three records, consistently.
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	numbers, _ = segmentNumbers(OwnerDir(dir, "u1"))
	for _, n := range numbers {
		path := segmentPath(OwnerDir(dir, "u1"), n)
		if oldFiles[path] == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, oldFiles[path], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rewrite(t, filepath.Join(OwnerDir(dir, "u1"), headFile), func([]byte) []byte { return old })
	mustVerify(t, dir, "u1", 3)
	if rep := check(head); rep.OK || rep.Code != audit.CodeTruncated || rep.External {
		t.Errorf("cut off and rewritten: %+v", rep)
	}
	if _, err := CurrentHead(VerifyOptions{Dir: dir, Owner: "u1", Head: &head}, nil); !errors.Is(err, ErrBroken) {
		t.Errorf("head of a cut chain: %v", err)
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	s, _ := newSigner(t)
	l := newLog(t, Options{Dir: dir, MaxSegment: 1200, Signer: s})
	for range 12 {
		mustAppend(t, l, "u1", "a")
	}
	if gone, err := l.Prune(t.Context(), "u1", 0); err != nil || gone != 0 {
		t.Fatalf("nothing to prune: %d, %v", gone, err)
	}
	gone, err := l.Prune(t.Context(), "u1", 7)
	if err != nil || gone == 0 || gone > 7 {
		t.Fatalf("pruned %d, %v", gone, err)
	}
	rep := mustVerify(t, dir, "u1", 13-gone) // and the record of it
	if rep.Pruned != gone || rep.Head.Count != 13 || !rep.TailPinned {
		t.Errorf("%+v", rep)
	}
	if r := mustAppend(t, l, "u1", "b"); r.Sequence != 13 {
		t.Errorf("sequence %d, want 13", r.Sequence)
	}
	if again, err := l.Prune(t.Context(), "u1", gone); err != nil || again != gone {
		t.Errorf("pruned again: %d, %v", again, err)
	}
	next := newLog(t, Options{Dir: dir}) // another process
	mustAppend(t, next, "u1", "c")
	mustVerify(t, dir, "u1", 15-gone)

	// Without the tombstone the rest is a truncated chain, and a tombstone
	// that the chain does not speak of is a forgery.
	tomb := filepath.Join(OwnerDir(dir, "u1"), prunedFile)
	data, err := os.ReadFile(tomb)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(tomb); err != nil {
		t.Fatal(err)
	}
	if rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1"}); err != nil || rep.OK || rep.Code != audit.CodeSequence {
		t.Errorf("without tombstone: %+v, %v", rep, err)
	}
	if err := os.WriteFile(tomb, data, 0o600); err != nil {
		t.Fatal(err)
	}
	numbers, _ := segmentNumbers(OwnerDir(dir, "u1"))
	e, err := firstEntry(segmentPath(OwnerDir(dir, "u1"), numbers[1]))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(segmentPath(OwnerDir(dir, "u1"), numbers[0])); err != nil {
		t.Fatal(err)
	}
	forged := fmt.Sprintf(`{"owner":"u1","count":%d,"head":"%s","segment":0,"signed":false,"v":1}`, e.Record().Sequence(), e.Record().PrevHash())
	if err := os.WriteFile(tomb, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1"}); err != nil || rep.OK || rep.Code != audit.CodeAnchorMismatch {
		t.Errorf("forged tombstone: %+v, %v", rep, err)
	}
	if _, err := l.Prune(t.Context(), "u1", 100); !errors.Is(err, ErrBroken) {
		t.Errorf("pruned a broken chain: %v", err)
	}
}

func TestParseCheckpoint(t *testing.T) {
	good := `{"owner":"u1","count":1,"head":"` + (audit.Hash{1}).String() + `","segment":1,"signed":false,"v":1}`
	c, err := ParseCheckpoint([]byte(good + "\n"))
	if err != nil || c.Anchor().Owner != "u1" || c.Anchor().Head != (audit.Head{Count: 1, Hash: audit.Hash{1}}) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{"", "{}", good + good, strings.Replace(good, `"v":1`, `"v":2`, 1), strings.Replace(good, `"v":1`, `"v":1,"x":1`, 1), strings.Replace(good, "sha256", "SHA256", 1), strings.Replace(good, "false", "true", 1), strings.Replace(good, `:1,"head"`, `:-1,"head"`, 1)} {
		if _, err := ParseCheckpoint([]byte(bad)); !errors.Is(err, audit.ErrShape) {
			t.Errorf("ParseCheckpoint(%s): %v", bad, err)
		}
	}
}
