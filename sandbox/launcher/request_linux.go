package launcher

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/steerable-go/sidecar/sandbox/internal/seccomp"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// request tells the inner stage what to do. It travels in an anonymous file,
// as NUL-terminated fields, because a command line has limits that the
// command's own arguments may already reach.
type request struct {
	writable []string // directories for the Landlock rule set
	sockets  seccomp.Sockets
	port     uint16 // pinned port to listen on, 0 for none
	limits   policy.Limits
	script   bool
	defaults []syscall.Signal
	cwd      string
	argv     []string
}

// Field names of an encoded request.
const (
	fieldWritable = "writable"
	fieldSockets  = "sockets"
	fieldPort     = "port"
	fieldCPU      = "cpu"
	fieldFileSize = "filesize"
	fieldProcs    = "processes"
	fieldAddress  = "address"
	fieldScript   = "script"
	fieldDefault  = "default"
	fieldCwd      = "cwd"
	fieldArg      = "arg"
)

// encode returns r as bytes. No value holds a NUL byte: they come from
// command lines.
func (r *request) encode() []byte {
	var b []byte
	add := func(name, value string) {
		b = append(append(append(append(b, name...), '='), value...), 0)
	}
	number := func(name string, n int64) {
		if n != 0 {
			add(name, strconv.FormatInt(n, 10))
		}
	}
	for _, dir := range r.writable {
		add(fieldWritable, dir)
	}
	number(fieldSockets, int64(r.sockets))
	number(fieldPort, int64(r.port))
	number(fieldCPU, r.limits.CPUSeconds)
	number(fieldFileSize, r.limits.FileSizeBytes)
	number(fieldProcs, r.limits.Processes)
	number(fieldAddress, r.limits.AddressSpaceBytes)
	if r.script {
		number(fieldScript, 1)
	}
	for _, sig := range r.defaults {
		number(fieldDefault, int64(sig))
	}
	add(fieldCwd, r.cwd)
	for _, arg := range r.argv {
		add(fieldArg, arg)
	}
	return b
}

// decodeRequest reads what encode wrote. A field it does not know, or a
// number it cannot read, fails: a stage that ignored half of its orders would
// confine half.
func decodeRequest(b []byte) (request, error) {
	var r request
	for text := string(b); text != ""; {
		field, rest, ok := strings.Cut(text, "\x00")
		name, value, named := strings.Cut(field, "=")
		if !ok || !named || !r.set(name, value) {
			return request{}, &wrapperError{what: "read the request: field " + strconv.Quote(name)}
		}
		text = rest
	}
	return r, nil
}

func (r *request) set(name, value string) bool {
	switch name {
	case fieldWritable:
		r.writable = append(r.writable, value)
		return true
	case fieldCwd:
		r.cwd = value
		return true
	case fieldArg:
		r.argv = append(r.argv, value)
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 {
		return false
	}
	switch name {
	case fieldSockets:
		r.sockets = seccomp.Sockets(n)
		return n <= int64(seccomp.SocketsOpen)
	case fieldPort:
		r.port = uint16(n)
		return n <= 65535
	case fieldScript:
		r.script = true
	case fieldDefault:
		r.defaults = append(r.defaults, syscall.Signal(n))
		return n <= 64
	case fieldCPU:
		r.limits.CPUSeconds = n
	case fieldFileSize:
		r.limits.FileSizeBytes = n
	case fieldProcs:
		r.limits.Processes = n
	case fieldAddress:
		r.limits.AddressSpaceBytes = n
	default:
		return false
	}
	return true
}
