package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/steerable-go/sidecar/egress"
)

// Policy is what may be reached. It is replaced as a whole by [Server.Reload].
type Policy struct {
	// Allow opens targets. Wildcards need two labels below them.
	Allow []egress.Pattern
	// Deny closes targets whatever Allow, grants and deciders say; an address
	// in it is also refused when a name resolves to it.
	Deny []egress.Pattern
	// Inject are the broker's rules, one for a host at most.
	Inject []InjectRule
}

// InjectRule lets plain-HTTP requests for Host through to Host over Scheme,
// with Secret in Header.
type InjectRule struct {
	Host egress.Host
	// Secret is the value of the header field, complete ("Bearer ...").
	Secret Secret
	// Header is the field's name; "" means Authorization.
	Header string
	// Scheme is "https" or "http", the latter for test upstreams; "" is https.
	Scheme string
	// Port is the upstream port; zero means the scheme's.
	Port uint16
	// Upgrade relays protocol upgrades such as WebSocket. Otherwise they are
	// answered with 501, since dropping the field would break them later.
	Upgrade bool
}

// withDefaults fills in the zero fields.
func (r InjectRule) withDefaults() InjectRule {
	if r.Header == "" {
		r.Header = "Authorization"
	}
	if r.Scheme == "" {
		r.Scheme = "https"
	}
	if r.Port == 0 {
		r.Port = 443
		if r.Scheme == "http" {
			r.Port = 80
		}
	}
	return r
}

// check refuses rules that could not be carried out safely.
func (r InjectRule) check() error {
	switch {
	case !r.Host.IsValid():
		return errors.New("inject rule without a host")
	case r.Secret.IsZero():
		return fmt.Errorf("inject rule for %s: the secret is empty", r.Host)
	case !visible(r.Secret.reveal()):
		return fmt.Errorf("inject rule for %s: the secret holds a control character or outer blanks", r.Host)
	case r.Scheme != "https" && r.Scheme != "http":
		return fmt.Errorf("inject rule for %s: scheme %q is neither https nor http", r.Host, r.Scheme)
	case !validFieldName(r.Header) || hopByHop(strings.ToLower(r.Header)) || framing(strings.ToLower(r.Header)):
		return fmt.Errorf("inject rule for %s: %q cannot carry a credential", r.Host, r.Header)
	}
	return nil
}

func visible(s string) bool {
	for _, c := range []byte(s) {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return strings.Trim(s, " ") == s
}

func validFieldName(s string) bool {
	for _, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// check returns the policy with defaults filled in.
func (p Policy) check() (Policy, error) {
	for _, a := range p.Allow {
		if a.TooBroad() {
			return Policy{}, fmt.Errorf("invalid allow entry %q: a wildcard needs two labels below it", a)
		}
	}
	rules := make([]InjectRule, 0, len(p.Inject))
	seen := map[egress.Host]bool{}
	for _, r := range p.Inject {
		r.Host = r.Host.Unmap()
		r = r.withDefaults()
		if err := r.check(); err != nil {
			return Policy{}, err
		}
		if seen[r.Host] {
			return Policy{}, fmt.Errorf("two inject rules for %s", r.Host)
		}
		seen[r.Host] = true
		rules = append(rules, r)
	}
	p.Allow, p.Deny, p.Inject = unmapped(p.Allow), unmapped(p.Deny), rules
	return p, nil
}

// unmapped spells IPv4-mapped entries as IPv4, which is how requests come.
func unmapped(in []egress.Pattern) []egress.Pattern {
	out := make([]egress.Pattern, len(in))
	for i, p := range in {
		p.Host = p.Host.Unmap()
		out[i] = p
	}
	return out
}

// policyFile is the JSON form of a policy.
type policyFile struct {
	Allow  []string     `json:"allow"`
	Deny   []string     `json:"deny"`
	Inject []injectFile `json:"inject"`
}

type injectFile struct {
	Host      string `json:"host"`
	SecretEnv string `json:"secretEnv"`
	Header    string `json:"header"`
	Scheme    string `json:"scheme"`
	Port      int    `json:"port"`
	Upgrade   bool   `json:"upgrade"`
}

// policyKeys lists the keys of a policy file as they are spelled; the decoder
// knows which belongs where.
func policyKeys() []string {
	return []string{"allow", "deny", "inject", "host", "secretEnv", "header", "scheme", "port", "upgrade"}
}

// ParsePolicy reads a policy file: a JSON object with the lists "allow" and
// "deny" of entries and "inject" of objects {host, secretEnv, header, scheme,
// port, upgrade}. secretEnv names a variable that env returns. Unknown keys,
// anything after the object and bad entries are errors.
func ParsePolicy(data []byte, env func(name string) string) (Policy, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f policyFile
	if err := dec.Decode(&f); err != nil {
		return Policy{}, fmt.Errorf("parse policy: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Policy{}, errors.New("parse policy: text after the object")
	}
	if err := checkKeys(data, policyKeys()); err != nil {
		return Policy{}, fmt.Errorf("parse policy: %w", err)
	}
	var p Policy
	var err error
	if p.Allow, err = ParseEntries("allow", f.Allow); err != nil {
		return Policy{}, err
	}
	if p.Deny, err = ParseEntries("deny", f.Deny); err != nil {
		return Policy{}, err
	}
	for _, in := range f.Inject {
		rule, err := in.rule(env)
		if err != nil {
			return Policy{}, err
		}
		p.Inject = append(p.Inject, rule)
	}
	return p.check()
}

func (in injectFile) rule(env func(string) string) (InjectRule, error) {
	host, err := egress.ParseHost(in.Host)
	if err != nil {
		return InjectRule{}, fmt.Errorf("inject rule: %w", err)
	}
	if in.Port < 0 || in.Port > 65535 {
		return InjectRule{}, fmt.Errorf("inject rule for %s: port %d", host, in.Port)
	}
	secret := ""
	if in.SecretEnv != "" {
		secret = env(in.SecretEnv)
	}
	if secret == "" {
		return InjectRule{}, fmt.Errorf("inject rule for %s: secret env var %q is empty or unset", host, in.SecretEnv)
	}
	return InjectRule{
		Host: host, Secret: NewSecret(secret), Header: in.Header,
		Scheme: in.Scheme, Port: uint16(in.Port), Upgrade: in.Upgrade,
	}, nil
}

// ParseEntries reads the entries of a list; list is its name in errors.
func ParseEntries(list string, entries []string) ([]egress.Pattern, error) {
	var out []egress.Pattern
	for _, s := range entries {
		p, err := egress.ParsePattern(s)
		if err != nil {
			return nil, fmt.Errorf("invalid %s entry: %w", list, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// ParseHost reads the host of an inject rule; see [egress.ParseHost].
func ParseHost(s string) (egress.Host, error) {
	h, err := egress.ParseHost(s)
	if err != nil {
		return egress.Host{}, fmt.Errorf("host: %w", err)
	}
	return h, nil
}
