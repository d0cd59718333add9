package authz

// Reason is a stable code for why something was refused, sent to a person or
// allowed. Logs, tests and hosts compare codes; prose may change. The empty
// Reason means that a check had no objection.
type Reason string

// Reasons of the policy stage, in its order of precedence.
const (
	ReasonUnclassifiedAction Reason = "REASON_UNCLASSIFIED_ACTION" // no required capability is known
	ReasonCapabilityNotHeld  Reason = "REASON_CAPABILITY_NOT_HELD"
	ReasonSecretsPresent     Reason = "REASON_SECRETS_PRESENT"
	ReasonCriticalRisk       Reason = "REASON_CRITICAL_RISK"
	ReasonHighRisk           Reason = "REASON_HIGH_RISK"
	ReasonIrreversible       Reason = "REASON_IRREVERSIBLE"
	ReasonCapabilityHeld     Reason = "REASON_CAPABILITY_HELD" // the only reason to allow
	ReasonUnknownBand        Reason = "REASON_UNKNOWN_BAND"    // also an unknown side effect
)

// Reasons of the chain stage.
const (
	ReasonOwnerMismatch      Reason = "REASON_OWNER_MISMATCH"
	ReasonInvalidCounters    Reason = "REASON_INVALID_COUNTERS"
	ReasonCallBudgetExceeded Reason = "REASON_CALL_BUDGET_EXCEEDED"
	ReasonByteBudgetExceeded Reason = "REASON_BYTE_BUDGET_EXCEEDED"
)

// Reasons of the egress stage.
const (
	ReasonSchemeNotAllowed Reason = "REASON_SCHEME_NOT_ALLOWED"
	ReasonMalformedURL     Reason = "REASON_MALFORMED_URL"
	ReasonMissingHost      Reason = "REASON_MISSING_HOST"
	ReasonUserinfoPresent  Reason = "REASON_USERINFO_PRESENT"
	ReasonInvalidPort      Reason = "REASON_INVALID_PORT"
	ReasonNonASCIIHost     Reason = "REASON_NON_ASCII_HOST"
	ReasonZoneID           Reason = "REASON_ZONE_ID"
	ReasonAmbiguousHost    Reason = "REASON_AMBIGUOUS_HOST" // a number, but no canonical address
	ReasonNoAddress        Reason = "REASON_NO_ADDRESS"
	ReasonBlockedHostname  Reason = "REASON_BLOCKED_HOSTNAME"
	ReasonBlockedSuffix    Reason = "REASON_BLOCKED_SUFFIX"
	ReasonPrivateIPv4      Reason = "REASON_PRIVATE_IPV4"
	ReasonLoopback         Reason = "REASON_LOOPBACK"
	ReasonLinkLocal        Reason = "REASON_LINK_LOCAL"
	ReasonThisNetwork      Reason = "REASON_THIS_NETWORK"
	ReasonPrivateIPv6      Reason = "REASON_PRIVATE_IPV6"
	ReasonIPv4Mapped       Reason = "REASON_IPV4_MAPPED"
	ReasonSpecialPurpose   Reason = "REASON_SPECIAL_PURPOSE" // off the ten ranges, but not public
)

// Reasons of the data-leak stage and of the conductor.
const (
	ReasonDLPBlocked         Reason = "REASON_DLP_BLOCKED"
	ReasonTaintedRequest     Reason = "REASON_TAINTED_REQUEST"     // an earlier result of this request held a secret
	ReasonMalformedArguments Reason = "REASON_MALFORMED_ARGUMENTS" // not one JSON value, so nothing was scanned
	ReasonInternalError      Reason = "REASON_INTERNAL_ERROR"      // a stage failed; unavailable is not "no match"
	ReasonAuditUnavailable   Reason = "REASON_AUDIT_UNAVAILABLE"   // no record, no action
)

// Verdict is the answer of a check that only says yes or no. The zero value
// refuses with [ReasonInternalError]: a check that never ran has not passed.
type Verdict struct {
	allowed bool
	reason  Reason
}

// Pass returns the verdict of a check without objection.
func Pass() Verdict { return Verdict{allowed: true} }

// Refuse returns a refusal for reason; an empty reason becomes
// [ReasonInternalError], because a refusal must say why.
func Refuse(reason Reason) Verdict { return Verdict{reason: reason} }

// Allowed reports whether the check had no objection.
func (v Verdict) Allowed() bool { return v.allowed }

// Reason returns why the check refused, and "" if it did not.
func (v Verdict) Reason() Reason {
	if !v.allowed && v.reason == "" {
		return ReasonInternalError
	}
	return v.reason
}
