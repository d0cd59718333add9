// Package chunked decodes the chunked transfer coding of RFC 9112, section
// 7.1, more strictly than servers do: sizes are plain hexadecimal, lines end
// in CRLF, and chunk extensions and trailer fields are errors. What comes out
// is framed anew, so that nothing of the original framing reaches an upstream.
package chunked

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// ErrMalformed reports bytes that are no strictly chunked body.
var ErrMalformed = errors.New("malformed chunked body")

// maxSizeDigits keeps a chunk size well inside an int64.
const maxSizeDigits = 15

// Reader decodes one chunked body. It may read beyond the body's end from the
// underlying reader, so it suits connections that carry one request.
type Reader struct {
	r    *bufio.Reader
	left int64 // bytes of the current chunk
	open bool  // inside a chunk whose CRLF is still to come
	err  error
}

// NewReader returns a reader of the body that r begins with.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 4096)}
}

// Read implements io.Reader. A body that is cut short gives
// io.ErrUnexpectedEOF.
func (c *Reader) Read(p []byte) (int, error) {
	if c.err == nil && c.left == 0 {
		c.err = c.next()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err != nil {
		c.err = unexpected(err)
	}
	return n, c.err
}

// next reads up to the data of the next chunk; io.EOF after the last one.
func (c *Reader) next() error {
	if c.open {
		if err := c.crlf(); err != nil {
			return err
		}
	}
	size, err := c.size()
	if err != nil {
		return err
	}
	if size > 0 {
		c.left, c.open = size, true
		return nil
	}
	if err := c.crlf(); err != nil {
		return err
	}
	return io.EOF
}

// size reads a chunk-size line.
func (c *Reader) size() (n int64, err error) {
	for digits := 0; ; digits++ {
		b, err := c.r.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		v := hexValue(b)
		if v < 0 {
			if digits == 0 || b != '\r' {
				return 0, fmt.Errorf("chunk size: %w", ErrMalformed)
			}
			break
		}
		if digits == maxSizeDigits {
			return 0, fmt.Errorf("chunk size: %w", ErrMalformed)
		}
		n = n<<4 | v
	}
	return n, c.expect('\n')
}

func (c *Reader) crlf() error {
	if err := c.expect('\r'); err != nil {
		return err
	}
	return c.expect('\n')
}

func (c *Reader) expect(want byte) error {
	b, err := c.r.ReadByte()
	if err != nil {
		return unexpected(err)
	}
	if b != want {
		return fmt.Errorf("chunk line end: %w", ErrMalformed)
	}
	return nil
}

func hexValue(b byte) int64 {
	switch {
	case '0' <= b && b <= '9':
		return int64(b - '0')
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return int64(b|0x20-'a') + 10
	default:
		return -1
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
