//go:build unix

package protocol

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// testWriter returns the writer that Claim would make of a pipe.
func testWriter(t *testing.T, f *os.File) io.Writer {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPipe(fd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// eachMode runs f with an Out in each of its modes and the reading end of its
// pipe.
func eachMode(t *testing.T, f func(t *testing.T, out *Out, host *os.File, failed <-chan error)) {
	t.Helper()
	eachModeWithin(t, time.Minute, f)
}

// eachModeWithin is eachMode with a limit for a host that does not read.
func eachModeWithin(t *testing.T, limit time.Duration, f func(t *testing.T, out *Out, host *os.File, failed <-chan error)) {
	for _, mode := range []string{"pipe", "queue", "socket"} {
		t.Run(mode, func(t *testing.T) {
			r, w, err := os.Pipe()
			if mode == "socket" {
				r, w, err = socketPair()
			}
			if err != nil {
				t.Fatal(err)
			}
			var dst io.Writer = w
			switch mode {
			case "pipe":
				dst = testWriter(t, w)
			case "socket":
				dst = &socket{fd: int(w.Fd())}
			}
			failed := make(chan error, 1)
			out := NewOut(dst, OutOptions{BlockLimit: limit, OnFail: func(err error) { failed <- err }})
			f(t, out, r, failed)
			r.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_ = out.Close(ctx)
			w.Close()
		})
	}
}

// chunk is a decoded stream.chunk or marker frame.
type chunk struct {
	ID     int
	Method string
	Params struct {
		StreamID, Delta, ReasoningDelta string
	}
}

func nextChunk(t *testing.T, lines *bufio.Reader) chunk {
	t.Helper()
	line, err := lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var c chunk
	if err := json.Unmarshal(line, &c); err != nil {
		t.Fatalf("%v: %.200s", err, line)
	}
	return c
}

// TestBackPressure writes much more than a pipe holds while nobody reads:
// nothing blocks that must not, deltas merge, order within a stream holds, and
// nothing is lost.
func TestBackPressure(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, _ <-chan error) {
		const pieces = 20000
		streams := map[string]*Stream{"a": out.NewStream("a"), "b": out.NewStream("b")}
		for i := range pieces {
			for _, s := range streams {
				text := AppendString(nil, fmt.Sprintf("%d,", i))
				if err := s.Delta(context.Background(), DeltaText, text, false); err != nil {
					t.Fatal(err)
				}
			}
		}
		out.Write([]byte(`{"id":1}`+"\n"), false)
		for id, s := range streams {
			s.Control([]byte(`{"method":"stream.done","params":{"streamId":"` + id + `"}}` + "\n"))
		}
		lines := bufio.NewReader(host)
		text := map[string]string{}
		frames, control := 0, -1
		for done := 0; done < 2; {
			c := nextChunk(t, lines)
			frames++
			switch {
			case c.ID == 1:
				control = frames
			case c.Method == "stream.done":
				done++
				want := &strings.Builder{}
				for i := range pieces {
					fmt.Fprintf(want, "%d,", i)
				}
				if text[c.Params.StreamID] != want.String() {
					t.Errorf("stream %s: text is damaged (%d bytes, want %d)", c.Params.StreamID, len(text[c.Params.StreamID]), want.Len())
				}
			default:
				text[c.Params.StreamID] += c.Params.Delta
			}
		}
		if frames > pieces {
			t.Errorf("%d frames for %d pieces: deltas did not merge", frames, 2*pieces)
		}
		if control < 0 {
			t.Error("the control frame is lost")
		}
	})
}

// TestControlOvertakesDeltas: a response must not wait behind held-back text.
func TestControlOvertakesDeltas(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, _ <-chan error) {
		s := out.NewStream("a")
		piece := AppendString(nil, strings.Repeat("x", 1000))
		for range 700 {
			if err := s.Delta(context.Background(), DeltaText, piece, false); err != nil {
				t.Fatal(err)
			}
		}
		out.Write([]byte(`{"id":1}`+"\n"), false)
		lines := bufio.NewReader(host)
		total, before := 0, 0
		for total < 700*1000 {
			c := nextChunk(t, lines)
			if c.ID == 1 {
				before = total
			}
			total += len(c.Params.Delta)
		}
		if before > 300*1000 {
			t.Errorf("the response came after %d bytes of deltas", before)
		}
	})
}

// TestKindsStayInOrder: reasoning and text of one stream do not swap.
func TestKindsStayInOrder(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, _ <-chan error) {
		s := out.NewStream("a")
		var want strings.Builder
		for i := range 30000 {
			kind := DeltaKind(i / 100 % 2)
			text := fmt.Sprintf("%d%d ", kind, i)
			want.WriteString(text)
			if err := s.Delta(context.Background(), kind, AppendString(nil, text), true); err != nil {
				t.Fatal(err)
			}
		}
		s.Control([]byte(`{"method":"end"}` + "\n"))
		lines := bufio.NewReader(host)
		var got strings.Builder
		for {
			c := nextChunk(t, lines)
			if c.Method == "end" {
				break
			}
			got.WriteString(c.Params.Delta + c.Params.ReasoningDelta)
		}
		if got.String() != want.String() {
			t.Error("text and reasoning are out of order")
		}
	})
}

// TestStreamCap: a provider waits once its stream holds a mebibyte, and goes on
// when the host reads; the end of its context frees it too.
func TestStreamCap(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, _ <-chan error) {
		s := out.NewStream("a")
		piece := AppendString(nil, strings.Repeat("x", 64<<10))
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		n := 0
		var err error
		for ; err == nil && n < 100; n++ {
			err = s.Delta(ctx, DeltaText, piece, false)
		}
		if !errors.Is(err, context.DeadlineExceeded) || n > 24 {
			t.Fatalf("after %d pieces of 64 KiB: %v", n, err)
		}
		unblocked := make(chan error, 1)
		go func() { unblocked <- s.Delta(context.Background(), DeltaText, piece, false) }()
		go io.Copy(io.Discard, host)
		if err := <-unblocked; err != nil {
			t.Error(err)
		}
	})
}

func TestHostThatNeverReads(t *testing.T) {
	eachModeWithin(t, time.Second, func(t *testing.T, out *Out, _ *os.File, failed <-chan error) {
		big := append(bytes.Repeat([]byte("x"), 1<<20), '\n')
		start := time.Now()
		out.Write(big, false)
		if took := time.Since(start); took > time.Second {
			t.Errorf("Write waited %v for the host", took)
		}
		if err := <-failed; !errors.Is(err, ErrBlocked) {
			t.Errorf("OnFail(%v), want ErrBlocked", err)
		}
		if err := out.NewStream("a").Delta(context.Background(), DeltaText, []byte(`"x"`), false); err == nil {
			t.Error("Delta succeeds on a failed Out")
		}
	})
}

func TestHostThatPausesLosesNothing(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, failed <-chan error) {
		frame := append(bytes.Repeat([]byte("y"), 9999), '\n')
		for range 100 {
			out.Write(frame, false)
		}
		select {
		case err := <-failed:
			t.Fatalf("failed after less than the limit: %v", err)
		case <-time.After(time.Second):
		}
		got := make([]byte, 100*len(frame))
		if _, err := io.ReadFull(host, got); err != nil || !bytes.Equal(got, bytes.Repeat(frame, 100)) {
			t.Errorf("what arrived differs: %v", err)
		}
	})
}

func TestHostThatIsGone(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, failed <-chan error) {
		host.Close()
		out.Write([]byte("x\n"), false)
		if err := <-failed; !errors.Is(err, syscall.EPIPE) {
			t.Errorf("OnFail(%v), want EPIPE", err)
		}
	})
}

// TestFramesStayWhole: writers on many goroutines never mix their frames.
func TestFramesStayWhole(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, _ <-chan error) {
		const writers, frames = 8, 400
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				frame := append(bytes.Repeat([]byte{byte('a' + w)}, 3000), '\n')
				for range frames {
					out.Write(frame, w%2 == 0)
				}
				out.Flush()
			})
		}
		lines := bufio.NewReader(host)
		for range writers * frames {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			if len(line) != 3001 || bytes.Count(line, line[:1]) != 3000 {
				t.Fatalf("mixed frame of %d bytes", len(line))
			}
		}
		group.Wait()
	})
}

func TestEndIsLast(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, _ <-chan error) {
		s := out.NewStream("a")
		if !s.End([]byte(`{"method":"done"}` + "\n")) {
			t.Error("first End is refused")
		}
		if s.End([]byte(`{"method":"again"}` + "\n")) {
			t.Error("second End is accepted")
		}
		s.Control([]byte(`{"method":"control"}` + "\n"))
		if err := s.Delta(context.Background(), DeltaText, []byte(`"x"`), false); err != nil {
			t.Error(err)
		}
		out.Write([]byte(`{"method":"other"}`+"\n"), false)
		lines := bufio.NewReader(host)
		if a, b := nextChunk(t, lines).Method, nextChunk(t, lines).Method; a != "done" || b != "other" {
			t.Errorf("got %s, %s", a, b)
		}
	})
}

func TestDeltaMustBeAString(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, _ *os.File, _ <-chan error) {
		for _, bad := range []string{``, `x`, `"x`, "\"\n\"", `"a""b"`} {
			if err := out.NewStream("a").Delta(context.Background(), DeltaText, []byte(bad), false); err == nil {
				t.Errorf("%q is accepted", bad)
			}
		}
	})
}

// socketPair returns two ends of a blocking stream socket, as Node gives them to
// its children.
func socketPair() (a, b *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b"), nil
}

// TestThrottle: a host that writes and does not read stops being read once its
// answers fill the memory they may, and goes on when it reads.
func TestThrottle(t *testing.T) {
	eachMode(t, func(t *testing.T, out *Out, host *os.File, _ <-chan error) {
		frame := append(bytes.Repeat([]byte("z"), 1<<20), '\n')
		for range 20 {
			out.Write(frame, false)
		}
		passed := make(chan struct{})
		go func() { out.throttle(); close(passed) }()
		select {
		case <-passed:
			t.Error("throttle does not wait")
		case <-time.After(200 * time.Millisecond):
		}
		go io.Copy(io.Discard, host)
		<-passed
	})
}
