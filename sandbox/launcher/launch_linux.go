package launcher

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/mount"
	_ "github.com/steerable-go/sidecar/sandbox/internal/prefault" // for its initialisation
	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// errUnsupported says that a rung cannot work on this kernel. With --backend
// auto the next one is tried.
var errUnsupported = errors.New("not available here")

// machine is what the rungs need to know of the running system.
type machine struct {
	arch seccomp.Arch
	abi  int // Landlock's, 0 without
}

// run confines and runs the command with the first rung that works. A rung is
// given up only while nothing of the command has run.
func (l *launch) run() (code int, err error) {
	// The parent-death signal of children follows the thread that made them
	// (golang/go#27505). While packages initialise this is the main thread,
	// which lives as long as the process.
	runtime.LockOSThread()
	arch, ok := seccomp.Host()
	if !ok {
		return 0, &wrapperError{what: "no system call table for " + runtime.GOARCH}
	}
	m := machine{arch: arch, abi: ruleset.ABI()}
	if !weakened(policy.DimDescriptors) {
		if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
			return 0, &wrapperError{what: "close descriptors", err: err}
		}
	}
	l.children = childrenOf(itoa(os.Getpid()))
	if l.caught, err = catchSignals(); err != nil {
		return 0, err
	}
	if err := l.inspectStreams(m.abi); err != nil {
		return 0, err
	}
	if err := l.openScript(); err != nil {
		return 0, err
	}
	if err := l.checkSocket(); err != nil {
		return 0, err
	}
	var failures []string
	for _, rung := range rungs() {
		if l.command.Backend != policy.BackendAuto && l.command.Backend != rung.name {
			continue
		}
		code, err := l.attempt(m, rung)
		var start *startError
		if !errors.As(err, &start) {
			return code, err
		}
		failures = append(failures, rung.name+": "+start.Error())
	}
	if failures == nil {
		failures = []string{"backend " + l.command.Backend + " does not exist here"}
	}
	return 0, &wrapperError{what: strings.Join(failures, "; ")}
}

// rung is one step of the ladder.
type rung struct {
	name  string
	start func(*launch, machine) (*session, error)
}

func rungs() []rung {
	return []rung{
		{policy.BackendBwrap, (*launch).startBwrap},
		{policy.BackendNative, (*launch).startNative},
		{policy.BackendLandlock, (*launch).startLandlock},
	}
}

// startError is a rung that did not come up. The command has not run.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// attempt runs the command with one rung.
func (l *launch) attempt(m machine, r rung) (int, error) {
	s, err := r.start(l, m)
	if _, ok := errors.AsType[*commandError](err); ok {
		return 0, err // no rung finds what is not there
	}
	if err != nil {
		return 0, &startError{err: err}
	}
	defer s.close()
	s.name = l.command.Argv[0]
	w, err := l.whileItStarts(s)
	defer w.cleaner.dismiss()
	report := policy.Assess(r.name, m.abi, s.applied&^(l.streams.lost|w.lost), l.policy)
	if err == nil {
		err = s.handshake(l.caught)
	}
	if err == nil {
		err = l.checkReport(report)
	}
	if err == nil {
		err = l.protect()
	}
	if err == nil {
		err = w.cleaner.ready()
	}
	if err != nil {
		s.abandon()
		if end, ok := errors.AsType[*signalError](err); ok {
			return 128 + int(end.signal), nil
		}
		return 0, err
	}
	defer removeNewcomers(w.newcomers)
	if l.capable {
		s.disarm(sync.OnceValue(dropCapabilities))
	}
	return s.serve(l.caught)
}

// watch is what git would obey and what is done about it.
type watch struct {
	newcomers []string
	cleaner   *cleaner // nil without newcomers
	lost      policy.Dimension
}

// whileItStarts does what has to be done before the command runs and can be
// done beside its confinement, which takes longer.
func (l *launch) whileItStarts(s *session) (w watch, err error) {
	w.newcomers, w.lost = l.newcomers()
	s.spared = l.children
	if len(w.newcomers) > 0 {
		if w.cleaner, err = startCleaner(w.newcomers, s.pid); err != nil {
			return w, err
		}
		s.spared = append(slices.Clip(s.spared), w.cleaner.pid)
	}
	if l.command.Backend == policy.BackendAuto {
		return w, nil // another rung may follow, and need what protect gives up
	}
	return w, l.protect()
}

// protect takes from the launcher what the command could use it for. Nobody
// traces it or reads its memory and environment, which still hold what the
// command must not see, and this thread, which waits and tidies up, has no
// capability any more. The others lose theirs before they do anything for the
// command, see [dropCapabilities].
func (l *launch) protect() error {
	if l.protected {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return &wrapperError{what: "protect the launcher", err: err}
	}
	had, err := dropOwnCapabilities()
	if err != nil {
		return &wrapperError{what: "drop capabilities", err: err}
	}
	l.capable = had
	l.protected = true
	return nil
}

// newcomers are files whose creation undermines protected ones. One that is
// there already has done so.
func (l *launch) newcomers() (paths []string, lost policy.Dimension) {
	if l.policy.Unprotected {
		return nil, 0
	}
	paths, misled := policy.NewcomersIn(l.policy.Roots, l.policy.GitDirs)
	if misled {
		return paths, policy.DimProtect
	}
	return paths, 0
}

// checkSocket demands that the unix socket of a pinned endpoint exists, so
// that a missing proxy is a clear failure and not a refused connection.
func (l *launch) checkSocket() error {
	path := l.policy.Egress.Socket
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return &wrapperError{what: "egress socket", err: err}
	}
	if info.Mode()&os.ModeSocket == 0 {
		return &wrapperError{what: "egress socket " + path + " is not a socket"}
	}
	return nil
}

// plan lays out the file system of the namespace rungs and makes the hooks
// directories that a repository lacks.
func (l *launch) plan() (mount.Plan, error) {
	p := l.policy
	if weakened(policy.DimProtect) {
		p.Unprotected = true
	}
	if weakened(policy.DimReadDeny) {
		p.ReadDeny = nil
	}
	if !p.Unprotected {
		for _, protected := range policy.ProtectedPaths(p.Roots, p.GitDirs) {
			if protected.Create {
				if err := makeHooks(protected.Path); err != nil {
					return mount.Plan{}, err
				}
			}
		}
	}
	temp, _ := policy.Lookup(l.env, "TMPDIR")
	h := mount.Host{TempDir: temp, IsDir: isDir}
	if !p.Pinnable() {
		h.Resolver = resolver()
	}
	plan := mount.New(p, h)
	if weakened(policy.DimWrites) || weakened(policy.DimMetadata) {
		plan.RootWritable = true
	}
	if plan.Hides(l.cwd, l.writable()) {
		return mount.Plan{}, &wrapperError{what: "working directory " + l.cwd + " is not visible inside the sandbox"}
	}
	return plan, nil
}

// resolver is the real path of resolv.conf, which may be a link into /run.
func resolver() string {
	link, err := os.Readlink("/etc/resolv.conf")
	if err != nil {
		return ""
	}
	if !strings.HasPrefix(link, "/") {
		link = "/etc/" + link
	}
	var buf [unix.PathMax]byte
	fd, err := unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Readlink("/proc/self/fd/"+itoa(fd), buf[:])
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// writable are the directories of the policy that a command may write.
func (l *launch) writable() []string { return slices.Concat(l.policy.Roots, l.policy.GitDirs) }

// namespaceWritable are the writable directories as Landlock sees them inside
// the namespaces.
func (l *launch) namespaceWritable() []string {
	if weakened(policy.DimWrites) {
		return []string{"/"}
	}
	return l.writable()
}

// privateDirs are the writable directories of a namespace rung that exist in
// its mount namespace alone.
func privateDirs(plan mount.Plan) []string {
	if len(plan.Private) == 0 {
		return []string{"/dev/shm"}
	}
	return []string{"/tmp", "/var/tmp", "/dev/shm"}
}

// socketDirs are the directories whose unix sockets belong to the command.
// The whole file system is none, however writable it is: sockets of other
// processes lie in it.
func (l *launch) socketDirs(private []string) []string {
	if weakened(policy.DimUnix) {
		return []string{"/"}
	}
	dirs := slices.Concat(l.writable(), private)
	return slices.DeleteFunc(dirs, func(dir string) bool { return dir == "/" })
}

// find resolves the command's name as execvp would, in env's PATH. There may
// be several: inside, the first ones may be hidden.
func find(name string, env []string) ([]string, error) {
	if strings.Contains(name, "/") {
		return []string{name}, nil
	}
	var paths []string
	path, ok := policy.Lookup(env, "PATH")
	if !ok {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	found := error(syscall.ENOENT)
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "."
		}
		candidate := dir + "/" + name
		info, err := os.Stat(candidate)
		switch {
		case err != nil || info.IsDir():
		case unix.Access(candidate, unix.X_OK) != nil:
			found = syscall.EACCES
		default:
			paths = append(paths, candidate)
		}
	}
	if paths == nil {
		return nil, commandFailure(name, found)
	}
	return paths, nil
}

// commandFailure gives a failed exec the status a shell gives it.
func commandFailure(name string, err error) error {
	code := exitNotExec
	if errors.Is(err, syscall.ENOENT) {
		code, err = exitNotFound, errors.New("command not found")
	}
	return &commandError{name: name, code: code, err: err}
}
