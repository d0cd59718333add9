package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/schemas"
)

// runSchemaWith returns the exit code and what was printed.
func runSchemaWith(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = runSchema(environment{stdout: &out, stderr: &errs}, args)
	return code, out.String(), errs.String()
}

func TestSchemaDump(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for _, round := range []string{"into nothing", "over itself"} {
		if code, _, stderr := runSchemaWith("dump", dir); code != exitOK || stderr != "" {
			t.Fatalf("%s: exit %d, %s", round, code, stderr)
		}
	}
	names, err := schemas.Names()
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			written++
		}
		return err
	})
	if err != nil || written != len(names) {
		t.Errorf("%d files, want %d: %v", written, len(names), err)
	}
	for _, name := range names {
		want, err := schemas.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)+".schema.json"))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: differs from its source: %v", name, err)
		}
	}
}

func TestSchemaDumpKeepsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "README.md")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runSchemaWith("dump", dir); code != exitOK {
		t.Fatal(stderr)
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != "mine" {
		t.Errorf("the file beside the schemas is now %q: %v", got, err)
	}
}

func TestSchemaDumpRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "chat", "ChatMessage.schema.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	linked := filepath.Join(dir, "linked")
	if err := os.MkdirAll(linked, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(linked, "chat")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a file", []string{"dump", file}, exitFailed, "not a directory"},
		{"below a file", []string{"dump", filepath.Join(file, "x")}, exitFailed, "not a directory"},
		{"below nothing", []string{"dump", filepath.Join(dir, "x", "y")}, exitFailed, "no such file"},
		{"a directory where a schema goes", []string{"dump", taken}, exitFailed, "ChatMessage.schema.json"},
		{"a link out of the directory", []string{"dump", linked}, exitFailed, "chat"},
		{"no directory", []string{"dump"}, exitUsage, "schema dump DIR"},
		{"an empty name", []string{"dump", ""}, exitUsage, "schema dump DIR"},
		{"two directories", []string{"dump", "a", "b"}, exitUsage, "schema dump DIR"},
		{"another verb", []string{"print", dir}, exitUsage, "schema dump DIR"},
		{"nothing", nil, exitUsage, "schema dump DIR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runSchemaWith(tt.args...)
			if code != tt.code || !strings.Contains(stderr, tt.want) || stdout != "" {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and %q", code, stdout, stderr, tt.code, tt.want)
			}
		})
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "mine" {
		t.Errorf("the file is now %q: %v", got, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("%d files were written through the link: %v", len(entries), err)
	}
}
