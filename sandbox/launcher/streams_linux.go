package launcher

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// inspectStreams looks at the standard streams.
func (l *launch) inspectStreams(abi int) error {
	for fd := range stderr + 1 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); errors.Is(err, unix.EBADF) {
			continue
		} else if err != nil {
			return &wrapperError{what: "inspect standard stream " + itoa(fd), err: err}
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			// Everything below it could be named through it.
			return &wrapperError{what: "standard stream " + itoa(fd) + " is a directory"}
		case unix.S_IFSOCK:
			l.streams.lost |= socketLoss(fd)
		case unix.S_IFIFO:
			if named(fd) {
				l.streams.files = true
				l.streams.addMount(fd)
			}
		case unix.S_IFCHR:
			// The null device belongs to root, who is supervised anyway.
			l.streams.addMount(fd)
			l.streams.files = l.streams.files || st.Rdev != unix.Mkdev(1, 3)
			l.streams.addTerminal(fd)
		case unix.S_IFREG, unix.S_IFBLK:
			l.streams.files = true
			l.streams.addMount(fd)
			l.streams.lost |= l.fileLoss(fd, abi)
		default: // an anonymous one, which may stand for anything: a process, a filter, a virtual machine
			return &wrapperError{what: "standard stream " + itoa(fd) + " is neither a file nor a pipe, socket or terminal"}
		}
	}
	return nil
}

// addMount remembers the mount of a stream. Where the kernel does not tell it
// (before Linux 5.8), descriptors cannot be judged.
func (s *streams) addMount(fd int) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	if err != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		s.lost |= policy.DimMetadata
		return
	}
	s.mounts = append(s.mounts, st.Mnt_id)
}

// addTerminal remembers the path of a stream that is a terminal.
func (s *streams) addTerminal(fd int) {
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
		return
	}
	if path, err := streamPath(fd); err == nil {
		s.terminals = append(s.terminals, path)
	}
}

// streamPath is the kernel's text for a stream.
func streamPath(fd int) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink("/proc/self/fd/"+itoa(fd), buf[:])
	return string(buf[:max(n, 0)]), err
}

// named reports whether a fifo has a name, as those of pipe(2) do not.
func named(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) != nil || fs.Type != unix.PIPEFS_MAGIC
}

// socketLoss is what a socket undoes. A connected unix socket leads to one
// peer. Any other can be given a new one, or needs none to send.
func socketLoss(fd int) policy.Dimension {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	kind, errKind := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	switch {
	case errors.Join(err, errKind) != nil:
		return policy.DimEgress | policy.DimUnix
	case domain != unix.AF_UNIX:
		return policy.DimEgress
	case kind != unix.SOCK_STREAM && kind != unix.SOCK_SEQPACKET:
		return policy.DimUnix
	}
	if _, err := unix.Getpeername(fd); err != nil {
		return policy.DimUnix // it listens, or can be told to
	}
	return 0
}

// fileLoss is what a file undoes: it can be opened again for writing through
// /proc, on its own mount. Landlock forbids that, but not in a root.
func (l *launch) fileLoss(fd, abi int) policy.Dimension {
	if abi < ruleset.MinABI {
		return policy.DimWrites | policy.DimProtect
	}
	path, err := streamPath(fd)
	if err != nil {
		return policy.DimProtect
	}
	for _, p := range policy.ProtectedPaths(l.policy.Roots, l.policy.GitDirs) {
		if !p.Pin && policy.InRoots(path, []string{p.Path}) {
			return policy.DimProtect
		}
	}
	return 0
}

// namespaceMetadata reports whether the supervisor has to judge changes of
// metadata although mounts are read-only: where a stream is a file, and for
// root, who owns the device nodes that every /dev shares with the host's.
func (l *launch) namespaceMetadata() bool {
	return (l.streams.files || unix.Getuid() == 0) && !weakened(policy.DimMetadata)
}
