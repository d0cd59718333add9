package mount

import (
	"cmp"
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
	for _, dir := range p.Pinned() {
		if !policy.InRoots(dir, []string{"/dev", "/proc", "/sys"}) { // not the host's inside
			plan.add(Bind, dir)
		}
	}
	if h.TempDir != "" && plan.hidden(h.TempDir) && !policy.InRoots(h.TempDir, writable) {
		plan.add(Dir, filepath.Clean(h.TempDir))
	}
	if h.Resolver != "" && plan.hidden(h.Resolver) {
		plan.add(Reveal, h.Resolver)
	}
	plan.close(p, h, writable)
	plan.prune(writable)
	return plan
}

// close adds what a command must not write or read although it could.
func (p *Plan) close(asked policy.Policy, h Host, writable []string) {
	if !asked.Unprotected {
		for _, protected := range policy.ProtectedPaths(asked.Roots, asked.GitDirs) {
			if protected.Pin {
				p.add(Bind, protected.Path)
			} else {
				p.add(ReadOnly, protected.Path)
			}
		}
	}
	for _, path := range asked.ReadDeny {
		if !p.Visible(path, writable) {
			continue
		}
		if h.IsDir(path) {
			p.add(Empty, path)
		} else {
			p.add(Blank, path)
		}
	}
}

// prune drops what would open a closed directory again: all that lies in a
// hidden one, and in a read-only one what is only there to be pinned.
func (p *Plan) prune(writable []string) {
	var kept, around []Entry
	for _, e := range p.Entries {
		for len(around) > 0 && !policy.InRoots(e.Path, []string{around[len(around)-1].Path}) {
			around = around[:len(around)-1]
		}
		if n := len(around); n > 0 {
			closed := around[n-1]
			hidden := (closed.Kind == Empty || closed.Kind == Blank) && closed.Path != e.Path
			needless := closed.Kind == ReadOnly && e.Kind == Bind && !slices.Contains(writable, e.Path)
			if hidden || needless {
				continue
			}
		}
		kept, around = append(kept, e), append(around, e)
	}
	p.Entries = kept
}

// comparePaths orders paths so that everything in a directory follows it at
// once: the separator comes before every other byte.
func comparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// add puts an entry into its place: parents come before children, so that none
// covers another, and of several for one path the strictest comes last.
func (p *Plan) add(kind Kind, path string) {
	i := len(p.Entries)
	for ; i > 0; i-- {
		before := p.Entries[i-1]
		order := cmp.Or(comparePaths(before.Path, path), cmp.Compare(before.Kind, kind))
		if order == 0 {
			return
		}
		if order < 0 {
			break
		}
	}
	p.Entries = append(p.Entries, Entry{})
	copy(p.Entries[i+1:], p.Entries[i:])
	p.Entries[i] = Entry{Kind: kind, Path: path}
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
