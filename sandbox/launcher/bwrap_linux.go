package launcher

import (
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/nofile"
	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// bwrapPaths are the places where bwrap may be. PATH is not searched: whoever
// controls it would choose the sandbox.
func bwrapPaths() []string { return []string{"/usr/bin/bwrap", "/bin/bwrap"} }

// groupSignals are signals that whoever started the launcher may send to its
// whole process group. bwrap would die of them and take the command along
// before the command could react, so it ignores them; the inner stage resets
// them.
func groupSignals() []syscall.Signal {
	return []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM}
}

// startBwrap starts bwrap, in it this program's inner stage, and in its place
// the command.
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
	private := privateDirs(plan)
	carried := filterDimensions()
	req := request{
		writable: slices.Concat(l.namespaceWritable(), private),
		sockets:  l.namespaceSockets(),
		port:     l.policy.Egress.Port,
		limits:   l.policy.Limits,
		script:   l.script >= 0,
		cwd:      l.cwd,
		argv:     l.command.Argv,
	}
	for _, sig := range groupSignals() {
		if !ignored(sig) {
			req.defaults = append(req.defaults, sig)
		}
	}
	args := append([]string{"bwrap"}, l.bwrapFlags()...)
	args = append(args, plan.BwrapArgs()...)
	args = append(args, "--chdir", l.cwd, "--", "/proc/self/fd/"+itoa(fdProgram), innerName)
	env := weakenedEnv(l.withTemp("/tmp", req.writable))

	s, err := l.spawnBwrap(paths[i], args, env, req.encode())
	if err != nil {
		return nil, err
	}
	s.applied = l.namespaceDimensions() | carried
	if carried != 0 {
		s.supervisor = l.namespaceSupervisor(m, private)
	}
	if m.abi < ruleset.MinABI {
		s.applied &^= policy.DimKernel
	}
	s.relay = l.namespaceRelay()
	return s, nil
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
		// For the inner stage's listener; it drops the capability again.
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
func (l *launch) spawnBwrap(path string, args, env []string, req []byte) (*session, error) {
	ours, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	request, err := memory("request", req)
	if err != nil {
		return nil, err
	}
	self, err := openSelf()
	if err != nil {
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
	places := [][2]int{{theirs, fdControl}, {outer, fdStderr}, {self, fdProgram}, {request, fdRequest}, {words, stderr}}
	if l.script >= 0 {
		places = append(places, [2]int{l.script, fdScript})
	}
	for _, place := range places {
		p.Call("place descriptors", unix.SYS_DUP3, []spawn.Arg{spawn.Val(place[0]), spawn.Val(place[1]), spawn.Val(0)})
	}
	if err := l.execBwrap(p, path, args, env); err != nil {
		return nil, err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	pid, err := spawn.Start(p, 0, theirs)
	for _, fd := range []int{theirs, request, self, words, outer} {
		_ = unix.Close(fd)
	}
	if err != nil {
		return nil, err
	}
	s := newSession(pid, ours, p)
	s.stderr = pipe[0]
	return s, nil
}

// execBwrap adds the steps from the placed descriptors to exec.
func (l *launch) execBwrap(p *spawn.Program, path string, args, env []string) error {
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
	envp, err := p.Strings(env)
	if err != nil {
		return err
	}
	p.Call("start bwrap", syscall.SYS_EXECVE, []spawn.Arg{p.String(path), argv, envp})
	return nil
}

// openSelf opens this program. bwrap executes it through the descriptor, so
// that it need not be visible inside: test programs and "go run" live in /tmp.
func openSelf() (int, error) {
	fd, err := unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	return own(fd)
}
