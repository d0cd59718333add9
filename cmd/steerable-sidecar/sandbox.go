package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/launcher"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// runSandbox handles "sandbox describe". "sandbox exec" has been carried out
// before main began, by package launcher; what arrives here as exec is a
// command line without anything after the verb.
func runSandbox(env environment, args []string) int {
	if len(args) == 0 {
		return usage(env, "sandbox needs a verb: exec or describe")
	}
	switch args[0] {
	case "describe":
		return describeSandbox(env, args[1:])
	case "exec":
		return launcher.Main(args)
	}
	return usage(env, "unknown verb %q; sandbox has exec and describe", args[0])
}

// exitUnconfined is the launcher's status for what could not be confined as
// required.
const exitUnconfined = 125

// describeSandbox prints what a command with these flags would be confined by.
func describeSandbox(env environment, args []string) int {
	if asksHelp(args) {
		_, _ = io.WriteString(env.stdout, sandboxUsage)
		return exitOK
	}
	command, err := policy.ParseFlags(args)
	switch {
	case err != nil:
		return usage(env, "%v", err)
	case command.Help:
		_, _ = io.WriteString(env.stdout, sandboxUsage)
		return exitOK
	case len(command.Argv) > 0 || slices.Contains(args, "--"):
		return usage(env, "sandbox describe runs no command, and takes none")
	case command.Script != "" || command.Shell != "" || command.Unlink:
		return usage(env, "sandbox describe runs no script, and takes none")
	case command.Unsupervised:
		// Probes are made with the supervisor: the answer would be too good.
		return usage(env, "sandbox describe does not know what --supervise off gives up; exec --json reports it")
	}
	return describeCommand(env, command)
}

// describeCommand prints what a command with a parsed line of flags would be
// confined by, or that it would be refused.
func describeCommand(env environment, command policy.Command) int {
	dir, err := os.Getwd()
	if err != nil {
		return usage(env, "working directory: %v", err)
	}
	command.Config.Dir, command.Config.Home = dir, env.getenv("HOME")
	p, err := policy.New(command.Config)
	if err != nil {
		return usage(env, "%v", err)
	}
	report := policy.NoBackend()
	backend, err := sandboxHost(env).Select(context.Background(), p, command.Backend)
	switch {
	case err == nil:
		report = backend.Report()
	case !errors.Is(err, sandbox.ErrNoBackend):
		fmt.Fprintf(env.stderr, "steerable-sidecar: %v\n", err)
		return exitFailed
	}
	if what := report.Shortfall(command.Require); what != "" {
		// What exec says, and the status it ends with.
		fmt.Fprintf(env.stderr, "steerable-sandbox: %s\n", what)
		return exitUnconfined
	}
	if command.JSON {
		return printJSON(env, report)
	}
	printReport(env.stdout, report)
	return exitOK
}

// sandboxHost returns the host whose launcher lies beside this program, or is
// this program.
func sandboxHost(env environment) *sandbox.Host {
	opts := sandbox.Options{Env: []string{"PATH=" + env.getenv("PATH"), "HOME=" + env.getenv("HOME")}}
	if exe, err := os.Executable(); err == nil {
		opts.Executable = exe
	}
	if home := env.getenv("HOME"); home != "" {
		opts.RunDir = filepath.Join(home, ".steerable", "run")
	}
	return sandbox.NewHost(opts)
}

func printJSON(env environment, report sandbox.Report) int {
	if err := json.NewEncoder(env.stdout).Encode(report); err != nil {
		fmt.Fprintf(env.stderr, "steerable-sidecar: %v\n", err)
		return exitFailed
	}
	return exitOK
}

func printReport(w io.Writer, r sandbox.Report) {
	fmt.Fprintf(w, "backend      %s\nenforcement  %s\n", r.Backend, r.Enforcement)
	for _, name := range r.NotEnforced {
		fmt.Fprintf(w, "not enforced %s\n", name)
	}
	if r.ABI > 0 {
		fmt.Fprintf(w, "landlock ABI %d\n", r.ABI)
	}
}
