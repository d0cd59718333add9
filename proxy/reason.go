package proxy

// Reason is the stable code of a decision. It stands in the decision log, in
// the metrics and, for refusals, in the x-proxy-error field of the reply.
type Reason string

// Reasons to let a request through.
const (
	ReasonListed  Reason = "listed"      // on the allow list
	ReasonGranted Reason = "granted"     // a session grant covers it
	ReasonAsked   Reason = "asked"       // the decider said yes
	ReasonRule    Reason = "inject_rule" // a broker rule covers it
)

// Reasons to refuse before anything is dialled.
const (
	ReasonNotListed      Reason = "not_listed"
	ReasonDenied         Reason = "denied"          // a deny entry; final
	ReasonBlockedAddress Reason = "blocked_address" // by class; final
	ReasonSelfTarget     Reason = "self_target"     // one of the proxy's own ports
	ReasonMalformed      Reason = "malformed"
	ReasonTooLarge       Reason = "head_too_large"
	ReasonVersion        Reason = "http_version"
	ReasonHeadTimeout    Reason = "head_timeout"
	ReasonMethod         Reason = "method_not_allowed"
	ReasonNoRule         Reason = "no_inject_rule" // a plain request no rule covers
	ReasonBodyCoding     Reason = "body_coding"    // a transfer coding the broker does not take
	ReasonUpgrade        Reason = "upgrade"        // an upgrade the rule does not relay
	ReasonExpectation    Reason = "expectation"    // Expect says something else than 100-continue
	ReasonLimit          Reason = "limit"          // out of descriptors or over a limit
	ReasonAbandoned      Reason = "abandoned"      // the client left while it was held
	ReasonShutdown       Reason = "shutdown"
)

// Reasons to give up on a target that was let through.
const (
	ReasonDNSError          Reason = "dns_error"
	ReasonDNSTimeout        Reason = "dns_timeout"
	ReasonConnectionRefused Reason = "connection_refused"
	ReasonConnectionTimeout Reason = "connection_timeout"
	ReasonUnroutable        Reason = "destination_ip_unroutable"
	ReasonDialFailed        Reason = "destination_unavailable"
	ReasonTLS               Reason = "tls_error"
	ReasonUpstreamProxy     Reason = "upstream_proxy" // the proxy behind this one said no
	ReasonUpstreamFailed    Reason = "upstream_failed"
	ReasonSNIMismatch       Reason = "sni_mismatch"
)

// outcome is how a refusal looks to an HTTP client: the status line's number
// and phrase, and the error type of RFC 9209.
type outcome struct {
	status int
	phrase string
	kind   string
}

// outcome returns the reply for a refusal. Anything that is no refusal gives
// 500, so that a mistake here never reads as a success.
func (r Reason) outcome() outcome {
	for _, row := range [...]struct {
		reason Reason
		outcome
	}{
		// The phrase is completed with the target: it is the only part of a
		// refused CONNECT that most clients show, and askers look for it.
		{ReasonNotListed, outcome{403, "Forbidden; egress denied for ", "http_request_denied"}},
		{ReasonDenied, outcome{403, "Forbidden; blocked by policy", "http_request_denied"}},
		{ReasonBlockedAddress, outcome{403, "Forbidden; address blocked by policy", "destination_ip_prohibited"}},
		{ReasonSelfTarget, outcome{403, "Forbidden; the proxy does not serve itself", "proxy_loop_detected"}},
		{ReasonNoRule, outcome{403, "Forbidden", "http_request_denied"}},
		{ReasonMalformed, outcome{400, "Bad Request", "http_request_error"}},
		{ReasonTooLarge, outcome{431, "Request Header Fields Too Large", "http_request_error"}},
		{ReasonVersion, outcome{505, "HTTP Version Not Supported", "http_request_error"}},
		{ReasonHeadTimeout, outcome{408, "Request Timeout", "http_request_error"}},
		{ReasonMethod, outcome{405, "Method Not Allowed", "http_request_denied"}},
		{ReasonBodyCoding, outcome{501, "Not Implemented", "http_request_error"}},
		{ReasonUpgrade, outcome{501, "Not Implemented", "http_request_error"}},
		{ReasonExpectation, outcome{417, "Expectation Failed", "http_request_error"}},
		{ReasonLimit, outcome{503, "Service Unavailable", "connection_limit_reached"}},
		{ReasonShutdown, outcome{503, "Service Unavailable", "proxy_internal_error"}},
		{ReasonDNSError, badGateway("dns_error")},
		{ReasonDNSTimeout, badGateway("dns_timeout")},
		{ReasonConnectionRefused, badGateway("connection_refused")},
		{ReasonConnectionTimeout, badGateway("connection_timeout")},
		{ReasonUnroutable, badGateway("destination_ip_unroutable")},
		{ReasonDialFailed, badGateway("destination_unavailable")},
		{ReasonTLS, badGateway("tls_protocol_error")},
		{ReasonUpstreamProxy, badGateway("http_request_denied")},
		{ReasonUpstreamFailed, badGateway("connection_terminated")},
	} {
		if row.reason == r {
			return row.outcome
		}
	}
	return outcome{500, "Internal Server Error", "proxy_internal_error"}
}

// badGateway is the reply for a target that was let through and not reached.
func badGateway(kind string) outcome { return outcome{502, "Bad Gateway", kind} }

// allows reports whether r lets a request through.
func (r Reason) allows() bool {
	return r == ReasonListed || r == ReasonGranted || r == ReasonAsked || r == ReasonRule
}

// reasons lists every code, for the metrics.
func reasons() []Reason {
	return []Reason{
		ReasonListed, ReasonGranted, ReasonAsked, ReasonRule,
		ReasonNotListed, ReasonDenied, ReasonBlockedAddress, ReasonSelfTarget, ReasonMalformed, ReasonTooLarge,
		ReasonVersion, ReasonHeadTimeout, ReasonMethod, ReasonNoRule, ReasonBodyCoding, ReasonUpgrade,
		ReasonExpectation, ReasonLimit, ReasonAbandoned, ReasonShutdown,
		ReasonDNSError, ReasonDNSTimeout, ReasonConnectionRefused, ReasonConnectionTimeout, ReasonUnroutable,
		ReasonDialFailed, ReasonTLS, ReasonUpstreamProxy, ReasonUpstreamFailed, ReasonSNIMismatch,
	}
}
