package policy

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxGitConfig bounds how much of a configuration is read.
const maxGitConfig = 1 << 20

// gitConfigured protects what the configuration of a git directory names: other
// hooks (core.hooksPath) and further configuration (include.path). Paths that
// start from a home directory are left out.
func gitConfigured(dir string, writable []string) []Protected {
	text, err := readFile(filepath.Join(dir, "config"), maxGitConfig)
	if err != nil {
		return nil
	}
	var list []Protected
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if head, rest, ok := strings.Cut(line, "]"); ok && strings.HasPrefix(head, "[") {
			section, _, _ = strings.Cut(strings.ToLower(head[1:]), " ")
			line = rest
		}
		key, value, _ := strings.Cut(line, "=")
		value = gitValue(value)
		var from string
		switch section + "." + strings.ToLower(strings.TrimSpace(key)) {
		case "core.hookspath":
			from = filepath.Dir(dir) // the working tree
		case "include.path", "includeif.path":
			from = dir
		default:
			continue
		}
		if !filepath.IsAbs(value) {
			value = filepath.Join(from, value)
		}
		if path, ok := resolveIn(value, writable); ok && !InRoots(dir, []string{path}) {
			list = append(append(list, ancestors(path, writable)...), Protected{Path: path})
		}
	}
	return list
}

// gitValue is a value without quotes and comment. Escapes are not undone: a
// path with one is not found.
func gitValue(text string) string {
	quoted := false
	for i, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && (r == '#' || r == ';'):
			return gitValue(text[:i])
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(text, `"`, ""))
}

// readFile reads the start of a regular file. A command may have put anything
// in its place, and opening a fifo would wait for ever.
func readFile(path string, limit int64) ([]byte, error) {
	regular := func(info os.FileInfo, err error) error {
		if err == nil && !info.Mode().IsRegular() {
			err = &os.PathError{Op: "read", Path: path, Err: os.ErrInvalid}
		}
		return err
	}
	if err := regular(os.Stat(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if err := regular(f.Stat()); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
