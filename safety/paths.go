package safety

import (
	"path"
	"strings"
)

// pathClass says why a path matters. Classes appear in canonical lines as
// "<class>" in front of the path.
type pathClass string

// The classes of unix paths.
const (
	classNone   pathClass = ""
	classRoot   pathClass = "root"   // the root directory
	classHome   pathClass = "home"   // a home directory or a top-level entry of one
	classSystem pathClass = "sys"    // a system directory or something in one
	classVar    pathClass = "var"    // state, logs and caches that programs own
	classOut    pathClass = "out"    // elsewhere outside the working directory
	classCwd    pathClass = "cwd"    // all of the working directory
	classGit    pathClass = "git"    // the repository itself
	classDevice pathClass = "dev"    // a disk or memory device
	classAcct   pathClass = "acct"   // account, login, boot and scheduler files
	classKernel pathClass = "kernel" // kernel controls
	classSecret pathClass = "secret" // credentials
	classEnv    pathClass = "env"    // credentials inside a project
	classTmp    pathClass = "tmp"    // scratch space
	classNull   pathClass = "null"   // sinks and terminals
)

// matters reports whether a file of the class is outside what a project may
// change at will.
func (c pathClass) matters() bool {
	return c != classNone && c != classNull && c != classTmp && c != classCwd && c != classEnv
}

// joinPath resolves p against the working directory cwd. Home directories are
// kept as "~": they are cleaned as if they were at the root, except that their
// parent is /home.
func joinPath(cwd, p string) string {
	if p == "" {
		return cwd
	}
	if cwd != "" && p[0] != '/' && p[0] != '~' {
		p = cwd + "/" + p
	}
	if p[0] != '~' {
		return path.Clean(p)
	}
	out := path.Clean("/" + p)
	if strings.HasPrefix(out, "/~") {
		return out[1:]
	}
	return path.Clean("/home" + out)
}

// classify canonicalises an operand as a path and classes it.
func (e *engine) classify(p, cwd string) (pathClass, string) {
	if !looksLikePath(p, cwd) {
		return classNone, p
	}
	full := joinPath(cwd, p)
	base, wild := trimWildcard(full)
	class := e.classOf(base)
	if class == classCwd && wild && !strings.HasPrefix(path.Base(full), ".") {
		return classNone, p // every file of the project, but not the repository
	}
	if class == classNone {
		return classNone, p
	}
	return class, full
}

// looksLikePath spares plain words the work. Relative paths matter only when
// they leave or name the working directory, or hold credentials.
func looksLikePath(p, cwd string) bool {
	if p == "" || len(p) > 4096 {
		return false
	}
	if cwd != "" && cwd[0] != '.' || p[0] == '/' || p[0] == '~' || p[0] == '.' {
		return !strings.Contains(p, "://")
	}
	return strings.ContainsAny(p, "./_*") && !strings.Contains(p, "://")
}

// trimWildcard removes trailing components that match everything.
func trimWildcard(p string) (base string, wild bool) {
	for {
		dir, last := path.Split(p)
		if last == "" || strings.Trim(last, "*.?[]!") != "" || !strings.ContainsAny(last, "*?[") {
			return p, wild
		}
		wild = true
		switch dir {
		case "":
			return ".", true
		case "/":
			return "/", true
		}
		p = strings.TrimSuffix(dir, "/")
	}
}

// classOf classes a clean path without trailing wildcards.
func (e *engine) classOf(p string) pathClass {
	switch {
	case p == "/":
		return classRoot
	case p == ".":
		return classCwd
	case p == ".." || strings.HasPrefix(p, "../"):
		return classOut
	case p == "~" || strings.HasPrefix(p, "~"):
		return e.homeClass(p)
	case p[0] == '/':
		return e.absoluteClass(p)
	case p == ".git" || strings.HasSuffix(p, "/.git"):
		return classGit
	case e.isSecretName(path.Base(p)):
		return classEnv
	}
	return classNone
}

// homeClass classes what lies in a home directory. Entries right below it are
// as good as the home itself; deeper ones may well be a project.
func (e *engine) homeClass(p string) pathClass {
	_, rest, _ := strings.Cut(p, "/")
	return e.entryClass(rest)
}

// entryClass classes what has the path rest in a home directory.
func (e *engine) entryClass(rest string) pathClass {
	if name, ok := strings.CutPrefix(rest, ".ssh/"); ok && strings.IndexByte(name, '/') < 0 && isPublicSSH(name) {
		return classNone
	}
	for _, dir := range e.secretDirs {
		if isBelow(rest, dir) {
			return classSecret
		}
	}
	slash := strings.LastIndexByte(rest, '/')
	switch {
	case e.isSecretName(rest[slash+1:]):
		return classSecret
	case slash < 0:
		return classHome
	}
	return classNone
}

// isBelow reports whether p is dir or lies below it.
func isBelow(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// isPublicSSH recognises files of ~/.ssh that hold no secret.
func isPublicSSH(name string) bool {
	return strings.HasSuffix(name, ".pub") || strings.HasPrefix(name, "known_hosts") || name == "config"
}

// absoluteClass classes an absolute path.
func (e *engine) absoluteClass(p string) pathClass {
	for _, rule := range e.pathRules {
		if rule.match(p) {
			return rule.class
		}
	}
	top, rest, nested := strings.Cut(p[1:], "/")
	switch {
	case top == "root":
		return e.entryClass(rest)
	case top == "home" || top == "Users":
		if !nested {
			return classSystem
		}
		return e.homeClass(rest)
	case len(top) == 1 && nested && strings.IndexByte(rest, '/') < 0: // a drive of Windows, as Git Bash spells it
		return classSystem
	case e.systemDirs[top] || e.globsSystem(top):
		return classSystem
	case e.varDirs[top]:
		return classVar
	case e.isSecretName(path.Base(p)):
		return classSecret
	case !nested:
		return classOut
	}
	return classNone
}

// globsSystem reports whether a pattern such as "e?c" matches the name of a
// system directory.
func (e *engine) globsSystem(name string) bool {
	if !strings.ContainsAny(name, "*?[") {
		return false
	}
	for dir := range e.systemDirs {
		if globMatch(name, dir) {
			return true
		}
	}
	return false
}

// isSecretName recognises files that hold credentials by their name alone.
func (e *engine) isSecretName(name string) bool {
	if e.secretNames[name] {
		return true
	}
	if strings.HasPrefix(name, ".env.") {
		return !strings.HasSuffix(name, ".example") && !strings.HasSuffix(name, ".sample") && !strings.HasSuffix(name, ".template")
	}
	return strings.HasSuffix(name, ".pem") || strings.HasPrefix(name, "id_rsa") && !strings.HasSuffix(name, ".pub")
}

// pathRule gives a class to a path.
type pathRule struct {
	prefix string
	class  pathClass
	// exact rules do not cover what lies below the path; glob rules are
	// patterns of whole paths and of what lies below.
	exact, glob bool
}

// match reports whether the rule covers p.
func (r pathRule) match(p string) bool {
	switch {
	case r.exact:
		return p == r.prefix
	case r.glob:
		return strings.HasPrefix(p, "/dev/") && globMatch(r.prefix, p)
	}
	return isBelow(p, r.prefix)
}
