package mount

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// Kind says what an [Entry] puts at its path.
type Kind uint8

// The kinds of entries.
const (
	Bind     Kind = iota // the same path of the host, writable
	ReadOnly             // the same path of the host, read-only
	Empty                // an empty read-only directory in place of the path
	Blank                // the null device in place of the file
	Dir                  // a directory made in a private temporary directory
	Reveal               // a file of the host, read-only, shown in a private directory
)

// Entry is one mount, or one directory, below the root.
type Entry struct {
	Kind Kind
	Path string
}

// Plan is the file system of a command. Entries apply in order, parents
// before children.
type Plan struct {
	// RootWritable leaves the whole file system writable (allowRootFs), except
	// for what later entries say.
	RootWritable bool
	// Private are directories replaced by empty temporary ones. /run hides the
	// sockets of docker, dbus and ssh agents; /tmp and /var/tmp are anyone's.
	Private []string
	Entries []Entry
}

// Host is what the plan needs to know of the machine.
type Host struct {
	// IsDir reports whether a path is a directory.
	IsDir func(path string) bool
	// TempDir is the command's TMPDIR, "" if unset.
	TempDir string
	// Resolver is the real path of resolv.conf when the network is open.
	Resolver string
}

// PrivateDirs are the directories of [Plan.Private].
func PrivateDirs() []string { return []string{"/tmp", "/var/tmp", "/run"} }

// New returns the plan for p.
func New(p policy.Policy, h Host) Plan {
	plan := Plan{RootWritable: slices.Contains(p.Roots, "/")}
	if plan.RootWritable {
		// Files in /sys belong to root and some of them start programs of the
		// host's (uevent_helper, release_agent).
		plan.add(ReadOnly, "/sys")
	} else {
		plan.Private = PrivateDirs()
	}
	writable := slices.Concat(p.Roots, p.GitDirs)
	slices.Sort(writable)
	for _, dir := range slices.Compact(writable) {
		if dir != "/" {
			plan.add(Bind, dir)
		}
	}
	if h.TempDir != "" && plan.hidden(h.TempDir) && !policy.InRoots(h.TempDir, writable) {
		plan.add(Dir, filepath.Clean(h.TempDir))
	}
	if h.Resolver != "" && plan.hidden(h.Resolver) {
		plan.add(Reveal, h.Resolver)
	}
	if !p.Unprotected {
		for _, protected := range policy.ProtectedPaths(p.Roots, p.GitDirs) {
			if protected.Pin {
				plan.add(Bind, protected.Path)
			} else {
				plan.add(ReadOnly, protected.Path)
			}
		}
	}
	for _, path := range p.ReadDeny {
		if !plan.Visible(path, writable) {
			continue
		}
		if h.IsDir(path) {
			plan.add(Empty, path)
		} else {
			plan.add(Blank, path)
		}
	}
	return plan
}

func (p *Plan) add(kind Kind, path string) {
	p.Entries = append(p.Entries, Entry{Kind: kind, Path: path})
}

// hidden reports whether path lies in a private directory.
func (p *Plan) hidden(path string) bool { return policy.InRoots(filepath.Clean(path), p.Private) }

// Visible reports whether the host's path can be seen by the command: it lies
// in no private directory, or in a writable directory bound over one. A
// directory that holds such a binding is visible too, though it is another
// one.
func (p *Plan) Visible(path string, writable []string) bool {
	return !p.hidden(path) || policy.InRoots(path, writable)
}

// Hides reports whether the command sees nothing of the directory path: it is
// hidden by a private directory or an empty one.
func (p *Plan) Hides(path string, writable []string) bool {
	for _, e := range p.Entries {
		if e.Kind == Empty && policy.InRoots(path, []string{e.Path}) {
			return true
		}
	}
	if p.Visible(path, writable) {
		return false
	}
	for _, dir := range append(slices.Clone(writable), p.Private...) {
		if dir == path || strings.HasPrefix(dir, path+"/") {
			return false // made as a mount point
		}
	}
	return true
}

// BwrapArgs words the plan for bwrap.
//
// The order matters: the root first, then what lies on it; /dev and /proc
// after the root so that a writable root does not put the host's own over
// them. /proc becomes read-only as a whole: without capabilities over the
// host nothing in it is worth writing, and as uid 0 a good part of it, such as
// /proc/sys/kernel/core_pattern, belongs to the host's root.
func (p *Plan) BwrapArgs() []string {
	root := "--ro-bind"
	if p.RootWritable {
		root = "--bind"
	}
	args := []string{root, "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"}
	for _, dir := range p.Private {
		args = append(args, "--tmpfs", dir)
	}
	for _, e := range p.Entries {
		switch e.Kind {
		case Bind:
			args = append(args, "--bind", e.Path, e.Path)
		case ReadOnly, Reveal:
			args = append(args, "--ro-bind", e.Path, e.Path)
		case Empty:
			args = append(args, "--tmpfs", e.Path, "--remount-ro", e.Path)
		case Blank:
			args = append(args, "--ro-bind", "/dev/null", e.Path)
		case Dir:
			args = append(args, "--dir", e.Path)
		}
	}
	return args
}
