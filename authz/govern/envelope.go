package govern

import (
	"bytes"
	"strings"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/dlp"
)

// ReplyTool is the name under which assistant text is governed. No tool of a
// model can have it.
const ReplyTool = "chat_reply"

// Call is a tool call as the server sees it. Tool, Description and Arguments
// come from a model and are not trusted.
type Call struct {
	Owner       string // of the session object that made the call
	ChatID      string
	CallID      string
	Time        string // by the caller's clock, RFC 3339; "" leaves it out of the record
	Tool        string
	Description string
	Arguments   []byte // one JSON value; empty means {}

	// Observed says that the decision is recorded and does not hold: the call
	// runs whatever it is.
	Observed bool

	// Offline says that the call's sandbox has no network, so that what a
	// command is given cannot leave.
	Offline bool

	// What a classifier of shell commands said.
	CommandCritical bool
	CommandWarning  bool
}

// Envelope is a call with everything the server knows about it, frozen. The
// zero value is an unclassified call of nobody.
type Envelope struct {
	call      Call
	spec      ToolSpec
	known     bool
	payload   dlp.Payload
	malformed bool
	digest    audit.Hash
}

// Envelope classifies a call. It copies the arguments.
func (t Tools) Envelope(call Call) Envelope {
	call.Arguments = bytes.Clone(call.Arguments)
	e := Envelope{call: call, digest: audit.HashOf(call.Arguments)}
	if call.Tool != ReplyTool { // a host cannot make a tool of it either
		e.spec, e.known = t.Lookup(call.Tool)
	}
	if e.spec.Kind == authz.KindCommand && call.Offline {
		e.spec.Outbound = false
	}
	text := call.Arguments
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	var err error
	e.payload, err = dlp.JSON(text)
	e.malformed = err != nil
	return e
}

// Reply returns the envelope of text that the assistant is about to show. Only
// Owner, ChatID, CallID, Time and Observed of the call count.
func Reply(call Call, text string) Envelope {
	return Envelope{
		call:    Call{Owner: call.Owner, ChatID: call.ChatID, CallID: call.CallID, Time: call.Time, Tool: ReplyTool, Observed: call.Observed},
		spec:    ToolSpec{capabilities.ChatConverse, authz.KindSend, true},
		known:   true,
		payload: dlp.Text(text),
		digest:  audit.HashOf([]byte(text)),
	}
}

// Tool returns the name of the tool.
func (e Envelope) Tool() string { return e.call.Tool }

// Spec returns the server's classification of the tool.
func (e Envelope) Spec() ToolSpec { return e.spec }

// Size returns how many bytes the call moves by itself: those of its arguments.
func (e Envelope) Size() int64 {
	if e.isReply() {
		return int64(len(e.payload.String()))
	}
	return int64(len(e.call.Arguments))
}

// ArgsDigest returns the digest of the arguments that were governed.
func (e Envelope) ArgsDigest() audit.Hash { return e.digest }

// Covers reports whether these are the arguments that were governed. Whoever
// executes the call asks before it does.
func (e Envelope) Covers(arguments []byte) bool { return audit.HashOf(arguments) == e.digest }

func (e Envelope) isReply() bool { return e.call.Tool == ReplyTool && e.known }

// urls returns the arguments of an outbound call that say where it goes: those
// whose name says URL, and those that are nothing but a URL.
func (e Envelope) urls() []string {
	if !e.spec.Outbound || e.isReply() {
		return nil
	}
	var out []string
	for name, value := range e.payload.Strings() {
		if namesURL(name) || isURL(value) {
			out = append(out, value)
		}
	}
	return out
}

func namesURL(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"url", "uri", "urls", "uris", "href", "endpoint"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// isURL reports whether a text is a scheme, "://" and no blanks: a search for
// an error message that quotes a URL goes nowhere near it.
func isURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && scheme != "" && !strings.ContainsAny(s, " \t\r\n") && !strings.ContainsAny(scheme, `/?#"'<>=&`)
}
