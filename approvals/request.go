package approvals

import (
	"context"
	"encoding/json"
	"strings"
)

// Request is one call that wants to run. It is built by the executor from a
// model's tool call and from facts of the server; nothing in it but Tool and
// Arguments comes from the model.
type Request struct {
	// ChatID is the session to which answers belong. Calls without a chat
	// share the session "", as in the reference.
	ChatID    string
	StreamID  string
	CallID    string
	RequestID string // names the question to the host, for approval.resolved
	Round     int

	Tool      string
	Arguments json.RawMessage // as the model wrote them
	Category  string          // empty: [CategoryOf] the tool
	Mode      Mode            // empty: [ModeOf] the tool

	// Shell says that the tool runs a command line, which is the string
	// argument CommandParam (empty: "command"). A shell call whose command is
	// missing, blank or not a string is denied.
	Shell        bool
	CommandParam string

	// Severity and MatchedRules are the safety stage's grade of the command.
	Severity     string
	MatchedRules []string
	// Critical says what a critical severity means. Its zero value denies.
	Critical CriticalMode
	// MustAsk says that only a person can allow this call, because an
	// authorization stage escalated it.
	MustAsk bool

	// Sandbox describes the confinement of the call to the host; opaque here.
	Sandbox json.RawMessage
	// Posture is the confinement decided for this very call; nil when none was
	// decided. Without it nothing is allowed for being inside the workspace.
	Posture *Posture

	// SuggestedPrefix and Fingerprint are filled in by the gate before the
	// question is asked. SuggestedPrefix is what an "always" or "session"
	// answer to a shell command would be kept for; nil when there is none.
	SuggestedPrefix []string
	// Why is filled in by the gate, too: why a call that may be allowed by what
	// is stored is asked about; empty for others.
	Why         string
	Fingerprint Fingerprint
}

// CriticalMode is what the turn wants done with critical commands.
type CriticalMode uint8

// The critical modes.
const (
	// CriticalDeny denies them, whatever has been answered before.
	CriticalDeny CriticalMode = iota
	// CriticalAsk has a person decide each of them.
	CriticalAsk
	// CriticalObserve treats them like any other command.
	CriticalObserve
)

// SeverityCritical is the grade that [CriticalMode] is about.
const SeverityCritical = "critical"

// Posture is how one call will be confined and where its files are.
type Posture struct {
	// Backend names the confinement that wraps the call; "" and "none" mean
	// that nothing does.
	Backend string
	// Full says that the backend enforces everything the policy asks for.
	Full bool
	// Roots are the absolute directories the call may write below. Relative
	// ones and the root directory count for nothing.
	Roots []string
	// Dir is the absolute directory against which the tool resolves relative
	// paths and in which it runs commands. Empty: unknown.
	Dir string
}

// Approver answers questions. Ask is called from many goroutines at once, must
// return soon after ctx ends, and returns an error when nobody could be asked
// or the answer was none (see [ParseReply]); the call is denied then.
type Approver interface {
	Ask(ctx context.Context, req Request) (Decision, error)
}

// autoDecision is the answer of a run without a person: reads and safe writes
// run once, anything else is denied.
func autoDecision(m Mode) Decision {
	if m == ModeRead || m == ModeSafeWrite {
		return Decision{Kind: AllowOnce}
	}
	return Decision{Kind: DenyOnce, Reason: "no interactive approver is attached (headless run)"}
}

// normalized fills in what the caller left to the gate.
func (r Request) normalized() Request {
	if r.Category == "" {
		r.Category = CategoryOf(r.Tool)
	}
	if r.Mode == "" {
		r.Mode = ModeOf(r.Tool)
	}
	if r.CommandParam == "" {
		r.CommandParam = "command"
	}
	return r
}

// mustAsk reports whether only a person can allow the call.
func (r Request) mustAsk() bool {
	return r.MustAsk || r.Severity == SeverityCritical && r.Critical == CriticalAsk
}

// argument returns one top-level argument, nil if there is none.
func (r Request) argument(name string) json.RawMessage {
	m, err := fields(r.Arguments)
	if err != nil {
		return nil
	}
	return m[name]
}

// command returns the command line of the call, and whether there is one.
// Tools that are no shells may still have rules with a prefix; the reference
// looks at their argument "command".
func (r Request) command() (string, bool) {
	s, ok := stringOf(r.argument(r.CommandParam))
	if !ok || strings.TrimSpace(s) == "" {
		return "", false
	}
	return s, true
}
