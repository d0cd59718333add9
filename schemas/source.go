package schemas

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Version is the version of the wire contract that the schemas describe. It is
// part of every $id.
const Version = "0.1.0"

// prefix is what stands before a schema's name in its $id.
const prefix = "urn:steerable:schema:" + Version + ":"

// suffix is what follows a schema's name in its file name.
const suffix = ".schema.json"

//go:embed chat events host runtime safety sidecar tools
var files embed.FS

// Files returns the schema files, in the folders in which they are kept.
func Files() fs.FS {
	return files
}

// Names returns the names of all schemas, sorted.
func Names() ([]string, error) {
	var names []string
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(path, suffix); ok && err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list schemas: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Source returns the text of the named schema. The error is [fs.ErrNotExist]
// if there is no such schema.
func Source(name string) ([]byte, error) {
	text, err := files.ReadFile(name + suffix)
	if err != nil {
		return nil, fmt.Errorf("read schema %q: %w", name, err)
	}
	return text, nil
}
