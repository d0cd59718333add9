package launcher

import (
	"errors"
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

// startBwrap starts bwrap and, while that makes the namespaces, prepares what
// bwrap will execute in them: an image that forks the command, which confines
// itself, and reaps.
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
	rules, err := l.namespaceRules(m)
	if err != nil {
		return nil, err
	}
	args := append([]string{"bwrap"}, l.bwrapFlags()...)
	args = append(args, plan.BwrapArgs()...)
	args = append(args, "--chdir", l.cwd, "--", "/proc/self/fd/"+itoa(fdImage))
	s, pending, err := l.spawnBwrap(paths[i], args, rules)
	if err != nil {
		return nil, err
	}
	private := privateDirs(plan)
	if s.image, err = l.bwrapImage(m, private, rules >= 0); err == nil {
		err = pending.complete(s.image)
	}
	if err != nil {
		s.abandon()
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

// bwrapImage is the program that bwrap executes. It is an image because bwrap
// can only execute, and a second start of this program would take longer than
// bwrap itself. It is the init of the namespaces, instead of a copy of bwrap.
func (l *launch) bwrapImage(m machine, private []string, ruled bool) (*spawn.Program, error) {
	env := l.withTemp("/tmp", slices.Concat(l.namespaceWritable(), private))
	env = policy.SetVar(env, "PWD", l.cwd) // as bwrap does when it changes the directory
	init, err := spawn.NewImage(textSize(env) + textSize(l.command.Argv))
	if err != nil {
		return nil, err
	}
	c := &confinement{
		ruleset: -1, control: fdControl, limits: l.policy.Limits, script: -1, cwd: l.cwd, argv: l.command.Argv, env: env,
	}
	if ruled {
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
	// bwrap has set this too, but root's exec in a user namespace undoes it.
	init.Call("die with the parent", syscall.SYS_PRCTL, []spawn.Arg{spawn.Val(unix.PR_SET_PDEATHSIG), spawn.Val(int(unix.SIGKILL))})
	// From here on standard error is the command's, not bwrap's.
	init.Call("place standard error", unix.SYS_DUP3, []spawn.Arg{spawn.Val(fdStderr), spawn.Val(stderr), spawn.Val(0)})
	if port := l.policy.Egress.Port; port != 0 {
		pinnedListeners(init, fdControl, port)
	}
	command, pid := init.Child(), init.Slot(0)
	if err := l.confineInNamespaces(command, m, c, private); err != nil {
		return nil, err
	}
	init.Fork(command, pid)
	init.Call("close descriptors", unix.SYS_CLOSE_RANGE, []spawn.Arg{spawn.Val(0), spawn.Val(uint32(1<<32 - 1)), spawn.Val(0)})
	init.Guard(pid, init.Slot(0), false) // its end is that of everything in the namespace
	return init, nil
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
		"--cap-drop", "ALL", "--die-with-parent", "--block-fd", itoa(fdBlock),
	}
	if !weakened(policy.DimSignals) {
		flags = append(flags, "--unshare-pid", "--as-pid-1")
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

// pendingImage is a file that bwrap will execute and that is not complete yet.
type pendingImage struct {
	file    int
	release int // writing end of the pipe on which bwrap waits
}

// complete writes the image and lets bwrap execute it. bwrap goes on as well if
// the launcher ends first, but then all it could execute fails: the command
// waits for the launcher's word, and an unfinished image has no steps.
func (p *pendingImage) complete(image *spawn.Program) error {
	if err := image.Complete(p.file, fdControl); err != nil {
		return err
	}
	if _, err := unix.Write(p.release, []byte{0}); err != nil {
		return err
	}
	return unix.Close(p.release)
}

// spawnBwrap forks and execs bwrap with the descriptors in their places. bwrap
// waits before it executes the image.
func (l *launch) spawnBwrap(path string, args []string, rules int) (*session, *pendingImage, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, nil, err
	}
	file, executable, err := spawn.NewImageFile("confine")
	if err != nil {
		return nil, nil, err
	}
	said, words, errWords := pipe()
	blocked, release, errBlock := pipe()
	outer, errOuter := unix.FcntlInt(stderr, unix.F_DUPFD_CLOEXEC, firstOwn)
	executable, errOwn := own(executable)
	if err := errors.Join(errWords, errBlock, errOuter, errOwn); err != nil {
		return nil, nil, err
	}
	p := &spawn.Program{}
	parent := spawn.Slot(os.Getpid())
	letGo(p, ours)
	// bwrap asks to die with its parent itself (--die-with-parent). Earlier, its
	// death could leave a process behind that waits for it for ever.
	p.Equal("find the parent alive", syscall.SYS_GETPPID, &parent)
	places := [][2]int{{theirs, fdControl}, {outer, fdStderr}, {executable, fdImage}, {blocked, fdBlock}, {words, stderr}}
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
		return nil, nil, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, nil, err
	}
	pid, err := spawn.Start(p, 0, theirs)
	for _, fd := range []int{theirs, executable, rules, words, outer, blocked} {
		_ = unix.Close(fd)
	}
	if err != nil {
		return nil, nil, err
	}
	s := newSession(pid, ours, p)
	s.stderr = said
	return s, &pendingImage{file: file, release: release}, nil
}

// pipe makes a pipe of our own.
func pipe() (reading, writing int, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, err
	}
	reading, errReading := own(ends[0])
	writing, errWriting := own(ends[1])
	return reading, writing, errors.Join(errReading, errWriting)
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
