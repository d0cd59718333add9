// Command steerable-sidecar is the process that stands between a language
// model and a person's computer. Without a subcommand it serves JSON-RPC over
// standard input and output; see docs/protocol.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// Exit codes, after sysexits.h where it has a word for them.
const (
	exitOK     = 0
	exitFailed = 1  // the work itself failed
	exitUsage  = 2  // wrong flags or arguments
	exitConfig = 78 // a configuration that must not be run with (EX_CONFIG)
)

// environment is what a subcommand may touch of the process.
type environment struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
}

// command is one subcommand.
type command struct {
	name    string
	summary string
	help    string // printed for --help
	run     func(env environment, args []string) int
}

// commands lists the subcommands in the order in which help prints them.
func commands() []command {
	return []command{
		{name: "demo", summary: "play a turn with the scripted model and show it", help: demoUsage, run: runDemo},
		{name: "version", summary: "print the version, as JSON with --json", help: versionUsage, run: runVersion},
		{name: "approvals", summary: "list, revoke and check stored answers", help: approvalsUsage, run: runApprovals},
		{name: "schema", summary: "write the JSON Schemas of the protocol to a directory", help: schemaUsage, run: runSchema},
		{name: "llm", summary: "ask a model server and show what came back", help: llmUsage, run: runLLM},
		{name: "authz", summary: "run the authorization pipeline on given inputs", help: authzUsage, run: runAuthz},
		{name: "audit", summary: "verify, show and prune audit chains, or print where one ends", help: auditUsage, run: runAudit},
		{name: "sandbox", summary: "run a command confined, or say what confines one", help: sandboxUsage, run: runSandbox},
		{name: "safety", summary: "grade shell commands, one or many", help: safetyUsage, run: runSafety},
	}
}

func main() {
	env := environment{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	os.Exit(run(env, os.Args[1:]))
}

// run dispatches to a subcommand; without one it serves.
func run(env environment, args []string) int {
	args, code, done := compat(env, args)
	if done {
		return code
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !isHelp(args[0]) {
		return serve(env, args)
	}
	if isHelp(args[0]) || args[0] == "help" {
		printHelp(env.stdout, args[1:])
		return exitOK
	}
	for _, c := range commands() {
		switch {
		case c.name != args[0]:
		case asksHelp(args[1:]):
			_, _ = io.WriteString(env.stdout, c.help)
			return exitOK
		default:
			return c.run(env, args[1:])
		}
	}
	return usage(env, "unknown command %q; --help lists the commands", args[0])
}

// usage prints one clear line and returns the exit code for wrong usage.
func usage(env environment, format string, args ...any) int {
	fmt.Fprintf(env.stderr, "steerable-sidecar: "+format+"\n", args...)
	return exitUsage
}

// flags returns a flag set that reports its errors as one line of ours.
func flags(name string) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	return set
}
