package launcher

import (
	"os"
	"slices"
	"syscall"
)

// init confines and executes if the command line asks for it, and otherwise
// does nothing. It is the one init function of the project; docs/adr/0010
// says why.
//
//nolint:gochecknoinits // early start is the point, see docs/adr/0010
func init() {
	if verb, args, ok := match(os.Args); ok {
		exit(run(verb, args, syscall.Environ()))
	}
}

// verb is what the launcher was asked to do.
type verb uint8

const (
	verbExec verb = iota // run a command confined
	verbOld              // the reference's landlock_run command line
)

// referenceModule is the launcher module of the reference implementation,
// started as "python -m <module> flags -- command".
const referenceModule = "steerable_sidecar.landlock_run"

// match recognises the command lines that belong to the launcher, in whatever
// program it is linked into:
//
//	PROGRAM sandbox exec …
//	steerable-sandbox exec …
//	PROGRAM -m steerable_sidecar.landlock_run …
func match(args []string) (v verb, rest []string, ok bool) {
	starts := func(words ...string) bool {
		return len(args) > len(words) && slices.Equal(args[1:1+len(words)], words)
	}
	switch {
	case starts("sandbox", "exec"):
		return verbExec, args[3:], true
	case starts("exec") && base(args[0]) == "steerable-sandbox":
		return verbExec, args[2:], true
	case starts("-m", referenceModule):
		return verbOld, args[3:], true
	}
	return 0, nil, false
}

// base is the last element of a program's path, without an .exe ending.
func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if os.IsPathSeparator(path[i]) {
			path = path[i+1:]
			break
		}
	}
	if n := len(path) - len(".exe"); n > 0 && path[n:] == ".exe" {
		path = path[:n]
	}
	return path
}

// Exit statuses of the launcher itself.
const (
	exitWrapper  = 125 // the launcher could not do its work
	exitNotExec  = 126 // the command cannot be executed
	exitNotFound = 127 // the command was not found
)

// exit ends the process at once. The runtime's own exit would run nothing
// more, since nothing else has been initialised yet.
func exit(code int) { syscall.Exit(code) }

// Main is the body of the launcher program when its command line was none of
// those that are handled early. It prints what is known and returns the exit
// status of a failed wrapper.
func Main(args []string) int {
	if len(args) > 1 && slices.Contains([]string{"--help", "-help", "-h", "help"}, args[1]) {
		return help()
	}
	complain("usage: steerable-sandbox exec [flags] -- COMMAND…; --help lists the flags")
	return exitWrapper
}
