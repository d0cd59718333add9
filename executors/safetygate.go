package executors

import (
	"context"
	"fmt"
	"strings"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
)

// ErrorPolicyDenied is the code of a call that a policy refused for good: no
// later layer can let it through.
const ErrorPolicyDenied = "policy_denied"

// GateMode is what the safety gate does with a grade. The zero value enforces.
type GateMode uint8

// The modes of the safety gate. Anything weaker than enforcing is asked for by
// name, and results say so.
const (
	GateEnforce GateMode = iota // critical commands are refused
	GateObserve                 // every command runs, with its grade on the result
	GateOff                     // nothing is graded
)

// String is the mode's name on the wire.
func (m GateMode) String() string {
	switch m {
	case GateObserve:
		return "observe"
	case GateOff:
		return "off"
	case GateEnforce:
		return "enforce"
	}
	return "enforce"
}

// ParseGateMode reads safety.gate; empty means enforce.
func ParseGateMode(name string) (GateMode, error) {
	switch name {
	case "", "enforce":
		return GateEnforce, nil
	case "observe":
		return GateObserve, nil
	case "off":
		return GateOff, nil
	}
	return GateEnforce, fmt.Errorf("unknown gate %q: enforce, observe or off", name)
}

// safetyMarker is data.safety of a result. A command that nobody graded has no
// severity: "safe" would be a grade.
type safetyMarker struct {
	Severity     safety.Severity `json:"severity,omitempty"`
	MatchedRules []string        `json:"matchedRules"`
	Gate         string          `json:"gate"`
}

// SafetyGate returns the layer that refuses critical commands. It applies to
// every shell call wherever it runs, and looks at the command as the model
// wrote it. askCritical leaves critical commands to a person instead: the
// approval layer then asks, every time. log gets one event for each command
// that is not graded safe, without its text, which may hold secrets.
func SafetyGate(mode GateMode, askCritical bool, log zerolog.Logger) Middleware {
	return func(next ToolExecutor) ToolExecutor {
		return &safetyGate{next: next, mode: mode, ask: askCritical, log: log}
	}
}

type safetyGate struct {
	next ToolExecutor
	mode GateMode
	ask  bool
	log  zerolog.Logger
}

// Execute implements [ToolExecutor].
func (g *safetyGate) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	f := &call.Facts
	if !f.Shell {
		return g.next.Execute(ctx, call)
	}
	if !f.Command.Valid {
		return invalidCommand(call, f.Command.Param), nil
	}
	if g.mode == GateOff {
		return g.run(ctx, call, &safetyMarker{MatchedRules: []string{}, Gate: g.mode.String()})
	}
	if f.Grade == nil {
		// Nobody graded the command although the gate is up: a fault of ours,
		// and no reason to let it through.
		return refused(ErrorPolicyDenied, "Refused to run '%s': its command could not be graded.", call.Name), nil
	}
	marker := &safetyMarker{Severity: f.Grade.Severity, MatchedRules: rulesOf(f.Grade), Gate: g.mode.String()}
	switch f.Grade.Severity {
	case safety.Safe:
		if g.mode == GateEnforce {
			return g.next.Execute(ctx, call)
		}
		return g.run(ctx, call, marker)
	case safety.Warning:
		g.report(call, marker, "runs")
		return g.run(ctx, call, marker)
	case safety.Critical:
		if g.mode == GateObserve || g.ask {
			g.report(call, marker, "left to the approval layer")
			return g.run(ctx, call, marker)
		}
	}
	g.report(call, marker, "refused")
	result := refused(ErrorPolicyDenied, "Shell command blocked by safety policy: [%s]", strings.Join(marker.MatchedRules, ", "))
	mark(result, "safety", marker)
	return result, nil
}

// report logs the grade of a command and what comes of it.
func (g *safetyGate) report(call *Call, marker *safetyMarker, outcome string) {
	g.log.Warn().Str("tool", call.Name).Str("streamId", call.Turn.StreamID).Str("callId", call.ID).
		Str("severity", string(marker.Severity)).Strs("rules", marker.MatchedRules).Str("gate", marker.Gate).
		Str("outcome", outcome).Msg("command graded")
}

// run passes the call on and marks its result.
func (g *safetyGate) run(ctx context.Context, call *Call, marker *safetyMarker) (*protocol.ToolResult, error) {
	result, err := g.next.Execute(ctx, call)
	if result != nil {
		mark(result, "safety", marker)
	}
	return result, err
}

// ConcurrencySafe implements [ToolExecutor].
func (g *safetyGate) ConcurrencySafe(call *Call) bool { return g.next.ConcurrencySafe(call) }

// rulesOf lists the matched rules, never nil: the wire wants an array.
func rulesOf(g *Grade) []string {
	if g.MatchedRules == nil {
		return []string{}
	}
	return g.MatchedRules
}
