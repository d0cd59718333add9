package llm

import (
	"bytes"
	"errors"
	"io"
)

// Sizes of the event reader's buffer. It starts at the size of a few events and
// grows to what one event needs.
const (
	startBuffer = 16 << 10
	readAtMost  = 64 << 10 // input taken in at a time, which bounds what is scanned twice
	readAtLeast = 4 << 10
)

// maxBareTries bounds how often the end of a bare object is looked for.
const maxBareTries = 256

// errEventTooLarge says that one event exceeds the cap.
var errEventTooLarge = errors.New("event too large")

// event is one server-sent event.
type event struct {
	name    []byte // the event field; empty if there was none
	data    []byte // the data lines, joined; good until the next fill
	isError bool   // the data stood in a field named "error"
}

// eventReader splits a text/event-stream, after the WHATWG HTML standard,
// section 9.2, "Server-sent events". Beyond it:
//
//   - a field named "error" is an event of its own (llama.cpp before 2026);
//   - a line that starts with "{" is data without its field name, and so are the
//     lines after it until the object is whole (servers that fail before they
//     start to stream);
//   - the last event counts without its blank line, see last.
//
// A single data line, which is what servers send, is not copied.
type eventReader struct {
	src io.Reader
	max int // cap of one event, in bytes

	buf  []byte // buf[start:] is not used up yet
	line int    // start of the current line
	scan int    // buf[line:scan] holds no LF
	skip bool   // the last line ended with CR: a following LF belongs to it

	name   []byte
	from   int    // start of the only data line so far, if lines is 1
	to     int    // and its end
	lines  int    // data lines of the current event
	joined []byte // the data lines, if there are several
	bare   []byte // a JSON object without field name, as far as it has come
	tries  int    // how often it was tried whether the object is whole
	begun  bool   // the first line has been read
}

// next returns the next event. It returns false if the buffer holds no whole
// event: then fill, and try again.
func (r *eventReader) next() (event, bool) {
	r.begin()
	for {
		line, ok := r.nextLine()
		if !ok {
			return event{}, false
		}
		if ev, ok := r.take(line); ok {
			return ev, true
		}
	}
}

// begin drops what the last event left behind, when it has been used.
func (r *eventReader) begin() {
	if r.lines < 0 {
		r.lines = 0
		r.joined = r.joined[:0]
		r.name = r.name[:0]
	}
}

// last returns what came after the last blank line, at the end of the input.
func (r *eventReader) last() (event, bool) {
	r.begin()
	if r.line < len(r.buf) {
		line := r.buf[r.line:]
		r.line = len(r.buf)
		r.scan = r.line
		if ev, ok := r.take(line); ok {
			return ev, true
		}
	}
	if len(r.bare) > 0 {
		return event{data: r.bare}, true
	}
	if r.lines > 0 {
		return r.dispatch(), true
	}
	return event{}, false
}

// more says whether the buffer holds at least one more line.
func (r *eventReader) more() bool {
	rest := r.buf[r.line:]
	return bytes.IndexByte(rest, '\n') >= 0 || bytes.IndexByte(rest, '\r') >= 0
}

// nextLine returns the next whole line without its end: LF, CR or CRLF, and
// nothing else.
func (r *eventReader) nextLine() ([]byte, bool) {
	if r.skip && r.line < len(r.buf) {
		r.skip = false
		if r.buf[r.line] == '\n' {
			r.line++
		}
		r.scan = max(r.scan, r.line)
	}
	end := len(r.buf)
	found := bytes.IndexByte(r.buf[r.scan:], '\n')
	if found >= 0 {
		end = r.scan + found
	}
	next := end + 1
	if cr := bytes.IndexByte(r.buf[r.scan:end], '\r'); cr >= 0 {
		end = r.scan + cr
		next = end + 1
		if next < len(r.buf) && r.buf[next] == '\n' {
			next++
		}
		r.skip = next == len(r.buf) && r.buf[next-1] == '\r'
	} else if found < 0 {
		r.scan = len(r.buf)
		return nil, false
	}
	line := r.buf[r.line:end]
	r.line, r.scan = next, next
	return line, true
}

// take uses one line, and returns the event that it completes.
func (r *eventReader) take(line []byte) (event, bool) {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	switch {
	case len(r.bare) > 0 && !bytes.HasPrefix(line, []byte("data:")):
		return r.takeBare(line)
	case len(line) == 0:
		if r.lines == 0 {
			r.name = r.name[:0]
			return event{}, false
		}
		return r.dispatch(), true
	case line[0] == '{' && r.lines == 0:
		return r.takeBare(line)
	}
	field, value, found := bytes.Cut(line, []byte{':'})
	if !found {
		value = line[len(line):] // and not nil: addData wants a part of the buffer
	}
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(field) {
	case "data":
		r.addData(value)
	case "event":
		r.name = append(r.name[:0], value...)
	case "error":
		return event{name: r.name, data: value, isError: true}, true
	}
	return event{}, false // a comment, "id", "retry", or unknown
}

// addData adds a data line to the event. The first one stays where it is in the
// buffer; only when a second one follows are they copied together.
func (r *eventReader) addData(value []byte) {
	r.bare, r.tries = nil, 0
	r.lines++
	switch r.lines {
	case 1:
		// value is a part of buf; as offsets it survives a move of the buffer.
		r.from = cap(r.buf) - cap(value)
		r.to = r.from + len(value)
		return
	case 2:
		r.joined = append(r.joined[:0], r.buf[r.from:r.to]...)
	}
	r.joined = append(r.joined, '\n')
	r.joined = append(r.joined, value...)
}

// dispatch returns the event that has been gathered.
func (r *eventReader) dispatch() event {
	ev := event{name: r.name, data: r.joined}
	if r.lines == 1 {
		ev.data = r.buf[r.from:r.to]
	}
	r.lines = -1 // used; see begin
	return ev
}

// takeBare adds a line to an object without field name, and returns it when it
// is whole.
func (r *eventReader) takeBare(line []byte) (event, bool) {
	if len(r.bare) > 0 {
		r.bare = append(r.bare, '\n')
	}
	r.bare = append(r.bare, line...)
	// Only a closing brace can complete it; anything else need not be tried.
	// Error envelopes are small: what has very many braces is something else.
	trimmed := bytes.TrimRight(line, " \t")
	if len(trimmed) == 0 || trimmed[len(trimmed)-1] != '}' || r.tries == maxBareTries {
		return event{}, false
	}
	r.tries++
	c := cursor{b: r.bare}
	if c.value(); !c.end() {
		return event{}, false
	}
	ev := event{data: r.bare}
	r.bare, r.tries = nil, 0
	return ev, true
}

// fill reads more input. Data returned before becomes invalid. The error is that
// of the source, or errEventTooLarge.
func (r *eventReader) fill() error {
	r.begin()
	keep := r.line
	if r.lines == 1 {
		keep = min(keep, r.from)
	}
	if len(r.buf)-keep+len(r.joined)+len(r.bare) > r.max {
		return errEventTooLarge
	}
	if cap(r.buf)-len(r.buf) < readAtLeast {
		r.compact(keep)
	}
	room := r.buf[len(r.buf):min(cap(r.buf), len(r.buf)+readAtMost)]
	for range 100 {
		n, err := r.src.Read(room)
		if n > 0 {
			r.buf = r.buf[:len(r.buf)+n]
			return nil // an error comes again with the next read
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// compact makes room by dropping buf[:keep], and by growing if that is not
// enough. Growing doubles, so that an event of n bytes is moved about once in
// all, and the buffer never exceeds about twice the cap of one event.
func (r *eventReader) compact(keep int) {
	rest := r.buf[keep:]
	switch {
	case r.buf == nil:
		r.buf = make([]byte, 0, startBuffer)
	case cap(r.buf)-len(rest) >= max(readAtLeast, cap(r.buf)/2):
		r.buf = r.buf[:copy(r.buf[:cap(r.buf)], rest)]
	default:
		r.buf = append(make([]byte, 0, 2*cap(r.buf)), rest...)
	}
	r.line -= keep
	r.scan -= keep
	r.from -= keep
	r.to -= keep
}
