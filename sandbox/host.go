package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// launcherName is the launcher's file name beside the sidecar.
const launcherName = "steerable-sandbox"

// Options configure a [Host]. The zero value finds no launcher and therefore
// no backend.
type Options struct {
	// Launcher is the absolute path of the steerable-sandbox program. Empty:
	// the program of that name beside Executable, else Executable itself.
	Launcher string
	// Executable is the absolute path of the running program, which must link
	// sandbox/launcher. Empty: only Launcher is used.
	Executable string
	// RunDir is where scripts of long commands are put; it is created with
	// mode 0700. Empty: commands over 100 KiB are refused.
	RunDir string
	// Env is the environment probes run in; nil is an empty one.
	Env []string
}

// Host selects backends on this machine and remembers what its probes found.
// main makes one and hands it down. It is safe for concurrent use.
type Host struct {
	opts Options

	mu     sync.Mutex // guards following
	probed map[probeKey]verdict
}

// NewHost returns a Host that has probed nothing yet.
func NewHost(opts Options) *Host {
	return &Host{opts: opts, probed: map[probeKey]verdict{}}
}

// Select returns the backend for p. want is one of the backend names or
// [policy.BackendAuto], which takes the first rung of the ladder that works.
// It returns [ErrNoBackend] if none does; another error means that a probe
// could not be carried out, which callers treat as a refusal.
func (h *Host) Select(ctx context.Context, p policy.Policy, want string) (Backend, error) {
	launcher, err := h.launcher()
	if err != nil {
		return nil, err
	}
	for _, name := range ladder(runtime.GOOS) {
		if want != policy.BackendAuto && want != name {
			continue
		}
		v, err := h.probe(ctx, launcher, name, p.Egress.Mode)
		if err != nil {
			return nil, err
		}
		if v.works {
			return &wrapped{launcher: launcher.argv, name: name, verdict: v, policy: p, runDir: h.opts.RunDir}, nil
		}
	}
	return nil, ErrNoBackend
}

// Describe reports what [Host.Select] with [policy.BackendAuto] would choose
// for p: the same value that every call with that policy carries. Without a
// backend it reports none and no error.
func (h *Host) Describe(ctx context.Context, p policy.Policy) (Report, error) {
	b, err := h.Select(ctx, p, policy.BackendAuto)
	if errors.Is(err, ErrNoBackend) {
		return policy.NoBackend(), nil
	}
	if err != nil {
		return policy.NoBackend(), err
	}
	return b.Report(), nil
}

// ladder lists the backends of a system, strongest first. bwrap comes before
// native because distributions that restrict user namespaces exempt it by
// name. Windows has none: its confinement belongs to the process that spawns
// (seed 000, "Windows: no backend").
func ladder(goos string) []string {
	switch goos {
	case "linux":
		return []string{policy.BackendBwrap, policy.BackendNative, policy.BackendLandlock}
	case "darwin":
		return []string{policy.BackendSeatbelt}
	}
	return nil
}

// launcher is the program that confines, as found.
type launcher struct {
	argv []string // argv prefix up to the verb
	id   string   // changes when the file does
}

// launcher finds the launcher. None at all means no backend: an unconfined
// run is never the consequence of a missing file alone, since the caller's
// requireBackend and requireFull decide about it.
func (h *Host) launcher() (launcher, error) {
	type candidate struct {
		path string
		verb []string
	}
	candidates := []candidate{{h.opts.Launcher, []string{"exec"}}}
	if h.opts.Launcher == "" && h.opts.Executable != "" {
		beside := filepath.Join(filepath.Dir(h.opts.Executable), launcherName)
		candidates = []candidate{{beside, []string{"exec"}}, {h.opts.Executable, []string{"sandbox", "exec"}}}
	}
	for _, c := range candidates {
		if c.path == "" || !filepath.IsAbs(c.path) {
			continue
		}
		info, err := os.Stat(c.path)
		if err != nil || info.IsDir() {
			continue
		}
		id := fmt.Sprintf("%s %d %d", c.path, info.Size(), info.ModTime().UnixNano())
		return launcher{argv: append([]string{c.path}, c.verb...), id: id}, nil
	}
	return launcher{}, ErrNoBackend
}
