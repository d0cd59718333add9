package relay

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair returns the two ends of a TCP connection.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), s.Close() })
	for _, conn := range []net.Conn{c, s} {
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	}
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func engine(t *testing.T, idle, half time.Duration) *Engine {
	t.Helper()
	e := NewEngine(idle, half)
	t.Cleanup(func() {
		e.Cut()
		<-e.Empty()
		e.Close()
	})
	return e
}

// hidden is a connection without a descriptor, like TLS.
type hidden struct{ net.Conn }

func (h hidden) CloseWrite() error { return h.Conn.(*net.TCPConn).CloseWrite() }

// TestCopies moves the same bytes whatever the connections are made of, in
// sizes around every threshold of the copying.
func TestCopies(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"descriptors": func(c net.Conn) net.Conn { return c },
		"none":        func(c net.Conn) net.Conn { return hidden{c} },
	} {
		for _, size := range []int{0, 1, smallSize - 1, smallSize, smallSize + 1, largeSize, 5 << 20} {
			e := engine(t, time.Minute, time.Minute)
			client, a := pair(t)
			b, target := pair(t)
			data := make([]byte, size)
			_, _ = rand.Read(data)
			results := make(chan Result, 1)
			e.Start(Tunnel{A: wrap(a), B: b, FromA: []byte("first "), FromB: []byte("early "), Done: func(r Result) { results <- r }})
			var wg sync.WaitGroup
			for _, side := range []struct {
				conn *net.TCPConn
				want []byte
			}{{client, append([]byte("early "), data...)}, {target, append([]byte("first "), data...)}} {
				wg.Go(func() {
					_, _ = side.conn.Write(data)
					_ = side.conn.CloseWrite()
				})
				wg.Go(func() {
					got, err := io.ReadAll(side.conn)
					if err != nil || !bytes.Equal(got, side.want) {
						t.Errorf("%s, %d bytes: got %d, %v", name, size, len(got), err)
					}
				})
			}
			wg.Wait()
			if r := <-results; r.Cause != CauseEOF || r.AToB != int64(size+6) || r.BToA != int64(size+6) {
				t.Errorf("%s, %d bytes: %+v", name, size, r)
			}
		}
	}
}

// TestInspector holds back, passes on and refuses.
func TestInspector(t *testing.T) {
	e := engine(t, time.Minute, time.Minute)
	client, a := pair(t)
	b, target := pair(t)
	var held []byte
	results := make(chan Result, 1)
	e.Start(Tunnel{A: a, B: b, Done: func(r Result) { results <- r }, Inspect: func(p []byte) ([]byte, bool, []byte) {
		held = append(held, p...)
		if len(held) < 6 {
			return nil, false, nil
		}
		return held, true, nil
	}})
	for _, s := range []string{"ab", "cd", "ef", "gh"} {
		_, _ = io.WriteString(client, s)
		<-time.After(5 * time.Millisecond)
	}
	_ = client.CloseWrite()
	if got, err := io.ReadAll(target); string(got) != "abcdefgh" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	_ = target.Close()
	<-results

	client, a = pair(t)
	b, target = pair(t)
	e.Start(Tunnel{A: a, B: b, Done: func(r Result) { results <- r }, Inspect: func([]byte) ([]byte, bool, []byte) {
		return nil, true, []byte("no")
	}})
	_, _ = io.WriteString(client, "hello")
	if got, err := io.ReadAll(client); string(got) != "no" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	_ = client.Close()
	if got, err := io.ReadAll(target); len(got) > 0 || err == nil {
		t.Errorf("the target saw %q, %v", got, err)
	}
	if r := <-results; r.Cause != CauseRefused || r.AToB != 0 {
		t.Errorf("%+v", r)
	}
}

func TestEmptyAndCut(t *testing.T) {
	e := engine(t, 0, 0)
	<-e.Empty()
	client, a := pair(t)
	b, _ := pair(t)
	results := make(chan Result, 1)
	e.Start(Tunnel{A: a, B: b, Done: func(r Result) { results <- r }})
	empty := e.Empty()
	select {
	case <-empty:
		t.Fatal("empty with a tunnel open")
	default:
	}
	if e.Open() != 1 {
		t.Error("Open")
	}
	e.Cut()
	<-empty
	if r := <-results; r.Cause != CauseShutdown {
		t.Errorf("%+v", r)
	}
	if _, err := client.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a cut tunnel ended with %v", err)
	}
}

func TestTick(t *testing.T) {
	for _, tc := range []struct{ idle, half, want time.Duration }{
		{0, 0, maxTick}, {time.Hour, 5 * time.Minute, maxTick}, {time.Second, time.Minute, 125 * time.Millisecond}, {time.Millisecond, 0, minTick},
	} {
		e := &Engine{idle: tc.idle, half: tc.half}
		if got := e.tick(); got != tc.want {
			t.Errorf("%v, %v: %v, want %v", tc.idle, tc.half, got, tc.want)
		}
	}
}
