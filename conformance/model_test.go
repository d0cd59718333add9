package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ask(t *testing.T, url, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func startTestModel(t *testing.T, replies string) *model {
	t.Helper()
	var list []Reply
	if err := decodeStrict(replies, &list); err != nil {
		t.Fatal(err)
	}
	m, err := startModel(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.close()
		http.DefaultClient.CloseIdleConnections()
	})
	return m
}

// answer is what a client makes of a reply's events.
type answer struct {
	Text      []string
	Reasoning string
	Calls     map[int]string // name and arguments by index
	IDs       map[int]string
	Finish    string
	Usage     string
	Done      bool
}

func read(t *testing.T, body io.Reader) (a answer, err error) {
	t.Helper()
	a.Calls, a.IDs = map[int]string{}, map[int]string{}
	sc := bufio.NewScanner(body)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			a.Done = true
			continue
		}
		a.add(t, data)
	}
	return a, sc.Err()
}

func (a *answer) add(t *testing.T, data string) {
	t.Helper()
	var event struct {
		Choices []struct {
			Delta struct {
				Content   string `json:"content"`
				Reasoning string `json:"reasoning_content"`
				ToolCalls []struct {
					Index    int    `json:"index"`
					ID       string `json:"id"`
					Function struct {
						Name      string `json:"name"`
						Arguments string `json:"arguments"`
					} `json:"function"`
				} `json:"tool_calls"`
			} `json:"delta"`
			Finish *string `json:"finish_reason"`
		} `json:"choices"`
		Usage json.RawMessage `json:"usage"`
	}
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		t.Fatalf("event %s: %v", data, err)
	}
	if event.Usage != nil {
		a.Usage = string(event.Usage)
	}
	for _, c := range event.Choices {
		if c.Delta.Content != "" {
			a.Text = append(a.Text, c.Delta.Content)
		}
		a.Reasoning += c.Delta.Reasoning
		for _, call := range c.Delta.ToolCalls {
			a.Calls[call.Index] += call.Function.Name + call.Function.Arguments
			a.IDs[call.Index] += call.ID
		}
		if c.Finish != nil {
			a.Finish = *c.Finish
		}
	}
}

func TestModelReplies(t *testing.T) {
	const defaultUsage = `{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}`
	for _, tt := range []struct {
		name  string
		reply string
		want  answer
	}{
		{"text", `{"text":"Hi"}`, answer{Text: []string{"Hi"}, Finish: "stop", Usage: defaultUsage, Done: true}},
		{"pieces", `{"text":["a","é","<b>"],"usage":{"promptTokens":2,"completionTokens":3}}`, answer{Text: []string{"a", "é", "<b>"}, Finish: "stop", Usage: `{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5}`, Done: true}},
		{"reasoning", `{"reasoning":"hm"}`, answer{Reasoning: "hm", Finish: "stop", Usage: defaultUsage, Done: true}},
		{"finish", `{"text":"x","finishReason":"length"}`, answer{Text: []string{"x"}, Finish: "length", Usage: defaultUsage, Done: true}},
		{
			"calls", `{"toolCalls":[{"id":"c1","name":"t","arguments":{"ä":[1, 2]}},{"id":"c2","name":"u"},{"id":"c3","name":"v","rawArguments":"{oops"}]}`,
			answer{
				Calls: map[int]string{0: `t{"ä":[1, 2]}`, 1: "u{}", 2: "v{oops"}, IDs: map[int]string{0: "c1", 1: "c2", 2: "c3"},
				Finish: "tool_calls", Usage: defaultUsage, Done: true,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := startTestModel(t, "["+tt.reply+"]")
			resp := ask(t, m.url, "{}")
			defer resp.Body.Close()
			got, err := read(t, resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want.Calls == nil {
				tt.want.Calls, tt.want.IDs = map[int]string{}, map[int]string{}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("reply %s (-want +got)\n%s", tt.reply, diff)
			}
			if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
				t.Errorf("content type %q", ct)
			}
		})
	}
}

func TestModelOrder(t *testing.T) {
	m := startTestModel(t, `[{"text":"one"},{"text":"two"}]`)
	for i, want := range []string{"one", "two", "two"} {
		resp := ask(t, m.url, `{"n":`+string(rune('0'+i))+`}`)
		a, err := read(t, resp.Body)
		resp.Body.Close()
		if err != nil || len(a.Text) != 1 || a.Text[0] != want {
			t.Errorf("request %d: want %q, got %q, %v", i, want, a.Text, err)
		}
	}
	if diff := cmp.Diff([]string{`{"n":0}`, `{"n":1}`, `{"n":2}`}, m.received()); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
}

func TestModelErrors(t *testing.T) {
	m := startTestModel(t, `[{"error":{"status":429,"message":"slow <down>","retryAfterMs":700}}]`)
	resp := ask(t, m.url, "{}")
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("retry-after-ms") != "700" || string(body) != `{"error":{"message":"slow <down>"}}` {
		t.Errorf("got %d, %q, %s", resp.StatusCode, resp.Header.Get("retry-after-ms"), body)
	}
	empty := startTestModel(t, `[]`)
	resp = ask(t, empty.url, "{}")
	resp.Body.Close()
	if resp.StatusCode != http.StatusInternalServerError || len(empty.received()) != 1 {
		t.Errorf("a model without replies: want 500 and a record, got %d and %d", resp.StatusCode, len(empty.received()))
	}
}

func TestModelCut(t *testing.T) {
	m := startTestModel(t, `[{"text":"half","cut":true}]`)
	resp := ask(t, m.url, "{}")
	defer resp.Body.Close()
	a, err := read(t, resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || a.Done || a.Finish != "" || len(a.Text) != 1 {
		t.Errorf("want the text and a broken connection, got %+v, %v", a, err)
	}
}

// TestModelHold shows that a held reply stays open until the client leaves, and
// that neither it nor a slow one keeps the model from closing.
func TestModelHold(t *testing.T) {
	m := startTestModel(t, `[{"text":"on","hold":true},{"text":"late","delayMs":60000}]`)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/chat/completions", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	a, err := read(t, resp.Body)
	if !errors.Is(err, context.DeadlineExceeded) || a.Done || len(a.Text) != 1 {
		t.Errorf("want the text and then silence, got %+v, %v", a, err)
	}
	slow := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, m.url+"/chat/completions", strings.NewReader("{}"))
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		slow <- err
	}()
	for len(m.received()) < 2 {
		if !pause(t.Context(), time.Millisecond) {
			t.Fatal("the second request never came")
		}
	}
	start := time.Now()
	m.close()
	if err := <-slow; err == nil || time.Since(start) > 2*time.Second {
		t.Errorf("closing a slow reply: got %v after %v", err, time.Since(start))
	}
}
