package mount

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// native appends mount calls to a program.
type native struct {
	*spawn.Program

	private []string
}

// nested reports whether the nearest entry around path binds a directory. Then
// path is cloned from there once that is in place, with what lies on it by then.
// In any other place the host's own mount has become read-only or hidden by
// that time.
func (p *Plan) nested(path string) bool {
	nested := false
	for _, e := range p.Entries {
		if e.Path == path {
			break
		}
		if policy.InRoots(path, []string{e.Path}) {
			nested = e.Kind == Bind
		}
	}
	return nested
}

// noFlags is an absent pointer or empty flag word.
func noFlags() spawn.Arg { return spawn.Val(0) }

// cwd is AT_FDCWD as an argument.
func cwd() spawn.Arg { return spawn.Val(unix.AT_FDCWD) }

// Append adds to prog the calls that build the plan in a fresh mount
// namespace, in which the process has every capability. They need Linux 5.12
// (mount_setattr).
//
// Sources are cloned first, while everything is still where the host has it;
// then the root becomes read-only with all mounts below it; then the clones,
// which that does not touch, are moved back into place.
func (p *Plan) Append(prog *spawn.Program) {
	n := native{Program: prog, private: append([]string{"/dev"}, p.Private...)}
	n.Call("make mounts private", syscall.SYS_MOUNT, []spawn.Arg{
		noFlags(), n.String("/"), noFlags(), spawn.Val(syscall.MS_REC | syscall.MS_PRIVATE), noFlags(),
	})
	clones := map[string]*spawn.Slot{}
	for _, e := range p.Entries {
		if e.Kind == Bind && !p.nested(e.Path) || e.Kind == Reveal {
			clones[e.Path] = n.cloneReal(e.Path)
		}
	}
	devices := map[string]*spawn.Slot{}
	for _, name := range deviceNames() {
		devices[name] = n.clone("/dev/" + name)
	}
	if !p.RootWritable {
		n.setAttr("make the root read-only", cwd(), "/", unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	}
	n.proc()
	n.dev(devices)
	for _, dir := range p.Private {
		n.tmpfs(dir, "mode=1777")
	}
	for _, e := range p.Entries {
		n.entry(e, clones[e.Path])
	}
}

func (n *native) entry(e Entry, clone *spawn.Slot) {
	switch e.Kind {
	case Bind:
		if clone == nil {
			clone = n.clone(e.Path) // see nested
		}
		n.mountPoint(e.Path)
		n.bind(e.Path, clone, 0)
	case ReadOnly:
		n.bind(e.Path, n.clone(e.Path), unix.MOUNT_ATTR_RDONLY)
	case Reveal:
		n.mountPoint(filepath.Dir(e.Path))
		n.file(e.Path)
		n.bind(e.Path, clone, unix.MOUNT_ATTR_RDONLY)
	case Empty:
		n.tmpfs(e.Path, "mode=0555")
		n.setAttr("close "+e.Path, cwd(), e.Path, 0, unix.MOUNT_ATTR_RDONLY)
	case Blank:
		n.bind(e.Path, n.clone("/dev/null"), unix.MOUNT_ATTR_RDONLY)
	case Dir:
		n.mountPoint(filepath.Join(e.Path, "."))
	}
}

// clone copies the mounts at path into a detached tree.
func (n *native) clone(path string) *spawn.Slot {
	s := new(spawn.Slot)
	n.Call("open_tree "+path, unix.SYS_OPEN_TREE, []spawn.Arg{
		cwd(), n.String(path), spawn.Val(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE),
	}, spawn.Into(s))
	return s
}

// cloneReal is clone for a path without symbolic links, as it was when the
// policy was made. If somebody has put one there since, it fails: the link could
// lead to anything, and the host's mounts can still be written at this point.
func (n *native) cloneReal(path string) *spawn.Slot {
	fd, s := new(spawn.Slot), new(spawn.Slot)
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	n.Call("open "+path, unix.SYS_OPENAT2, []spawn.Arg{
		cwd(), n.String(path), spawn.Pointer(n.Program, how), spawn.Val(unix.SizeofOpenHow),
	}, spawn.Into(fd))
	n.Call("open_tree "+path, unix.SYS_OPEN_TREE, []spawn.Arg{
		spawn.Result(fd), n.String(""), spawn.Val(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_EMPTY_PATH),
	}, spawn.Into(s))
	n.Call("close "+path, syscall.SYS_CLOSE, []spawn.Arg{spawn.Result(fd)})
	return s
}

// bind attaches a clone at path with extra mount attributes. Device nodes and
// set-id bits mean nothing below a directory that a command can write.
func (n *native) bind(path string, clone *spawn.Slot, attrs uint64) {
	if !strings.HasPrefix(path, "/dev/") && attrs&unix.MOUNT_ATTR_RDONLY == 0 {
		attrs |= unix.MOUNT_ATTR_NODEV
	}
	n.setAttr("restrict "+path, spawn.Result(clone), "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attrs|unix.MOUNT_ATTR_NOSUID)
	n.Call("move_mount "+path, unix.SYS_MOVE_MOUNT, []spawn.Arg{
		spawn.Result(clone), n.String(""), cwd(), n.String(path), spawn.Val(unix.MOVE_MOUNT_F_EMPTY_PATH),
	})
}

func (n *native) setAttr(what string, dir spawn.Arg, path string, flags uint, set uint64) {
	attr := &unix.MountAttr{Attr_set: set}
	n.Call(what, unix.SYS_MOUNT_SETATTR, []spawn.Arg{
		dir, n.String(path), spawn.Val(flags), spawn.Pointer(n.Program, attr), spawn.Val(unix.MOUNT_ATTR_SIZE_VER0),
	})
}

func (n *native) mount(fstype, path string, flags uintptr, data string) {
	n.Call("mount "+path, syscall.SYS_MOUNT, []spawn.Arg{
		n.String(fstype), n.String(path), n.String(fstype), spawn.Val(flags), n.String(data),
	})
}

func (n *native) tmpfs(path, data string) {
	n.mount("tmpfs", path, syscall.MS_NOSUID|syscall.MS_NODEV, data)
}

// proc puts a read-only /proc of the new pid namespace in place.
func (n *native) proc() {
	n.mount("proc", "/proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	n.setAttr("make /proc read-only", cwd(), "/proc", 0, unix.MOUNT_ATTR_RDONLY)
}

// deviceNames are the nodes of a minimal /dev that are bound from the host's.
func deviceNames() []string {
	return []string{"null", "zero", "full", "random", "urandom", "tty"}
}

// dev builds a minimal /dev: nodes, the descriptor links, terminals of its
// own and a private /dev/shm.
func (n *native) dev(devices map[string]*spawn.Slot) {
	n.mount("tmpfs", "/dev", syscall.MS_NOSUID, "mode=0755")
	for _, name := range deviceNames() {
		path := "/dev/" + name
		n.file(path)
		n.bind(path, devices[name], 0)
	}
	for _, link := range [][2]string{
		{"/proc/self/fd", "/dev/fd"},
		{"/proc/self/fd/0", "/dev/stdin"},
		{"/proc/self/fd/1", "/dev/stdout"},
		{"/proc/self/fd/2", "/dev/stderr"},
		{"/proc/kcore", "/dev/core"},
		{"pts/ptmx", "/dev/ptmx"},
	} {
		n.Call("symlink "+link[1], unix.SYS_SYMLINKAT, []spawn.Arg{n.String(link[0]), cwd(), n.String(link[1])})
	}
	n.mkdir("/dev/pts")
	n.mkdir("/dev/shm")
	n.mount("devpts", "/dev/pts", syscall.MS_NOSUID|syscall.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
	n.tmpfs("/dev/shm", "mode=1777")
}

// file creates an empty file to mount on.
func (n *native) file(path string) {
	fd := new(spawn.Slot)
	n.Call("create "+path, syscall.SYS_OPENAT, []spawn.Arg{
		cwd(), n.String(path), spawn.Val(syscall.O_CREAT | syscall.O_WRONLY | syscall.O_CLOEXEC), spawn.Val(0o444),
	}, spawn.Into(fd))
	n.Call("close "+path, syscall.SYS_CLOSE, []spawn.Arg{spawn.Result(fd)})
}

func (n *native) mkdir(path string) {
	n.Call("mkdir "+path, syscall.SYS_MKDIRAT, []spawn.Arg{
		cwd(), n.String(path), spawn.Val(0o755),
	}, spawn.Accept(syscall.EEXIST))
}

// mountPoint makes the directories of path that lie in a private directory.
// Elsewhere the path exists already.
func (n *native) mountPoint(path string) {
	for _, dir := range n.missing(path) {
		n.mkdir(dir)
	}
}

// missing lists the directories from below a private directory down to path.
func (n *native) missing(path string) []string {
	var dirs []string
	for dir := path; dir != "/" && !slices.Contains(n.private, dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if slices.Contains(n.private, filepath.Dir(dir)) {
			slices.Reverse(dirs)
			return dirs
		}
	}
	return nil
}

// MapIDs returns the content of uid_map or gid_map that maps id to itself.
func MapIDs(id int) string {
	s := strconv.Itoa(id)
	return s + " " + s + " 1\n"
}
