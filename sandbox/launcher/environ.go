package launcher

import (
	"path/filepath"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// cacheVars are the variables that move package caches, with the directory
// each gets below the temporary one.
func cacheVars() [][2]string {
	return [][2]string{
		{"npm_config_cache", "npm-cache"},
		{"GOCACHE", "go-build"},
		{"GOMODCACHE", "go-mod"},
		{"PIP_CACHE_DIR", "pip-cache"},
	}
}

// withTemp returns the command's environment for a rung whose writable
// temporary directory is temp. A TMPDIR that the command may write stays;
// any other would only make mktemp fail.
func (l *launch) withTemp(temp string, writable []string) []string {
	env := append([]string(nil), l.env...)
	dir, set := policy.Lookup(env, "TMPDIR")
	keep := set && filepath.IsAbs(dir) && policy.InRoots(filepath.Clean(dir), writable)
	switch {
	case keep:
	case set || temp != "/tmp":
		dir = temp
		env = policy.SetVar(env, "TMPDIR", dir)
		// zsh puts here-documents below TMPPREFIX, which is /tmp/zsh whatever
		// TMPDIR says.
		env = policy.SetVar(env, "TMPPREFIX", filepath.Join(dir, "zsh"))
	default:
		dir = temp
	}
	if l.policy.HostCaches {
		return env
	}
	for _, v := range cacheVars() {
		if _, given := policy.Lookup(env, v[0]); !given {
			env = policy.SetVar(env, v[0], filepath.Join(dir, v[1]))
		}
	}
	return env
}
