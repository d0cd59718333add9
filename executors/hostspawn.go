package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

const (
	// backendHostSpawn marks a result whose host reported no backend.
	backendHostSpawn = "host-spawn"
	// maxHostOutput caps each stream of a host's output, in bytes: the cap of
	// the reference's helper.
	maxHostOutput = 256 << 10
	maxBackend    = 64 // length of a backend name, as the schema has it
)

// SpawnReports remembers what the host's confined spawn last reported, for the
// life of the process. The zero value knows nothing; it is safe for concurrent
// use.
type SpawnReports struct {
	mu   sync.Mutex // guards following
	last *sandbox.Report
}

// Last returns the last report, or nil.
func (s *SpawnReports) Last() *sandbox.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *SpawnReports) set(report sandbox.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = &report
}

// HostSpawnExecutor hands a command to the host, which confines and runs it:
// the reverse call host.process.spawn. It serves platforms whose confinement
// belongs to the process that spawns, such as Windows.
//
// A host's answer counts only in the form the contract gives it. A missing
// report is none; anything that cannot be read is a failed result, never a
// success and never a better report than the host gave.
type HostSpawnExecutor struct {
	caller  protocol.Caller
	opts    *ConfineOptions
	reports *SpawnReports
}

var _ ToolExecutor = (*HostSpawnExecutor)(nil)

// spawnParams is the params of host.process.spawn.
type spawnParams struct {
	Command string          `json:"command"`
	Cwd     string          `json:"cwd,omitempty"`
	Policy  spawnPolicy     `json:"policy"`
	Context json.RawMessage `json:"context,omitempty"`
}

type spawnPolicy struct {
	WritableRoots []string `json:"writableRoots"`
	Network       bool     `json:"network"`
	AllowedHosts  []string `json:"allowedHosts,omitempty"`
}

// Execute implements [ToolExecutor].
func (e *HostSpawnExecutor) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	params := spawnParams{
		Command: call.Facts.Command.Text, Context: call.Turn.Context,
		Policy: spawnPolicy{
			WritableRoots: append([]string{}, e.opts.Policy.Roots...),
			Network:       e.opts.Policy.Egress.Mode != policy.EgressClosed,
			AllowedHosts:  e.opts.Policy.Egress.Hosts,
		},
	}
	if cwd, ok := stringMember(call.Arguments, "cwd"); ok && !blank(cwd) {
		params.Cwd = cwd
	}
	raw, err := protocol.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode spawn request: %w", err)
	}
	reply, err := e.caller.CallHost(ctx, protocol.ReverseSpawn, raw, nil)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, protocol.ErrMalformedAnswer) {
			return unreadable(policy.NoBackend(), err.Error()), nil
		}
		return notRun(err.Error()), nil
	}
	return e.result(call, reply), nil
}

// ConcurrencySafe implements [ToolExecutor].
func (e *HostSpawnExecutor) ConcurrencySafe(*Call) bool { return false }

// notRun is the result of a command that the host refused or could not run.
func notRun(reason string) *protocol.ToolResult {
	result := &protocol.ToolResult{
		Error:         fmt.Sprintf("host confined spawn unavailable (%s); command was NOT run unsandboxed", reason),
		NeedsFollowup: true,
	}
	markSandbox(result, policy.NoBackend())
	return result
}

// spawnReply is a host's answer.
type spawnReply struct {
	ExitCode  *json.Number    `json:"exitCode"`
	Stdout    *string         `json:"stdout"`
	Stderr    *string         `json:"stderr"`
	Truncated *bool           `json:"truncated"`
	Sandbox   json.RawMessage `json:"sandbox"`
	Success   *bool           `json:"success"`
	Error     *string         `json:"error"`
}

// result reads a host's answer.
func (e *HostSpawnExecutor) result(call *Call, raw json.RawMessage) *protocol.ToolResult {
	var reply spawnReply
	if len(raw) == 0 || raw[0] != '{' {
		return unreadable(policy.NoBackend(), "it must be an object")
	}
	if err := protocol.Decode(raw, &reply); err != nil {
		return unreadable(policy.NoBackend(), "its members have the wrong types")
	}
	report, fault := spawnReport(reply.Sandbox)
	if fault != "" {
		return unreadable(report, fault)
	}
	e.reports.set(report)
	report = asAsked(e.opts, report)
	if reply.ExitCode == nil {
		return unreadable(report, "exitCode is missing")
	}
	code, err := reply.ExitCode.Int64()
	if err != nil || string(member(raw, "exitCode"))[0] == '"' {
		return unreadable(report, "exitCode must be an integer")
	}
	result := &protocol.ToolResult{Success: code == 0, NeedsFollowup: true, Data: spawnData(raw, &reply)}
	if reply.Success != nil {
		// The host knows its commands: one may end with 1 and have done its work.
		result.Success = *reply.Success
	}
	if reply.Error != nil {
		result.Error = *reply.Error
	}
	if what := lacking(e.opts, report); what != "" {
		// It ran, so this is no refusal; nobody may take its work for granted.
		result.Success, result.Error = false, ErrorSandboxUnavailable
		result.Message = fmt.Sprintf("The host ran '%s', but %s.", call.Name, what)
	}
	markSandbox(result, report)
	return result
}

// unreadable is the result of a host's answer that is none.
func unreadable(report sandbox.Report, what string) *protocol.ToolResult {
	result := fail(ErrorToolError, "The host's answer to host.process.spawn cannot be used: %s. Whether the command ran is unknown.", what)
	result.NeedsFollowup = true
	markSandbox(result, report)
	return result
}

// spawnReport reads the host's report. fault names what is wrong with it; then
// the report is none.
func spawnReport(raw json.RawMessage) (report sandbox.Report, fault string) {
	none := sandbox.Report{Backend: backendHostSpawn}
	if len(raw) == 0 || string(raw) == "null" {
		return none, ""
	}
	var given struct {
		Backend     *string  `json:"backend"`
		Enforcement *string  `json:"enforcement"`
		NotEnforced []string `json:"notEnforced"`
	}
	if raw[0] != '{' || protocol.Decode(raw, &given) != nil {
		return none, "sandbox must be an object with backend and enforcement"
	}
	if given.Backend == nil || *given.Backend == "" || len(*given.Backend) > maxBackend {
		return none, "sandbox.backend must be a short name"
	}
	if given.Enforcement == nil {
		return none, "sandbox.enforcement is missing"
	}
	enforcement, err := policy.ParseEnforcement(*given.Enforcement)
	if err != nil {
		return none, "sandbox.enforcement must be full, partial or none"
	}
	if enforcement == policy.Full && len(given.NotEnforced) > 0 {
		enforcement = policy.Partial // a list of what is missing contradicts "full"
	}
	return sandbox.Report{Backend: *given.Backend, Enforcement: enforcement, NotEnforced: given.NotEnforced}, ""
}

// asAsked is a host's report as far as it speaks of what was asked for. The
// request to the host has no words for hidden paths and limits (seed 000, "Host
// capability surface"), so a host that enforced all of it enforced none of these.
func asAsked(o *ConfineOptions, report sandbox.Report) sandbox.Report {
	var unasked policy.Dimension
	if len(o.Policy.ReadDeny) > 0 {
		unasked |= policy.DimReadDeny
	}
	if o.Policy.Limits != (policy.Limits{}) {
		unasked |= policy.DimLimits
	}
	if unasked == 0 || report.Enforcement == policy.None {
		return report
	}
	report.Enforcement, report.NotEnforced = policy.Partial, slices.Clone(report.NotEnforced)
	for _, name := range unasked.Names() {
		if !slices.Contains(report.NotEnforced, name) {
			report.NotEnforced = append(report.NotEnforced, name)
		}
	}
	return report
}

// spawnData is what of the answer becomes the result's data: every member but
// the three that become something else, with long output cut.
func spawnData(raw json.RawMessage, reply *spawnReply) json.RawMessage {
	data := append(make(json.RawMessage, 0, min(len(raw), 2*maxHostOutput)), '{')
	cutOutput := false
	err := eachMember(raw, func(key string, value json.RawMessage) {
		switch key {
		case "success", "error", "sandbox", "_sandbox", "truncated":
			return
		case "stdout", "stderr":
			text := reply.Stdout
			if key == "stderr" {
				text = reply.Stderr
			}
			if text != nil && len(*text) > maxHostOutput {
				cutOutput = true
				data = protocol.AppendString(appendKey(data, key), protocol.Truncate(*text, maxHostOutput))
				return
			}
		}
		data = append(appendKey(data, key), value...)
	})
	if err != nil {
		return nil
	}
	switch {
	case cutOutput:
		data = append(appendKey(data, "truncated"), "true"...)
	case reply.Truncated != nil:
		data = append(appendKey(data, "truncated"), fmt.Sprint(*reply.Truncated)...)
	}
	return append(data, '}')
}
