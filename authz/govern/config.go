package govern

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/chain"
)

// Mode says what becomes of decisions. The zero value enforces them.
type Mode uint8

// The modes, strictest first.
const (
	Enforce Mode = iota // decisions hold
	Observe             // decisions are recorded as what would have been
	Off                 // the pipeline does not run
)

// ParseMode reads exactly "enforce", "observe" or "off". Anything else is an
// error and [Enforce].
func ParseMode(s string) (Mode, error) {
	for _, m := range []Mode{Enforce, Observe, Off} {
		if m.String() == s {
			return m, nil
		}
	}
	return Enforce, fmt.Errorf("unknown authz mode %q", s)
}

// String returns the word of the mode; unknown values read "enforce".
func (m Mode) String() string {
	switch m {
	case Observe:
		return "observe"
	case Off:
		return "off"
	case Enforce:
		return "enforce"
	default:
		return "enforce"
	}
}

// Stricter returns the stricter of two modes, which holds where request and
// environment both name one.
func (m Mode) Stricter(other Mode) Mode {
	if m > Off || other > Off {
		return Enforce
	}
	return min(m, other)
}

// Replies says what happens to assistant text in which something is found. The
// zero value blocks it.
type Replies uint8

// The treatments of assistant text, strictest first.
const (
	BlockReplies Replies = iota
	RedactReplies
	IgnoreReplies
)

// Config is the authz object of a request.
type Config struct {
	Mode    Mode
	Owner   string // "" if the object names none
	Groups  []string
	Tools   Tools
	Limits  chain.Limits
	Replies Replies
}

// ErrConfig is wrapped by every error about an authz object. A malformed object
// never means off.
var ErrConfig = errors.New("malformed authz object")

// ParseConfig reads the authz object of a request: {mode, owner?, groups?,
// tools?, limits?, replies?}. Unknown members, wrong types, unknown words and
// negative limits are errors that are [ErrConfig]. Absent limits are the
// defaults, absent replies are not looked at.
func ParseConfig(data []byte) (Config, error) {
	var raw struct {
		Mode   *string  `json:"mode"`
		Owner  *string  `json:"owner"`
		Groups []string `json:"groups"`
		Tools  map[string]struct {
			Required authz.Capability `json:"required"`
			Kind     string           `json:"kind"`
			Outbound *bool            `json:"outbound"`
		} `json:"tools"`
		Limits struct {
			Calls *int64 `json:"calls"`
			Bytes *int64 `json:"bytes"`
		} `json:"limits"`
		Replies *string `json:"replies"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&raw); err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := exactNames(data); err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) || raw.Mode == nil || raw.Owner != nil && *raw.Owner == "" {
		return Config{}, fmt.Errorf("%w: it needs a mode, and an owner that is not empty if it has one", ErrConfig)
	}
	c := Config{Groups: raw.Groups, Limits: chain.DefaultLimits(), Replies: IgnoreReplies}
	if raw.Owner != nil {
		c.Owner = *raw.Owner
	}
	specs := map[string]ToolSpec{}
	var errs []error
	for name, t := range raw.Tools {
		kind, err := authz.ParseKind(t.Kind)
		// A tool of which nobody says that it stays inside may not.
		specs[name] = ToolSpec{Required: t.Required, Kind: kind, Outbound: t.Outbound == nil || *t.Outbound}
		errs = append(errs, err)
	}
	var err error
	c.Mode, err = ParseMode(*raw.Mode)
	errs = append(errs, err)
	c.Tools, err = NewTools(specs)
	errs = append(errs, err, limit(&c.Limits.Calls, raw.Limits.Calls), limit(&c.Limits.Bytes, raw.Limits.Bytes), replies(&c.Replies, raw.Replies))
	if err := errors.Join(errs...); err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return c, nil
}

// exactNames refuses members whose names differ in case from the ones above or
// that come twice, which encoding/json takes: a second "mode" could otherwise
// be the one that counts.
func exactNames(data []byte) error {
	return eachMember(data, func(name string, value json.RawMessage) error {
		if name == "tools" {
			return eachMember(value, func(_ string, spec json.RawMessage) error { return eachMember(spec, lowerCase) })
		}
		if name == "limits" {
			if err := eachMember(value, lowerCase); err != nil {
				return err
			}
		}
		return lowerCase(name, value)
	})
}

func lowerCase(name string, _ json.RawMessage) error {
	if name != strings.ToLower(name) {
		return fmt.Errorf("unknown member %q", name)
	}
	return nil
}

// eachMember calls visit for the members of an object, and refuses names that
// come twice. Other values have no members.
func eachMember(data []byte, visit func(name string, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return err
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the decoder lets nothing else through
		if seen[name] {
			return fmt.Errorf("member %q comes twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

func limit(to, from *int64) error {
	if from == nil {
		return nil
	}
	*to = *from
	if *from < 0 {
		return errors.New("negative limit")
	}
	return nil
}

func replies(to *Replies, word *string) error {
	if word == nil {
		return nil
	}
	switch *word {
	case "off":
		*to = IgnoreReplies
	case "redact":
		*to = RedactReplies
	case "block":
		*to = BlockReplies
	default:
		return fmt.Errorf("unknown treatment of replies %q", *word)
	}
	return nil
}
