// Package seccomp assembles the system call filter of a confined command.
//
// A filter is a classic BPF program that the kernel runs on the number and
// the register arguments of each system call
// (https://docs.kernel.org/userspace-api/seccomp_filter.html). It cannot read
// memory, so it decides what registers show: which families of sockets exist,
// which calls reach into other processes or into the kernel. What needs a path
// or an address is handed to the supervisor by the notify action.
//
// The package is pure: it turns [Options] into instructions for an [Arch], on
// any operating system, so that filters of one architecture are tested on
// another. Loading one is the launcher's work.
//
// Filters are linear. That costs little: since Linux 5.11 the kernel keeps a
// bitmap of the calls a filter always allows without looking at arguments and
// does not run it for those.
package seccomp
