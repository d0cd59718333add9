//go:build !linux

package main

import "errors"

// harden has nothing to do here: the descriptor limit is raised by the
// runtime, and there is no switch for memory access.
func harden() error { return nil }

// dieWithParent is a wish that only Linux grants.
func dieWithParent() error { return errors.New("--die-with-parent works on Linux only") }

// scrub has nothing to do: the environment block is not shown to others.
func scrub(string) {}
