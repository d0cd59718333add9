// Package govern is the conductor of the authorization pipeline. For every tool
// call it runs the stages in a fixed order and returns one [Outcome]: what to
// do, every reason with the decisive one first, and the record to write before
// doing it.
//
//	owner and budgets → risk → policy → URLs → data leaks → record
//
// Two properties matter more than the rest. The server builds the [Envelope]
// from its own table of tools: the capability that a call needs never comes
// from the model, whose arguments are only searched (otherwise a confused
// deputy could be told to act under a harmless name). And the stages after
// policy can only tighten the decision.
//
// The package is pure. Whoever executes calls holds the [State] of the request
// under a lock, writes the record through package auditlog, and:
//
//   - runs nothing unless the record was written; if it was not, the outcome is
//     [Outcome.Unrecorded];
//   - on ALLOW continues with approvals as usual: ALLOW never skips a question;
//   - on ESCALATE asks a person, and lets no cache, rule or automatic approver
//     answer with yes;
//   - stores [Outcome.State] when the call may run, and [State.Release] if it
//     then does not;
//   - adds the size of the result with [State.Moved] and withholds a result
//     that does not fit;
//   - taints the request with [State.Taint] when a result held a secret.
//
// See the example for all of it in order. The package may change before v1.
package govern
