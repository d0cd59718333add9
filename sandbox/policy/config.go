package policy

import (
	"slices"
)

// Config is what a caller asks for, in the words of the wire and the command
// line (decisions 17, 18 and 32). The zero value, plus one root, is the
// default of both.
type Config struct {
	Roots        []string // writable directories; "~" and relative paths are allowed
	GitDirs      []string // see [Policy.GitDirs]
	ReadDeny     []string // paths that must not be read; those that do not exist are ignored
	Unprotected  bool     // protect: false
	AllowRootFS  bool
	HostCaches   bool // caches: "host"
	Network      bool
	AllowedHosts []string
	HostsGiven   bool   // allowedHosts was present, if only empty
	EgressSocket string // unix socket of a proxy that the command reaches at EgressPort
	EgressPort   int    // 1 to 65535, with EgressSocket
	Env          []string
	Limits       Limits

	Home string // directory that "~" stands for; empty refuses such paths
	Dir  string // directory that relative paths start from; empty refuses them
}

// New checks c and makes a policy of it. It looks at the file system, since a
// root must exist and is resolved to its real path. Errors are of type
// [*RefusedError].
func New(c Config) (Policy, error) {
	var p Policy
	var err error
	if p.Roots, err = c.roots(); err != nil {
		return Policy{}, err
	}
	if p.GitDirs, err = c.gitDirs(); err != nil {
		return Policy{}, err
	}
	if p.ReadDeny, err = c.readDeny(); err != nil {
		return Policy{}, err
	}
	if p.Egress, err = egressOf(c); err != nil {
		return Policy{}, err
	}
	if p.Env, err = parseVars(c.Env); err != nil {
		return Policy{}, err
	}
	l := c.Limits
	if min(l.CPUSeconds, l.FileSizeBytes, l.Processes, l.AddressSpaceBytes) < 0 {
		return Policy{}, refuse(ReasonLimit, "a limit is negative")
	}
	p.Limits = l
	p.Unprotected, p.AllowRootFS, p.HostCaches = c.Unprotected, c.AllowRootFS, c.HostCaches
	return p, nil
}

func (c Config) roots() ([]string, error) {
	roots, lexical := make([]string, 0, len(c.Roots)), make([]string, 0, len(c.Roots))
	for _, root := range c.Roots {
		path, err := c.absolute(root)
		if err != nil {
			return nil, err
		}
		resolved, err := existingDir(path)
		if err != nil {
			return nil, refuse(ReasonRootMissing, "writable root %q does not exist: %s", root, cause(err))
		}
		if resolved == "/" && !c.AllowRootFS {
			return nil, refuse(ReasonRootFS, "writable root %q is the whole file system, which needs allowRootFs", root)
		}
		roots, lexical = append(roots, resolved), append(lexical, path)
	}
	for i := range roots {
		if leaves(i, lexical, roots) {
			return nil, refuse(ReasonSymlinkLeaves, "writable root %q lies in another root and leads out of it through a symbolic link", c.Roots[i])
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots), nil
}

func (c Config) gitDirs() ([]string, error) {
	var dirs []string
	for _, dir := range c.GitDirs {
		path, err := c.absolute(dir)
		if err != nil {
			return nil, err
		}
		resolved, err := existingDir(path)
		if err != nil || !isGitDir(resolved) {
			return nil, refuse(ReasonGitDir, "%q is not a git directory", dir)
		}
		dirs = append(dirs, resolved)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// readDeny resolves the paths to hide. A path that does not exist hides
// nothing and is dropped: a deny-list names what may be there on some machine.
func (c Config) readDeny() ([]string, error) {
	var paths []string
	for _, path := range c.ReadDeny {
		abs, err := c.absolute(path)
		if err != nil {
			return nil, err
		}
		if resolved, err := realPath(abs); err == nil {
			paths = append(paths, resolved)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}
