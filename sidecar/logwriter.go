package sidecar

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const logBuffer = 256 << 10 // bytes of log kept while nobody reads

// LogWriter writes log lines without ever waiting for who reads them: a host
// that does not drain standard error must not stop the protocol. Lines that do
// not fit into 256 KiB are dropped and counted. It is safe for concurrent use.
type LogWriter struct {
	dst io.Writer

	mu      sync.Mutex // guards following
	pend    []byte
	dropped int
	writing bool
	idle    chan struct{} // closed when the writer has caught up
}

// NewLogWriter returns a LogWriter onto dst.
func NewLogWriter(dst io.Writer) *LogWriter { return &LogWriter{dst: dst} }

// Write queues one line; it never fails.
func (l *LogWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pend)+len(line) > logBuffer {
		l.dropped++
		return len(line), nil
	}
	l.pend = append(l.pend, line...)
	if !l.writing {
		l.writing = true
		l.idle = make(chan struct{})
		go l.drain() // ends when everything is written; Close waits for it
	}
	return len(line), nil
}

// drain writes until nothing is queued.
func (l *LogWriter) drain() {
	for {
		l.mu.Lock()
		if l.dropped > 0 {
			l.pend = fmt.Appendf(l.pend, "{\"level\":\"warn\",\"dropped\":%d,\"message\":\"log lines dropped\"}\n", l.dropped)
			l.dropped = 0
		}
		batch := l.pend
		l.pend = nil
		if len(batch) == 0 {
			l.writing = false
			close(l.idle)
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		_, _ = l.dst.Write(batch) // nobody is left to tell
	}
}

// Close waits until everything is written, at most for patience.
func (l *LogWriter) Close(patience time.Duration) {
	l.mu.Lock()
	idle, writing := l.idle, l.writing
	l.mu.Unlock()
	if !writing {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
