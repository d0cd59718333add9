package proxy

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// chainStart stands in "prev" of a file's first line.
const chainStart = "0000000000000000000000000000000000000000000000000000000000000000"

// auditLine is an event with its link to the line before.
type auditLine struct {
	Event

	// Prev is the SHA-256 of the previous line, without its line feed, in hex.
	Prev string `json:"prev"`
}

// Audit writes decisions as JSON lines, each holding the digest of the one
// before, so that a line cannot be changed or taken out of the middle unseen.
// Safe for concurrent use.
type Audit struct {
	mu   sync.Mutex // guards following
	w    io.Writer
	prev string
	err  error
}

// NewAudit returns an audit log that goes on where existing ends; existing is
// what w already holds, nil for nothing.
func NewAudit(w io.Writer, existing io.Reader) (*Audit, error) {
	a := &Audit{w: w, prev: chainStart}
	if existing == nil {
		return a, nil
	}
	r := bufio.NewReader(existing)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return a, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		whole, ended := bytes.CutSuffix(line, []byte("\n"))
		if !ended {
			// The process before died while it wrote. Its torn line stays, and
			// stays in the chain.
			if _, err := w.Write([]byte("\n")); err != nil {
				return nil, fmt.Errorf("write audit log: %w", err)
			}
		}
		a.prev = digest(whole)
	}
}

func digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// Write appends one event. After the first failure every call fails, because
// the chain would have a hole.
func (a *Audit) Write(e *Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return a.err
	}
	line, err := json.Marshal(auditLine{Event: *e, Prev: a.prev})
	if err == nil {
		_, err = a.w.Write(append(line, '\n'))
	}
	if err != nil {
		a.err = fmt.Errorf("write audit log: %w", err)
		return a.err
	}
	a.prev = digest(line)
	return nil
}
