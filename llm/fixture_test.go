package llm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fixture is one recorded exchange: testdata/fixtures/NAME.json describes the
// response whose body is NAME.sse.
type fixture struct {
	Name string `json:"name"`
	API  string `json:"api"`
	HTTP struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Write   struct {
			Mode    string `json:"mode"`
			Size    int    `json:"size"`
			DelayMs int    `json:"delayMs"`
		} `json:"write"`
		End      string `json:"end"`
		Encoding string `json:"encoding"`
		Expand   bool   `json:"expand"`
	} `json:"http"`
	Client struct {
		IdleTimeoutMs int `json:"idleTimeoutMs"`
	} `json:"client"`
	Expect map[string]any `json:"expect"`

	body []byte
}

// loadFixtures reads a folder of fixtures.
func loadFixtures(tb testing.TB, dir string) []*fixture {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no fixtures in %s: %v", dir, err)
	}
	big := regexp.MustCompile(`@@BIG:(\d+)@@`)
	var out []*fixture
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		f := &fixture{}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(f); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		if f.body, err = os.ReadFile(strings.TrimSuffix(path, ".json") + ".sse"); err != nil {
			tb.Fatal(err)
		}
		if f.HTTP.Expand {
			f.body = big.ReplaceAllFunc(f.body, func(m []byte) []byte {
				n, _ := strconv.Atoi(string(big.FindSubmatch(m)[1]))
				return bytes.Repeat([]byte("x"), n)
			})
		}
		out = append(out, f)
	}
	return out
}

// pieces cuts the body as the fixture says.
func (f *fixture) pieces() [][]byte {
	switch f.HTTP.Write.Mode {
	case "bytes":
		var out [][]byte
		for b := f.body; len(b) > 0; {
			n := min(f.HTTP.Write.Size, len(b))
			out = append(out, b[:n])
			b = b[n:]
		}
		return out
	case "events":
		return bytes.SplitAfter(f.body, []byte("\n\n"))
	}
	return [][]byte{f.body}
}

// provider returns a provider as the probe would make it.
func (f *fixture) provider(tb testing.TB, base string, client *http.Client) Provider {
	tb.Helper()
	name := map[string]string{"openai-chat": "openai_compat", "anthropic-messages": "anthropic"}[f.API]
	p, err := New(Config{
		Provider:    name,
		BaseURL:     base,
		APIKey:      "sk-fixture-000000",
		Client:      client,
		IdleTimeout: time.Duration(f.Client.IdleTimeoutMs) * time.Millisecond,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// rawServer speaks HTTP/1.1 by hand, because the fixtures need chunks, resets
// and silence that net/http's server does not allow.
type rawServer struct {
	net.Listener
	answer func(conn net.Conn, req *http.Request)
	wait   sync.WaitGroup
	stop   chan struct{}
}

// serveRaw starts a server that hands every request to answer. It ends with the
// test.
func serveRaw(tb testing.TB, answer func(conn net.Conn, req *http.Request)) *rawServer {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &rawServer{Listener: ln, answer: answer, stop: make(chan struct{})}
	s.wait.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			s.wait.Go(func() { s.serve(conn) })
		}
	})
	tb.Cleanup(func() {
		close(s.stop)
		_ = ln.Close()
		s.wait.Wait()
	})
	return s
}

func (s *rawServer) url() string { return "http://" + s.Addr().String() }

func (s *rawServer) serve(conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return
	}
	s.answer(conn, req)
}

// serveFixture plays one fixture to everyone who asks.
func serveFixture(tb testing.TB, f *fixture) *rawServer {
	tb.Helper()
	var s *rawServer
	s = serveRaw(tb, func(conn net.Conn, _ *http.Request) { f.play(conn, s.stop) })
	return s
}

// play writes the response.
func (f *fixture) play(conn net.Conn, stop <-chan struct{}) {
	fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n", f.HTTP.Status)
	for name, value := range f.HTTP.Headers {
		fmt.Fprintf(conn, "%s: %s\r\n", name, value)
	}
	if f.HTTP.Encoding == "gzip" {
		fmt.Fprint(conn, "Content-Encoding: gzip\r\n")
	}
	fmt.Fprint(conn, "\r\n")
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	for _, piece := range f.pieces() {
		chunk := piece
		if f.HTTP.Encoding == "gzip" {
			buf.Reset()
			_, _ = zip.Write(piece)
			_ = zip.Flush()
			chunk = buf.Bytes()
		}
		if len(chunk) > 0 {
			fmt.Fprintf(conn, "%x\r\n%s\r\n", len(chunk), chunk)
		}
		if f.HTTP.Write.DelayMs > 0 {
			wait(stop, time.Duration(f.HTTP.Write.DelayMs)*time.Millisecond)
		}
	}
	switch f.HTTP.End {
	case "reset":
		wait(stop, 40*time.Millisecond)
		_ = conn.(*net.TCPConn).SetLinger(0)
	case "stall":
		<-stop
	default:
		if f.HTTP.Encoding == "gzip" {
			buf.Reset()
			_ = zip.Close()
			fmt.Fprintf(conn, "%x\r\n%s\r\n", buf.Len(), buf.Bytes())
		}
		fmt.Fprint(conn, "0\r\n\r\n")
	}
}

// wait pauses a server.
func wait(stop <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
	case <-timer.C:
	}
}

// ask sends the question of all fixture tests and returns the digest.
func ask(tb testing.TB, p Provider, sink Sink) *Digest {
	tb.Helper()
	reply, err := p.Stream(tb.Context(), &Request{
		Model:    "fx-model",
		Messages: []Message{{Role: RoleUser, Content: Quote("go")}},
	}, sink)
	return NewDigest(reply, err)
}

// tree decodes a value without rounding numbers.
func tree(tb testing.TB, v any) map[string]any {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	m, ok := decodeAny(raw).(map[string]any)
	if !ok {
		tb.Fatalf("%s is no object", raw)
	}
	return m
}
