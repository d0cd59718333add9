package audit

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// MaxLine is the longest line that is read, in bytes. The writer's records are
// a few hundred bytes; a longer line is somebody else's.
const MaxLine = 1 << 20

// LineError is a fault that belongs to one line of a file.
type LineError struct {
	Code Code
	Err  error
}

// Error describes the fault.
func (e *LineError) Error() string { return string(e.Code) + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

var (
	errTorn    = errors.New("the last line is incomplete")
	errNewline = errors.New("the last line has no newline")
	errLong    = errors.New("line too long")
)

// Lines yields the entries of r, one per line, and after the first fault an
// error and nothing more. Faults of a line are [LineError]: SHAPE for a
// complete line that is no entry, TORN_TAIL for an incomplete one at the end
// of the input, NO_FINAL_NEWLINE after a complete entry whose newline is
// missing. Errors of r are passed on as they are.
func Lines(r io.Reader) iter.Seq2[Entry, error] {
	var end int64
	return LinesTo(r, &end)
}

// LinesTo is [Lines] that keeps in *end how many bytes the entries it has
// yielded take up, with their newlines as far as they have one.
func LinesTo(r io.Reader, end *int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var e Entry
		var long []byte
		for {
			line, err := readLine(in, &long)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Entry{}, err)
				return
			}
			torn := err != nil
			if torn && len(line) == 0 {
				return
			}
			if err := parseLine(line, &e); err != nil {
				fault := &LineError{Code: CodeShape, Err: err}
				if torn {
					fault = &LineError{Code: CodeTornTail, Err: errTorn}
				}
				yield(Entry{}, fault)
				return
			}
			*end += int64(len(line))
			if !torn {
				*end++
			}
			if !yield(e, nil) {
				return
			}
			if torn {
				yield(Entry{}, &LineError{Code: CodeNoFinalNewline, Err: errNewline})
				return
			}
		}
	}
}

// readLine returns the next line without its newline; io.EOF says that the
// newline was missing. The result is valid until the next call.
func readLine(in *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		*long = (*long)[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(*long) <= MaxLine {
			*long = append(*long, line...)
			line, err = in.ReadSlice('\n')
		}
		*long = append(*long, line...)
		line = *long
	}
	if len(line) > MaxLine {
		return nil, &LineError{Code: CodeShape, Err: errLong}
	}
	return bytes.TrimSuffix(line, []byte("\n")), err
}
