//go:build linux && (amd64 || arm64)

package spawn

// cloneOnStack makes a process that shares this one's memory and runs
// childMain(c) on a stack of its own. Sharing memory is what makes it cheap:
// nothing is copied, neither now nor at the next write to every page. nr is the
// system call, clone with flags and stack or clone3 with [cloneArgs] and their
// size. It returns the pid, or a negative error number. Assembly, since the
// child must not return into a frame that its parent goes on using.
//
//go:noescape
func cloneOnStack(nr, first, second uintptr, c *childArgs) int64
