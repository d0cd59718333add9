package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/steerable-go/sidecar/schemas"
)

// callOutcome is what a call came to, for comparison.
type callOutcome struct {
	Result string
	Code   int64
	Text   string
}

func TestCallHost(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		want         callOutcome
	}{
		{"result", `{"id":"srv_1","result":{"a":1}}`, callOutcome{Result: `{"a":1}`}},
		{"null result", `{"id":"srv_1","result":null}`, callOutcome{Result: "null"}},
		{"null error beside it", `{"id":"srv_1","result":3,"error":null}`, callOutcome{Result: "3"}},
		{"error", `{"id":"srv_1","error":{"code":-32000,"message":"no such tool"}}`, callOutcome{Code: -32000, Text: "no such tool"}},
		{"error without members", `{"id":"srv_1","error":{}}`, callOutcome{Code: -32000, Text: "reverse call failed"}},
		{"error text", `{"id":"srv_1","error":"nope"}`, callOutcome{Code: -32000, Text: "nope"}},
		{"error of wrong types", `{"id":"srv_1","error":{"code":"x","message":5}}`, callOutcome{Code: -32000, Text: "reverse call failed"}},
		{"broken JSON", `{"id":"srv_1","result":{"success":tru}}`, callOutcome{Code: CodeParseError, Text: "malformed answer: "}},
		{"duplicate members", `{"id":"srv_1","result":{"a":1,"a":2}}`, callOutcome{Code: CodeInvalidRequest, Text: "malformed answer: "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := startPeer(t, nil, nil)
			got := make(chan callOutcome, 1)
			go func() {
				raw, err := h.peer.CallHost(context.Background(), "test.call", []byte(`{"x":1}`), nil)
				got <- outcomeOf(raw, err)
			}()
			h.want(`{"jsonrpc":"2.0","id":"srv_1","method":"test.call","params":{"x":1}}`)
			h.send(test.answer)
			out := <-got
			if strings.HasPrefix(out.Text, test.want.Text) && test.want.Text == "malformed answer: " {
				out.Text = test.want.Text
			}
			if diff := cmp.Diff(test.want, out); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func outcomeOf(raw json.RawMessage, err error) callOutcome {
	out := callOutcome{Result: string(raw)}
	if err != nil {
		out.Text = err.Error()
		if e, ok := errors.AsType[*Error](err); ok {
			out.Code = e.Code
		}
	}
	return out
}

func TestCallsAreAnsweredOutOfOrder(t *testing.T) {
	h := startPeer(t, nil, nil)
	const n = 50
	got := make(chan string, n)
	for i := range n {
		go func() {
			raw, err := h.peer.CallHost(context.Background(), "test.call", fmt.Appendf(nil, `{"n":%d}`, i), nil)
			got <- fmt.Sprint(i, " ", string(raw), " ", err)
		}()
	}
	frames := make([]struct {
		ID     string
		Params struct{ N int }
	}, n)
	for i := range frames {
		if err := json.Unmarshal([]byte(h.recv()), &frames[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := n - 1; i >= 0; i-- {
		h.send(fmt.Sprintf(`{"id":%q,"result":%d}`, frames[i].ID, frames[i].Params.N*2))
	}
	for range n {
		var i, double int
		if _, err := fmt.Sscanf(<-got, "%d %d <nil>", &i, &double); err != nil || double != 2*i {
			t.Errorf("call %d got %d: %v", i, double, err)
		}
	}
}

func TestCallEnds(t *testing.T) {
	t.Run("with its context, and the late answer is dropped", func(t *testing.T) {
		h := startPeer(t, echoMethods(), nil)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := h.peer.CallHost(ctx, "test.call", []byte(`{}`), nil)
			done <- err
		}()
		h.recv()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		h.send(`{"id":"srv_1","result":1}`, `{"id":1,"method":"echo"}`)
		h.recv()
		if got := h.peer.Strays(); got != 1 {
			t.Errorf("Strays = %d, want 1", got)
		}
		h.peer.mu.Lock()
		defer h.peer.mu.Unlock()
		if n := len(h.peer.pending); n != 0 {
			t.Errorf("%d calls left pending", n)
		}
	})
	t.Run("with the connection", func(t *testing.T) {
		h := startPeer(t, nil, nil)
		done := make(chan error, 1)
		go func() {
			_, err := h.peer.CallHost(context.Background(), "test.call", []byte(`{}`), nil)
			done <- err
		}()
		h.recv()
		h.peer.Close()
		if e, ok := errors.AsType[*Error](<-done); !ok || e.Kind != KindTransportClosed {
			t.Errorf("err = %v", e)
		}
		if _, err := h.peer.CallHost(context.Background(), "test.call", []byte(`{}`), nil); !errors.Is(err, ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
	})
	t.Run("at once when it is too large", func(t *testing.T) {
		h := startPeer(t, echoMethods(), func(o *Options) { o.MaxOutbound = 100 })
		_, err := h.peer.CallHost(context.Background(), "test.call", []byte(`{"x":"`+strings.Repeat("x", 200)+`"}`), nil)
		if !errors.Is(err, ErrFrameTooLarge) {
			t.Errorf("err = %v", err)
		}
		h.send(`{"id":1,"method":"echo"}`) // nothing was sent before this answer
		h.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
	t.Run("when its answer exceeds the line limit", func(t *testing.T) {
		h := startPeer(t, nil, func(o *Options) { o.MaxFrame = 10_000 })
		done := make(chan error, 1)
		go func() {
			_, err := h.peer.CallHost(context.Background(), "test.call", []byte(`{}`), nil)
			done <- err
		}()
		h.recv()
		h.send(`{"jsonrpc":"2.0","id":"srv_1","result":"` + strings.Repeat("x", 20_000) + `"}`)
		if e, ok := errors.AsType[*Error](<-done); !ok || e.Code != CodeInvalidRequest {
			t.Errorf("err = %v", e)
		}
	})
}

func TestCallOptionsAreRefused(t *testing.T) {
	h := startPeer(t, nil, nil)
	if err := h.peer.Call(context.Background(), "m", nil, nil, jsonrpc2.StringID()); !errors.Is(err, ErrCallOption) {
		t.Errorf("Call: %v", err)
	}
	if err := h.peer.Notify(context.Background(), "m", nil, jsonrpc2.Meta(1)); !errors.Is(err, ErrCallOption) {
		t.Errorf("Notify: %v", err)
	}
}

// TestInterop drives a peer with jsonrpc2's Conn as the host, an implementation
// that shares nothing with ours but the RFC.
func TestInterop(t *testing.T) {
	ours, theirs := net.Pipe()
	out := NewOut(ours, OutOptions{})
	peer := NewPeer(Options{In: ours, Out: out, Schemas: schemas.New(), Log: zerolog.Nop(), Methods: echoMethods()})
	done := make(chan error, 1)
	go func() { done <- peer.Run(context.Background()) }()
	handler := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		if req.Method == "fail" {
			return nil, &jsonrpc2.Error{Code: -32000, Message: "host says no"}
		}
		return map[string]string{"method": req.Method}, nil
	})
	host := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(theirs), jsonrpc2.AsyncHandler(handler))
	var echoed map[string]int
	if err := host.Call(context.Background(), "slow", map[string]int{"n": 7}, &echoed); err != nil || echoed["n"] != 7 {
		t.Errorf("host to sidecar: %v, %v", echoed, err)
	}
	var rpc *jsonrpc2.Error
	if err := host.Call(context.Background(), "no.such", nil, nil); !errors.As(err, &rpc) || rpc.Code != CodeMethodNotFound {
		t.Errorf("unknown method: %v", err)
	}
	var answer map[string]string
	if err := peer.Call(context.Background(), "do.it", map[string]int{"a": 1}, &answer); err != nil || answer["method"] != "do.it" {
		t.Errorf("sidecar to host: %v, %v", answer, err)
	}
	if err := peer.Call(context.Background(), "fail", nil, nil); !errors.As(err, &rpc) || rpc.Message != "host says no" {
		t.Errorf("a host's error: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := out.Close(ctx); err != nil {
		t.Error(err)
	}
	host.Close()
	ours.Close()
	<-done
	peer.Wait()
}
