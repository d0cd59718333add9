package policy

import (
	"slices"
	"strings"
)

// defaultNames are the variables a confined command inherits (decision 32);
// names that start with "LC_" are added to them.
func defaultNames() []string {
	return []string{"PATH", "HOME", "USER", "SHELL", "TERM", "LANG", "TZ", "TMPDIR"}
}

// neverPass reports whether a variable carries authority of the sidecar's own
// processes. A confined command that held the control token could widen its
// own egress, so not even an explicit entry lets it through.
func neverPass(name string) bool {
	return strings.HasPrefix(name, "STEERABLE_") &&
		(strings.Contains(name, "TOKEN") || strings.Contains(name, "SECRET") || strings.HasSuffix(name, "_KEY"))
}

// parseVars reads NAME and NAME=VALUE entries.
func parseVars(entries []string) ([]Var, error) {
	var vars []Var
	for _, entry := range entries {
		name, value, set := strings.Cut(entry, "=")
		if !validName(name) {
			return nil, refuse(ReasonEnvironment, "%q is not a variable name", name)
		}
		if neverPass(name) {
			return nil, refuse(ReasonEnvironment, "%s is never passed to a confined command", name)
		}
		if strings.Contains(value, "\x00") {
			return nil, refuse(ReasonControlCharacter, "the value of %s holds a NUL byte", name)
		}
		vars = append(vars, Var{Name: name, Value: value, Set: set})
	}
	return vars, nil
}

// validName is POSIX's portable form, plus lower case: npm_config_cache.
func validName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// Scrub returns the environment of a confined command: the allow-listed
// variables of environ, then p's own, later entries winning. environ has the
// form of os.Environ and is not changed.
func Scrub(environ []string, p Policy) []string {
	passed := defaultNames()
	for _, v := range p.Env {
		if !v.Set {
			passed = append(passed, v.Name)
		}
	}
	var env []string
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if ok && (slices.Contains(passed, name) || strings.HasPrefix(name, "LC_")) {
			env = append(env, entry)
		}
	}
	for _, v := range p.Env {
		if v.Set {
			env = SetVar(env, v.Name, v.Value)
		}
	}
	return env
}

// SetVar returns env with name set to value, replacing any earlier entry.
func SetVar(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(entry string) bool {
		return strings.HasPrefix(entry, name+"=")
	})
	return append(env, name+"="+value)
}

// Lookup returns the last value of name in env, and whether there is one.
func Lookup(env []string, name string) (string, bool) {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}
