package launcher

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// run carries out one of the early verbs and returns the exit status.
func run(v verb, args, environ []string) int {
	switch v {
	case verbOld:
		args = translate(args)
	case verbExec:
	}
	l, err := prepare(args, environ)
	switch {
	case errors.Is(err, errHelp):
		return help()
	case err != nil:
		return failed(err)
	}
	code, err := l.run()
	if err != nil {
		return failed(err)
	}
	return code
}

// translate turns the reference's flags (--root, --network, --) into ours.
// There, network is a switch, /tmp is writable whatever the roots are, and
// nothing inside a root is protected.
func translate(args []string) []string {
	out := []string{
		"--backend", policy.BackendLandlock, "--protect=off", "--caches", "host",
		"--root", "/tmp", "--root", "/var/tmp",
	}
	for i, arg := range args {
		switch arg {
		case "--network":
			out = append(out, "--network", "on")
		case "--":
			return append(out, args[i:]...)
		default:
			out = append(out, arg)
		}
	}
	return out
}

// launch is one command on its way into the sandbox.
type launch struct {
	command policy.Command
	policy  policy.Policy
	environ []string // of the launcher
	env     []string // of the command, before a rung adjusts it
	cwd     string
	script  int // descriptor of the script, -1 if there is none
	caught  int // descriptor of the signals that arrive
	// children were there before: those of a shell that became the launcher.
	children []int

	streams   streams
	protected bool // see protect
	capable   bool // threads other than the main one may have capabilities
}

// streams is what the standard streams mean for the confinement. They are the
// only descriptors a command inherits, and they belong to neither its mounts
// nor its namespaces: a file lies on the host's writable mount, and an IP
// socket in the host's network, whatever the rung put in their place.
type streams struct {
	// files says that metadata could be changed through one of them.
	files bool
	// mounts are the ids of the mounts those files lie on.
	mounts []uint64
	// terminals are the paths of those that are terminals.
	terminals []string
	// lost cannot be promised to a command that holds them.
	lost policy.Dimension
}

// errHelp says that the command line asks for help.
var errHelp = errors.New("help")

// help prints what there is to know.
func help() int {
	say("usage: steerable-sandbox exec [flags] (-- COMMAND… | --script FILE|-)\n" +
		"       steerable-sidecar sandbox exec [flags] (-- COMMAND… | --script FILE|-)\n\n" +
		"Runs one command confined and exits as it does, or with 125 and one line on\n" +
		"standard error if it could not be confined.\n\n" + policy.FlagsHelp + policy.ScriptHelp)
	return 0
}

// prepare reads the command line and checks everything that does not depend on
// a rung.
func prepare(args, environ []string) (*launch, error) {
	command, err := policy.ParseArgs(args)
	if err != nil {
		return nil, err
	}
	if command.Help || len(args) == 1 && args[0] == "-h" {
		return nil, errHelp
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, &wrapperError{what: "working directory", err: err}
	}
	home, _ := policy.Lookup(environ, "HOME")
	command.Config.Home, command.Config.Dir = home, cwd
	p, err := policy.New(command.Config)
	if err != nil {
		return nil, err
	}
	l := &launch{command: command, policy: p, environ: environ, cwd: cwd, script: -1}
	l.env = policy.Scrub(environ, p)
	if weakened(policy.DimEnvironment) {
		l.env = slices.Clone(environ)
	}
	return l, nil
}

// wrapperError is a failure of the launcher.
type wrapperError struct {
	what string
	err  error
}

func (e *wrapperError) Error() string {
	if e.err == nil {
		return e.what
	}
	return e.what + ": " + e.err.Error()
}

func (e *wrapperError) Unwrap() error { return e.err }

// commandError is a command that could not be executed: its own failure, with
// a shell's exit status.
type commandError struct {
	name string
	code int
	err  error
}

func (e *commandError) Error() string { return e.name + ": " + e.err.Error() }
func (e *commandError) Unwrap() error { return e.err }

// failed prints the one line of a failure and returns the exit status.
func failed(err error) int {
	complain(err.Error())
	if command, ok := errors.AsType[*commandError](err); ok {
		return command.code
	}
	return exitWrapper
}

// line is text made fit for one line: what a path or a kernel put into an
// error message must not start a second one.
func line(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text))
}

// checkReport refuses to go on below what was required and prints the report
// if it was asked for. Nothing of the command has run when it is called.
func (l *launch) checkReport(r policy.Report) error {
	if what := r.Shortfall(l.command.Require); what != "" {
		return &wrapperError{what: what}
	}
	if l.command.JSON {
		report(append(r.AppendJSON(nil), '\n'))
	}
	return nil
}
