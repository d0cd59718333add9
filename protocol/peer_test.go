package protocol

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/steerable-go/sidecar/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testHost is the host's end of a peer under test.
type testHost struct {
	t     *testing.T
	peer  *Peer
	in    *os.File // to the peer
	lines *bufio.Reader
	done  chan error
}

// startPeer runs a peer over real pipes.
func startPeer(t *testing.T, methods map[string]Method, change func(*Options)) *testHost {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := NewOut(testWriter(t, outW), OutOptions{})
	opts := Options{In: inR, Out: out, Schemas: schemas.New(), Log: zerolog.Nop(), Methods: methods}
	if change != nil {
		change(&opts)
	}
	h := &testHost{t: t, peer: NewPeer(opts), in: inW, lines: bufio.NewReaderSize(outR, 1<<20), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { h.done <- h.peer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		if err := <-h.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		h.peer.Close()
		h.peer.Wait()
		closing, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		go io.Copy(io.Discard, outR)
		if err := out.Close(closing); err != nil {
			t.Errorf("Close: %v", err)
		}
		outW.Close()
		inR.Close()
		outR.Close()
	})
	return h
}

func (h *testHost) send(lines ...string) {
	h.t.Helper()
	if _, err := h.in.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testHost) recv() string {
	h.t.Helper()
	line, err := h.lines.ReadString('\n')
	if err != nil {
		h.t.Fatalf("read from the peer: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// want reads one frame and compares it as JSON, apart from error messages.
func (h *testHost) want(want string) {
	h.t.Helper()
	got := h.recv()
	if strings.Contains(got, `"error"`) && !strings.Contains(got, `"message":"`) {
		h.t.Errorf("error without a message: %s", got)
	}
	if diff := cmp.Diff(decodeFrame(h.t, want), decodeFrame(h.t, got)); diff != "" {
		h.t.Errorf("frame (-want +got):\n%s\nraw: %.300s", diff, got)
	}
}

// decodeFrame decodes a frame with exact numbers and without error texts.
func decodeFrame(t *testing.T, line string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	var frame map[string]any
	if err := dec.Decode(&frame); err != nil {
		t.Fatalf("not a frame: %v: %.200s", err, line)
	}
	if e, ok := frame["error"].(map[string]any); ok {
		delete(e, "message")
	}
	return frame
}

// echoMethods serves one fast and one slow method that return their params.
func echoMethods() map[string]Method {
	echo := func(_ context.Context, req *Request) (any, error) {
		return Raw(append([]byte(nil), req.Params...)), nil
	}
	slow := func(_ context.Context, req *Request) (any, error) {
		params := Raw(append([]byte(nil), req.Params...))
		return Deferred(func(context.Context) (any, error) { return params, nil }), nil
	}
	return map[string]Method{
		"echo": {Handle: echo, Fast: true}, "slow": {Handle: slow},
		"null": {Handle: func(context.Context, *Request) (any, error) { return nil, nil }},
		"boom": {Handle: func(context.Context, *Request) (any, error) { panic("boom") }},
		"late": {Handle: func(context.Context, *Request) (any, error) {
			return Deferred(func(context.Context) (any, error) { panic("late boom") }), nil
		}},
	}
}

func TestLines(t *testing.T) {
	const invalid, parse = `"code":-32600,"kind":"invalid_request"`, `"code":-32700,"kind":"parse"`
	fault := func(id, what string) string { return `{"jsonrpc":"2.0","id":` + id + `,"error":{` + what + `}}` }
	ok := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
	for _, test := range []struct{ name, line, want string }{
		{"plain", `{"jsonrpc":"2.0","id":1,"method":"echo"}`, ok("1")},
		{"no jsonrpc", `{"id":1,"method":"echo"}`, ok("1")},
		{"wrong jsonrpc", `{"jsonrpc":"1.0","id":7,"method":"echo"}`, fault("7", invalid)},
		{"numeric jsonrpc", `{"jsonrpc":2.0,"id":7,"method":"echo"}`, fault("7", invalid)},
		{"crlf", `{"id":1,"method":"echo"}` + "\r", ok("1")},
		{"padding", "\t {\"id\":1,\"method\":\"echo\"} \t", ok("1")},
		{"string id", `{"id":"a\u00e9\"","method":"echo"}`, ok(`"aé\""`)},
		{"negative id", `{"id":-1,"method":"echo"}`, ok("-1")},
		{"fraction id", `{"id":1.50,"method":"echo"}`, ok("1.50")},
		{"exponent id", `{"id":1e400,"method":"echo"}`, ok("1e400")},
		{"huge id", `{"id":123456789012345678901234567890,"method":"echo"}`, ok("123456789012345678901234567890")},
		{"null id", `{"id":null,"method":"echo"}`, ok("null")},
		{"object id", `{"id":{},"method":"echo"}`, fault("null", invalid)},
		{"array id", `{"id":[1],"method":"echo"}`, fault("null", invalid)},
		{"boolean id", `{"id":true,"method":"echo"}`, fault("null", invalid)},
		{"NaN id", `{"id":NaN,"method":"echo"}`, fault("null", parse)},
		{"not JSON", `hello`, fault("null", parse)},
		{"log line", `[info] starting`, fault("null", parse)},
		{"cut", `{"id":1,"method":"echo"`, fault("null", parse)},
		{"BOM", "\xef\xbb\xbf" + `{"id":1,"method":"echo"}`, fault("null", parse)},
		{"two values", `{"id":1,"method":"echo"}{"id":2,"method":"echo"}`, fault("null", parse)},
		{"invalid UTF-8", "{\"id\":1,\"method\":\"echo\",\"params\":{\"a\":\"\xff\"}}", fault("null", parse)},
		{"batch", `[{"id":1,"method":"echo"},{"id":2,"method":"echo"}]`, fault("null", invalid)},
		{"empty batch", `[]`, fault("null", invalid)},
		{"broken batch", `[{"id":1`, fault("null", parse)},
		{"number", `42`, fault("null", invalid)},
		{"string", `"echo"`, fault("null", invalid)},
		{"null", `null`, fault("null", invalid)},
		{"long id", `{"id":"` + strings.Repeat("x", 2000) + `","method":"echo"}`, fault("null", invalid)},
		{"empty object", `{}`, fault("null", invalid)},
		{"no method", `{"id":5}`, fault("5", invalid)},
		{"empty method", `{"id":5,"method":""}`, fault("5", invalid)},
		{"number method", `{"id":5,"method":6}`, fault("5", invalid)},
		{"escaped method", `{"id":5,"method":"\u0065cho"}`, ok("5")},
		{"unknown method", `{"id":5,"method":"no.such"}`, fault("5", `"code":-32601,"kind":"method_not_found"`)},
		{"array params", `{"id":5,"method":"echo","params":[]}`, fault("5", `"code":-32602,"kind":"invalid_params"`)},
		{"string params", `{"id":5,"method":"echo","params":"x"}`, fault("5", `"code":-32602,"kind":"invalid_params"`)},
		{"null params", `{"id":5,"method":"echo","params":null}`, ok("5")},
		{"duplicate id", `{"id":5,"id":6,"method":"echo"}`, fault("null", invalid)},
		{"duplicate in params", `{"id":5,"method":"echo","params":{"a":1,"a":2}}`, fault("5", invalid)},
		{"deep", `{"id":5,"method":"echo","params":{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, fault("5", invalid)},
		{"null result", `{"id":5,"method":"null"}`, `{"jsonrpc":"2.0","id":5,"result":null}`},
		{"panic", `{"id":5,"method":"boom"}`, fault("5", `"code":-32603,"kind":"internal"`)},
		{"deferred panic", `{"id":5,"method":"late"}`, fault("5", `"code":-32603,"kind":"internal"`)},
		{"deferred", `{"id":5,"method":"slow"}`, ok("5")},
		{"our own id", `{"id":"srv_1","method":"echo"}`, ok(`"srv_1"`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := startPeer(t, echoMethods(), nil)
			h.send(test.line)
			h.want(test.want)
			h.send(`{"id":"after","method":"echo"}`) // the connection lives on
			h.want(ok(`"after"`))
		})
	}
}

func TestIDsAreEchoedByteForByte(t *testing.T) {
	h := startPeer(t, echoMethods(), nil)
	for _, id := range []string{`1.0`, `-0`, `1E5`, `"\u0041\/"`, `0.000`, `"srv_01"`} {
		h.send(`{"id":` + id + `,"method":"echo"}`)
		if got, want := h.recv(), `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestSilence(t *testing.T) {
	for _, line := range []string{
		``, ` `, "\t\r",
		`{"method":"echo"}`,                  // a notification of a request method
		`{"method":"nobody.knows"}`,          // an unknown notification
		`{"id":"srv_99","result":1}`,         // a late answer
		`{"id":7,"result":1}`,                // an answer to nobody
		`{"id":null,"error":{"code":-1}}`,    // an error for nobody
		`{"id":"x","result":1,"error":null}`, // both members
	} {
		h := startPeer(t, echoMethods(), nil)
		h.send(line, `{"id":1,"method":"echo"}`)
		h.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	}
}

func TestLongLines(t *testing.T) {
	h := startPeer(t, echoMethods(), func(o *Options) { o.MaxFrame = 100_000 })
	exact := `{"id":1,"method":"echo","params":{"a":"` + strings.Repeat("x", 100_000-42) + `"}}`
	exact = exact[:len(exact)-3] + strings.Repeat("x", 100_000-len(exact)) + exact[len(exact)-3:]
	h.send(exact)
	if got := h.recv(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"a":"xxx`) {
		t.Errorf("a line of exactly the limit: %.100s", got)
	}
	for _, n := range []int{100_001, 165_000, 1_000_000} {
		h.send(strings.Repeat("y", n), `{"id":2,"method":"echo"}`)
		h.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"kind":"invalid_request"}}`)
		h.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	}
	h.send(`{"id":77,"method":"echo","params":{"a":"` + strings.Repeat("y", 200_000) + `"}}`)
	h.want(`{"jsonrpc":"2.0","id":77,"error":{"code":-32600,"kind":"invalid_request"}}`)
}

func TestManyLinesInOneWrite(t *testing.T) {
	h := startPeer(t, echoMethods(), nil)
	const n = 5000
	go func() {
		w := bufio.NewWriter(h.in)
		for range n {
			w.WriteString(`{"id":1,"method":"echo","params":{"k":[1,2,3]}}` + "\n")
		}
		w.Flush()
	}()
	for range n {
		if got, want := h.recv(), `{"jsonrpc":"2.0","id":1,"result":{"k":[1,2,3]}}`; got != want {
			t.Fatalf("got %s", got)
		}
	}
}

func TestLastLineWithoutNewline(t *testing.T) {
	h := startPeer(t, echoMethods(), nil)
	h.in.WriteString(`{"id":1,"method":"echo"}`)
	h.in.Close()
	h.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

func TestOverload(t *testing.T) {
	release := make(chan struct{})
	methods := echoMethods()
	methods["wait"] = Method{Handle: func(context.Context, *Request) (any, error) {
		return Deferred(func(context.Context) (any, error) { <-release; return Raw("1"), nil }), nil
	}}
	h := startPeer(t, methods, func(o *Options) { o.MaxInFlight = 2 })
	h.send(`{"id":1,"method":"wait"}`, `{"id":2,"method":"wait"}`, `{"id":3,"method":"wait"}`)
	h.want(`{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"kind":"internal","data":{"reason":"overloaded","retryAfterMs":250}}}`)
	h.send(`{"id":4,"method":"echo"}`) // the fast lane gets through
	h.want(`{"jsonrpc":"2.0","id":4,"result":{}}`)
	close(release)
	h.recv()
	h.recv()
	h.send(`{"id":5,"method":"slow"}`)
	h.want(`{"jsonrpc":"2.0","id":5,"result":{}}`)
}

func TestOversizedResultIsAnError(t *testing.T) {
	methods := echoMethods()
	methods["big"] = Method{Handle: func(context.Context, *Request) (any, error) {
		return Raw(`"` + strings.Repeat("x", 2000) + `"`), nil
	}}
	h := startPeer(t, methods, func(o *Options) { o.MaxOutbound = 1000 })
	h.send(`{"id":1,"method":"big"}`)
	h.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"kind":"internal"}}`)
}
