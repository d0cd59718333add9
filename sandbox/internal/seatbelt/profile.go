package seatbelt

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/steerable-go/sidecar/egress"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// maxLiteral is the longest string the profile compiler takes (measured at
// 1025 bytes by others, kept below).
const maxLiteral = 900

// Path is where macOS keeps the program that applies a profile.
const Path = "/usr/bin/sandbox-exec"

// Options are what a profile depends on besides the policy.
type Options struct {
	TempDir   string // real path of TMPDIR, "" to leave it out
	Protected []policy.Protected
}

// Profile returns the profile for p. Errors are of type
// [*policy.RefusedError]: a path that cannot be written into a profile.
func Profile(p policy.Policy, o Options) (string, error) {
	w := &writer{}
	w.base()
	w.scratch(o.TempDir)
	for _, dir := range slices.Concat(p.Roots, p.GitDirs) {
		w.grant(dir)
		w.rule("allow network-outbound (remote unix-socket (subpath %))", dir)
		w.rule("allow network-bind (local unix-socket (subpath %))", dir)
	}
	if !p.Unprotected {
		w.protect(o.Protected)
	}
	for _, path := range p.ReadDeny {
		w.rule("deny file-read* (subpath %)", path)
	}
	w.pin(p)
	w.network(p.Egress)
	return w.text.String(), w.err
}

// Enforced are the dimensions that the profile and the launcher together
// carry. Entries that name this machine only are pinned exactly.
func Enforced(p policy.Policy) policy.Dimension {
	d := policy.DimWrites | policy.DimProtect | policy.DimReadDeny | policy.DimMetadata | policy.DimUnix |
		policy.DimDescriptors | policy.DimEnvironment | policy.DimSignals | policy.DimKernel | policy.DimLimits
	// A proxy on a unix socket would need a relay, which this backend lacks.
	local := p.Egress.Mode == policy.EgressPinned && p.Egress.Socket == "" || p.Egress.Mode == policy.EgressLoopback
	if local || p.Egress.Mode == policy.EgressClosed {
		d |= policy.DimEgress
	}
	return d
}

// writer collects rules and the first error.
type writer struct {
	text strings.Builder
	err  error
}

// rule writes one expression; "%" stands for the quoted argument.
func (w *writer) rule(form string, args ...string) {
	for _, arg := range args {
		form = strings.Replace(form, "%", w.quote(arg), 1)
	}
	w.text.WriteString("(" + form + ")\n")
}

func (w *writer) comment(text string) { w.text.WriteString("; " + text + "\n") }

// quote writes a string literal. Control characters never come this far from
// package policy; they are refused here as well, since one would end the line
// and begin a rule of its own.
func (w *writer) quote(s string) string {
	bad := strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
	if bad && w.err == nil {
		w.err = &policy.RefusedError{Reason: policy.ReasonControlCharacter, Detail: "a path holds a control character"}
	}
	if len(s) > maxLiteral && w.err == nil {
		w.err = &policy.RefusedError{Reason: policy.ReasonPathLength, Detail: "a path is too long for a Seatbelt profile"}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// base is what every process needs. appleevent-send and lsopen stay denied:
// "open" would start programs outside the sandbox.
func (w *writer) base() {
	for _, form := range []string{
		"version 1",
		"deny default",
		"allow process-exec",
		"allow process-fork",
		"allow signal (target same-sandbox)",
		"allow process-info* (target same-sandbox)",
		"allow sysctl-read",
		"allow ipc-posix-sem",
		"allow pseudo-tty",
		`allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo")`,
		"allow file-read*",
		`allow file-write-data (require-all (literal "/dev/null") (vnode-type CHARACTER-DEVICE))`,
		`allow file-read* file-write-data file-ioctl (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$")`,
		`allow file-write-data (literal "/dev/zero") (literal "/dev/stdout") (literal "/dev/stderr") (regex #"^/dev/fd/[0-9]+$")`,
	} {
		w.rule(form)
	}
}

// scratch grants the temporary directories, under both of their names.
func (w *writer) scratch(temp string) {
	dirs := []string{"/tmp", "/private/tmp", "/var/tmp", "/private/var/tmp"}
	if temp != "" && !slices.Contains(dirs, temp) {
		dirs = append(dirs, temp)
	}
	for _, dir := range dirs {
		w.grant(dir)
	}
}

func (w *writer) grant(dir string) { w.rule("allow file-read* file-write* (subpath %)", dir) }

// protect denies writing to protected paths, and renaming or removing what
// they lie in: moving .git aside would take its protection along.
func (w *writer) protect(list []policy.Protected) {
	for _, p := range list {
		if p.Pin {
			w.rule("deny file-write-unlink (literal %)", p.Path)
			continue
		}
		w.rule("deny file-write* (subpath %)", p.Path)
		w.rule("deny file-write-unlink (literal %)", filepath.Dir(p.Path))
	}
}

// pin denies moving what has rules of its own below a writable directory, and
// what lies between: rules go by paths.
func (w *writer) pin(p policy.Policy) {
	writable := slices.Concat(p.Roots, p.GitDirs)
	for _, path := range slices.Concat(writable, p.ReadDeny) {
		if policy.InRoots(filepath.Dir(path), writable) {
			w.rule("deny file-write-unlink (literal %)", path)
		}
	}
	for _, dir := range p.Pinned() {
		w.rule("deny file-write-unlink (literal %)", dir)
	}
}

// services are what resolving and verifying names needs; they are local.
func (w *writer) services() {
	w.rule("allow system-socket (require-all (socket-domain AF_SYSTEM) (socket-protocol 2))")
	for _, name := range []string{
		"com.apple.bsd.dirhelper", "com.apple.system.opendirectoryd.membership", "com.apple.SecurityServer",
		"com.apple.networkd", "com.apple.ocspd", "com.apple.trustd.agent",
		"com.apple.SystemConfiguration.DNSConfiguration", "com.apple.SystemConfiguration.configd",
	} {
		w.rule("allow mach-lookup (global-name %)", name)
	}
	w.rule(`allow sysctl-read (sysctl-name-regex #"^net.routetable")`)
}

// network writes the egress rules. Binding IP addresses is never allowed, and
// "local ip" never emitted: on network-outbound it matches every connection.
func (w *writer) network(e policy.Egress) {
	switch e.Mode {
	case policy.EgressClosed:
		return
	case policy.EgressOpen:
		w.rule(`allow network-outbound (remote ip "*:*")`)
		w.rule(`allow network-outbound (literal "/private/var/run/mDNSResponder")`)
	case policy.EgressPinned, policy.EgressLoopback, policy.EgressListed:
		w.hosts(e)
	}
	w.services()
}

func (w *writer) hosts(e policy.Egress) {
	var seen []string
	for _, entry := range e.Hosts {
		endpoint, err := egress.ParseEndpoint(entry)
		if err != nil {
			w.err = &policy.RefusedError{Reason: policy.ReasonAllowedHosts, Detail: err.Error()}
			return
		}
		host := "*"
		if endpoint.Loopback() {
			host = "localhost"
		}
		for _, port := range endpoint.Ports() {
			filter := host + ":" + strconv.Itoa(int(port))
			if slices.Contains(seen, filter) {
				continue
			}
			seen = append(seen, filter)
			if host == "*" {
				w.comment("NOTE: host names cannot be enforced; this entry is degraded to its port")
			}
			w.rule("allow network-outbound (remote tcp %)", filter)
		}
	}
}
