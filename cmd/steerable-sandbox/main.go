// Command steerable-sandbox runs one command confined by the operating system:
//
//	steerable-sandbox exec [flags] -- COMMAND…
//
// The verb is carried out while package launcher initialises; what reaches
// main is a command line that is none. See "steerable-sidecar sandbox exec" in
// the README for the flags, which are the same.
package main

import (
	"os"

	"github.com/steerable-go/sidecar/sandbox/launcher"
)

func main() { os.Exit(launcher.Main(os.Args)) }
