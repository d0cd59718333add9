package main

import (
	"fmt"
	"io"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// serveUsage is how the service is started.
const serveUsage = `steerable-sidecar serves desktop agents over standard input and output.

Usage:
  steerable-sidecar [flags]      serve
  steerable-sidecar COMMAND …

Flags:
  --log-level L          DEBUG, INFO (default), WARNING or ERROR
  --quiet-ready          no ready marker on standard error
  --storage-path FILE    accepted for hosts that pass it; no file is used
  --max-frame-bytes N    longest line that is read; default 16777216
  --safety-rules FILE    JSON array of the operator's command rules
  --sandbox-backend B    what confines commands: auto (default) or a backend
  --with-bash            offer the in-process tool bash

Commands:
`

// demoUsage is printed for --help.
const demoUsage = `usage: steerable-sidecar demo [flags]

Plays one turn with the scripted model through a second process of this program
and shows it: plain text in a pipe or with NO_COLOR.

  --frames       print the raw frames instead, < from the sidecar, > to it
  --approve      ask before each tool call; the end of input denies
  --authz MODE   off (default), observe or enforce: a script with a secret on
                 its way out and a command that cannot be undone
`

// versionUsage is printed for --help.
const versionUsage = `usage: steerable-sidecar version [--json]
`

// schemaUsage is printed for --help.
const schemaUsage = `usage: steerable-sidecar schema dump DIR

Writes the JSON Schemas of the protocol. DIR is made if the directory above it
exists; files of an earlier dump are replaced, others stay.
`

// sandboxUsage is printed for --help.
const sandboxUsage = `usage: steerable-sidecar sandbox exec [flags] (-- COMMAND… | --script FILE|-)
       steerable-sidecar sandbox describe [flags]

exec runs one command confined and exits as it does, or with 125 and one line on
standard error if it could not be confined; describe says what would confine it,
and with --require ends with 125 too if that is not enough.

` + policy.FlagsHelp + policy.ScriptHelp

// asksHelp reports whether arguments begin with a request for help.
func asksHelp(args []string) bool { return len(args) > 0 && isHelp(args[0]) }

func isHelp(arg string) bool { return arg == "-h" || arg == "--help" || arg == "-help" }

// printHelp prints the help of the named command, or of the program.
func printHelp(w io.Writer, args []string) {
	for _, c := range commands() {
		if len(args) > 0 && c.name == args[0] {
			_, _ = io.WriteString(w, c.help)
			return
		}
	}
	_, _ = io.WriteString(w, serveUsage)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
}
