package launcher

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/nofile"
	"github.com/steerable-go/sidecar/sandbox/internal/signals"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// bwrapPaths are the places where bwrap may be. PATH is not searched: whoever
// controls it would choose the sandbox.
func bwrapPaths() []string { return []string{"/usr/bin/bwrap", "/bin/bwrap"} }

// groupSignals are signals that whoever started the launcher may send to its
// whole process group. bwrap would die of them and take the command along
// before the command could react, so it ignores them; the image resets
// them.
func groupSignals() []syscall.Signal {
	return []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM}
}

// startBwrap starts bwrap, in it an image that confines itself, and in its
// place the command.
func (l *launch) startBwrap(m machine) (*session, error) {
	paths := bwrapPaths()
	i := slices.IndexFunc(paths, func(p string) bool { return unix.Access(p, unix.X_OK) == nil })
	if i < 0 {
		return nil, errUnsupported
	}
	plan, err := l.plan()
	if err != nil {
		return nil, err
	}
	bound, err := bindings(plan)
	if err != nil {
		return nil, err
	}
	private := privateDirs(plan)
	image, rules, err := l.bwrapImage(m, private)
	if err != nil {
		return nil, err
	}
	args := append([]string{"bwrap"}, l.bwrapFlags()...)
	args = append(args, plan.BwrapArgs()...)
	args = append(args, "--chdir", l.cwd, "--", "/proc/self/fd/"+itoa(fdImage))
	s, err := l.spawnBwrap(paths[i], args, image, rules)
	if err != nil {
		return nil, err
	}
	s.bound = bound
	carried := l.namespaceCarried(m)
	s.applied = l.namespaceDimensions() | carried
	if filterDimensions() != 0 {
		s.supervisor = l.namespaceSupervisor(m, private)
	}
	s.relay = l.namespaceRelay()
	return s, nil
}

// bwrapImage is the program that bwrap executes, and the rule set that it
// inherits. It is an image because bwrap can only execute, and a second start
// of this program would take longer than bwrap itself.
func (l *launch) bwrapImage(m machine, private []string) (image *spawn.Program, rules int, err error) {
	env := l.withTemp("/tmp", slices.Concat(l.namespaceWritable(), private))
	env = policy.SetVar(env, "PWD", l.cwd) // as bwrap does when it changes the directory
	image, err = spawn.NewImage(textSize(env) + textSize(l.command.Argv))
	if err != nil {
		return nil, -1, err
	}
	if rules, err = l.namespaceRules(m); err != nil {
		return nil, -1, err
	}
	c := &confinement{
		ruleset: -1, control: fdControl, limits: l.policy.Limits, script: -1, cwd: l.cwd, argv: l.command.Argv, env: env,
	}
	if rules >= 0 {
		c.ruleset = fdRules
	}
	if l.script >= 0 {
		c.script = fdText
	}
	for _, sig := range groupSignals() {
		if !signals.Ignored(sig) {
			c.defaults = append(c.defaults, sig)
		}
	}
	// From here on standard error is the command's, not bwrap's.
	image.Call("place standard error", unix.SYS_DUP3, []spawn.Arg{spawn.Val(fdStderr), spawn.Val(stderr), spawn.Val(0)})
	if port := l.policy.Egress.Port; port != 0 {
		pinnedListeners(image, fdControl, port)
	}
	return image, rules, l.confineInNamespaces(image, m, c, private)
}

// textSize is the space that list takes in an image.
func textSize(list []string) int {
	const overhead = 32 // NUL byte, alignment, address
	n := overhead
	for _, s := range list {
		n += len(s) + overhead
	}
	return n
}

// bwrapFlags are the flags that do not depend on the file system. Without
// --unshare-user, bwrap run by root makes no user namespace and the command
// keeps root's powers over the host's mounts.
func (l *launch) bwrapFlags() []string {
	flags := []string{
		"--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--die-with-parent",
	}
	if !weakened(policy.DimSignals) {
		flags = append(flags, "--unshare-pid")
	}
	if l.policy.Pinnable() && !weakened(policy.DimEgress) {
		flags = append(flags, "--unshare-net")
	}
	if port := l.policy.Egress.Port; port != 0 && port < firstUnprivileged {
		// For the listener inside; the command has no capability.
		flags = append(flags, "--cap-add", "CAP_NET_BIND_SERVICE")
	}
	return flags
}

// firstUnprivileged is the first port that needs no capability to bind.
const firstUnprivileged = 1024

// namespaceRelay is the relay for a pinned endpoint; its listeners come from
// inside.
func (l *launch) namespaceRelay() *relay {
	e := l.policy.Egress
	if e.Mode != policy.EgressPinned {
		return nil
	}
	return &relay{socket: e.Socket, port: e.Port}
}

// spawnBwrap forks and execs bwrap with the descriptors in their places.
func (l *launch) spawnBwrap(path string, args []string, image *spawn.Program, rules int) (*session, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	file, err := image.Image("confine", fdControl)
	if err != nil {
		return nil, err
	}
	if file, err = own(file); err != nil {
		return nil, err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	words, err := own(pipe[1])
	if err != nil {
		return nil, err
	}
	outer, err := unix.FcntlInt(stderr, unix.F_DUPFD_CLOEXEC, firstOwn)
	if err != nil {
		return nil, err
	}
	p := &spawn.Program{}
	parent := spawn.Slot(os.Getpid())
	childStart(p, ours, unix.SIGKILL, &parent)
	places := [][2]int{{theirs, fdControl}, {outer, fdStderr}, {file, fdImage}, {words, stderr}}
	if rules >= 0 {
		places = append(places, [2]int{rules, fdRules})
	}
	if l.script >= 0 {
		places = append(places, [2]int{l.script, fdText})
	}
	for _, place := range places {
		p.Call("place descriptors", unix.SYS_DUP3, []spawn.Arg{spawn.Val(place[0]), spawn.Val(place[1]), spawn.Val(0)})
	}
	if err := l.execBwrap(p, path, args); err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	pid, err := spawn.Start(p, 0, theirs)
	for _, fd := range []int{theirs, file, rules, words, outer} {
		_ = unix.Close(fd)
	}
	if err != nil {
		return nil, err
	}
	s := newSession(pid, ours, p)
	s.stderr, s.image = pipe[0], image
	return s, nil
}

// execBwrap adds the steps from the placed descriptors to exec. bwrap gets no
// environment: what it starts brings the command's, and its own stays readable
// inside for as long as it lives.
func (l *launch) execBwrap(p *spawn.Program, path string, args []string) error {
	for _, sig := range groupSignals() {
		p.Call("ignore signal", syscall.SYS_RT_SIGACTION, []spawn.Arg{
			spawn.Val(int(sig)), spawn.Pointer(p, &sigaction{handler: ignore}), spawn.Val(0), spawn.Val(sigsetBytes),
		})
	}
	if limit, ok := nofile.Original(); ok {
		p.Call("limit open files", unix.SYS_PRLIMIT64, []spawn.Arg{
			spawn.Val(0), spawn.Val(unix.RLIMIT_NOFILE), spawn.Pointer(p, &unix.Rlimit{Cur: limit.Cur, Max: limit.Max}), spawn.Val(0),
		})
	}
	(&confinement{}).signals(p)
	argv, err := p.Strings(args)
	if err != nil {
		return err
	}
	envp, err := p.Strings(nil)
	if err != nil {
		return err
	}
	p.Call("start bwrap", syscall.SYS_EXECVE, []spawn.Arg{p.String(path), argv, envp})
	return nil
}
