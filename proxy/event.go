package proxy

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/proxy/internal/relay"
)

// Protocol is how a client asked.
type Protocol string

// The protocols.
const (
	ProtocolConnect Protocol = "connect"
	ProtocolHTTP    Protocol = "http" // a plain request to the broker
	ProtocolSOCKS   Protocol = "socks5"
)

// Verdict is the short form of a decision.
type Verdict string

// The verdicts.
const (
	VerdictAllow Verdict = "allow" // let through and reached
	VerdictDeny  Verdict = "deny"  // refused, nothing was dialled
	VerdictFail  Verdict = "fail"  // let through and not reached
)

// Event is one decision, written when its connection is over. Its JSON form is
// a line of the audit file and of GET /decisions.
type Event struct {
	Time     time.Time `json:"time"` // when the request was read
	Identity string    `json:"identity,omitempty"`
	Protocol Protocol  `json:"protocol"`
	Verdict  Verdict   `json:"verdict"`
	Reason   Reason    `json:"reason"`
	Detail   string    `json:"detail,omitempty"` // a stable word that narrows Reason down
	Rule     string    `json:"rule,omitempty"`   // the list entry that decided
	Host     string    `json:"host,omitempty"`   // canonical; "" if there was none to read
	Port     uint16    `json:"port,omitempty"`
	Addr     string    `json:"addr,omitempty"` // the address dialled; never told to clients
	Status   int       `json:"status,omitempty"`
	// BytesUp and BytesDown count what was delivered to and from the target.
	BytesUp   int64 `json:"bytes_up"`
	BytesDown int64 `json:"bytes_down"`
	// DurationMS is from reading the request to the end of the connection.
	DurationMS int64       `json:"duration_ms"`
	Cause      relay.Cause `json:"cause,omitempty"` // why a tunnel ended
	SNI        string      `json:"sni,omitempty"`   // server name of the TLS hello, if it differs from Host
	ECH        bool        `json:"ech,omitempty"`   // the hello had an encrypted inner one
}

// verdict fits the event's reason.
func (e *Event) verdict(reached bool) Verdict {
	switch {
	case reached && e.Reason.allows():
		return VerdictAllow
	case e.Reason.outcome().status == 502:
		return VerdictFail
	default:
		return VerdictDeny
	}
}

// MarshalZerologObject writes the fields under the names of the JSON form.
func (e *Event) MarshalZerologObject(z *zerolog.Event) {
	z.Str("protocol", string(e.Protocol)).Str("verdict", string(e.Verdict)).Str("reason", string(e.Reason))
	for _, f := range []struct{ key, value string }{
		{"identity", e.Identity},
		{"detail", e.Detail},
		{"rule", e.Rule},
		{"host", e.Host},
		{"addr", e.Addr},
		{"cause", string(e.Cause)},
		{"sni", e.SNI},
	} {
		if f.value != "" {
			z.Str(f.key, f.value)
		}
	}
	if e.Port != 0 {
		z.Uint16("port", e.Port)
	}
	if e.ECH {
		z.Bool("ech", true)
	}
	z.Int("status", e.Status).Int64("bytes_up", e.BytesUp).Int64("bytes_down", e.BytesDown).Int64("duration_ms", e.DurationMS)
}

// level keeps ordinary traffic quiet and policy refusals visible.
func (e *Event) level() zerolog.Level {
	if e.Verdict == VerdictDeny {
		return zerolog.WarnLevel
	}
	return zerolog.InfoLevel
}
