package executors

import (
	"context"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
)

// Facts is what is known about a call before any layer decides: every layer
// decides on the same facts, and the layer that confines a command uses the
// very confinement that the approval layer looked at.
type Facts struct {
	// Shell says that the call runs a command line, Command which.
	Shell   bool
	Command Command
	// Grade is the safety classifier's; nil when nothing was graded.
	Grade *Grade
	// Confinement is how the call will be confined; nil when no confinement
	// was asked for, or the call runs no command.
	Confinement *Confinement
}

// Grade is the safety grade of a command.
type Grade struct {
	Severity     safety.Severity
	MatchedRules []string
}

// Inspector establishes the facts of calls.
type Inspector struct {
	Shell *Shell
	// Classifier grades commands; nil grades none.
	Classifier *safety.Classifier
	Platform   safety.Platform
	// Confiner decides about confinement; nil confines nothing.
	Confiner *Confiner
}

// Inspect returns the layer that attaches the facts to a call.
func Inspect(in *Inspector) Middleware {
	return func(next ToolExecutor) ToolExecutor { return &inspect{next: next, in: in} }
}

type inspect struct {
	next ToolExecutor
	in   *Inspector
}

// Execute implements [ToolExecutor].
func (i *inspect) Execute(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
	known := *call
	known.Facts = i.in.facts(ctx, call)
	return i.next.Execute(ctx, &known)
}

// ConcurrencySafe implements [ToolExecutor].
func (i *inspect) ConcurrencySafe(call *Call) bool { return i.next.ConcurrencySafe(call) }

func (in *Inspector) facts(ctx context.Context, call *Call) Facts {
	var f Facts
	f.Command, f.Shell = in.Shell.Of(call)
	if !f.Shell {
		return f
	}
	if in.Classifier != nil && f.Command.Valid {
		r := in.Classifier.Classify(f.Command.Text, in.Platform)
		f.Grade = &Grade{Severity: r.Severity, MatchedRules: r.MatchedRules}
	}
	if in.Confiner != nil {
		f.Confinement = in.Confiner.Decide(ctx, call)
	}
	return f
}
