package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// absolute expands "~" and makes path absolute, without touching the file
// system. It refuses control characters: a path travels through command
// lines, profiles and logs, and a newline there starts a new line of ours.
func (c Config) absolute(path string) (string, error) {
	if path == "" {
		return "", refuse(ReasonRelativePath, "an empty path names nothing")
	}
	if strings.ContainsFunc(path, isControl) {
		return "", refuse(ReasonControlCharacter, "path %q holds a control character", path)
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		if c.Home == "" {
			return "", refuse(ReasonRelativePath, "path %q needs a home directory", path)
		}
		path = filepath.Join(c.Home, path[1:])
	}
	if !filepath.IsAbs(path) {
		if c.Dir == "" {
			return "", refuse(ReasonRelativePath, "path %q is relative", path)
		}
		path = filepath.Join(c.Dir, path)
	}
	return filepath.Clean(path), nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 }

// realPath resolves every symbolic link of an absolute path.
func realPath(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if strings.ContainsFunc(resolved, isControl) {
		return "", errControl
	}
	return resolved, nil
}

var errControl = errors.New("the real path holds a control character")

// existingDir resolves path and demands a directory.
func existingDir(path string) (string, error) {
	resolved, err := realPath(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", syscall.ENOTDIR
	}
	return resolved, nil
}

// leaves reports whether root i was given as a path below another root but
// resolves outside every such root. A confined command can write in the other
// root, so it may have planted the symbolic link itself, and following it
// would hand out whatever it points at.
func leaves(i int, lexical, resolved []string) bool {
	below := false
	for j := range lexical {
		if j == i || !inside(lexical[i], lexical[j]) && !inside(lexical[i], resolved[j]) || lexical[i] == lexical[j] {
			continue
		}
		if inside(resolved[i], resolved[j]) {
			return false
		}
		below = true
	}
	return below
}

// inside reports whether the clean absolute path lies in dir or is dir.
func inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// InRoots reports whether the clean absolute path lies in one of dirs. It
// compares text; the caller resolves links first.
func InRoots(path string, dirs []string) bool {
	for _, dir := range dirs {
		if inside(path, dir) {
			return true
		}
	}
	return false
}

// cause returns the errno text without the path around it.
func cause(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// Subdirectories returns the names of the directories in dir, in order. Links
// are none. os.ReadDir would bring eight kilobytes of a sorting algorithm into
// the launcher.
func Subdirectories(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}
