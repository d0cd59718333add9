package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// conversation answers the n-th request with the n-th body and keeps what was
// asked.
type conversation struct {
	asked   []map[string]any
	replies []string
}

func (c *conversation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	asked, _ := decodeAny(body).(map[string]any)
	c.asked = append(c.asked, asked)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, c.replies[min(len(c.asked), len(c.replies))-1])
}

// converse runs a turn: it answers every tool call with its name, until there is
// none.
func converse(t *testing.T, p Provider, question string) []Message {
	t.Helper()
	transcript := []Message{{Role: RoleUser, Content: Quote(question)}}
	for range 10 {
		reply, err := p.Stream(t.Context(), &Request{Model: "m", Messages: transcript, Tools: json.RawMessage(tools)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		transcript = append(transcript, reply.Message())
		if len(reply.ToolCalls) == 0 {
			return transcript
		}
		for _, c := range reply.ToolCalls {
			transcript = append(transcript, Message{Role: RoleTool, ToolCallID: c.ID, Name: c.Name, Content: Quote("result of " + c.Name)})
		}
	}
	t.Fatal("no end")
	return nil
}

// lines joins events to a stream.
func lines(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

// messagesOf returns the messages of a request, written as JSON.
func messagesOf(t *testing.T, asked map[string]any) []string {
	t.Helper()
	list, _ := asked["messages"].([]any)
	var out []string
	for _, m := range list {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// TestConversation holds that results reach the model beside their calls, with
// reasoning given back, although the server uses one id again and again.
func TestConversation(t *testing.T) {
	round := func(n int) string {
		return lines(
			delta(fmt.Sprintf(`{"reasoning_content":"think %d"}`, n)),
			callChunk(fmt.Sprintf(`{"index":0,"id":"ls:0","type":"function","function":{"name":"ls","arguments":"{\"n\":%d}"}}`, n)),
			finishWith(`"tool_calls"`), "[DONE]")
	}
	c := &conversation{replies: []string{round(1), round(2), lines(delta(`{"content":"done"}`), finishWith(`"stop"`), "[DONE]")}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	p := newProvider(t, Config{BaseURL: s.URL, Compat: json.RawMessage(`{"reasoningEchoField":"reasoning_content"}`)})
	transcript := converse(t, p, "go")
	if got := unquote(transcript[len(transcript)-1].Content); got != "done" {
		t.Errorf("answer %q", got)
	}
	want := []string{
		`{"content":"go","role":"user"}`,
		`{"content":null,"reasoning_content":"think 1","role":"assistant","tool_calls":[{"function":{"arguments":"{\"n\":1}","name":"ls"},"id":"ls:0","type":"function"}]}`,
		`{"content":"result of ls","role":"tool","tool_call_id":"ls:0"}`,
		`{"content":null,"reasoning_content":"think 2","role":"assistant","tool_calls":[{"function":{"arguments":"{\"n\":2}","name":"ls"},"id":"ls:0_0","type":"function"}]}`,
		`{"content":"result of ls","role":"tool","tool_call_id":"ls:0_0"}`,
	}
	if len(c.asked) != 3 {
		t.Fatalf("%d requests", len(c.asked))
	}
	for i, asked := range c.asked {
		if diff := cmp.Diff(want[:1+2*i], messagesOf(t, asked)); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
		if asked["stream"] != true || asked["model"] != "m" {
			t.Errorf("request %d: %v", i, asked)
		}
	}
}

// TestConversationWithThinking is the same for the messages API: signed blocks
// come first and as they were.
func TestConversationWithThinking(t *testing.T) {
	first := lines(
		anStart,
		anOpen("0", `{"type":"thinking","thinking":"","signature":""}`),
		anDelta("0", `{"type":"thinking_delta","thinking":"hm"}`),
		anDelta("0", `{"type":"signature_delta","signature":"c2"}`),
		anDelta("0", `{"type":"signature_delta","signature":"ln"}`),
		anOpen("1", `{"type":"text","text":""}`),
		anDelta("1", `{"type":"text_delta","text":"looking"}`),
		anOpen("2", `{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}`),
		anDelta("2", `{"type":"input_json_delta","partial_json":"{\"n\":1}"}`),
		anEnd(`"tool_use"`), anStop)
	c := &conversation{replies: []string{first, lines(anStart, anDelta("0", `{"type":"text_delta","text":"done"}`), anEnd(`"end_turn"`), anStop)}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	converse(t, newProvider(t, Config{Provider: "anthropic", BaseURL: s.URL}), "go")
	want := []string{
		`{"content":[{"text":"go","type":"text"}],"role":"user"}`,
		`{"content":[{"signature":"c2ln","thinking":"hm","type":"thinking"},{"text":"looking","type":"text"},{"id":"toolu_1","input":{"n":1},"name":"ls","type":"tool_use"}],"role":"assistant"}`,
		`{"content":[{"content":[{"text":"result of ls","type":"text"}],"tool_use_id":"toolu_1","type":"tool_result"}],"role":"user"}`,
	}
	if len(c.asked) != 2 {
		t.Fatalf("%d requests", len(c.asked))
	}
	if diff := cmp.Diff(want, messagesOf(t, c.asked[1])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestConversationWithDetails is the same for encrypted reasoning.
func TestConversationWithDetails(t *testing.T) {
	const entry = `{"type":"reasoning.encrypted","data":"x/y+=","id":"rs_1","format":"f","index":0}`
	first := lines(
		delta(`{"reasoning":"hm","reasoning_details":[`+entry+`]}`),
		callChunk(`{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig"}}}`),
		finishWith(`"tool_calls"`), "[DONE]")
	c := &conversation{replies: []string{first, lines(delta(`{"content":"done"}`), finishWith(`"stop"`))}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	converse(t, newProvider(t, Config{BaseURL: s.URL}), "go")
	want := `{"content":null,"reasoning_details":[{"data":"x/y+=","format":"f","id":"rs_1","index":0,"type":"reasoning.encrypted"}],` +
		`"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"sig"}},"function":{"arguments":"{}","name":"ls"},"id":"a","type":"function"}]}`
	if got := messagesOf(t, c.asked[1])[1]; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestFlaggedCallGoesBack holds that a call whose arguments did not parse is
// neither lost nor repeated as it was: the next request must be acceptable.
func TestFlaggedCallGoesBack(t *testing.T) {
	c := &conversation{replies: []string{
		lines(callChunk(`{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"p\": oops"}}`), finishWith(`"tool_calls"`), "[DONE]"),
		lines(delta(`{"content":"sorry"}`), finishWith(`"stop"`)),
	}}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	transcript := converse(t, newProvider(t, Config{BaseURL: s.URL}), "go")
	call := transcript[1].ToolCalls[0]
	if call.ArgumentsError != ArgumentsInvalidJSON || call.Arguments != nil || call.RawArguments != `{"p": oops` {
		t.Errorf("%+v", call)
	}
	want := `{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"ls"},"id":"a","type":"function"}]}`
	if got := messagesOf(t, c.asked[1])[1]; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
