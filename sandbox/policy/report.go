package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Enforcement says how much of a policy the operating system enforces. The
// zero value is None, so that a report nobody filled in claims nothing.
type Enforcement uint8

// The three values of the wire (seed 000, "Tool-execution sandbox").
const (
	None    Enforcement = iota // nothing is enforced
	Partial                    // some requested dimension is not
	Full                       // every requested dimension is
)

// String returns the word used on the wire. An unknown value reads "none".
func (e Enforcement) String() string {
	switch e {
	case Full:
		return "full"
	case Partial:
		return "partial"
	case None:
		return "none"
	}
	return "none"
}

// ParseEnforcement reads a wire word. Anything but "full", "partial" and
// "none" is an error, and the value returned with it is None.
func ParseEnforcement(s string) (Enforcement, error) {
	switch s {
	case "full":
		return Full, nil
	case "partial":
		return Partial, nil
	case "none":
		return None, nil
	}
	return None, fmt.Errorf("unknown enforcement %q", s)
}

// MarshalText returns the wire word.
func (e Enforcement) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads a wire word; see [ParseEnforcement].
func (e *Enforcement) UnmarshalText(text []byte) error {
	v, err := ParseEnforcement(string(text))
	*e = v
	return err
}

// Dimension is one thing a policy asks of the kernel. Values combine as a bit
// set; the zero value is the empty set.
type Dimension uint16

// The dimensions, in the order in which reports name them.
const (
	DimWrites      Dimension = 1 << iota // files outside the roots cannot be written, created, renamed or removed
	DimProtect                           // nor can the protected paths inside the roots
	DimReadDeny                          // listed paths cannot be read
	DimMetadata                          // mode, owner, times and attributes outside the roots cannot be changed
	DimEgress                            // no packet leaves except to the pinned endpoint: TCP, UDP, raw, MPTCP, vsock
	DimUnix                              // sockets of processes outside cannot be reached: path names and abstract names
	DimDescriptors                       // nothing but the standard streams is inherited
	DimEnvironment                       // only listed variables are inherited, and no process shows the others
	DimSignals                           // processes outside cannot be signalled, traced or reprioritised
	DimKernel                            // keyrings, device nodes, mounts, namespaces, bpf, TIOCSTI and io_uring are closed
	DimLimits                            // the resource limits asked for are set
)

// dimensionNames are the words reports use, in bit order.
func dimensionNames() []string {
	return []string{
		"writes", "protect", "readDeny", "metadata", "egress", "unix",
		"descriptors", "environment", "signals", "kernel", "limits",
	}
}

// Names returns the words for the dimensions in d, in bit order, nil if empty.
func (d Dimension) Names() []string {
	var names []string
	for i, name := range dimensionNames() {
		if d&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParseDimension reads one word of [Dimension.Names].
func ParseDimension(s string) (Dimension, error) {
	for i, name := range dimensionNames() {
		if s == name {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("unknown dimension %q", s)
}

// Backend names as they appear on the wire.
const (
	BackendNone     = "none"
	BackendSeatbelt = "seatbelt"
	BackendBwrap    = "bwrap"
	BackendNative   = "native"
	BackendLandlock = "landlock"
)

// Report says which backend confines a command and how much of the policy the
// kernel enforces. The zero Report is not valid on the wire; use [NoBackend].
type Report struct {
	Backend     string      `json:"backend"`
	Enforcement Enforcement `json:"enforcement"`
	NotEnforced []string    `json:"notEnforced,omitempty"` // dimensions asked for and not enforced
	ABI         int         `json:"abi,omitempty"`         // Landlock ABI of the running kernel, 0 where unused
}

// NoBackend is the report of a platform without any backend.
func NoBackend() Report { return Report{Backend: BackendNone} }

// Assess compares what p asks for with what backend enforces. It is the only
// place where the word "full" is decided: full exactly when nothing asked for
// is missing. abi is the Landlock ABI behind the claim, 0 where it plays no
// part.
func Assess(backend string, abi int, enforced Dimension, p Policy) Report {
	missing := p.Requested() &^ enforced
	r := Report{Backend: backend, Enforcement: Full, NotEnforced: missing.Names(), ABI: abi}
	switch {
	case backend == BackendNone || backend == "" || enforced == 0:
		return NoBackend()
	case missing != 0:
		r.Enforcement = Partial
	}
	return r
}

// Shortfall says why the report is less than what is required; empty if it is
// enough.
func (r Report) Shortfall(required Enforcement) string {
	if r.Enforcement >= required {
		return ""
	}
	text := "enforcement is " + r.Enforcement.String() + ", " + required.String() + " is required"
	if len(r.NotEnforced) > 0 {
		text += " (not enforced: " + strings.Join(r.NotEnforced, ", ") + ")"
	}
	return text
}

// AppendJSON appends the report as one JSON object. Every string in a report
// comes from the fixed lists of this package, so nothing needs escaping beyond
// what strconv.Quote does for plain ASCII.
func (r Report) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"backend":`...)
	dst = strconv.AppendQuoteToASCII(dst, r.Backend)
	dst = append(dst, `,"enforcement":"`...)
	dst = append(dst, r.Enforcement.String()...)
	dst = append(dst, '"')
	if len(r.NotEnforced) > 0 {
		dst = append(dst, `,"notEnforced":["`...)
		dst = append(dst, strings.Join(r.NotEnforced, `","`)...)
		dst = append(dst, `"]`...)
	}
	if r.ABI > 0 {
		dst = append(dst, `,"abi":`...)
		dst = strconv.AppendInt(dst, int64(r.ABI), 10)
	}
	return append(dst, '}')
}
