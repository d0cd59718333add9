package approvals

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// workspaceAllows says that a call stays inside the workspace, and why. Any
// doubt is an answer of no: the only cost is a question.
//
// A backend must have been selected for this very call and enforce everything.
// A command is then judged by its confinement, not by its text, and must start
// inside. The tools that take paths run in the host, unconfined; for them every
// path must lead to a place inside, and the confinement keeps the commands of
// the turn from preparing a way out.
func workspaceAllows(req Request, command string) (string, bool) {
	p := req.Posture
	if p == nil || len(p.Roots) == 0 || !p.Full || p.Backend == "" || p.Backend == "none" {
		return "", false
	}
	if req.Shell {
		if mentionsSecret(command) || !p.startsInside(req) {
			return "", false
		}
		return "command stays inside the workspace sandbox", true
	}
	paths, write, ok := declaredPaths(req)
	if !ok {
		return "", false
	}
	for _, path := range paths {
		if !p.inside(path, write) {
			return "", false
		}
	}
	return "path is inside a writable project root", true
}

// startsInside reports whether the command's working directory is inside.
func (p *Posture) startsInside(req Request) bool {
	raw := req.argument("cwd")
	dir := p.Dir
	if !isNull(raw) {
		given, ok := stringOf(raw)
		if !ok {
			return false
		}
		if strings.TrimSpace(given) != "" {
			dir = given
		}
	}
	if dir == "" {
		return false
	}
	at, ok := p.locate(dir)
	return ok && at.info != nil && at.info.IsDir()
}

// declaredPaths returns the paths that a known file tool names, and whether it
// writes to them. Unknown tools and malformed arguments have none.
func declaredPaths(req Request) (paths []string, write, ok bool) {
	switch req.Tool {
	case "local_read_file", "view_image":
		path, ok := stringOf(req.argument("path"))
		return []string{path}, false, ok
	case "local_write_file", "local_edit_file":
		path, ok := stringOf(req.argument("path"))
		return []string{path}, true, ok
	case "present_files":
		return presentedPaths(req)
	}
	return nil, false, false
}

func presentedPaths(req Request) (paths []string, write, ok bool) {
	list, err := elements(req.argument("files"))
	if err != nil || len(list) == 0 {
		return nil, false, false
	}
	for _, file := range list {
		m, err := fields(file)
		if err != nil {
			return nil, false, false
		}
		path, isString := stringOf(m["path"])
		if !isString {
			return nil, false, false
		}
		paths = append(paths, path)
	}
	return paths, false, true
}

// inside reports whether a path leads to a regular file (or, for a write, to a
// file that could be made) inside the roots that is no secret.
func (p *Posture) inside(path string, write bool) bool {
	at, ok := p.locate(path)
	if !ok || isSecret(path) || isSecret(at.resolved) {
		return false
	}
	if write && (isHidden(at.relative) || isHidden(at.resolved)) {
		// Hooks, editor tasks and tool settings run code later, outside.
		return false
	}
	if at.info == nil {
		return write
	}
	return at.info.Mode().IsRegular() && !sharesInode(at.info)
}

// place is where a path leads.
type place struct {
	relative string      // below the root, as spelled
	resolved string      // below the root, links followed
	info     fs.FileInfo // nil if nothing is there yet
}

// locate follows a path from a root, component by component, and fails if it
// leaves the root at any of them; [os.Root] does the following. Spellings that
// tools expand or trim differently are not followed at all.
func (p *Posture) locate(path string) (place, bool) {
	if ambiguous(path) {
		return place{}, false
	}
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(p.Dir) {
			return place{}, false
		}
		path = filepath.Join(p.Dir, path)
	}
	for _, root := range p.Roots {
		if at, ok := locateBelow(root, path); ok {
			return at, true
		}
	}
	return place{}, false
}

// ambiguous reports whether a tool might take the path for another one:
// blanks at the ends, a home directory, a variable, a URL, or a parent
// directory, which means something else after a link than it seems to.
func ambiguous(path string) bool {
	return path == "" || strings.TrimSpace(path) != path || strings.HasPrefix(path, "~") ||
		strings.ContainsAny(path, "$%\x00\n\r") || strings.Contains(path, "://") ||
		slices.Contains(strings.FieldsFunc(path, isSeparator), "..")
}

func isSeparator(r rune) bool { return r == '/' || r == '\\' }

func locateBelow(root, path string) (place, bool) {
	base, err := filepath.EvalSymlinks(root)
	if err != nil || !filepath.IsAbs(root) || filepath.Dir(base) == base {
		return place{}, false
	}
	rel, ok := below(root, path)
	if !ok {
		if rel, ok = below(base, path); !ok {
			return place{}, false
		}
	}
	dir, err := os.OpenRoot(base)
	if err != nil {
		return place{}, false
	}
	defer func() { _ = dir.Close() }()
	info, err := dir.Stat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return place{relative: rel, resolved: rel}, canBeMade(dir, rel)
	}
	if err != nil {
		return place{}, false
	}
	followed, err := filepath.EvalSymlinks(filepath.Join(base, rel))
	if err != nil {
		return place{}, false
	}
	resolved, ok := below(base, followed)
	return place{rel, resolved, info}, ok
}

// below returns path relative to dir, if it is dir or below it as spelled.
func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// canBeMade reports whether a missing path would come to lie inside: it must
// not be a link to somewhere missing, and the nearest parent that exists must
// be a directory inside.
func canBeMade(dir *os.Root, rel string) bool {
	if _, err := dir.Lstat(rel); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for parent := filepath.Dir(rel); ; parent = filepath.Dir(parent) {
		info, err := dir.Stat(parent)
		switch {
		case err == nil:
			return info.IsDir()
		case !errors.Is(err, fs.ErrNotExist) || parent == ".":
			return false
		}
		if _, err := dir.Lstat(parent); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
}

// isHidden reports whether a component of a relative path starts with a dot.
func isHidden(rel string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(rel, isSeparator), func(part string) bool {
		return strings.HasPrefix(part, ".") && part != "."
	})
}

// foldCase is how names are compared: file systems that ignore case lead
// ".ENV" to the same secret, and on the others a question does no harm.
func foldCase(name string) string {
	if runtime.GOOS == "windows" {
		name = strings.TrimRight(name, ". ")
	}
	return strings.ToLower(name)
}
