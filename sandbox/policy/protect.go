package policy

import (
	"os"
	"path/filepath"
)

// Protected is one path inside a writable directory that stays read-only.
type Protected struct {
	Path string
	// Pin marks a directory that stays writable but must not be renamed or
	// replaced, because protected paths lie in it: whoever could move .git
	// aside could put another one, with other hooks, in its place.
	Pin bool
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
		list = append(list, gitProtection(filepath.Join(root, ".git"), writable, true)...)
		for _, name := range startupFiles() {
			if path, ok := resolveIn(filepath.Join(root, name), writable); ok {
				list = append(list, Protected{Path: path})
			}
		}
	}
	for _, dir := range gitDirs {
		list = append(list, gitProtection(dir, writable, false)...)
	}
	return list
}

// gitProtection protects the parts of a git directory that make git run
// programs: hooks, the configuration (core.hooksPath, core.fsmonitor, filters,
// aliases), and those of submodules and worktrees. The rest stays writable,
// since committing writes index, objects, refs and logs.
func gitProtection(dir string, writable []string, pin bool) []Protected {
	resolved, ok := resolveIn(dir, writable)
	if !ok || !isGitDir(resolved) {
		return nil
	}
	var list []Protected
	if pin {
		list = append(list, Protected{Path: resolved, Pin: true})
	}
	if hooks := filepath.Join(resolved, "hooks"); !exists(hooks) {
		list = append(list, Protected{Path: hooks, Create: true})
	}
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "gitdir"} {
		if path, ok := resolveIn(filepath.Join(resolved, name), writable); ok {
			list = append(list, Protected{Path: path})
		}
	}
	for _, group := range []string{"modules", "worktrees"} {
		list = append(list, nestedGitDirs(filepath.Join(resolved, group), writable)...)
	}
	return list
}

// nestedGitDirs protects the git directories one level below dir.
func nestedGitDirs(dir string, writable []string) []Protected {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []Protected
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "gitdir"} {
			if path, ok := resolveIn(filepath.Join(dir, entry.Name(), name), writable); ok {
				list = append(list, Protected{Path: path})
			}
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

// NewcomersIn lists files that git would obey if they were there and that are
// not there now: nothing can be mounted on them, so they are to be removed when
// the command that made them has ended. commondir points git at another
// configuration and other hooks.
func NewcomersIn(roots, gitDirs []string) []string {
	var list []string
	for _, p := range ProtectedPaths(roots, gitDirs) {
		if !p.Pin {
			continue
		}
		for _, name := range []string{"commondir", "config", "config.worktree"} {
			if path := filepath.Join(p.Path, name); !exists(path) {
				list = append(list, path)
			}
		}
	}
	return list
}
