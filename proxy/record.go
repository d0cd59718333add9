package proxy

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
)

// recorder appends request bodies as JSON lines, for people who want to see
// what was sent. The credential is never part of a request it sees.
type recorder struct {
	mu sync.Mutex // guards following
	w  io.Writer
}

// recordLine is one line; the order of the keys is part of the format.
type recordLine struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Bytes  int64  `json:"body_bytes"`
	Body   string `json:"body"`
}

// write records f once, after its whole body was forwarded. Failing to record
// is not a reason to fail the request. A nil recorder records nothing.
func (r *recorder) write(f *forward) {
	if r == nil || f.recorded || !f.body.whole.Load() {
		return
	}
	f.recorded = true
	line := recordLine{Method: string(f.head.Method), Path: f.path, Bytes: f.body.sent()}
	if f.body.kept != nil {
		line.Body = strings.ToValidUTF8(f.body.kept.String(), "\uFFFD")
	}
	text, err := json.Marshal(line)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.w.Write(append(text, '\n'))
}
