package main

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/proxy"
)

// flags are the parsed command line.
type flags struct {
	binds     []string
	listenFDs []uint
	socks     bool
	maxConns  uint

	allow, deny []string
	policy      string
	guard       proxy.Guard
	sni         proxy.SNI

	nameServer netip.AddrPort
	hostsFile  string

	upstream       string
	upstreamAuth   string
	upstreamNames  []string
	upstreamBypass []string

	injectHost, injectSecretEnv, injectHeader, injectScheme string
	injectPort                                              port
	injectChunked                                           bool
	record                                                  string

	controlPort     port
	controlTokenEnv string

	headTimeout, connectTimeout, idleTimeout, halfCloseTimeout, drainTimeout time.Duration

	audit         string
	logLevel      zerolog.Level
	dieWithParent bool
	check         bool
	version       bool
}

// port is a TCP port, 0 where that has a meaning.
type port uint16

// option is one flag.
type option struct {
	name string
	arg  string // what help calls the argument; "" for a switch
	help string
	set  func(f *flags, v string) error
}

// options lists the flags in the order of the help text.
func options() []option {
	all := listenOptions()
	all = append(all, policyOptions()...)
	all = append(all, upstreamOptions()...)
	all = append(all, brokerOptions()...)
	return append(all, operationOptions()...)
}

func listenOptions() []option {
	return []option{
		{"bind", "ADDR", "listen on host:port, [IPv6]:port or unix:/path (default 127.0.0.1:8899; repeatable)", func(f *flags, v string) error {
			f.binds = append(f.binds, v)
			return checkBind(v)
		}},
		{"listen-fd", "N", "serve the listening socket inherited as descriptor N (repeatable)", func(f *flags, v string) error {
			n, err := strconv.ParseUint(v, 10, 16)
			f.listenFDs = append(f.listenFDs, uint(n))
			return notA("descriptor number", err)
		}},
		{"socks", "", "accept SOCKS5 CONNECT on the same listeners", setTrue(func(f *flags) *bool { return &f.socks })},
		{"max-connections", "N", "serve at most N connections at a time (default: as many as descriptors allow)", func(f *flags, v string) error {
			n, err := strconv.ParseUint(v, 10, 31)
			f.maxConns = uint(n)
			return notA("number", err)
		}},
		{"control-port", "N", "port of the control endpoint on 127.0.0.1, 0 for any (needs --control-token-env)", setPort(func(f *flags) *port { return &f.controlPort }, 0)},
		{"control-token-env", "VAR", "variable with the control endpoint's bearer token; without it there is no endpoint", setString(func(f *flags) *string { return &f.controlTokenEnv })},
	}
}

func policyOptions() []option {
	return []option{
		{"allow", "ENTRY", "open host[:port], *.domain[:port] or **.domain[:port]; without a port 443 and 80 (repeatable)", setList(func(f *flags) *[]string { return &f.allow })},
		{"deny", "ENTRY", "close it whatever else opens it; without a port every port (repeatable)", setList(func(f *flags) *[]string { return &f.deny })},
		{"policy", "FILE", "JSON file with further allow, deny and inject lists; SIGHUP reads it again", setString(func(f *flags) *string { return &f.policy })},
		{"resolve-guard", "PROFILE", "standard refuses addresses of this machine and its surroundings, strict all but public ones", func(f *flags, v string) (err error) {
			f.guard, err = proxy.ParseGuard(v)
			return err
		}},
		{"sni", "MODE", "off, observe (default) or enforce: what to do about the server name in a tunnel's TLS hello", func(f *flags, v string) (err error) {
			f.sni, err = proxy.ParseSNI(v)
			return err
		}},
		{"resolver", "HOST:PORT", "ask this DNS server instead of the system's resolver", func(f *flags, v string) (err error) {
			// Finding a name server by name would take another one.
			v = strings.Replace(v, "localhost:", "127.0.0.1:", 1)
			f.nameServer, err = netip.ParseAddrPort(v)
			if err == nil && f.nameServer.Port() == 0 {
				err = strconv.ErrRange
			}
			return notA("address and port", err)
		}},
		{"hosts-file", "FILE", "resolve the names in this hosts(5) file, and others by --resolver only", setString(func(f *flags) *string { return &f.hostsFile })},
	}
}

func upstreamOptions() []option {
	return []option{
		{"upstream", "URL", "go through this http, https or socks5 proxy", setString(func(f *flags) *string { return &f.upstream })},
		{"upstream-auth-env", "VAR", "variable with user:password for it", setString(func(f *flags) *string { return &f.upstreamAuth })},
		{"upstream-name", "ENTRY", "let the upstream proxy resolve these names (repeatable)", setList(func(f *flags) *[]string { return &f.upstreamNames })},
		{"upstream-bypass", "ENTRY", "dial these directly, and loopback if the proxy is elsewhere (repeatable)", setList(func(f *flags) *[]string { return &f.upstreamBypass })},
	}
}

func brokerOptions() []option {
	return []option{
		{"inject-host", "HOST", "forward plain-HTTP requests for HOST with a credential (with --inject-secret-env)", setString(func(f *flags) *string { return &f.injectHost })},
		{"inject-secret-env", "VAR", "variable with the credential", setString(func(f *flags) *string { return &f.injectSecretEnv })},
		{"inject-header", "NAME", "field that carries it (default Authorization)", setString(func(f *flags) *string { return &f.injectHeader })},
		{"inject-scheme", "SCHEME", "https (default), or http for test upstreams", setString(func(f *flags) *string { return &f.injectScheme })},
		{"inject-port", "N", "upstream port (default 443, or 80 for http)", setPort(func(f *flags) *port { return &f.injectPort }, 1)},
		{"inject-chunked", "MODE", "refuse (default) or allow chunked request bodies", func(f *flags, v string) error {
			f.injectChunked = v == "allow"
			if v != "allow" && v != "refuse" {
				return fmt.Errorf("%q is neither allow nor refuse", v)
			}
			return nil
		}},
		{"record-requests", "FILE", "append forwarded request bodies as JSON lines", setString(func(f *flags) *string { return &f.record })},
	}
}

func operationOptions() []option {
	return []option{
		{"connect-timeout", "D", "bound on resolving and connecting together (default 10s)", setTimeout(func(f *flags) *time.Duration { return &f.connectTimeout }, false)},
		{"head-timeout", "D", "bound on reading a request head (default 10s)", setTimeout(func(f *flags) *time.Duration { return &f.headTimeout }, false)},
		{"idle-timeout", "D", "end tunnels after that long without a byte, 0 for never (default 1h)", setTimeout(func(f *flags) *time.Duration { return &f.idleTimeout }, true)},
		{"half-close-timeout", "D", "the same once one side has ended (default 5m)", setTimeout(func(f *flags) *time.Duration { return &f.halfCloseTimeout }, true)},
		{"drain-timeout", "D", "let open tunnels go on that long after SIGTERM (default 0)", setTimeout(func(f *flags) *time.Duration { return &f.drainTimeout }, true)},
		{"audit", "FILE", "append one JSON line for each decision", setString(func(f *flags) *string { return &f.audit })},
		{"log-level", "LEVEL", "debug, info, warn or error (default error): what to log to stderr", func(f *flags, v string) (err error) {
			f.logLevel, err = zerolog.ParseLevel(v)
			return notA("log level", err)
		}},
		{"die-with-parent", "", "end when the parent process does (Linux)", setTrue(func(f *flags) *bool { return &f.dieWithParent })},
		{"check", "", "check the configuration, print the effective lists and exit", setTrue(func(f *flags) *bool { return &f.check })},
		{"version", "", "print the version and exit", setTrue(func(f *flags) *bool { return &f.version })},
	}
}

// errHelp asks for the usage text.
var errHelp = errors.New("help")

// parseFlags reads the command line: "--flag value" and "--flag=value", and
// "--flag" alone for switches. Errors fit on one line.
func parseFlags(args []string) (*flags, error) {
	f := &flags{logLevel: zerolog.ErrorLevel}
	known := map[string]option{}
	for _, o := range options() {
		known["--"+o.name] = o
	}
	for len(args) > 0 {
		name, value, inline := strings.Cut(args[0], "=")
		args = args[1:]
		o, ok := known[name]
		switch {
		case (name == "--help" || name == "-h") && !inline:
			return nil, errHelp
		case !ok:
			return nil, fmt.Errorf("unknown argument %q", name)
		case inline:
		case o.arg == "":
			value = "true"
		case len(args) == 0:
			return nil, fmt.Errorf("%s needs a value", name)
		default:
			value, args = args[0], args[1:]
		}
		if err := o.set(f, value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return f, nil
}

func setString(field func(*flags) *string) func(*flags, string) error {
	return func(f *flags, v string) error {
		if v == "" { // an unset shell variable, most often: never "without"
			return errors.New("needs a value")
		}
		*field(f) = v
		return nil
	}
}

func setList(field func(*flags) *[]string) func(*flags, string) error {
	return func(f *flags, v string) error {
		*field(f) = append(*field(f), v)
		return nil
	}
}

func setTrue(field func(*flags) *bool) func(*flags, string) error {
	return func(f *flags, v string) (err error) {
		*field(f), err = strconv.ParseBool(v)
		return notA("truth value", err)
	}
}

func setPort(field func(*flags) *port, least uint64) func(*flags, string) error {
	return func(f *flags, v string) error {
		n, err := strconv.ParseUint(v, 10, 16)
		if err != nil || n < least {
			return fmt.Errorf("%q is no port", v)
		}
		*field(f) = port(n)
		return nil
	}
}

// never is how Options spells "no bound".
const never = -1

// setTimeout reads a Go duration or plain seconds. Where zero has a meaning it
// is stored as such: no bound, or no draining.
func setTimeout(field func(*flags) *time.Duration, zero bool) func(*flags, string) error {
	return func(f *flags, v string) error {
		d, err := parseTimeout(v)
		if err != nil {
			return err
		}
		if d == 0 && !zero {
			return fmt.Errorf("%q is no time to wait", v)
		}
		if d == 0 {
			d = never
		}
		*field(f) = d
		return nil
	}
}

func parseTimeout(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if s, ferr := strconv.ParseFloat(v, 64); ferr == nil {
		if math.IsNaN(s) || s < 0 || s > math.MaxInt64/float64(time.Second) {
			return 0, fmt.Errorf("%q is out of range", v)
		}
		d, err = time.Duration(s*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is neither a duration nor seconds", v)
	}
	return d, nil
}

// checkBind finds out what is wrong with an address before a socket is opened.
func checkBind(v string) error {
	if path, ok := strings.CutPrefix(v, "unix:"); ok {
		if path == "" {
			return errors.New("unix: needs a path")
		}
		return nil
	}
	i := strings.LastIndexByte(v, ':')
	if i <= 0 {
		return fmt.Errorf("%q is not host:port", v)
	}
	host := v[:i]
	if _, err := strconv.ParseUint(v[i+1:], 10, 16); err != nil {
		return fmt.Errorf("%q has no valid port", v)
	}
	bracketed := strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]")
	if strings.Contains(host, ":") && !bracketed {
		return fmt.Errorf("%q: IPv6 addresses need brackets", v)
	}
	return nil
}

func notA(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("not a %s", what)
}

// usage is the help text.
func usage() string {
	var b strings.Builder
	b.WriteString("usage: steerable-egress-proxy --allow HOST[:PORT] [flags]\n\nA local egress proxy that reaches only what its lists open.\n\n")
	for _, o := range options() {
		name := "--" + o.name
		if o.arg != "" {
			name += " " + o.arg
		}
		fmt.Fprintf(&b, "  %-26s %s\n", name, o.help)
	}
	b.WriteString("  --help                     print this text and exit\n")
	return b.String()
}
