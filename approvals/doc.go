// Package approvals answers one question about a tool call: has somebody said
// that it may run? It holds the algebra of answers (once, for the session,
// always, abort), the places where answers are kept, and the order in which
// they are consulted.
//
// A [Gate] serves one turn. [Gate.Resolve] is the whole journey; [Gate.Check]
// and [Gate.Record] are its two halves:
//
//	gate := approvals.NewGate(approvals.Options{
//		Mode:       approvals.GateHost,
//		Host:       host, // asks a person
//		Sessions:   sessions,
//		Prompts:    prompts,
//		StorePath:  "/home/ann/.steerable/approvals.json",
//		PolicyPath: "/home/ann/.steerable/policy.json",
//	})
//	res, err := gate.Resolve(ctx, req)
//	if err != nil || !res.Allowed() {
//		// refuse; res.Reason says why
//	}
//
// # Order of checks
//
// A denial anywhere wins: a critical safety verdict, every matching policy
// rule, the durable store, the session. Only then are allows looked at, in the
// order store, session, first matching rule, workspace; and only then is a
// person asked. Adding an allow can therefore never undo a denial.
//
// # Shell tools
//
// An answer to a shell command is kept for the prefix of the command that was
// shown, not for the tool: "always allow git status" says nothing about rm.
// Prefixes that amount to "anything" (an interpreter, a bare git) apply once
// and are not kept.
//
// # Files
//
// approvals.json is a flat object from category to allow_always or
// deny_always. The policy file is {"version":1,"rules":[…]} with rules
// {"tool","decision","commandPrefix"}. Both are read anew for every check, so
// that a revoked answer stops working in the middle of a turn, and both are
// changed under a lock and replaced atomically. A damaged file is never
// overwritten: it is moved aside, and nothing is allowed automatically until a
// person has looked at it; see [Accept].
//
// # Limits
//
// A path that was checked inside the workspace can be replaced before the tool
// opens it; the sandbox, not this package, has to hold then.
package approvals
