package approvals

import "time"

// Outcome is what is known about a call before anybody is asked. The zero
// Outcome denies.
type Outcome uint8

// The outcomes.
const (
	OutcomeDeny Outcome = iota
	OutcomeAllow
	OutcomeAsk
)

// String returns "deny", "allow" or "ask".
func (o Outcome) String() string {
	switch o {
	case OutcomeAllow:
		return "allow"
	case OutcomeAsk:
		return "ask"
	case OutcomeDeny:
	}
	return "deny"
}

// Reason names what decided, for logs and programs. The names are stable.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	ReasonCommand    Reason = "invalid_command" // a shell call without a command line
	ReasonCritical   Reason = "critical_command"
	ReasonPolicy     Reason = "policy_rule"
	ReasonStore      Reason = "stored_decision"
	ReasonSession    Reason = "session_decision"
	ReasonWorkspace  Reason = "workspace"
	ReasonTrusted    Reason = "trusted_tool"
	ReasonHeadless   Reason = "headless"    // nobody to ask; decided by mode
	ReasonNoApprover Reason = "no_approver" // must be asked and nobody can answer
	ReasonSuspended  Reason = "suspended"   // automatic allows are suspended
	ReasonOff        Reason = "approvals_off"
	ReasonAsk        Reason = "ask"
	ReasonAnswered   Reason = "answered"
	ReasonInvalid    Reason = "invalid_answer"   // the host's answer was none
	ReasonFailed     Reason = "host_unavailable" // the host could not be asked
	ReasonTimedOut   Reason = "timed_out"
	ReasonCancelled  Reason = "cancelled"
)

// Verdict is the answer of [Gate.Check].
type Verdict struct {
	Outcome Outcome
	// Kind is the stored answer that decided, as data.approval reports it:
	// deny_always for the store, deny_for_session, deny_once for a rule.
	Kind    Kind
	Reason  Reason
	Message string // for the host and the model; names no file
	// SuggestedPrefix is what an "always" or "session" answer would be kept
	// for; nil when there is none.
	SuggestedPrefix []string
	// PrefixNote says why an allow would not be kept for that prefix; empty if
	// it would, or if there is none.
	PrefixNote string
	// Fingerprint identifies the arguments that were looked at; verify it
	// before they are used.
	Fingerprint Fingerprint
}

// Resolution is the answer of [Gate.Resolve].
type Resolution struct {
	Verdict
	// Decision is what was answered; its Kind is also Verdict.Kind.
	Decision Decision
	// Asked says that the question went to the approver; Wait is how long the
	// answer took, the wait behind an equal question included.
	Asked  bool
	Wait   time.Duration
	Stored Stored
}

// Allowed reports whether the call may run.
func (r Resolution) Allowed() bool { return r.Outcome == OutcomeAllow }

// Scope is how far an answer reaches.
type Scope string

// The scopes, as results name them.
const (
	ScopeOnce    Scope = "once"
	ScopeSession Scope = "session"
	ScopePrefix  Scope = "prefix" // calls with a command prefix, on disk
	ScopeTool    Scope = "tool"   // every call of the tool, on disk
)

// Where an answer was kept.
const (
	WhereNowhere = "nowhere"
	WhereSession = "session"
	WhereStore   = "store"
	WherePolicy  = "policy"
)

// Stored says what became of an answer, as data._approval.stored reports it.
type Stored struct {
	Scope  Scope  `json:"scope"`
	Where  string `json:"where"`
	Reason string `json:"reason,omitempty"` // why it is kept for less than was said
	// Rule is the rule that was kept, nil if none was.
	Rule *Rule `json:"-"`
}
