// Command steerable-sandbox runs one command confined by the operating system:
//
//	steerable-sandbox exec [flags] -- COMMAND…
//
// The verb is carried out while package launcher initialises; what reaches
// main is a command line that is none. See "steerable-sidecar sandbox exec" in
// the README for the flags, which are the same.
//
// The runtime does not look for the cgroup's processor limit: that takes longer
// than some of the commands, and nothing here is parallel enough to care.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"os"

	"github.com/steerable-go/sidecar/sandbox/launcher"
)

func main() { os.Exit(launcher.Main(os.Args)) }
