package protocol

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/steerable-go/sidecar/schemas"
)

// DeltaKind is the member of a stream.chunk that carries streamed text.
type DeltaKind uint8

// The kinds of deltas.
const (
	DeltaText      DeltaKind = iota // "delta"
	DeltaReasoning                  // "reasoningDelta"
)

// member is the wire name of the kind.
func (k DeltaKind) member() string {
	if k == DeltaReasoning {
		return `,"reasoningDelta":`
	}
	return `,"delta":`
}

const (
	mergeFrom = 256 << 10 // bytes of frames a stream holds back one by one
	mergeCap  = 64 << 10  // longest text of one merged chunk, in bytes of JSON
	deltaCap  = 256 << 10 // longest delta in one frame; a longer one is split
	streamCap = 1 << 20   // text one stream may hold back before its provider must wait
)

// frameTail is about what a chunk's frame has besides its head and text.
const frameTail = 16

// segment is a run of held-back deltas of one kind: the inside of a JSON
// string, without its quotes.
type segment struct {
	kind DeltaKind
	text []byte
}

// Stream writes the notifications of one chat stream in order. Its methods are
// safe for concurrent use, but order between callers is theirs to keep.
type Stream struct {
	out  *Out
	head []byte // a chunk's frame up to and with its streamId

	// guarded by out.mu
	held   []segment
	size   int  // bytes of text in held
	listed bool // in out.waiting
	ended  bool // nothing is sent any more
	room   chan struct{}
}

// NewStream returns the writer of the notifications of stream id.
func (o *Out) NewStream(id string) *Stream {
	head := []byte(frameHead + `,"method":"stream.chunk","params":{"streamId":`)
	return &Stream{out: o, head: AppendString(head, id)}
}

// Delta sends one piece of text. quoted is a complete JSON string; it is
// copied. more promises that another call follows at once; an empty string
// with more false only keeps that promise. While the host does
// not read, pieces of one kind are merged, and once a stream holds 1 MiB, Delta
// waits for room or for the end of ctx, whose error it returns.
func (s *Stream) Delta(ctx context.Context, kind DeltaKind, quoted []byte, more bool) error {
	o := s.out
	if err := schemas.Valid(quoted); err != nil {
		return fmt.Errorf("bug: delta is not a JSON string: %w", err)
	}
	if len(quoted) <= 2 {
		if !more {
			o.Flush()
		}
		return o.Err()
	}
	if len(quoted) > deltaCap {
		return s.long(ctx, kind, quoted, more)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := s.awaitRoom(ctx); err != nil {
		return err
	}
	if o.err != nil || s.ended || o.sealed {
		return o.err
	}
	if o.blocked {
		s.hold(kind, quoted[1:len(quoted)-1])
		return nil
	}
	o.pend = append(append(o.pend, s.head...), kind.member()...)
	o.pend = append(append(o.pend, quoted...), "}}\n"...)
	if !more || len(o.pend) >= flushAt {
		o.flush()
	}
	return nil
}

// Control sends one whole frame of this stream after every delta before it.
func (s *Stream) Control(frame []byte) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.control(frame)
}

// Alone sends one whole frame in a write of its own when the pipe has room.
func (s *Stream) Alone(frame []byte) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.flush()
	s.control(frame)
}

// End sends the last frames of this stream and reports true; everything sent
// after them, also a second End, is discarded.
func (s *Stream) End(frames []byte) bool {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if s.ended {
		return false
	}
	s.control(frames)
	s.ended = true
	s.wake()
	return true
}

// control queues a frame behind this stream's deltas. The caller holds out.mu.
func (s *Stream) control(frame []byte) {
	if s.ended || s.out.sealed {
		return
	}
	for s.release() {
		continue
	}
	s.out.pend = append(s.out.pend, frame...)
	s.out.flush()
}

// hold keeps text back, after a while merged with what is held already: a short
// pause of the host should not change what it sees.
func (s *Stream) hold(kind DeltaKind, text []byte) {
	s.size += len(text)
	last := len(s.held) - 1
	framed := s.size + len(s.held)*(len(s.head)+frameTail)
	if last >= 0 && framed > mergeFrom && s.held[last].kind == kind && len(s.held[last].text)+len(text) <= mergeCap {
		s.held[last].text = append(s.held[last].text, text...)
	} else {
		s.held = append(s.held, segment{kind: kind, text: append([]byte(nil), text...)})
	}
	if !s.listed {
		s.listed = true
		s.out.waiting = append(s.out.waiting, s)
	}
}

// release queues the oldest held segment as a chunk and reports whether more
// are held.
func (s *Stream) release() bool {
	if len(s.held) == 0 {
		return false
	}
	seg := s.held[0]
	s.held = s.held[1:]
	s.size -= len(seg.text)
	o := s.out
	o.pend = append(append(o.pend, s.head...), seg.kind.member()...)
	o.pend = append(o.pend, '"')
	o.pend = append(append(o.pend, seg.text...), "\"}}\n"...)
	if s.size < streamCap/2 {
		s.wake()
	}
	return len(s.held) > 0
}

// discard forgets what is held, after a write error.
func (s *Stream) discard() {
	s.held, s.size, s.listed = nil, 0, false
	s.wake()
}

func (s *Stream) wake() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// awaitRoom waits while the stream holds back all it may. The caller holds
// out.mu, which is released meanwhile.
func (s *Stream) awaitRoom(ctx context.Context) error {
	o := s.out
	for o.blocked && s.size >= streamCap && !s.ended {
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		o.mu.Unlock()
		var err error
		select {
		case <-room:
		case <-ctx.Done():
			err = ctx.Err()
		}
		o.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// long sends a delta that is too long for one frame in several.
func (s *Stream) long(ctx context.Context, kind DeltaKind, quoted []byte, more bool) error {
	inner := quoted[1 : len(quoted)-1]
	var piece []byte
	for len(inner) > 0 {
		n := cutPoint(inner, deltaCap-2)
		piece = append(append(append(piece[:0], '"'), inner[:n]...), '"')
		inner = inner[n:]
		if err := s.Delta(ctx, kind, piece, more || len(inner) > 0); err != nil {
			return err
		}
	}
	return nil
}

// cutPoint returns how many bytes of the inside of a JSON string, at most limit
// and at least one character, can stand in a string of their own: it never cuts
// inside an escape, a surrogate pair or a rune.
func cutPoint(inner []byte, limit int) int {
	at := 0
	for at < len(inner) {
		n := unitLen(inner[at:])
		if at+n > limit && at > 0 {
			break
		}
		at += n
	}
	return at
}

// unitLen is the length of the character or escape that text begins with; two
// escapes that form a surrogate pair count as one.
func unitLen(text []byte) int {
	const escape = len(`\u0000`)
	switch {
	case text[0] != '\\':
		_, n := utf8.DecodeRune(text)
		return n
	case text[1] != 'u':
		return 2
	case len(text) >= 2*escape && isHigh(text) && text[escape] == '\\' && text[escape+1] == 'u':
		return 2 * escape
	default:
		return escape
	}
}

// isHigh reports whether an escape stands for a high surrogate, U+D800 to
// U+DBFF.
func isHigh(escape []byte) bool {
	return escape[2]|0x20 == 'd' && (escape[3] == '8' || escape[3] == '9' || escape[3]|0x20 == 'a' || escape[3]|0x20 == 'b')
}
