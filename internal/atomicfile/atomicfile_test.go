package atomicfile_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/internal/atomicfile"
)

// holdEnv makes the test binary hold a lock until its input closes.
const holdEnv = "ATOMICFILE_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		if _, err := atomicfile.TryLock(path); err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestWrite(t *testing.T) {
	for _, tt := range []struct {
		name string
		old  string
		mode fs.FileMode
		data string
	}{
		{"new file", "", 0o600, "one"},
		{"replaces longer", "something longer", 0o640, "two"},
		{"empty", "something", 0o600, ""},
		{"wider mode than the umask allows", "", 0o666, "three"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if tt.old != "" {
				if err := os.WriteFile(path, []byte(tt.old), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := atomicfile.Write(path, []byte(tt.data), tt.mode); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != tt.data {
				t.Errorf("read %q, %v; want %q", got, err, tt.data)
			}
			if info, err := os.Stat(path); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != tt.mode) {
				t.Errorf("mode %v, %v; want %v", info.Mode(), err, tt.mode)
			}
			wantOnly(t, dir, "f")
		})
	}
}

// wantOnly fails if dir holds anything beside names, such as a temporary file.
func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("directory holds %q, want %q", got, names)
	}
}

func TestWriteErrorsKeepTheOldFile(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "dir")
	if err := os.MkdirAll(filepath.Join(target, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	// A directory cannot be replaced by a file.
	if err := atomicfile.Write(target, []byte("x"), 0o600); err == nil {
		t.Error("replaced a directory")
	}
	wantOnly(t, dir, "dir")
	if err := atomicfile.Write(filepath.Join(dir, "none", "f"), []byte("x"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v, want %v", err, fs.ErrNotExist)
	}
}

func TestWriteReplacesALink(t *testing.T) {
	dir := t.TempDir()
	victim, link := filepath.Join(dir, "victim"), filepath.Join(dir, "link")
	if err := os.WriteFile(victim, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, link); err != nil {
		t.Skip("this file system has no symbolic links:", err)
	}
	if err := atomicfile.Write(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "keep" {
		t.Errorf("followed the link: victim is %q", got)
	}
}

// A reader that opens the file at any moment sees one whole version.
func TestReadersSeeWholeVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	a, b := bytes.Repeat([]byte("a"), 64<<10), bytes.Repeat([]byte("b"), 32<<10)
	if err := atomicfile.Write(path, a, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for i := range 40 {
			if err := atomicfile.Write(path, [][]byte{a, b}[i%2], 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, a) && !bytes.Equal(got, b) {
			t.Fatalf("read a mixture of %d bytes", len(got))
		}
	}
	wg.Wait()
}

func TestLockExcludesWithinAProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := atomicfile.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := atomicfile.TryLock(path); !errors.Is(err, atomicfile.ErrLocked) {
		t.Fatalf("second lock: %v, want %v", err, atomicfile.ErrLocked)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := atomicfile.Acquire(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting lock: %v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := atomicfile.AcquireWithin(path, 10*time.Millisecond); !errors.Is(err, atomicfile.ErrLocked) {
		t.Fatalf("lock within a time: %v, want %v", err, atomicfile.ErrLocked)
	}
	if err := errors.Join(first.Unlock(), first.Unlock()); err != nil {
		t.Fatal(err)
	}
	second, err := atomicfile.Acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := (&atomicfile.Lock{}).Unlock(); err != nil {
		t.Errorf("zero lock: %v", err)
	}
}

func TestLockErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "lock")
	if _, err := atomicfile.TryLock(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("TryLock: %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := atomicfile.Acquire(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Acquire: %v, want %v", err, fs.ErrNotExist)
	}
}

// Another process's lock is respected, and its death releases it.
func TestLockAcrossProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal("child did not take the lock:", err)
	}
	if _, err := atomicfile.TryLock(path); !errors.Is(err, atomicfile.ErrLocked) {
		t.Errorf("child holds the lock: %v, want %v", err, atomicfile.ErrLocked)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	l, err := atomicfile.Acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
}
