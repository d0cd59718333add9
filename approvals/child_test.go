package approvals_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/approvals"
)

// backgroundOfChild is the root context of a child process, whose main is
// TestMain.
func backgroundOfChild() context.Context { return context.Background() }

// child starts this test binary as another process.
func child(t *testing.T, verb, path, name string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childVerb+"="+verb, childPath+"="+path, childName+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// writers runs processes that write to one file at the same time, kills each
// of them with SIGKILL after it has acknowledged some writes, and returns all
// acknowledged words.
func writers(t *testing.T, verb, path string) []string {
	t.Helper()
	var acknowledged []string
	for round := range 6 {
		var running []*exec.Cmd
		var outs []io.Reader
		for _, name := range []string{"a", "b"} {
			cmd := child(t, verb, path, name+string(rune('0'+round))+"-")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running, outs = append(running, cmd), append(outs, out)
		}
		for i, cmd := range running {
			lines := bufio.NewScanner(outs[i])
			for n := 0; n < 5 && lines.Scan(); n++ {
				acknowledged = append(acknowledged, lines.Text())
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() { // what it wrote between the fifth line and its end
				acknowledged = append(acknowledged, lines.Text())
			}
			_ = cmd.Wait() // killed: always an error
		}
	}
	if len(acknowledged) < 60 {
		t.Fatalf("only %d writes were acknowledged, want at least 60", len(acknowledged))
	}
	return acknowledged
}

func TestTwoProcessesLoseNoAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "approvals.json")
	want := writers(t, "set", path)
	store := approvals.OpenStore(path, at)
	if p := store.Check(); len(p) > 0 {
		t.Fatalf("problems %+v", p)
	}
	var got []string
	for _, a := range store.List() {
		got = append(got, a.Category)
	}
	for _, category := range want {
		if !slices.Contains(got, category) {
			t.Errorf("the answer for %s was acknowledged and is lost", category)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil || !json.Valid(raw) {
		t.Errorf("store is not JSON (%v): %s", err, raw)
	}
}

func TestTwoProcessesLoseNoRule(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.json")
	want := writers(t, "add", path)
	var got []string
	for _, r := range approvals.OpenPolicy(path, at).List() {
		got = append(got, r.CommandPrefix...)
	}
	for _, word := range want {
		if !slices.Contains(got, word) {
			t.Errorf("the rule for %s was acknowledged and is lost", word)
		}
	}
}

// storedBy has a child record answers and returns what it says became of them.
func storedBy(t *testing.T, verb, path string, kinds ...string) []string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("resource limits and users are those of Unix")
	}
	out, err := child(t, verb, path, strings.Join(kinds, ",")).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestFullDiskKeepsTheFileAndRunsOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "approvals.json")
	before := `{"bash":"deny_always","network_egress":"deny_always"}`
	write(t, path, before)
	got := storedBy(t, "set-limited", path, "allow_always", "deny_always")
	want := []string{
		"once nowhere not stored: file too large",
		"session session not stored: file too large",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if after := read(t, path); after != before {
		t.Errorf("file is %q, want %q", after, before)
	}
	wantFiles(t, dir, "approvals.json", "approvals.json.lock")
}

// openDir makes a directory that other users may reach, unlike t.TempDir.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "approvals") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestReadOnlyDirectoryRunsOnce(t *testing.T) {
	dir := openDir(t)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	got := storedBy(t, "set-as-nobody", filepath.Join(dir, "approvals.json"), "allow_always", "deny_always")
	want := []string{
		"once nowhere not stored: permission denied",
		"session session not stored: permission denied",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// A directory that cannot be listed may hide a file that was set aside.
func TestUnlistableDirectorySuspends(t *testing.T) {
	dir := openDir(t)
	path := filepath.Join(dir, "approvals.json")
	write(t, path, `{"denied":"deny_always","allowed":"allow_always"}`)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o311); err != nil {
		t.Fatal(err)
	}
	got := storedBy(t, "check-as-nobody", path)
	want := []string{
		"deny persisted decision for category 'denied'",
		"ask the directory of an approvals file cannot be read",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}
