package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/steerable-go/sidecar/schemas"
)

// runSchema writes the JSON Schemas of the protocol, from which hosts generate
// their types. It returns 0 if all of them were written, 1 if one could not be,
// and 2 for wrong usage.
func runSchema(env environment, args []string) int {
	if len(args) == 2 && isHelp(args[1]) {
		_, _ = io.WriteString(env.stdout, schemaUsage)
		return exitOK
	}
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

// dumpSchemas writes every schema file below dir, which is created if only the
// directory above it exists, and returns how many there are. Files of an earlier
// dump are replaced, other files stay. Nothing is written outside of dir,
// whatever symbolic links it contains.
func dumpSchemas(dir string) (count int, err error) {
	root, err := openDirectory(dir)
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

// openDirectory opens a directory and creates it if it does not exist.
func openDirectory(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return root, err
	}
	dir = filepath.Clean(dir)
	above, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer func() { _ = above.Close() }()
	if err := above.Mkdir(filepath.Base(dir), 0o755); err != nil {
		return nil, err
	}
	return above.OpenRoot(filepath.Base(dir))
}
