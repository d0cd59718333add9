package govern

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/dlp"
	"github.com/steerable-go/sidecar/authz/risk"
)

// Outcome is what became of a call. It is immutable. The zero value denies.
type Outcome struct {
	envelope   Envelope
	state      State
	decision   authz.Decision
	reasons    []authz.Reason
	assessment risk.Assessment
	categories []string
	redacted   *dlp.Payload
	steps      []Step
	action     string
	owner      string
}

// Step is what one stage said about a call.
type Step struct {
	Stage    string // chain, risk, policy, arguments, egress, dlp or taint
	decision authz.Decision
	reasons  []authz.Reason
}

// Decision returns how far the stage would let the call go by itself.
func (s Step) Decision() authz.Decision { return s.decision }

// Reasons returns a copy of the stage's reasons, nil if it had no objection and
// none to allow.
func (s Step) Reasons() []authz.Reason { return slices.Clone(s.reasons) }

// Steps returns what every stage that ran said, in order; egress comes once for
// each URL. There are none if a stage failed.
func (o Outcome) Steps() []Step { return slices.Clone(o.steps) }

// Decision returns what to do.
func (o Outcome) Decision() authz.Decision { return o.decision }

// Reasons returns a copy of the reasons, the decisive one first, then the
// others in the order of the stages. There is always at least one.
func (o Outcome) Reasons() []authz.Reason {
	if len(o.reasons) == 0 {
		return []authz.Reason{authz.ReasonInternalError}
	}
	return slices.Clone(o.reasons)
}

// Envelope returns the envelope that was governed.
func (o Outcome) Envelope() Envelope { return o.envelope }

// State returns the state of the request with this call in it: counted if it
// may run or a person is asked, unchanged if it is denied.
func (o Outcome) State() State { return o.state }

// Assessment returns what the risk stage found; its band is unknown if an
// earlier stage ended the pipeline.
func (o Outcome) Assessment() risk.Assessment { return o.assessment }

// Categories returns what the data-leak stage found, sorted. It is never nil.
func (o Outcome) Categories() []string { return append([]string{}, o.categories...) }

// Redacted returns the payload with what may not leave masked, and whether the
// data-leak stage found anything. A model may try again with it.
func (o Outcome) Redacted() (dlp.Payload, bool) {
	if o.redacted == nil {
		return dlp.Payload{}, false
	}
	return *o.redacted, true
}

// Acts reports whether a record of the intent must be on disk before the call
// runs and a second record must tell what came of it. Reads that are allowed
// need one record, which may become durable later.
func (o Outcome) Acts() bool {
	return o.decision != authz.Allow || o.envelope.spec.Kind != authz.KindRead
}

// Unrecorded returns the outcome after its record could not be written: DENY,
// whatever it was, and nothing counted. What is not recorded does not happen.
func (o Outcome) Unrecorded() Outcome {
	if o.decision != authz.Deny {
		o.state = o.state.Release(o.envelope)
	}
	o.decision = authz.Deny
	o.reasons = slices.Concat([]authz.Reason{authz.ReasonAuditUnavailable}, o.Reasons())
	return o
}

// side is the object beside a record. It names and counts, and never quotes.
type side struct {
	Phase      string         `json:"phase"`          // "intent" before the call, "outcome" after it
	Mode       string         `json:"mode,omitempty"` // "observe" if the decision did not hold
	Time       string         `json:"time,omitempty"`
	ChatID     string         `json:"chatId,omitempty"`
	CallID     string         `json:"callId,omitempty"`
	ArgsDigest string         `json:"argsDigest"`
	Reasons    []authz.Reason `json:"reasons,omitempty"`
	Signals    []string       `json:"signals,omitempty"`
	Categories []string       `json:"categories,omitempty"`
	Result     string         `json:"result,omitempty"`
	Bytes      int64          `json:"bytes,omitempty"`
}

// Record returns what to append to the owner's chain before the call runs. Only
// the server's own classification reaches its fields, whatever the model wrote.
func (o Outcome) Record() audit.Fields {
	return o.fields(side{
		Phase:      "intent",
		Time:       o.envelope.call.Time,
		Reasons:    o.reasons,
		Signals:    o.assessment.Signals(),
		Categories: o.categories,
	})
}

// Result returns what to append after the call: how it ended, in one of the
// caller's own fixed words such as "ok", "error" or "refused", and how many
// bytes it returned.
func (o Outcome) Result(word, time string, bytes int64) audit.Fields {
	return o.fields(side{Phase: "outcome", Time: time, Result: word, Bytes: bytes})
}

func (o Outcome) fields(s side) audit.Fields {
	if o.envelope.call.Observed {
		s.Mode = Observe.String()
	}
	s.ChatID, s.CallID = valid(o.envelope.call.ChatID), valid(o.envelope.call.CallID)
	s.ArgsDigest = o.envelope.digest.String()
	meta, err := json.Marshal(s)
	if err != nil {
		meta = nil // strings and numbers always encode
	}
	return audit.Fields{
		Owner:      o.owner,
		Action:     o.action,
		Capability: string(o.envelope.spec.Required),
		Decision:   o.decision.String(),
		Risk:       o.assessment.Band().String(),
		Meta:       meta,
	}
}

// maxOwner is longer than any owner that a request can name.
const maxOwner = 1 << 10

// ownerName makes an owner fit for a record. Two owners never become one: their
// chains would be one too. What must be changed gets the digest of what it was.
func ownerName(s string) string {
	if len(s) <= maxOwner && utf8.ValidString(s) {
		return s
	}
	return valid(s) + " " + audit.HashOf([]byte(s)).String()
}

// maxName bounds what of a name from outside gets into a record.
const maxName = 128

// valid makes a text from outside fit for a record.
func valid(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= maxName {
		return s
	}
	end := maxName
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
