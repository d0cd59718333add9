package conformance

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200_000) // several reads long
	for _, tt := range []struct {
		name string
		text string
		want []string
		torn bool
	}{
		{"nothing", "", nil, false},
		{"lines", "a\nb\n", []string{"a", "b"}, false},
		{"blank lines count", "\n\n", []string{"", ""}, false},
		{"carriage returns stay", "a\r\n", []string{"a\r"}, false},
		{"end within a line", "a\nb", []string{"a", "b"}, true},
		{"long", long + "\n" + long, []string{long, long}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLines()
			l.collect(strings.NewReader(tt.text))
			all, torn, err := l.snapshot()
			if !slices.Equal(all, tt.want) || torn != tt.torn || err != nil {
				t.Errorf("want %d lines, torn %v; got %d, %v, %v", len(tt.want), tt.torn, len(all), torn, err)
			}
			if _, err := l.at(t.Context(), len(tt.want)); !errors.Is(err, io.EOF) {
				t.Errorf("behind the last line: want io.EOF, got %v", err)
			}
		})
	}
}

// endless is a stream without a newline.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLinesAreBounded(t *testing.T) {
	l := newLines()
	l.collect(endless{})
	all, _, err := l.snapshot()
	if err == nil || !strings.Contains(err.Error(), "longer than 64 MiB") {
		t.Errorf("want the limit named, got %v", err)
	}
	if len(all) != 1 || len(all[0]) > maxShown {
		t.Errorf("want the beginning of the line only")
	}
}

func TestLinesWait(t *testing.T) {
	r, w := io.Pipe()
	l := newLines()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.collect(r)
	}()
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.at(short, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nothing written: want the deadline, got %v", err)
	}
	if _, err := io.WriteString(w, "one\ntw"); err != nil {
		t.Fatal(err)
	}
	if line, err := l.at(t.Context(), 0); line != "one" || err != nil {
		t.Errorf("want the first line, got %q, %v", line, err)
	}
	l.gate.Lock() // the reader may finish the line it has begun, but no further one
	if _, err := io.WriteString(w, "o\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := l.at(t.Context(), 1); line != "two" || err != nil {
		t.Errorf("want the second line, got %q, %v", line, err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w, "three\n")
		written <- err
	}()
	select {
	case <-written:
		t.Error("a held gate must keep the reader from reading")
	case <-time.After(30 * time.Millisecond):
	}
	l.gate.Unlock()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	if line, err := l.at(t.Context(), 2); line != "three" || err != nil {
		t.Errorf("want the third line, got %q, %v", line, err)
	}
}
