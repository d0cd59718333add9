package conformance

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
)

// maxLine bounds a line of the peer's output; twice the largest limit known
// among stdio protocols, so that only a runaway peer meets it.
const maxLine = 64 << 20

// lines collects one output stream, a line at a time. The reader never waits
// for the player: a peer that fills its pipe while the player is writing would
// block both.
type lines struct {
	gate sync.Mutex // held by a step while nothing shall be read

	mu   sync.Mutex // guards following
	all  []string
	torn bool // the stream ended within a line
	err  error
	wake chan struct{} // closed, and replaced, at every change
}

func newLines() *lines { return &lines{wake: make(chan struct{})} }

// collect reads until the stream ends.
func (l *lines) collect(r io.Reader) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		l.pass()
		line, err := readLine(br)
		if err != nil {
			l.finish(line, err)
			return
		}
		l.add(line)
	}
}

// pass waits while the gate is held. It does not hold it: a read may block.
func (l *lines) pass() {
	l.gate.Lock()
	defer l.gate.Unlock()
}

// readLine returns a line without its end. At the end of the stream it returns
// what there was.
func readLine(br *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return string(line[:len(line)-1]), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return string(line), err
		case len(line) > maxLine:
			return string(line[:maxShown]), errors.New("a line is longer than 64 MiB")
		}
	}
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
	l.changed()
}

// finish records how the stream ended. An end within a line is an end all the
// same, but the line counts.
func (l *lines) finish(rest string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rest != "" {
		l.all = append(l.all, rest)
		l.torn = true
	}
	l.err = err
	l.changed()
}

// changed wakes everyone who waits. The caller holds mu.
func (l *lines) changed() {
	close(l.wake)
	l.wake = make(chan struct{})
}

// at waits for line i. It returns io.EOF when the stream ended before it.
func (l *lines) at(ctx context.Context, i int) (string, error) {
	for {
		line, ok, wake := l.look(i)
		if ok {
			return line, nil
		}
		if wake == nil {
			return "", io.EOF
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// look returns line i if it is there, else what to wait for: nil when it will
// never come.
func (l *lines) look(i int) (line string, ok bool, wake <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case i < len(l.all):
		return l.all[i], true, nil
	case l.err != nil:
		return "", false, nil
	}
	return "", false, l.wake
}

// snapshot returns the lines so far, whether the last one is torn, and what
// went wrong other than the end.
func (l *lines) snapshot() (all []string, torn bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.err
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return append([]string(nil), l.all...), l.torn, err
}
