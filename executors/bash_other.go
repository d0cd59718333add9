//go:build !unix

package executors

import "os/exec"

func ownGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}

func exitCode(exit *exec.ExitError) int { return exit.ExitCode() }
