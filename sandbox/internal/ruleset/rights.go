package ruleset

// Rights of the Landlock file system API, by the ABI that brought them
// (linux/landlock.h).
const (
	execute    = 1 << 0
	writeFile  = 1 << 1
	readFile   = 1 << 2
	readDir    = 1 << 3
	makeChar   = 1 << 6
	makeBlock  = 1 << 11
	refer      = 1 << 13 // ABI 2
	truncate   = 1 << 14 // ABI 3
	ioctlDev   = 1 << 15 // ABI 5
	firstRight = 1<<13 - 1

	scopeAbstract = 1 << 0 // ABI 6
	scopeSignal   = 1 << 1 // ABI 6
)

// MinABI is the oldest ABI a rung is built on. ABI 1 cannot express moving a
// file between two directories and ABI 2 cannot forbid truncate.
const MinABI = 3

// ScopeABI is the ABI that brought the scopes for signals and abstract unix
// sockets.
const ScopeABI = 6

// Rights is a set of file system rights.
type Rights uint64

// handled returns all rights the ABI knows, up to those this package was
// tested with. A newer kernel accepts the older set and behaves alike.
func handled(abi int) Rights {
	r := Rights(firstRight)
	if abi >= 2 {
		r |= refer
	}
	if abi >= 3 {
		r |= truncate
	}
	if abi >= 5 {
		r |= ioctlDev
	}
	return r
}

// scopes returns the scopes of the ABI.
func scopes(abi int) uint64 {
	if abi >= ScopeABI {
		return scopeAbstract | scopeSignal
	}
	return 0
}

// Writable returns the rights below a writable directory: all but device
// nodes, which as root would be the disk itself, and device ioctls.
func Writable(abi int) Rights {
	return handled(abi) &^ (makeChar | makeBlock | ioctlDev)
}

// readable returns the rights below a directory that is only read.
func readable() Rights { return execute | readFile | readDir }

// device returns the rights on a device file. Terminals need ioctls.
func device(abi int) Rights {
	return (readFile | writeFile | truncate | ioctlDev) & handled(abi)
}

// Terminals returns the rights below /dev/pts.
func Terminals(abi int) Rights { return device(abi) | readDir }
