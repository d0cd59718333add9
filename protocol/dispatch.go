package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// HandlerFunc answers one request. It runs on the reader's goroutine, so it
// must not wait for anything: work that waits is returned as a [Deferred]. A
// result is an [Appender], a json.RawMessage or a value for encoding/json; an
// error is sent as it is if it is an [*Error], else as -32603.
type HandlerFunc func(ctx context.Context, req *Request) (any, error)

// Deferred is a handler's result that is computed on a goroutine of its own.
// It returns what the handler would have returned.
type Deferred func(ctx context.Context) (any, error)

// Method is one entry of the method table.
type Method struct {
	// Handle answers a request. Required.
	Handle HandlerFunc
	// Fast methods are served even when the peer is at its limit of requests
	// in flight, and may not return a [Deferred]: ping, cancel, steer and
	// shutdown must get through.
	Fast bool
	// Unbounded methods do not count against the limit: the handler keeps a
	// bound of its own, because its work outlives the request.
	Unbounded bool
}

// Request is an inbound request. It is owned by its handler.
type Request struct {
	// ID is echoed in the answer.
	ID ID
	// Method is the method's name as it was called.
	Method string
	// Params is a JSON object that satisfies the method's schema; absent and
	// null params are {}. The bytes are valid until the handler returns; a
	// [Deferred] that needs them clones them.
	Params []byte

	peer    *Peer
	entry   *entry
	more    bool
	replied bool
	inline  bool // answered on the reader's goroutine, which may use its buffer
}

// entry is a method with what is looked up once for it.
type entry struct {
	Method
	name           string
	params, result string // names of schemas; "" for none
}

// Respond answers the request before its handler returns, in a write of its
// own. What the handler returns afterwards is ignored.
func (r *Request) Respond(result any) {
	if r.replied {
		return
	}
	r.replied = true
	r.peer.opts.Out.WriteAlone(r.peer.encodeResult(r, result)) // copies the frame
}

// request validates and dispatches a frame that is a request, or that must be
// answered as an invalid one.
func (p *Peer) request(ctx context.Context, f *frame, more bool) {
	id := ID(f.id)
	if id == nil {
		id = nullID()
	}
	if len(id) > maxID {
		p.refuse(lineFault{nullID(), invalidRequest("id is longer than 1024 bytes")}, more)
		return
	}
	if !validID(id) {
		p.refuse(lineFault{nullID(), invalidRequest("id must be a string or a number")}, more)
		return
	}
	if f.version != nil && string(f.version) != `"2.0"` {
		p.refuse(lineFault{id, invalidRequest(`jsonrpc must be "2.0"`)}, more)
		return
	}
	e := p.lookup(f.method)
	if e == nil {
		name := unquote(f.method)
		if name == "" {
			if n, ours := serial(id); ours {
				p.failCall(n, invalidRequest("an answer without result and error"))
			}
			p.refuse(lineFault{id, invalidRequest("missing method")}, more)
			return
		}
		p.refuse(lineFault{id, &Error{
			Code: CodeMethodNotFound, Kind: KindMethodNotFound,
			Message: fmt.Sprintf("unknown method '%s'", Truncate(name, 128)),
		}}, more)
		return
	}
	params, err := p.params(e, f.params)
	if err != nil {
		p.refuse(lineFault{id, err}, more)
		return
	}
	p.dispatch(ctx, &Request{ID: id, Method: e.name, Params: params, peer: p, entry: e, more: more, inline: true})
}

// lookup finds a method by its JSON string, without an allocation for the
// common spelling.
func (p *Peer) lookup(quoted []byte) *entry {
	if len(quoted) < 2 || quoted[0] != '"' {
		return nil
	}
	if e := p.table[string(quoted[1:len(quoted)-1])]; e != nil {
		return e
	}
	return p.table[unquote(quoted)]
}

// params checks a request's params against the method's schema.
func (p *Peer) params(e *entry, raw []byte) ([]byte, *Error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}")
	}
	if raw[0] != '{' {
		return nil, InvalidParams("params must be an object")
	}
	if e.params == "" {
		return raw, nil
	}
	if err := p.opts.Schemas.Check(e.params, raw); err != nil {
		return nil, InvalidParams("invalid params: %s", err)
	}
	return raw, nil
}

// dispatch runs a handler and sends its answer.
func (p *Peer) dispatch(ctx context.Context, req *Request) {
	method := &req.entry.Method
	bounded := !method.Fast && !method.Unbounded
	if bounded {
		select {
		case p.slots <- struct{}{}:
		default:
			p.answer(req, nil, Overloaded("too many requests in flight, retry"))
			return
		}
	}
	result, err := p.guard(req, func() (any, error) { return method.Handle(ctx, req) })
	work, deferred := result.(Deferred)
	if err != nil || !deferred {
		if bounded {
			<-p.slots
		}
		p.answer(req, result, err)
		return
	}
	if !p.begin() {
		if bounded {
			<-p.slots
		}
		p.answer(req, nil, &Error{Code: CodeNotReady, Kind: KindTransportClosed, Message: "the sidecar is shutting down"})
		return
	}
	own := &Request{ID: append(ID(nil), req.ID...), Method: req.Method, peer: p, entry: req.entry, replied: req.replied}
	go func() { // ends when the handler's work does; Wait waits for it
		defer p.group.Done()
		result, err := p.guard(own, func() (any, error) { return work(ctx) })
		if bounded {
			<-p.slots
		}
		p.answer(own, result, err)
	}()
}

// begin counts one more piece of deferred work, unless the peer has closed:
// what Wait waits for must not grow while it waits.
func (p *Peer) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.group.Add(1)
	return true
}

// guard turns a panic into an error, so that one bad request cannot end the
// process.
func (p *Peer) guard(req *Request, f func() (any, error)) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.opts.Log.Error().Str("method", req.Method).Interface("panic", r).Bytes("stack", debug.Stack()).Msg("handler panicked")
			result, err = nil, Internal("internal error in %s", req.Method)
		}
	}()
	return f()
}

// answer sends a handler's outcome unless it has been sent already.
func (p *Peer) answer(req *Request, result any, err error) {
	if req.replied {
		return
	}
	req.replied = true
	if err != nil {
		p.opts.Out.Write(encodeError(req.ID, toError(err)), req.more)
		return
	}
	p.opts.Out.Write(p.encodeResult(req, result), req.more)
}

// encodeResult builds a response frame, or an error frame when the result
// cannot be encoded, breaks its schema or exceeds the outbound cap. The frame of
// an inline request is valid until the next one.
func (p *Peer) encodeResult(req *Request, result any) []byte {
	var frame []byte
	if req.inline {
		frame = p.scratch[:0]
	}
	frame = append(append(append(frame, frameHead+`,"id":`...), req.ID...), `,"result":`...)
	head := len(frame)
	frame, err := appendValue(frame, result)
	if err != nil {
		return encodeError(req.ID, Internal("encode the result of %s: %s", req.Method, err))
	}
	if req.inline && cap(frame) <= keepScratch {
		p.scratch = frame
	}
	raw := frame[head:]
	if len(raw) > p.opts.MaxOutbound {
		return encodeError(req.ID, Internal("the result of %s has %d bytes, over the limit of %d", req.Method, len(raw), p.opts.MaxOutbound))
	}
	if name := req.entry.result; name != "" {
		if err := p.opts.Schemas.Check(name, raw); err != nil {
			p.opts.Log.Error().Str("method", req.Method).Err(err).Msg("bug: result breaks its schema")
			return encodeError(req.ID, Internal("the result of %s breaks its schema", req.Method))
		}
	}
	return safeLine(append(frame, '}', '\n'))
}

// unquote decodes a JSON string; anything else is "".
func unquote(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	inner := raw[1 : len(raw)-1]
	for _, b := range inner {
		if b == '\\' {
			var s string
			if json.Unmarshal(raw, &s) != nil {
				return ""
			}
			return s
		}
	}
	return string(inner)
}
