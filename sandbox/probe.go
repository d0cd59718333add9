package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// probeTimeout bounds one probe (seed 000). A probe that hangs is a rung that
// does not work.
const probeTimeout = 10 * time.Second

// probeKey is everything a verdict depends on that can change while the
// process runs. The kernel cannot, the two programs can be replaced.
type probeKey struct {
	backend  string
	egress   policy.EgressMode
	launcher string
	bwrap    string
}

// verdict is what a probe found.
type verdict struct {
	works    bool
	enforced policy.Dimension
	abi      int
}

// probe returns what backend enforces here, running a real wrap the first
// time. A rung that fails gives works == false and no error.
func (h *Host) probe(ctx context.Context, l launcher, backend string, mode policy.EgressMode) (verdict, error) {
	key := probeKey{backend: backend, egress: mode, launcher: l.id, bwrap: bwrapID()}
	h.mu.Lock()
	defer h.mu.Unlock() // held while probing: a second caller waits instead of probing again
	if v, ok := h.probed[key]; ok {
		return v, nil
	}
	v, err := h.runProbe(ctx, l, backend, mode)
	if err != nil {
		return verdict{}, err
	}
	h.probed[key] = v
	return v, nil
}

// runProbe wraps a no-op with every feature of the rung turned on and reads
// the report of the launcher that did it.
func (h *Host) runProbe(ctx context.Context, l launcher, backend string, mode policy.EgressMode) (verdict, error) {
	scratch, err := os.MkdirTemp("", "steerable-probe-")
	if err != nil {
		return verdict{}, fmt.Errorf("make probe directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	args, p, err := probeArgs(scratch, mode)
	if err != nil {
		return verdict{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	argv := append(append([]string{}, l.argv...), "--json", "--backend", backend)
	argv = append(append(argv, args...), "--", "true")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = h.opts.Env, scratch, time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if parent := context.Cause(ctx); parent != nil && !errors.Is(parent, context.DeadlineExceeded) {
			return verdict{}, fmt.Errorf("probe %s: %w", backend, parent)
		}
		return verdict{}, nil
	}
	var report Report
	if json.Unmarshal(stderr.Bytes(), &report) != nil || report.Backend != backend || report.Enforcement == policy.None {
		return verdict{}, nil
	}
	enforced := p.Requested()
	for _, name := range report.NotEnforced {
		d, err := policy.ParseDimension(name)
		if err != nil {
			return verdict{}, nil
		}
		enforced &^= d
	}
	return verdict{works: true, enforced: enforced, abi: report.ABI}, nil
}

// probeArgs makes the widest policy with the given egress mode: a protected
// repository, a hidden file, a limit. What such a wrap enforces, any narrower
// policy's wrap enforces too.
func probeArgs(scratch string, mode policy.EgressMode) ([]string, policy.Policy, error) {
	root, hidden := filepath.Join(scratch, "root"), filepath.Join(scratch, "hidden")
	if err := errors.Join(
		os.Mkdir(root, 0o700),
		os.WriteFile(filepath.Join(root, ".envrc"), nil, 0o600),
		os.WriteFile(hidden, nil, 0o600),
	); err != nil {
		return nil, policy.Policy{}, fmt.Errorf("prepare probe: %w", err)
	}
	c := policy.Config{
		Roots: []string{root}, ReadDeny: []string{hidden},
		Limits: policy.Limits{CPUSeconds: int64(probeTimeout / time.Second)},
	}
	switch mode {
	case policy.EgressClosed:
	case policy.EgressPinned:
		c.Network, c.HostsGiven, c.AllowedHosts = true, true, []string{"localhost:" + strconv.Itoa(probePort)}
	case policy.EgressLoopback:
		c.Network, c.HostsGiven, c.AllowedHosts = true, true, []string{"localhost"}
	case policy.EgressListed:
		c.Network, c.HostsGiven, c.AllowedHosts = true, true, []string{"example.invalid"}
	case policy.EgressOpen:
		c.Network = true
	}
	p, err := policy.New(c)
	if err != nil {
		return nil, policy.Policy{}, fmt.Errorf("prepare probe: %w", err)
	}
	return policy.Args(p), p, nil
}

// probePort is the pinned port of a probe. Nothing connects to it.
const probePort = 49151

// bwrapID identifies the installed bwrap, empty if there is none.
func bwrapID() string {
	for _, path := range []string{"/usr/bin/bwrap", "/bin/bwrap"} {
		if info, err := os.Stat(path); err == nil {
			return fmt.Sprintf("%s %d", path, info.ModTime().UnixNano())
		}
	}
	return ""
}
