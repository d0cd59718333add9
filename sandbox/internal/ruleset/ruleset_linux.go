package ruleset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// ABI returns the Landlock ABI of the running kernel, 0 without Landlock.
func ABI() int {
	v, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Layout says what a rule set grants beside reading.
type Layout struct {
	// Writable are directories, by paths without symbolic links. One that is
	// missing, or has become a link, is an error.
	Writable []string
	// HostDevices says that /dev is the host's own. Then reading is granted
	// for every top-level entry but /dev, where only the usual files are:
	// root and members of the group "disk" could read raw disks otherwise.
	HostDevices bool
	// Terminals are the terminals that the command was given. Where /dev is the
	// host's own, no other is granted: they are those of the user's other
	// programs, whose input could be read and typed over.
	Terminals []string
	// ConnectPort restricts TCP connect to one port on any address. It is the
	// nearest thing to pinning an endpoint that Landlock can express. 0 does
	// not restrict.
	ConnectPort uint16
}

// DeviceFiles are the devices a command may use: those of a minimal /dev.
func DeviceFiles() []string {
	return []string{
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
	}
}

// New returns the descriptor of a rule set for the given ABI, which must be at
// least [MinABI]. The caller restricts a thread with it and closes it.
func New(abi int, l Layout) (fd int, err error) {
	if abi < MinABI {
		return -1, fmt.Errorf("landlock ABI %d is older than %d: %w", abi, MinABI, syscall.ENOSYS)
	}
	access := func(r Rights) landlock.AccessFSSet { return landlock.AccessFSSet(r & handled(abi)) }
	writable, closeAll, err := openAll(l.Writable)
	if err != nil {
		return -1, err
	}
	defer closeAll()
	rules := []landlock.Rule{
		landlock.PathAccess(access(Writable(abi)), writable...),
		landlock.PathAccess(access(device(abi)), slices.Concat(DeviceFiles(), l.Terminals)...).IgnoreIfMissing(),
	}
	if l.HostDevices {
		tops, err := topLevel("/")
		if err != nil {
			return -1, err
		}
		rules = append(rules,
			landlock.PathAccess(access(readDir), "/"),
			landlock.PathAccess(access(readable()), tops.dirs...).IgnoreIfMissing(),
			landlock.PathAccess(access(readFile|execute), tops.files...).IgnoreIfMissing())
	} else {
		rules = append(rules,
			landlock.PathAccess(access(readable()), "/"),
			landlock.PathAccess(access(Terminals(abi)), "/dev/pts").IgnoreIfMissing())
	}
	config := landlock.Config{HandledAccessFS: access(handled(abi)), Scoped: landlock.ScopedSet(scopes(abi))}
	if l.ConnectPort != 0 {
		config.HandledAccessNet = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP | unix.LANDLOCK_ACCESS_NET_BIND_TCP
		rules = append(rules, landlock.ConnectTCP(l.ConnectPort))
	}
	fd, _, err = config.NewRulesetFD(rules...)
	if err != nil {
		return -1, fmt.Errorf("create landlock rule set: %w", err)
	}
	return fd, nil
}

// RealPath is how to open a path without symbolic links.
func RealPath() unix.OpenHow {
	return unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
}

// OpenReal opens a path without symbolic links, as it was when the policy was
// made. If somebody has put one there since, it fails: the link could lead to
// anything. The descriptor only names the file (O_PATH).
func OpenReal(path string) (fd int, err error) {
	how := RealPath()
	fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// openAll opens directories and returns paths that name the open ones, whatever
// becomes of their own.
func openAll(dirs []string) (paths []string, closeAll func(), err error) {
	var fds []int
	closeAll = func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
	for _, dir := range dirs {
		fd, err := OpenReal(dir)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("grant writing: %w", err)
		}
		fds, paths = append(fds, fd), append(paths, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	return paths, closeAll, nil
}

// NewScope returns a rule set that restricts nothing but signals: a process
// in it can signal only processes that descend from it. It needs [ScopeABI].
//
// Every layer of rule sets takes away moving files between directories unless
// it grants that right itself (LANDLOCK_ACCESS_FS_REFER, "denied by default"),
// so this one handles the right only to grant it everywhere.
func NewScope() (fd int, err error) {
	config := landlock.Config{HandledAccessFS: refer, Scoped: scopeSignal}
	fd, _, err = config.NewRulesetFD(landlock.PathAccess(refer, "/"))
	if err != nil {
		return -1, fmt.Errorf("create landlock scope: %w", err)
	}
	return fd, nil
}

// entries are directory entries by kind.
type entries struct{ dirs, files []string }

// topLevel lists dir without "dev". Links are skipped: access is judged at
// their targets.
func topLevel(dir string) (entries, error) {
	f, err := os.Open(dir)
	if err != nil {
		return entries{}, fmt.Errorf("list a directory: %w", err)
	}
	defer func() { _ = f.Close() }()
	list, err := f.ReadDir(-1)
	if err != nil {
		return entries{}, fmt.Errorf("list a directory: %w", err)
	}
	var e entries
	for _, entry := range list {
		path := filepath.Join(dir, entry.Name())
		switch {
		case path == "/dev" || entry.Type()&os.ModeSymlink != 0:
		case entry.IsDir():
			e.dirs = append(e.dirs, path)
		case entry.Type().IsRegular():
			e.files = append(e.files, path)
		}
	}
	return e, nil
}

// PathBeneath is struct landlock_path_beneath_attr: packed, 12 bytes. It is
// used where a rule can only be added by a child, for a directory that exists
// in its mount namespace alone.
type PathBeneath struct {
	access [2]uint32
	Parent int32 // O_PATH descriptor of the directory
}

// NewPathBeneath returns a rule whose directory is still to be filled in.
func NewPathBeneath(r Rights) *PathBeneath {
	p := &PathBeneath{}
	*(*[8]byte)(unsafe.Pointer(&p.access)) = *(*[8]byte)(unsafe.Pointer(&r))
	return p
}
