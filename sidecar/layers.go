package sidecar

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// defaultApprovalTimeout is how long a question waits in host mode.
const defaultApprovalTimeout = 120 * time.Second

// execSandbox is the member execSandbox of agent.chat.stream.
type execSandbox struct {
	Enabled        bool      `json:"enabled"`
	WritableRoots  []string  `json:"writableRoots"`
	Network        bool      `json:"network"`
	AllowedHosts   *[]string `json:"allowedHosts"`
	Shell          string    `json:"shell"`
	Tools          []string  `json:"tools"`
	CommandArg     string    `json:"commandArg"`
	RequireFull    bool      `json:"requireFull"`
	RequireBackend bool      `json:"requireBackend"`
	HostSpawn      bool      `json:"hostSpawn"`
	Protect        *bool     `json:"protect"`
	ReadDeny       []string  `json:"readDeny"`
	Env            []string  `json:"env"`
	Caches         string    `json:"caches"`
	AllowRootFS    bool      `json:"allowRootFs"`
	Limits         struct {
		CPUSeconds        int64 `json:"cpuSeconds"`
		FileSizeBytes     int64 `json:"fileSizeBytes"`
		Processes         int64 `json:"processes"`
		AddressSpaceBytes int64 `json:"addressSpaceBytes"`
	} `json:"limits"`
}

// layers are the checked options of the decorators of one turn.
type layers struct {
	shell      *executors.Shell
	confine    *executors.ConfineOptions // nil: nothing is confined
	classifier *safety.Classifier
	platform   safety.Platform
	gate       executors.GateMode
	ask        bool // critical commands are asked about instead of refused
	approval   approvals.Options
	workspace  []string                        // roots of workspace auto-approval; nil: those of confine
	authz      *executors.AuthorizationOptions // nil: off
}

// parseLayers reads execSandbox, safety and approval. Whatever cannot be
// understood or cannot be done is refused here: a layer that was asked for is
// never left out in silence.
func (s *Server) parseLayers(p *protocol.ChatStreamParams, spec *turnSpec) error {
	spec.layers.shell = &executors.Shell{Catalog: spec.catalog}
	for _, step := range []func(*protocol.ChatStreamParams, *layers) error{
		s.parseSandbox, s.parseSafety, s.parseApproval,
	} {
		if err := step(p, &spec.layers); err != nil {
			return err
		}
	}
	return s.parseAuthz(p, spec)
}

// parseSandbox reads execSandbox and hostCapabilities.
func (s *Server) parseSandbox(p *protocol.ChatStreamParams, l *layers) error {
	if !given(p.ExecSandbox) {
		return nil
	}
	var e execSandbox
	if err := protocol.Decode(p.ExecSandbox, &e); err != nil {
		return protocol.InvalidParams("execSandbox: %s", err)
	}
	if !e.Enabled {
		return nil
	}
	l.shell.Tools, l.shell.CommandArg = e.Tools, e.CommandArg
	made, err := policy.New(s.policyConfig(&e, p.ProjectRoot))
	if err != nil {
		return protocol.InvalidParams("execSandbox: %s", err)
	}
	capability, err := hostCapability(p.HostCaps)
	if err != nil {
		return err
	}
	l.confine = &executors.ConfineOptions{
		Host: s.opts.Sandbox, Backend: s.opts.SandboxBackend, Policy: made, Tools: e.Tools, Shell: l.shell, ShellPath: e.Shell,
		RequireFull: e.RequireFull, RequireBackend: e.RequireBackend, HostSpawn: e.HostSpawn,
		HostReport: func() *sandbox.Report {
			if capability != nil {
				return capability
			}
			return s.spawned.Last()
		},
	}
	return nil
}

// policyConfig is what a request asks of the sandbox, in its own words.
func (s *Server) policyConfig(e *execSandbox, dir string) policy.Config {
	c := policy.Config{
		Roots: e.WritableRoots, ReadDeny: s.readDeny(e.ReadDeny), Unprotected: e.Protect != nil && !*e.Protect,
		AllowRootFS: e.AllowRootFS, HostCaches: e.Caches == "host", Network: e.Network, Env: e.Env,
		Limits: policy.Limits{
			CPUSeconds: e.Limits.CPUSeconds, FileSizeBytes: e.Limits.FileSizeBytes,
			Processes: e.Limits.Processes, AddressSpaceBytes: e.Limits.AddressSpaceBytes,
		},
		Home: s.opts.Home, Dir: dir,
	}
	if e.AllowedHosts != nil {
		c.AllowedHosts, c.HostsGiven = *e.AllowedHosts, true
	}
	return c
}

// readDeny adds the operator's signing key to what a request hides from its
// commands: whoever can read it can forge what it signs.
func (s *Server) readDeny(paths []string) []string {
	if s.opts.AuditKey == "" {
		return paths
	}
	return append(slices.Clone(paths), s.opts.AuditKey)
}

// hostCapability reads what a host says its confined spawn can do.
func hostCapability(raw json.RawMessage) (*sandbox.Report, error) {
	if !given(raw) {
		return nil, nil
	}
	var caps struct {
		Spawn *sandbox.Report `json:"spawn"`
	}
	if err := protocol.Decode(raw, &caps); err != nil {
		return nil, protocol.InvalidParams("hostCapabilities: %s", err)
	}
	return caps.Spawn, nil
}

// parseSafety reads the member safety and adds what the operator set up.
func (s *Server) parseSafety(p *protocol.ChatStreamParams, l *layers) error {
	var o struct {
		Set      string           `json:"set"`
		Patterns []safety.Pattern `json:"patterns"`
		Disabled []string         `json:"disabledPatternIds"`
		Platform string           `json:"platform"`
		Critical string           `json:"critical"`
		Gate     string           `json:"gate"`
	}
	if given(p.Safety) {
		if err := protocol.Decode(p.Safety, &o); err != nil {
			return protocol.InvalidParams("safety: %s", err)
		}
	}
	var err error
	if l.gate, err = executors.ParseGateMode(o.Gate); err != nil {
		return protocol.InvalidParams("safety.gate: %s", err)
	}
	switch o.Critical {
	case "", "deny":
	case "ask":
		l.ask = true
	default:
		return protocol.InvalidParams("safety.critical must be deny or ask, not %q", o.Critical)
	}
	if l.platform, err = parsePlatform(o.Platform); err != nil {
		return err
	}
	classifier, err := s.classifiers.get(o.Set, o.Disabled, o.Patterns)
	if err != nil { // a malformed rule is one whatever the gate does
		return protocol.InvalidParams("safety: %s", err)
	}
	if l.gate != executors.GateOff {
		l.classifier = classifier
	} else if l.ask { // without grades there is nothing to ask about
		return protocol.InvalidParams("safety.critical ask needs a gate that grades commands, not off")
	}
	return nil
}

// parsePlatform reads safety.platform; absent means the running one.
func parsePlatform(name string) (safety.Platform, error) {
	switch p := safety.Platform(name); p {
	case safety.PlatformAll, safety.PlatformUnix, safety.PlatformWindows:
		return p, nil
	case "":
		if runtime.GOOS == "windows" {
			return safety.PlatformWindows, nil
		}
		return safety.PlatformUnix, nil
	default:
		return "", protocol.InvalidParams("safety.platform must be all, unix or windows, not %q", name)
	}
}

// parseApproval reads the member approval. Absent, every call runs but those
// that must be asked about.
func (s *Server) parseApproval(p *protocol.ChatStreamParams, l *layers) error {
	l.approval = approvals.Options{
		Mode: approvals.GateOff, Sessions: &s.sessions, Prompts: &s.prompts, Matcher: s.classifiers.matcher(l.platform),
		Now: s.opts.Now, Logger: s.opts.Log,
	}
	if !given(p.Approval) {
		return nil
	}
	var o struct {
		Mode          string   `json:"mode"`
		TimeoutMs     *int64   `json:"timeoutMs"`
		StorePath     string   `json:"storePath"`
		PolicyPath    string   `json:"policyPath"`
		WritableRoots []string `json:"writableRoots"`
		WorkspaceAuto bool     `json:"workspaceAuto"`
		TrustedTools  []string `json:"trustedTools"`
	}
	if err := protocol.Decode(p.Approval, &o); err != nil {
		return protocol.InvalidParams("approval: %s", err)
	}
	mode, err := approvals.ParseGateMode(o.Mode)
	if err != nil {
		return protocol.InvalidParams("approval.mode: %s", err)
	}
	l.approval.Mode, l.approval.StorePath, l.approval.PolicyPath = mode, s.expand(o.StorePath), s.expand(o.PolicyPath)
	l.approval.WorkspaceAuto, l.workspace = o.WorkspaceAuto, o.WritableRoots
	l.approval.TrustedTools = o.TrustedTools
	l.approval.Timeout = defaultApprovalTimeout
	if o.TimeoutMs != nil {
		l.approval.Timeout = time.Duration(*o.TimeoutMs) * time.Millisecond
	}
	return nil
}

// expand replaces a leading "~/" by the home folder.
func (s *Server) expand(path string) string {
	if rest, ok := bytes.CutPrefix([]byte(path), []byte("~/")); ok && s.opts.Home != "" {
		return s.opts.Home + "/" + string(rest)
	}
	return path
}

// describe says what confinement a shell call would get. It runs on a goroutine
// of its own: a functional probe takes time.
func (s *Server) describe(ctx context.Context, req *protocol.Request) (any, error) {
	var e execSandbox
	if err := decode(req.Params, &e); err != nil {
		return nil, err
	}
	e.WritableRoots = nil // what is enforced does not depend on the roots
	made, err := policy.New(s.policyConfig(&e, ""))
	if err != nil {
		return nil, protocol.InvalidParams("%s", err)
	}
	if s.opts.Sandbox == nil {
		return policy.NoBackend(), nil
	}
	return protocol.Deferred(func(context.Context) (any, error) {
		backend, err := s.opts.Sandbox.Select(ctx, made, cmp.Or(s.opts.SandboxBackend, policy.BackendAuto))
		switch {
		case errors.Is(err, sandbox.ErrNoBackend):
			return policy.NoBackend(), nil
		case err != nil:
			return nil, protocol.Internal("describe the sandbox: %s", err)
		}
		return backend.Report(), nil
	}), nil
}

// SandboxBackends are the values of [Options.SandboxBackend].
func SandboxBackends() []string {
	return []string{
		policy.BackendAuto, policy.BackendNone, policy.BackendBwrap, policy.BackendNative,
		policy.BackendLandlock, policy.BackendSeatbelt,
	}
}
