package executors

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// ConfineOptions says how the commands of a turn are confined: the execSandbox
// member of agent.chat.stream after it was checked.
type ConfineOptions struct {
	Host   *sandbox.Host
	Policy policy.Policy
	// Backend is the only backend that may be chosen; empty means the
	// strongest that works, [policy.BackendNone] that there is none.
	Backend string
	// Tools are the names of the tools whose commands are confined. Nil means
	// the default ones and every tool that names its command parameter; empty
	// means none.
	Tools []string
	Shell *Shell
	// ShellPath runs the commands; empty means /bin/sh.
	ShellPath                   string
	RequireFull, RequireBackend bool
	// HostSpawn hands commands to the host when this machine has no backend.
	HostSpawn bool
	// HostReport is what the host said its spawn can do, in this request or by
	// its last report; nil is unknown.
	HostReport func() *sandbox.Report
}

// Confiner decides how calls are confined. The backend is selected once, at the
// first call that needs it, since a functional probe takes time. It is safe for
// concurrent use.
type Confiner struct {
	opts   ConfineOptions
	choose func() (sandbox.Backend, error)
}

// Confinement is the decision for one call.
type Confinement struct {
	// Backend rewrites the command; nil when nothing on this machine does.
	Backend sandbox.Backend
	// Report is what the backend enforces; without one, none.
	Report sandbox.Report
	// Spawn says that the host runs the command.
	Spawn bool
	// Refused says why the call may not run; empty if it may.
	Refused string
	// Policy is what was asked for.
	Policy policy.Policy
}

// NewConfiner returns a Confiner. ctx bounds the probes of its backend.
func NewConfiner(ctx context.Context, opts ConfineOptions) *Confiner {
	if opts.ShellPath == "" {
		opts.ShellPath = "/bin/sh"
	}
	return &Confiner{opts: opts, choose: sync.OnceValues(func() (sandbox.Backend, error) {
		if opts.Host == nil || opts.Backend == policy.BackendNone {
			return nil, sandbox.ErrNoBackend
		}
		return opts.Host.Select(ctx, opts.Policy, cmp.Or(opts.Backend, policy.BackendAuto))
	})}
}

// applies reports whether a call's command is confined.
func (c *Confiner) applies(call *Call) bool {
	if c.opts.Tools != nil {
		return slices.Contains(c.opts.Tools, call.Name)
	}
	_, shell := c.opts.Shell.Of(call)
	return shell
}

// Decide returns how a call will be confined, or nil if it is not to be.
func (c *Confiner) Decide(_ context.Context, call *Call) *Confinement {
	if !c.applies(call) {
		return nil
	}
	d := c.decide(call.Name)
	if d.Spawn {
		c.checkReach(call, d)
	}
	return d
}

// decide returns how the commands of a tool are confined.
func (c *Confiner) decide(tool string) *Confinement {
	d := &Confinement{Report: policy.NoBackend(), Policy: c.opts.Policy}
	backend, err := c.choose()
	switch {
	case err == nil && backend != nil:
		d.Backend, d.Report = backend, backend.Report()
	case !errors.Is(err, sandbox.ErrNoBackend):
		d.Refused = "the sandbox could not be prepared"
		if err != nil {
			d.Refused += ": " + err.Error()
		}
		return d
	case c.opts.HostSpawn:
		d.Spawn = true
		return d
	}
	d.Refused = shortfall(&c.opts, tool, d.Report)
	return d
}

// checkReach refuses a call when the host is known to reach less than the
// request requires; the refusal then reports what it reaches. An unknown
// capability is no reason: the result is checked against the host's report.
func (c *Confiner) checkReach(call *Call, d *Confinement) {
	known := c.opts.HostReport()
	if known == nil {
		return
	}
	report := asAsked(&c.opts, *known)
	if d.Refused = shortfall(&c.opts, call.Name, report); d.Refused != "" {
		d.Report = report
	}
}

// shortfall is why a call may not run with what a report says; empty if it is
// enough.
func shortfall(o *ConfineOptions, tool string, report sandbox.Report) string {
	if what := lacking(o, report); what != "" {
		return "Refused to run '" + tool + "': " + what + "."
	}
	return ""
}

// lacking compares a report with what the request requires; empty if it is
// enough. The words are the reference's.
func lacking(o *ConfineOptions, report sandbox.Report) string {
	if o.RequireFull && report.Enforcement != policy.Full {
		return "this deployment requires full sandbox enforcement, got '" + report.Enforcement.String() + "'"
	}
	if o.RequireBackend && report.Enforcement == policy.None {
		return "this deployment requires a sandbox backend, got 'none'"
	}
	return ""
}
