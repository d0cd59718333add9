package protocol

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/steerable-go/sidecar/schemas"
)

// answer is what a call to the host came to.
type answer struct {
	result json.RawMessage
	err    error
}

// Caller makes reverse calls. It is the part of [Peer] that executors need.
type Caller interface {
	// CallHost sends a request to the host and waits for its answer, the end
	// of ctx or the end of the connection. started, if not nil, is called with
	// the request's id right before the frame is queued.
	CallHost(ctx context.Context, method string, params []byte, started func(id string)) (json.RawMessage, error)
}

var _ Caller = (*Peer)(nil)

// CallHost implements [Caller]. params must be encoded JSON. The result of an
// answer without one is null. Errors are an [*Error] from the host, ctx's
// error, [ErrMalformedAnswer], [ErrFrameTooLarge] or [ErrClosed]. When ctx ends
// first, a later answer is dropped and counted.
func (p *Peer) CallHost(ctx context.Context, method string, params []byte, started func(id string)) (json.RawMessage, error) {
	if len(params) > p.opts.MaxOutbound {
		return nil, fmt.Errorf("%s: %d bytes of params, the limit is %d: %w", method, len(params), p.opts.MaxOutbound, ErrFrameTooLarge)
	}
	if name := schemas.ReverseParams(method); name != "" {
		if err := p.opts.Schemas.Check(name, params); err != nil {
			p.opts.Log.Error().Str("method", method).Err(err).Msg("bug: reverse call breaks its schema")
			return nil, fmt.Errorf("%s: params break their schema: %w", method, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply := make(chan answer, 1)
	n, err := p.register(reply)
	if err != nil {
		return nil, err
	}
	frame := make([]byte, 0, len(params)+len(method)+64)
	frame = append(frame, frameHead+`,"id":`...)
	frame = appendSerial(frame, n)
	if started != nil {
		started(string(appendSerial(nil, n)[1 : len(appendSerial(nil, n))-1]))
	}
	frame = AppendString(append(frame, `,"method":`...), method)
	frame = append(append(append(frame, `,"params":`...), params...), "}\n"...)
	p.opts.Out.Write(safeLine(frame), false)
	select {
	case a := <-reply:
		return a.result, a.err
	case <-ctx.Done():
		p.forget(n)
		return nil, ctx.Err()
	}
}

func (p *Peer) register(reply chan answer) (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, ErrClosed
	}
	p.serial++
	p.pending[p.serial] = reply
	return p.serial, nil
}

func (p *Peer) forget(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, n)
}

// issued reports whether call n was ever made.
func (p *Peer) issued(n uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return n <= p.serial
}

// take removes and returns the waiter of call n, or nil.
func (p *Peer) take(n uint64) chan answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	reply := p.pending[n]
	delete(p.pending, n)
	return reply
}

// deliver hands a response to the call that waits for it.
func (p *Peer) deliver(f *frame) {
	n, ours := serial(f.id)
	var reply chan answer
	if ours {
		reply = p.take(n)
	}
	if reply == nil {
		p.strays.Add(1)
		if ours && p.issued(n) { // late, or a second one: somebody may have relied on it
			p.opts.Log.Info().Bytes("id", f.id).Msg("late answer dropped")
		} else {
			p.opts.Log.Debug().Bytes("id", f.id).Msg("answer to nobody dropped")
		}
		return
	}
	if f.hasFault && string(f.fault) != "null" {
		reply <- answer{err: hostError(f.fault)}
		return
	}
	result := json.RawMessage("null")
	if f.hasResult {
		result = append(json.RawMessage(nil), f.result...)
	}
	reply <- answer{result: result}
}

// hostError decodes the error member of a host's answer. Whatever its form,
// the call has failed.
func hostError(raw []byte) *Error {
	e := &Error{Code: CodeHostError, Message: "reverse call failed"}
	err := schemas.Scan(raw, func(key, value []byte) bool {
		switch string(key) {
		case "code":
			var code int64
			if json.Unmarshal(value, &code) == nil {
				e.Code = code
			}
		case "message":
			if text := unquote(value); text != "" {
				e.Message = text
			}
		case "kind":
			e.Kind = Kind(unquote(value))
		case "data":
			e.Data = append(json.RawMessage(nil), value...)
		}
		return true
	})
	if err != nil && len(raw) > 1 && raw[0] == '"' {
		e.Message = unquote(raw)
	}
	return e
}

// failCall ends call n with an error and reports whether somebody waited.
func (p *Peer) failCall(n uint64, err *Error) bool {
	reply := p.take(n)
	if reply == nil {
		return false
	}
	reply <- answer{err: fmt.Errorf("%w: %w", ErrMalformedAnswer, err)}
	return true
}

// failPending ends every call that waits and refuses new ones.
func (p *Peer) failPending() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for n, reply := range p.pending {
		delete(p.pending, n)
		reply <- answer{err: &Error{Code: CodeNotReady, Kind: KindTransportClosed, Message: "the connection to the host is closed"}}
	}
}

// Call implements [jsonrpc2.JSONRPC2]. Call options are refused with
// [ErrCallOption].
func (p *Peer) Call(ctx context.Context, method string, params, result any, opts ...jsonrpc2.CallOption) error {
	if len(opts) > 0 {
		return ErrCallOption
	}
	raw, err := appendValue(nil, params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	reply, err := p.CallHost(ctx, method, raw, nil)
	if err != nil || result == nil {
		return err
	}
	if err := json.Unmarshal(reply, result); err != nil {
		return fmt.Errorf("decode the result of %s: %w", method, err)
	}
	return nil
}

// Notify implements [jsonrpc2.JSONRPC2]. Call options are refused with
// [ErrCallOption].
func (p *Peer) Notify(_ context.Context, method string, params any, opts ...jsonrpc2.CallOption) error {
	if len(opts) > 0 {
		return ErrCallOption
	}
	raw, err := appendValue(nil, params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	p.opts.Out.Write(p.Notification(method, raw), false)
	return p.opts.Out.Err()
}

// Notification builds a notification's frame after checking params against the
// method's schema. A frame that breaks it is a bug of ours: it is logged and
// sent all the same, since a host that waits for it would wait for ever.
func (p *Peer) Notification(method string, params []byte) []byte {
	if name := schemas.Notification(method); name != "" {
		if err := p.opts.Schemas.Check(name, params); err != nil {
			p.opts.Log.Error().Str("method", method).Err(err).Msg("bug: notification breaks its schema")
		}
	}
	return appendNotification(make([]byte, 0, len(params)+len(method)+48), method, params)
}
