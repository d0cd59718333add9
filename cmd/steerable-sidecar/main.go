// Command steerable-sidecar is the process that stands between a language
// model and a person's computer. Without a subcommand it serves JSON-RPC over
// standard input and output; see docs/protocol.md.
package main

import (
	"fmt"
	"io"
	"os"
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
	run     func(env environment, args []string) int
}

// commands lists the subcommands in the order in which help prints them.
func commands() []command {
	return []command{
		{name: "approvals", summary: "list, revoke and check stored answers", run: runApprovals},
		{name: "schema", summary: "write the JSON Schemas of the protocol to a directory", run: runSchema},
	}
}

func main() {
	env := environment{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	os.Exit(run(env, os.Args[1:]))
}

// run dispatches to a subcommand.
func run(env environment, args []string) int {
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name == args[0] {
				return c.run(env, args[1:])
			}
		}
	}
	return usage(env, "no subcommand given")
}

// usage prints one clear line and returns the exit code for wrong usage.
func usage(env environment, format string, args ...any) int {
	fmt.Fprintf(env.stderr, "steerable-sidecar: "+format+"\n", args...)
	return exitUsage
}
