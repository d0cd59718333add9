package protocol

import (
	"bytes"
	"errors"
	"io"
)

// DefaultMaxFrame is the longest line that is read, in bytes without its
// newline: the reference's limit of 16 MiB.
const DefaultMaxFrame = 16 << 20

const (
	readChunk  = 64 << 10 // initial buffer, and what is kept after a very long line
	readKept   = 4 << 20  // largest buffer that is kept: growing one costs more than a large frame
	prefixKept = 4 << 10  // how much of a line over the limit is kept to find its id
)

// errLineTooLong reports that a line was skipped; its head is in the reader.
var errLineTooLong = errors.New("line is too long")

// lineReader cuts a byte stream into lines of bounded length. After a line
// over the limit it is in step again at the next newline. It is used by one
// goroutine.
type lineReader struct {
	src   io.Reader
	limit int
	buf   []byte
	r, w  int // unread bytes are buf[r:w]
	seen  int // bytes of buf[r:w] known to hold no newline
	err   error
	cut   bool // the line last returned ended with the stream, not with a newline
}

func newLineReader(src io.Reader, limit int) *lineReader {
	return &lineReader{src: src, limit: limit, buf: make([]byte, readChunk)}
}

// buffered reports whether another whole line can be returned without reading.
func (l *lineReader) buffered() bool {
	return bytes.IndexByte(l.buf[l.r+l.seen:l.w], '\n') >= 0
}

// next returns the next line without its newline. It is valid until the next
// call. The last line of the stream may lack its newline. A line over the
// limit is skipped: its first bytes come back with errLineTooLong.
func (l *lineReader) next() ([]byte, error) {
	l.shrink()
	for {
		if i := bytes.IndexByte(l.buf[l.r+l.seen:l.w], '\n'); i >= 0 {
			line := l.buf[l.r : l.r+l.seen+i]
			l.r += l.seen + i + 1
			l.seen = 0
			if len(line) > l.limit {
				return line[:min(prefixKept, len(line))], errLineTooLong
			}
			return line, nil
		}
		l.seen = l.w - l.r
		if l.err != nil {
			return l.rest()
		}
		if l.seen > l.limit {
			return l.skip()
		}
		l.fill()
	}
}

// rest returns what stands after the last newline once the stream has ended.
func (l *lineReader) rest() ([]byte, error) {
	line := l.buf[l.r:l.w]
	l.r, l.seen, l.cut = l.w, 0, true
	if len(line) == 0 {
		return nil, l.err
	}
	return line, nil
}

// shrink gives a buffer grown for a very long line back, so that one huge frame
// does not hold its memory for the life of the process.
func (l *lineReader) shrink() {
	if len(l.buf) > readKept && l.w-l.r <= readChunk {
		buf := make([]byte, readChunk)
		l.w = copy(buf, l.buf[l.r:l.w])
		l.buf, l.r = buf, 0
	}
}

// fill reads once, making room first.
func (l *lineReader) fill() {
	if l.w == len(l.buf) {
		if l.r > 0 {
			l.w = copy(l.buf, l.buf[l.r:l.w])
			l.r = 0
		} else {
			buf := make([]byte, min(2*len(l.buf), l.limit+readChunk))
			l.w = copy(buf, l.buf)
			l.buf = buf
		}
	}
	if l.r == l.w {
		l.r, l.w = 0, 0
	}
	n, err := l.src.Read(l.buf[l.w:])
	l.w += n
	l.err = err
}

// skip drops a line over the limit up to its newline and returns its head.
func (l *lineReader) skip() ([]byte, error) {
	head := bytes.Clone(l.buf[l.r:min(l.r+prefixKept, l.w)])
	l.buf = make([]byte, readChunk)
	l.r, l.w, l.seen = 0, 0, 0
	for l.err == nil {
		n, err := l.src.Read(l.buf)
		l.err = err
		if i := bytes.IndexByte(l.buf[:n], '\n'); i >= 0 {
			l.r, l.w = i+1, n
			break
		}
	}
	return head, errLineTooLong
}
