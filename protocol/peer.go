package protocol

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/steerable-go/sidecar/schemas"
)

// Limits of a peer that its options leave at zero.
const (
	DefaultMaxOutbound = 1 << 20 // bytes of an outbound frame; hosts rescan their buffer
	DefaultMaxInFlight = 64      // requests being worked on
	overloadRetryMs    = 250     // hint in the overload error
	keepScratch        = 64 << 10
	maxID              = 1024 // bytes of an id that is echoed
)

// Options configures a [Peer]. In and Out are required.
type Options struct {
	// In is the host's end of standard input.
	In io.Reader
	// Out writes to the host.
	Out *Out
	// Schemas validates frames in both directions. Required.
	Schemas *schemas.Set
	// Log receives what concerns the transport.
	Log zerolog.Logger
	// Methods are the methods served, by name.
	Methods map[string]Method
	// MaxFrame caps an inbound line; 0 means [DefaultMaxFrame].
	MaxFrame int
	// MaxOutbound caps an outbound frame; 0 means [DefaultMaxOutbound].
	MaxOutbound int
	// MaxInFlight caps requests being worked on; 0 means [DefaultMaxInFlight].
	MaxInFlight int
}

// Peer is our end of the connection. It implements [jsonrpc2.JSONRPC2] for
// calls to the host. All methods are safe for concurrent use; Run is called
// once.
type Peer struct {
	opts  Options
	table map[string]*entry
	slots chan struct{}
	group sync.WaitGroup // handlers that run on goroutines of their own

	scratch []byte // frames of the reader's goroutine

	strays atomic.Uint64 // answers to nobody, notifications we do not know

	mu      sync.Mutex // guards following
	serial  uint64
	pending map[uint64]chan answer // calls that wait, by serial
	closed  bool
}

// Peer satisfies the interface that users of jsonrpc2 build on.
var _ jsonrpc2.JSONRPC2 = (*Peer)(nil)

// NewPeer returns a peer. Nothing is read before [Peer.Run].
func NewPeer(opts Options) *Peer {
	if opts.MaxFrame <= 0 {
		opts.MaxFrame = DefaultMaxFrame
	}
	if opts.MaxOutbound <= 0 {
		opts.MaxOutbound = DefaultMaxOutbound
	}
	if opts.MaxInFlight <= 0 {
		opts.MaxInFlight = DefaultMaxInFlight
	}
	table := make(map[string]*entry, len(opts.Methods))
	for name, method := range opts.Methods {
		table[name] = &entry{Method: method, name: name, params: schemas.Params(name), result: schemas.Result(name)}
	}
	return &Peer{opts: opts, table: table, slots: make(chan struct{}, opts.MaxInFlight), pending: map[uint64]chan answer{}}
}

// Strays returns how many frames were dropped because nobody waited for them.
func (p *Peer) Strays() uint64 { return p.strays.Load() }

// Run reads frames until the host closes the pipe, which returns nil, or
// reading fails. Requests are answered while it runs; ctx is the parent of
// every handler's context. When it has returned, handlers may still be running
// and calls may wait for a host that is gone: cancel ctx, call [Peer.Close],
// then [Peer.Wait].
func (p *Peer) Run(ctx context.Context) error {
	lines := newLineReader(p.opts.In, p.opts.MaxFrame)
	for {
		line, err := lines.next()
		more := lines.buffered()
		switch {
		case errors.Is(err, errLineTooLong):
			p.tooLong(line, more)
		case err != nil:
			p.opts.Out.Flush()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case lines.cut && schemas.Valid(line) != nil:
			// The host died while it wrote; there is nobody to answer.
			p.opts.Log.Warn().Int("bytes", len(line)).Msg("the last line is cut")
		default:
			p.line(ctx, line, more)
		}
		if !more {
			p.opts.Out.Flush()
		}
		p.opts.Out.throttle()
	}
}

// Wait returns when every handler has returned.
func (p *Peer) Wait() { p.group.Wait() }

// Close fails the calls that wait for the host. It does not end Run: only the
// host's closing of the pipe does.
func (p *Peer) Close() error {
	p.failPending()
	return nil
}

// line answers one line.
func (p *Peer) line(ctx context.Context, line []byte, more bool) {
	line = trim(line)
	if len(line) == 0 {
		return
	}
	if line[0] != '{' {
		p.refuse(notObject(line), more)
		return
	}
	var f frame
	if err := f.split(line); err != nil {
		p.malformed(line, err, more)
		return
	}
	switch {
	case f.isResponse():
		p.deliver(&f)
	case f.id == nil && f.hasMethod:
		// A notification is never answered, and no method of ours is one.
		p.strays.Add(1)
	default:
		p.request(ctx, &f, more)
	}
}

// malformed answers a line that begins like an object. When it is the answer
// to one of our calls, that call fails at once instead of at its timeout.
func (p *Peer) malformed(line []byte, err error, more bool) {
	fault := faultOf(line, err)
	if n, ours := serial(recoverID(line)); ours && !bytes.Contains(line, []byte(`"method"`)) {
		if !p.failCall(n, fault.err) {
			p.strays.Add(1)
		}
		p.opts.Log.Warn().Str("error", fault.err.Message).Msg("malformed answer from the host")
		return
	}
	p.refuse(fault, more)
}

// tooLong answers a line over the limit, given its head.
func (p *Peer) tooLong(head []byte, more bool) {
	e := invalidRequest("line exceeds " + string(appendInt(nil, int64(p.opts.MaxFrame))) + " bytes")
	id := recoverID(trim(head))
	if n, ours := serial(id); ours && p.failCall(n, e) {
		return
	}
	p.refuse(lineFault{id, e}, more)
}

func (p *Peer) refuse(fault lineFault, more bool) {
	if len(fault.id) > maxID {
		fault.id = nullID()
	}
	p.opts.Log.Debug().Int64("code", fault.err.Code).Str("error", fault.err.Message).Msg("line refused")
	p.opts.Out.Write(encodeError(fault.id, fault.err), more)
}

// trim cuts the white space that JSON allows around a value.
func trim(line []byte) []byte {
	for len(line) > 0 && isSpace(line[0]) {
		line = line[1:]
	}
	for len(line) > 0 && isSpace(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	return line
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }
