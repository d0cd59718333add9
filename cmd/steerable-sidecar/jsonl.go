package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxJSONLine is the longest line of JSON Lines input, 16 MiB as for frames.
const maxJSONLine = 16 << 20

// errLongLine is a line past the limit.
var errLongLine = errors.New("line longer than 16 MiB")

// lineError is the answer to a line that cannot be used.
type lineError struct {
	Error string `json:"error"`
}

// eachLine answers every line of in with one JSON object on out, in order. A
// line that answer refuses gets {"error"} and the rest goes on; only a stream
// that fails ends it. Answers are flushed whenever no further line is waiting,
// so that a peer may alternate.
func eachLine(in io.Reader, out io.Writer, answer func(line []byte) (any, error)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			break
		}
		var reply any
		if err == nil {
			reply, err = answer(line)
		} else if !errors.Is(err, errLongLine) {
			return fmt.Errorf("read a line: %w", err)
		}
		if err != nil {
			reply = lineError{Error: err.Error()}
		}
		if err := enc.Encode(reply); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		if r.Buffered() > 0 {
			continue
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write answers: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write answers: %w", err)
	}
	return nil
}

// readLine reads up to the next line end, which it removes. A line past the
// limit is skipped to its end. io.EOF means that there is no further line.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if !long {
			line = append(line, piece...)
		}
		if len(line) > maxJSONLine {
			long, line = true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(line) > 0 || long):
		case err != nil:
			return nil, err //nolint:wrapcheck // io.EOF is compared, others are named by the caller
		}
		if long {
			return nil, errLongLine
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}
