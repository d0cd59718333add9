package proxy

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/egress"
)

// ErrEmptyPolicy reports an allow list without entries: a proxy that opens
// nothing is a mistake, and one that took it for "everything" would be worse.
var ErrEmptyPolicy = errors.New("the allow list is empty")

// Options configure a [Server]. Every zero value is safe.
type Options struct {
	// Policy is what is allowed. An empty allow list is an error unless a
	// Decider is there to ask.
	Policy Policy
	// Guard is the profile that judges resolved addresses.
	Guard Guard
	// SNI is what is done about the server name in a tunnel's TLS hello.
	SNI SNI

	// HeadTimeout bounds reading a request head from the first byte of the
	// connection on; zero means 10 s.
	HeadTimeout time.Duration
	// ConnectTimeout bounds resolving and dialling together and, in the broker,
	// the TLS handshake after them; zero means 10 s.
	ConnectTimeout time.Duration
	// IdleTimeout ends tunnels and broker exchanges after that long without a
	// byte; zero means 1 h, negative no bound.
	IdleTimeout time.Duration
	// HalfCloseTimeout is the same once one side has ended; zero means 5 min,
	// negative no bound.
	HalfCloseTimeout time.Duration
	// DrainTimeout is how long open tunnels may go on once Serve's context
	// ends; zero cuts them at once.
	DrainTimeout time.Duration
	// MaxConns limits the data connections served at a time, tunnels among
	// them; zero means no limit but the process's descriptors.
	MaxConns int

	// NameServer, if valid, is asked instead of the system's resolver.
	NameServer netip.AddrPort
	// Hosts, if not nil, is a hosts(5) file looked at before NameServer;
	// without a NameServer, names that are not in it do not exist.
	Hosts io.Reader

	// Upstream, if not nil, is the proxy all tunnels go through: an http,
	// https or socks5 URL. Names are resolved and judged here all the same.
	Upstream *url.URL
	// UpstreamNames are handed to Upstream by name, for targets that only it
	// can resolve; their addresses cannot be judged here.
	UpstreamNames []egress.Pattern
	// UpstreamBypass are dialled directly; so are loopback targets, unless
	// Upstream is on this machine as well.
	UpstreamBypass []egress.Pattern

	// SOCKS accepts SOCKS5 CONNECT on the data listeners too.
	SOCKS bool
	// InjectChunked lets the broker take chunked request bodies, which it
	// frames anew; otherwise they are answered with 501.
	InjectChunked bool
	// Record, if not nil, gets one JSON line for each request body the broker
	// forwarded. Credentials are never in it.
	Record io.Writer
	// RootCAs are trusted for broker upstreams and https proxies; nil means
	// the system's.
	RootCAs *x509.CertPool

	// ControlToken is the bearer token of the control endpoint. Without one
	// Serve refuses a control listener.
	ControlToken Secret
	// Decider, if not nil, is asked about targets nobody listed or denied.
	Decider Decider

	// Logger gets one event for each decision, at info level for those that
	// let through and warn for those that a policy refused.
	Logger zerolog.Logger
	// Audit, if not nil, gets the decisions as JSON lines; see [Event].
	Audit *Audit
	// Now is the clock of grants and the decision log; nil means time.Now.
	Now func() time.Time
}

// The defaults of the timeouts.
const (
	defaultHeadTimeout      = 10 * time.Second
	defaultConnectTimeout   = 10 * time.Second
	defaultIdleTimeout      = time.Hour
	defaultHalfCloseTimeout = 5 * time.Minute
)

// withDefaults fills in what was left zero and turns "no bound" into zero.
func (o Options) withDefaults() Options {
	pick := func(d, otherwise time.Duration) time.Duration {
		switch {
		case d == 0:
			return otherwise
		case d < 0:
			return 0
		default:
			return d
		}
	}
	o.HeadTimeout = pick(max(o.HeadTimeout, 0), defaultHeadTimeout)
	o.ConnectTimeout = pick(max(o.ConnectTimeout, 0), defaultConnectTimeout)
	o.IdleTimeout = pick(o.IdleTimeout, defaultIdleTimeout)
	o.HalfCloseTimeout = pick(o.HalfCloseTimeout, defaultHalfCloseTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Guard is a profile of address classes that names may not resolve to.
type Guard uint8

// The profiles.
const (
	// GuardStandard refuses what no remote service lives at: loopback,
	// unspecified, link-local, multicast, broadcast and cloud metadata
	// addresses and this machine's own, in every form that carries IPv4.
	// Addresses of private networks pass, since providers on a LAN are real.
	GuardStandard Guard = iota
	// GuardStrict refuses everything but public addresses, and the whole
	// answer when one address in it is refused.
	GuardStrict
)

// ParseGuard reads "standard" or "strict".
func ParseGuard(s string) (Guard, error) {
	switch s {
	case "standard":
		return GuardStandard, nil
	case "strict":
		return GuardStrict, nil
	default:
		return GuardStrict, fmt.Errorf("%q is neither standard nor strict", s)
	}
}

// SNI says what becomes of tunnels whose TLS hello names another server than
// the CONNECT did.
type SNI uint8

// The modes.
const (
	// SNIObserve puts the name into the decision log.
	SNIObserve SNI = iota
	// SNIEnforce ends a tunnel whose hello names another server, or none
	// where the CONNECT had a name, before the hello reaches the target.
	SNIEnforce
	// SNIOff does not look.
	SNIOff
)

// ParseSNI reads "off", "observe" or "enforce".
func ParseSNI(s string) (SNI, error) {
	switch s {
	case "off":
		return SNIOff, nil
	case "observe":
		return SNIObserve, nil
	case "enforce":
		return SNIEnforce, nil
	default:
		return SNIEnforce, fmt.Errorf("%q is none of off, observe, enforce", s)
	}
}
