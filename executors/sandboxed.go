package executors

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/sandbox"
)

// ErrorSandboxUnavailable is the code of a call that was refused because it
// could not be confined as required.
const ErrorSandboxUnavailable = "sandbox_unavailable"

// SandboxedToolExecutor rewrites the commands of shell calls so that the
// operating system confines them, and marks their results with _sandbox. It is
// the last layer: whoever approved the call saw the command as the model wrote
// it. The rewritten text is a single-quoted argument vector that any host's
// shell runs.
type SandboxedToolExecutor struct {
	next  ToolExecutor
	spawn *HostSpawnExecutor
	shell string
}

var _ ToolExecutor = (*SandboxedToolExecutor)(nil)

// Sandboxed returns the layer that carries out the [Confinement] of calls. It
// is nil, and so left out of a chain, without a confiner.
func Sandboxed(c *Confiner, caller protocol.Caller, reports *SpawnReports) Middleware {
	if c == nil {
		return nil
	}
	return func(next ToolExecutor) ToolExecutor {
		return &SandboxedToolExecutor{
			next: next, shell: c.opts.ShellPath,
			spawn: &HostSpawnExecutor{caller: caller, opts: &c.opts, reports: reports},
		}
	}
}

// Execute implements [ToolExecutor].
func (e *SandboxedToolExecutor) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	d := call.Facts.Confinement
	if d == nil {
		return e.next.Execute(ctx, call)
	}
	command := call.Facts.Command
	switch {
	case !command.Valid:
		return refuse(d.Report, fmt.Sprintf("Refused to run '%s': its argument %q must be a command line in a string that is not blank.", call.Name, command.Param)), nil
	case d.Refused != "":
		return refuse(d.Report, d.Refused), nil
	case d.Spawn:
		return e.spawn.Execute(ctx, call)
	case d.Backend == nil:
		// No backend, and nothing requires one: the seed lets the command run
		// and says so.
		return e.marked(ctx, call, d.Report)
	}
	line, err := d.Backend.WrapCommand(command.Text, e.shell)
	if err != nil {
		return refuse(d.Report, fmt.Sprintf("Refused to run '%s': %s.", call.Name, err)), nil
	}
	arguments, err := setMember(call.Arguments, command.Param, protocol.AppendString(nil, line))
	if err != nil {
		return refuse(d.Report, fmt.Sprintf("Refused to run '%s': %s.", call.Name, err)), nil
	}
	confined := *call
	confined.Arguments = arguments
	return e.marked(ctx, &confined, d.Report)
}

// marked runs a call and puts the report on its result.
func (e *SandboxedToolExecutor) marked(ctx context.Context, call *Call, report sandbox.Report) (*protocol.ToolResult, error) {
	result, err := e.next.Execute(ctx, call)
	if result != nil {
		markSandbox(result, report)
	}
	return result, err
}

// ConcurrencySafe implements [ToolExecutor].
func (e *SandboxedToolExecutor) ConcurrencySafe(call *Call) bool { return e.next.ConcurrencySafe(call) }

// refuse is the result of a call that was not run for want of confinement.
func refuse(report sandbox.Report, message string) *protocol.ToolResult {
	result := refused(ErrorSandboxUnavailable, "%s", message)
	markSandbox(result, report)
	return result
}

// markSandbox sets data._sandbox.
func markSandbox(result *protocol.ToolResult, report sandbox.Report) {
	mark(result, "_sandbox", json.RawMessage(report.AppendJSON(nil)))
}
