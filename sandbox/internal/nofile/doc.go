// Package nofile remembers the limit on open files that this process was
// started with.
//
// Package syscall raises the soft limit to the hard one when it initialises,
// and only the process-starting functions of the standard library undo that.
// The launcher execs by itself, and a command that suddenly sees a limit of
// half a million closes descriptors for seconds or refuses to start. So this
// package imports nothing at all, which makes it the first to initialise:
// since Go 1.21 packages initialise in the order of their import paths as soon
// as what they import is done. The one system call it needs is in assembly.
package nofile
