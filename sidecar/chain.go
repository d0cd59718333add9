package sidecar

import (
	"context"

	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
)

// chain puts the layers of a turn's tool calls together. This is the only place
// that decides their order; outermost first:
//
//   - Validate: a call that cannot run is answered before anybody is asked.
//   - Inspect: establishes the facts every later layer decides on.
//   - Govern: the authorization pipeline. Its denial is final, its escalation
//     makes Approval ask a person, and it records before anything happens.
//   - SafetyGate: refuses critical commands; final, whatever a person would say.
//   - Approval: stored answers, then a person. It stands outside everything that
//     rewrites, so that people and rules see the command as the model wrote it.
//   - Timeout: bounds the tool's running time, and only that: waiting for a
//     person is not tool time.
//   - Sandboxed: rewrites the command, or hands it to the host's spawn. Last,
//     because it changes the form of the call.
//
// Inside stands the host's executor or the router.
func (s *Server) chain(ctx context.Context, inner executors.ToolExecutor, spec *turnSpec, auth *executors.Authorization) executors.ToolExecutor {
	l := &spec.layers
	var confiner *executors.Confiner
	if l.confine != nil {
		confiner = executors.NewConfiner(ctx, *l.confine)
	}
	return executors.Chain(inner,
		executors.Validate(spec.catalog),
		executors.Inspect(&executors.Inspector{
			Shell: l.shell, Classifier: l.classifier, Platform: l.platform, Confiner: confiner,
		}),
		executors.Govern(auth),
		executors.SafetyGate(l.gate, l.ask, s.opts.Log),
		executors.Approval(s.approval(l, confiner)),
		executors.Timeout(spec.toolTimeout),
		executors.Sandboxed(confiner, s.peer, &s.spawned),
	)
}

// approval builds the approval layer's options.
func (s *Server) approval(l *layers, confiner *executors.Confiner) executors.ApprovalOptions {
	opts := l.approval
	if opts.Mode == approvals.GateHost {
		opts.Host = &executors.HostApprover{Caller: s.peer, Notify: s.notify, Timeout: opts.Timeout}
	}
	out := executors.ApprovalOptions{
		Gate: approvals.NewGate(opts), AskCritical: l.ask,
		Enforced: l.gate == executors.GateEnforce, WorkspaceRoots: l.workspace,
	}
	if opts.WorkspaceAuto { // else nothing needs the backend before the first command
		out.Workspace = confiner
	}
	return out
}

// notify sends a notification of ours; a host that is gone is noticed elsewhere.
func (s *Server) notify(method string, params any) {
	s.out.Write(s.peer.Notification(method, encode(params)), false)
}

// plainSpec is the turn of a call that a host makes through tool.invoke: no
// approval and no confinement were asked for, but the safety gate holds.
func (s *Server) plainSpec(catalog *executors.Catalog, turn *executors.Turn) (*turnSpec, error) {
	spec := &turnSpec{catalog: catalog, turn: turn, toolTimeout: defaultToolTimeout}
	return spec, s.parseLayers(&protocol.ChatStreamParams{}, spec)
}
