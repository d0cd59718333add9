package launcher

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/steerable-go/sidecar/sandbox/internal/ruleset"
	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/internal/spawn"
)

// inner is the stage inside bwrap's namespaces. It confines its own thread and
// becomes the command; the threads of the Go runtime end with exec. Failures
// go to the launcher through the control socket.
func inner(environ []string) int {
	runtime.LockOSThread()
	// From here on standard error is the command's, not bwrap's.
	if err := unix.Dup3(fdStderr, stderr, 0); err != nil {
		return exitWrapper
	}
	err := becomeCommand(environ)
	var step string
	var errno syscall.Errno
	var failed *spawn.StepError
	var command *commandError
	switch {
	case errors.As(err, &failed):
		step, errno = failed.Step, failed.Errno
	case errors.As(err, &command):
		step, errno = stepExec, syscall.EACCES
		if command.code == exitNotFound {
			errno = syscall.ENOENT
		}
	default:
		step = line(err.Error())
	}
	text := string(rune(tagFailure)) + strconv.Itoa(int(errno)) + " " + step
	_, _ = unix.Write(fdControl, []byte(text[:min(len(text), 400)]))
	return exitWrapper
}

// becomeCommand returns only if something fails.
func becomeCommand(environ []string) error {
	b, err := readAll(fdRequest)
	if err != nil {
		return err
	}
	req, err := decodeRequest(b)
	if err != nil {
		return err
	}
	arch, ok := seccomp.ArchOf(runtime.GOARCH)
	if !ok || len(req.argv) == 0 {
		return errUnsupported
	}
	m := machine{arch: arch, abi: ruleset.ABI()}
	p := &spawn.Program{}
	if req.port != 0 {
		if err := offerListeners(p, req.port); err != nil {
			return err
		}
	}
	c := &confinement{
		ruleset: -1, control: fdControl, limits: req.limits, script: -1,
		cwd: req.cwd, argv: req.argv, env: environ, defaults: req.defaults,
	}
	if req.script {
		// It is in its place already; own moves a duplicate away so that
		// placing it again is the same step as in the other rungs.
		if c.script, err = own(fdScript); err != nil {
			return err
		}
	}
	if c.path, err = find(req.argv[0], environ); err != nil {
		return err
	}
	if m.abi >= ruleset.MinABI {
		if c.ruleset, err = ruleset.New(m.abi, ruleset.Layout{Writable: existing(req.writable)}); err != nil {
			return err
		}
	}
	c.filter = filter(m, seccomp.Options{Sockets: req.sockets, Supervised: true})
	c.notify = len(c.filter) > 0
	if err := c.appendTo(p); err != nil {
		return err
	}
	return p.Run()
}

// existing drops the private directories that a system does not have.
func existing(dirs []string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return slices.Contains([]string{"/tmp", "/var/tmp", "/dev/shm"}, dir) && !isDir(dir)
	})
}

// offerListeners makes the listeners of the pinned port in this network
// namespace and adds the steps that hand them to the launcher. IPv6 may be
// missing, IPv4 may not.
func offerListeners(p *spawn.Program, port uint16) error {
	four, _, err := listenLoopback(port)
	if err != nil {
		return &wrapperError{what: "listen on port " + itoa(int(port)), err: err}
	}
	send := func(fd int) {
		slot := new(spawn.Slot)
		*slot = spawn.Slot(fd)
		sendDescriptor(p, fdControl, tagListener, slot)
	}
	send(four)
	if six, err := listenLoopback6(port); err == nil {
		send(six)
	}
	return nil
}

func listenLoopback6(port uint16) (int, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1),
		unix.Bind(fd, &unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}}),
		unix.Listen(fd, unix.SOMAXCONN),
	)
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// readAll reads a sealed anonymous file whole.
func readAll(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	b := make([]byte, st.Size)
	n, err := unix.Pread(fd, b, 0)
	if err != nil || n != len(b) {
		return nil, errors.Join(os.ErrInvalid, err)
	}
	return b, nil
}
