// Command steerable-egress-proxy is a local, allow-listing egress proxy. It
// reads flags, secrets from the environment, and nothing else; --help lists
// the flags, docs/threat-model.md says what it defends.
//
// On stdout it prints the control port, if there is one, as
// EGRESS_CONTROL_PORT=<port>. On stderr it prints where it listens, warnings
// and errors. Exit codes: 0 after a signal, 1 when a port cannot be opened, 2
// for a configuration that must not be run with.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // to silence it: net/http writes to it
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// The exit codes; hosts take 2 for a mistake of theirs and 1 for bad luck.
const (
	exitOK     = 0
	exitFailed = 1
	exitConfig = 2
)

// environment is what the program may touch of the process.
type environment struct {
	stdout, stderr io.Writer
	// secret returns a variable and makes the process forget it.
	secret func(name string) string
	// harden keeps other processes of the user out of this one's memory.
	harden func() error
}

func main() {
	// net/http tells the standard logger what an upstream sent out of turn;
	// hosts take each line on stderr for one of ours.
	log.SetOutput(io.Discard)
	// A host that no longer reads our output is no reason to drop its tunnels.
	signal.Ignore(syscall.SIGPIPE)
	env := environment{stdout: os.Stdout, stderr: os.Stderr, secret: newVault().take, harden: harden}
	os.Exit(run(env, os.Args[1:]))
}

// run is the whole program.
func run(env environment, args []string) int {
	f, err := parseFlags(args)
	switch {
	case errors.Is(err, errHelp):
		_, _ = io.WriteString(env.stdout, usage())
		return exitOK
	case err != nil:
		return fail(env, exitConfig, err)
	case f.version:
		_, _ = fmt.Fprintln(env.stdout, "steerable-egress-proxy", version())
		return exitOK
	}
	p, err := f.build(env)
	if err != nil {
		return fail(env, exitConfig, err)
	}
	defer p.close()
	if f.check {
		_, _ = io.WriteString(env.stdout, describe(p.server.Policy()))
		return exitOK
	}
	if err := env.harden(); err != nil {
		return fail(env, exitFailed, err)
	}
	if f.dieWithParent {
		if err := dieWithParent(); err != nil {
			return fail(env, exitFailed, err)
		}
	}
	ctx, stop := signals()
	defer stop()
	if err := p.serve(ctx, env); err != nil {
		return fail(env, exitFailed, err)
	}
	return exitOK
}

// fail prints one line, whatever the error holds.
func fail(env environment, code int, err error) int {
	_, _ = fmt.Fprintln(env.stderr, "error:", oneLine(err.Error()))
	return code
}

// signals returns a context that ends with the first SIGTERM or SIGINT; the
// second ends the process at once.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGINT)
	go func() { // ends with the process
		<-ch
		cancel()
		<-ch
		os.Exit(exitFailed)
	}()
	return ctx, cancel
}

// version is what the build recorded.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
