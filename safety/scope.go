package safety

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// defaultIFS is the field separator a shell starts with.
const defaultIFS = " \t\n"

// scope is the part of a shell's state that changes what commands mean.
type scope struct {
	vars       map[string]value
	positional []word
	funcs      map[string]*syntax.Stmt
	aliases    map[string]string
	// files maps a file written in this line to what went into it.
	files map[string]*output
	// cwd is the working directory: empty for the one the line started in,
	// else a canonical path.
	cwd string
	// stdin is what exec redirected the input to.
	stdin *output
	// netFD says that a network connection is open on some descriptor.
	netFD bool
	// calls counts function calls in progress, against recursion.
	calls int
}

// newScope returns the state at the start of a line.
func newScope() *scope { return &scope{} }

// fork copies the state for a subshell, whose changes are lost.
func (sc *scope) fork() *scope {
	out := *sc
	out.vars = maps.Clone(sc.vars)
	return &out
}

// ifs is the current field separator.
func (sc *scope) ifs() string {
	if v, ok := sc.vars["IFS"]; ok {
		return v.text()
	}
	return defaultIFS
}

// set assigns a variable.
func (sc *scope) set(name string, v value) {
	if sc.vars == nil {
		sc.vars = map[string]value{}
	}
	sc.vars[name] = v
}

// shadowed is a variable that an assignment in front of a command hides.
type shadowed struct {
	name string
	old  value
	set  bool
}

// restore ends the assignments in front of a command.
func (sc *scope) restore(hidden []shadowed) {
	for _, h := range slices.Backward(hidden) {
		if h.set {
			sc.vars[h.name] = h.old
		} else {
			delete(sc.vars, h.name)
		}
	}
}

// element is an array with one more element. Where it goes is not looked at.
func (sc *scope) element(name string, v value) value {
	if old := sc.vars[name]; len(old.fields) < maxWords {
		v.fields = append(slices.Clip(old.fields), v.fields...)
	}
	return v
}

// lookup returns the value of a parameter, if it is known.
func (sc *scope) lookup(name string) (value, bool) {
	if v, ok := sc.vars[name]; ok {
		return v, true
	}
	one := func(text string) (value, bool) { return value{fields: []word{{text: text}}}, true }
	switch name {
	case "@", "*":
		return value{fields: sc.positional}, sc.positional != nil
	case "HOME":
		return one("~")
	case "PWD":
		if sc.cwd == "" {
			return one(".")
		}
		return one(sc.cwd)
	case "IFS":
		return one(defaultIFS)
	case "TMPDIR":
		return one("/tmp")
	case "SHELL", "BASH":
		return one("/bin/bash")
	}
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n <= len(sc.positional) {
		return value{fields: sc.positional[n-1 : n]}, true
	}
	return value{}, false
}

// write records what a file holds from here on.
func (sc *scope) write(name string, o output, add bool) {
	if name == "" {
		return
	}
	if sc.files == nil {
		sc.files = map[string]*output{}
	}
	key := fileKey(name)
	if old := sc.files[key]; add && old != nil {
		joined := *old
		joined.join(o)
		o = joined
	}
	sc.files[key] = &o
}

// read returns what a file written in this line holds.
func (sc *scope) read(name string) (output, bool) {
	if len(sc.files) == 0 {
		return output{}, false
	}
	if o := sc.files[fileKey(name)]; o != nil {
		return *o, true
	}
	return output{}, false
}

// fileKey makes "./x" and "x" the same file.
func fileKey(name string) string { return strings.TrimPrefix(name, "./") }

// cd changes the working directory.
func (sc *scope) cd(dir string) {
	if dir == "" {
		dir = "~"
	}
	sc.cwd = joinPath(sc.cwd, dir)
}
