// Package spawn runs a fixed list of system calls in a forked child that
// never enters the Go runtime again.
//
// The launcher starts two processes before a command runs: a guardian that
// reaps and kills, and the command itself, which has to confine its own thread
// between fork and exec. Starting a Go program for each would cost about a
// millisecond apiece, more than the confinement. So both are described ahead
// of time as a [Program], a table of system calls with every pointer already
// prepared, and the child does nothing but walk that table.
//
// A child shares this process' memory (CLONE_VM), on a small stack of its own,
// with the locks of the Go runtime in whatever state the threads of this
// process have them. It therefore must not allocate, grow its stack, take a
// lock or be preempted. The code that runs there is in child_linux.go:
// functions marked nosplit, which call nothing but raw system calls. All
// signals are blocked across the clone, so no handler of the Go runtime can run
// in the child, and handlers are gone before a child unblocks them to exec.
//
// Where a process can only be made by executing a file, inside bwrap, a program
// becomes an image: such a file, made in memory, with the table at the address
// it has here and a few hundred bytes of code that walk it. See [NewImage].
package spawn
