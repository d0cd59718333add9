package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Protected is one path inside a writable directory that stays read-only.
type Protected struct {
	Path string
	// Pin marks a directory that stays writable but must not be renamed or
	// replaced, because protected paths lie in it: whoever could move .git
	// aside could put another one, with other hooks, in its place.
	Pin bool
	// Between marks a pinned directory that is not git's, or holds only others'.
	Between bool
	// Create marks a directory that is made before it is protected. Only
	// hooks directories are: git itself creates them, and an empty one shows
	// in no status.
	Create bool
}

// startupFiles are names in a root that some program of the user's runs or
// obeys without asking. They are protected where they exist. Where they do
// not, nothing is put in their place: a placeholder shows up in git status
// and in the user's directory.
func startupFiles() []string {
	return []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".envrc",
		".gitconfig", ".gitmodules", ".ripgreprc", ".mcp.json",
		".vscode", ".idea", ".husky", ".claude", ".agents", ".codex", ".cursor",
		".steerable", ".ssh", ".aws", // in a home directory
	}
}

// ProtectedPaths lists what is protected below the given roots and git
// directories as the file system stands now, parents before children. A path
// that is a symbolic link is followed and protected at its target when that
// is writable at all; the link itself can still be replaced, which no bind
// mount can prevent.
func ProtectedPaths(roots, gitDirs []string) []Protected {
	writable := append(append([]string(nil), roots...), gitDirs...)
	var list []Protected
	for _, root := range roots {
		if root == "/" {
			continue // start-up files lie in home directories, not here
		}
		git := filepath.Join(root, ".git")
		list = append(list, gitFileProtection(git, writable)...)
		list = append(list, gitProtection(git, writable, true)...)
		if isGitDir(root) { // a bare repository
			list = append(list, gitProtection(root, writable, false)...)
		}
		for _, name := range startupFiles() {
			if path, ok := resolveIn(filepath.Join(root, name), writable); ok {
				list = append(list, Protected{Path: path})
			}
		}
	}
	for _, dir := range gitDirs {
		list = append(list, gitProtection(dir, writable, false)...)
	}
	return append(list, ownPrograms(writable)...)
}

// ownPrograms protects the running program and those beside it, where they are
// installed in a writable directory: whoever could replace them would confine
// the next command.
func ownPrograms(writable []string) []Protected {
	own, err := os.Executable()
	if err != nil || slices.Contains(writable, "/") || !InRoots(own, writable) {
		return nil // with everything writable by request, this is as well
	}
	var list []Protected
	for _, name := range []string{filepath.Base(own), "steerable-sandbox", "steerable-sidecar", "steerable-egress-proxy"} {
		if path, ok := resolveIn(filepath.Join(filepath.Dir(own), name), writable); ok {
			list = append(append(list, ancestors(path, writable)...), Protected{Path: path})
		}
	}
	return list
}

// gitFileProtection protects a .git that is a file, as in worktrees and
// submodules: whoever could change it could point git at another directory.
// The one it names is protected like a directory of that name.
func gitFileProtection(path string, writable []string) []Protected {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	resolved, ok := resolveIn(path, writable)
	if !ok {
		return nil
	}
	list := []Protected{{Path: resolved}}
	dir, ok := gitFileTarget(resolved)
	if !ok {
		return list
	}
	target := gitProtection(dir, writable, true)
	if len(target) == 0 {
		return list
	}
	return slices.Concat(list, ancestors(target[0].Path, writable), target)
}

// ancestors pins the directories between a writable one and path.
func ancestors(path string, writable []string) []Protected {
	var list []Protected
	for dir := filepath.Dir(path); InRoots(dir, writable) && !slices.Contains(writable, dir); dir = filepath.Dir(dir) {
		list = append(list, Protected{Path: dir, Pin: true, Between: true})
	}
	slices.Reverse(list)
	return list
}

// gitFileTarget returns the directory that a .git file names.
func gitFileTarget(path string) (string, bool) {
	const maxGitFile = 8 << 10
	text, err := readFile(path, maxGitFile)
	if err != nil {
		return "", false
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok || dir == "" || strings.ContainsFunc(dir, isControl) {
		return "", false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	return dir, true
}

// gitProtection protects the parts of a git directory that make git run
// programs: hooks, the configuration (core.hooksPath, core.fsmonitor, filters,
// aliases), and those of submodules and worktrees. The rest stays writable,
// since committing writes index, objects, refs and logs.
//
// What is there is protected whether or not git would accept the directory:
// one command may take HEAD away, and the next one put it back.
func gitProtection(dir string, writable []string, pin bool) []Protected {
	resolved, ok := resolveIn(dir, writable)
	if !ok {
		return nil
	}
	var list []Protected
	if hooks := filepath.Join(resolved, "hooks"); isGitDir(resolved) && !exists(hooks) {
		list = append(list, Protected{Path: hooks, Create: true})
	}
	list = append(list, gitPrograms(resolved, writable)...)
	list = append(list, gitConfigured(resolved, writable)...)
	for _, group := range []string{"modules", "worktrees"} {
		list = append(list, gitGroup(filepath.Join(resolved, group), writable)...)
	}
	if pin && len(list) > 0 {
		list = prepend(Protected{Path: resolved, Pin: true}, list)
	}
	return list
}

// maxNested bounds how many paths are protected one by one below a git
// directory. Each is a mount, or three arguments of bwrap, which takes 9000.
const maxNested = 1500

// gitGroup protects the git directories of submodules or worktrees. Where there
// are too many, nothing in all of them can be written: that is more than was
// asked for, and never less.
func gitGroup(dir string, writable []string) []Protected {
	resolved, ok := resolveIn(dir, writable)
	if !ok {
		return nil
	}
	list := nestedGitDirs(resolved, writable, nestedDepth)
	if len(list) > maxNested {
		return []Protected{{Path: resolved}}
	}
	return list
}

// nestedDepth is how many directories deep the git directories of submodules
// are looked for: their names may hold slashes, and they may have submodules.
const nestedDepth = 4

// nestedGitDirs protects the git directories below dir, and pins them and what
// lies between.
func nestedGitDirs(dir string, writable []string, depth int) []Protected {
	names, err := Subdirectories(dir)
	if err != nil || depth == 0 {
		return nil
	}
	var list []Protected
	for _, name := range names {
		path := filepath.Join(dir, name)
		inner := gitPrograms(path, writable)
		below := path
		if len(inner) > 0 {
			inner = prepend(Protected{Path: path, Pin: true}, inner)
			below = filepath.Join(path, "modules")
		}
		list = append(append(list, inner...), nestedGitDirs(below, writable, depth-1)...)
	}
	if len(list) > 0 && !isGitDir(dir) {
		list = prepend(Protected{Path: dir, Pin: true, Between: true}, list)
	}
	return list
}

func prepend(first Protected, list []Protected) []Protected {
	return append([]Protected{first}, list...)
}

// gitPrograms protects what makes git run programs, as far as it is there.
func gitPrograms(dir string, writable []string) []Protected {
	var list []Protected
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "gitdir"} {
		if path, ok := resolveIn(filepath.Join(dir, name), writable); ok {
			list = append(list, Protected{Path: path})
		}
	}
	return list
}

// resolveIn resolves path and reports whether it exists and is writable by
// policy. What lies outside every writable directory is read-only anyway.
func resolveIn(path string, writable []string) (string, bool) {
	if !exists(path) {
		return "", false // the usual case, and much cheaper than resolving
	}
	resolved, err := realPath(path)
	if err != nil || !InRoots(resolved, writable) {
		return "", false
	}
	return resolved, true
}

// isGitDir recognises a git directory as git does: HEAD, objects and refs.
// A worktree's own directory has HEAD and commondir instead.
func isGitDir(dir string) bool {
	if !exists(filepath.Join(dir, "HEAD")) {
		return false
	}
	return exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs")) ||
		exists(filepath.Join(dir, "commondir"))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Pinned lists the directories of p that a command must not move or remove
// although it can write in them: those between a writable directory and
// something below it that has rules of its own, which is another writable
// directory or a path that must not be read. Rules are made for paths anew for
// every call. Whoever could move the directory around one would find the same
// files beside the rule in the next call, and could make others in their place.
func (p Policy) Pinned() []string {
	writable := slices.Concat(p.Roots, p.GitDirs)
	var list []string
	for _, path := range slices.Concat(writable, p.ReadDeny) {
		for _, a := range ancestors(path, writable) {
			list = append(list, a.Path)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// NewcomersIn lists files that git would obey if they were there and that are
// not there now: nothing can be mounted on them, so they are to be removed when
// the command that made them has ended. commondir points git at another
// configuration and other hooks.
//
// misled says that one is there which nothing but a command puts there: a git
// directory with objects of its own has no commondir.
func NewcomersIn(roots, gitDirs []string) (list []string, misled bool) {
	dirs := slices.Clone(gitDirs)
	for _, root := range roots {
		if isGitDir(root) { // a bare repository
			dirs = append(dirs, root)
		}
	}
	for _, p := range ProtectedPaths(roots, gitDirs) {
		if p.Pin && !p.Between {
			dirs = append(dirs, p.Path)
		}
	}
	for _, dir := range dirs {
		for _, name := range []string{"commondir", "config", "config.worktree"} {
			if path := filepath.Join(dir, name); !exists(path) && !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
		misled = misled || exists(filepath.Join(dir, "commondir")) && exists(filepath.Join(dir, "objects"))
	}
	return list, misled
}
