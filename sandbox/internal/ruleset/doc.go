// Package ruleset says in Landlock's terms where a command may write.
//
// Landlock grants by directory and never takes away again, so a rule set is a
// list of what remains possible: reading everywhere, writing in the writable
// directories, and a handful of device files. What it cannot say is not said
// here: changes of metadata, unix sockets by path, and network protocols other
// than TCP (https://docs.kernel.org/userspace-api/landlock.html, "Current
// limitations"). Those belong to mounts, namespaces, the system call filter
// and the supervisor.
//
// Rule sets are made by go-landlock's strict configuration for the rights that
// the running kernel has, never by its best-effort mode, which succeeds
// without restricting anything where Landlock is missing.
package ruleset
