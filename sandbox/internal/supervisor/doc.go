// Package supervisor answers the system calls that a filter cannot judge.
//
// A seccomp filter sees registers, not memory, so it cannot tell which address
// a connect goes to or which file a chmod names. Such calls are suspended by
// the kernel and sent here (seccomp user notification,
// https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html). The
// supervisor copies the arguments once, decides, and performs the call itself
// on its own duplicate of the caller's descriptor. It never lets the kernel
// continue a call that it decided: another thread of the caller could change the
// memory between the decision and the use.
//
//	connect   an allowed address, on a duplicate of the socket (pidfd_getfd)
//	listen    unix sockets only, where the command shares the host's network
//	chmod …   files in writable directories, through an O_PATH descriptor
//	open      the terminal whose master the caller holds; any other goes on to
//	          Landlock, which judges it whatever it has become by then
//
// What is answered, is answered with the caller's own authority: the
// supervisor has dropped every capability, so it can do no more than the
// command could if it were not confined. It is no process of the sandbox: the
// command can neither signal nor trace it.
//
// Paths are resolved from the caller's root directory with magic links
// refused. /proc/self in the supervisor's hands would be the supervisor.
package supervisor
