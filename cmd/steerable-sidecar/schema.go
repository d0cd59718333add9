package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/steerable-go/sidecar/schemas"
)

// runSchema writes the JSON Schemas of the protocol, from which hosts generate
// their types. It returns 0 if all of them were written, 1 if one could not be,
// and 2 for wrong usage.
func runSchema(env environment, args []string) int {
	if len(args) != 2 || args[0] != "dump" || args[1] == "" {
		return usage(env, "usage: steerable-sidecar schema dump DIR")
	}
	count, err := dumpSchemas(args[1])
	if err != nil {
		_, _ = fmt.Fprintf(env.stderr, "steerable-sidecar: %v\n", err)
		return exitFailed
	}
	_, _ = fmt.Fprintf(env.stdout, "wrote %d schemas to %s\n", count, args[1])
	return exitOK
}

// dumpSchemas writes every schema file below dir, which is created if it does
// not exist, and returns how many there are. Files of an earlier dump are
// replaced, other files stay. Nothing is written outside of dir, whatever
// symbolic links it contains.
func dumpSchemas(dir string) (count int, err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil && !errors.Is(err, syscall.ENOTDIR) {
		return 0, fmt.Errorf("write schemas: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("write schemas: %s is not a directory", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, fmt.Errorf("write schemas: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	files := schemas.Files()
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		count++
		return root.WriteFile(name, text, 0o644)
	})
	if err != nil {
		return 0, fmt.Errorf("write schemas to %s: %w", dir, err)
	}
	return count, nil
}
