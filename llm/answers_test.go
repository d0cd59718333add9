package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// FuzzAnswer feeds a provider whole HTTP answers and holds what must be true
// whatever a server does: no panic, no call beside an error, no call without an
// end mark, arguments that parse, text that may be shown.
func FuzzAnswer(f *testing.F) {
	for _, fx := range loadFixtures(f, "fixtures") {
		if len(fx.body) < 4096 {
			f.Add(fx.API == "openai-chat", fx.HTTP.Status, fx.HTTP.Headers["content-type"], fx.body, 5, fx.HTTP.End == "close")
		}
	}
	f.Fuzz(func(t *testing.T, chat bool, status int, kind string, body []byte, size int, clean bool) {
		if size < 1 || status < 200 || status > 599 {
			return
		}
		fx := &fixture{API: map[bool]string{true: "openai-chat", false: "anthropic-messages"}[chat], body: body}
		fx.HTTP.Status = status
		fx.HTTP.Headers = map[string]string{"Content-Type": kind}
		if fx.HTTP.End = "close"; !clean {
			fx.HTTP.End = "reset"
		}
		sink := &collector{tb: t}
		p := fx.provider(t, "http://in.memory", fx.inMemory(func() int { return size }))
		reply, err := p.Stream(t.Context(), question(), sink)
		sink.check(NewDigest(reply, err))
		checkReply(t, reply, err)
		if err == nil && (status != http.StatusOK || !mayHaveEnded(body)) {
			t.Errorf("no end mark in %q, but no error", body)
		}
	})
}

// checkReply holds what is true of every reply.
func checkReply(t *testing.T, reply *Reply, err error) {
	t.Helper()
	if err != nil {
		e := failure(t, err)
		if len(reply.ToolCalls) > 0 || !e.Kind.known() || e.Message == "" || strings.Contains(e.Message, "sk-fixture") {
			t.Errorf("%+v beside %+v", reply, e)
		}
	}
	if err == nil && reply.FinishReason == FinishNone {
		t.Error("a reply without a finish reason")
	}
	for _, literal := range []json.RawMessage{reply.Content, reply.Reasoning, reply.Opaque} {
		if literal != nil && (!json.Valid(literal) || bytes.ContainsAny(literal, "\n\r")) {
			t.Errorf("bad literal %q", literal)
		}
	}
	seen := map[string]bool{}
	for i := range reply.ToolCalls {
		c := &reply.ToolCalls[i]
		if c.ID == "" || seen[c.ID] {
			t.Errorf("id %q", c.ID)
		}
		seen[c.ID] = true
		if (c.ArgumentsError == "") != (object(c.Arguments) != nil) {
			t.Errorf("%+v", c)
		}
		if c.Extra != nil && object(c.Extra) == nil {
			t.Errorf("extra %q", c.Extra)
		}
	}
	if len(reply.Warnings) > maxWarnings {
		t.Errorf("%d warnings", len(reply.Warnings))
	}
}

// mayHaveEnded says whether a body holds anything that can be an end mark. Names
// may be written with escapes, so any escape will do.
func mayHaveEnded(body []byte) bool {
	for _, mark := range []string{"[DONE]", "finish_reason", "stop_reason", `\u`, "choices", "content"} {
		if bytes.Contains(body, []byte(mark)) {
			return true
		}
	}
	return false
}

// TestTruncationNeverRunsCalls cuts every recorded stream at every byte. Before
// the end mark there must be an error; and a call must never come out otherwise
// than it would have whole.
func TestTruncationNeverRunsCalls(t *testing.T) {
	for _, f := range loadFixtures(t, "fixtures") {
		if f.HTTP.Status != http.StatusOK || len(f.Expect["toolCalls"].([]any)) == 0 || len(f.body) > 4096 {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			whole := ask(t, f.provider(t, "http://in.memory", f.inMemory(func() int { return 1 << 20 })), nil)
			for n := range f.body {
				part := *f
				part.body = f.body[:n]
				part.HTTP.End = "close"
				d := ask(t, part.provider(t, "http://in.memory", part.inMemory(func() int { return 1 << 20 })), nil)
				if d.Error == nil && fmt.Sprintf("%+v", callsOf(d)) != fmt.Sprintf("%+v", callsOf(whole)) {
					t.Fatalf("cut after %d bytes:\n got %v\nwant %v", n, callsOf(d), callsOf(whole))
				}
			}
		})
	}
}

// callsOf writes down the calls of a digest.
func callsOf(d *Digest) []string {
	out := []string{}
	for _, c := range d.ToolCalls {
		out = append(out, c.ID+" "+c.Name+" "+string(c.Arguments)+" "+c.ArgumentsError)
	}
	return out
}

// anthropicServer writes a message down as events, in one of the ways seen.
type anthropicServer struct {
	named   bool // with event lines
	starts  bool // with content_block_start for text
	input   bool // tool input in the block start
	pings   bool
	indexes bool
}

// events returns the stream of a message with a text and some calls.
func (s anthropicServer) events(t *rapid.T, text string, list []intended) string {
	var b strings.Builder
	put := func(kind, rest string) {
		if s.named {
			b.WriteString("event: " + kind + "\n")
		}
		b.WriteString(`data: {"type":"` + kind + `"` + rest + "}\n\n")
		if s.pings && rapid.Bool().Draw(t, "ping") {
			b.WriteString("event: ping\ndata: {\"type\":\"ping\"}\n\n: comment\n\n")
		}
	}
	at := func(i int) string {
		if !s.indexes {
			return ""
		}
		return fmt.Sprintf(`,"index":%d`, i)
	}
	put("message_start", `,"message":{"usage":{"input_tokens":3,"output_tokens":0}}`)
	if s.starts {
		put("content_block_start", at(0)+`,"content_block":{"type":"text","text":""}`)
	}
	for _, piece := range cutUnits(t, text) {
		put("content_block_delta", at(0)+`,"delta":{"type":"text_delta","text":`+piece+`}`)
	}
	for i, c := range list {
		input := "{}"
		if s.input {
			input = c.args
		}
		put("content_block_start", at(i+1)+fmt.Sprintf(`,"content_block":{"type":"tool_use","id":"toolu_%d","name":%q,"input":%s}`, i, c.name, input))
		if !s.input {
			put("content_block_delta", at(i+1)+`,"delta":{"type":"input_json_delta","partial_json":""}`)
			for _, piece := range cutUnits(t, c.args) {
				put("content_block_delta", at(i+1)+`,"delta":{"type":"input_json_delta","partial_json":`+piece+`}`)
			}
		}
		put("content_block_stop", at(i+1))
	}
	put("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}`)
	put("message_stop", "")
	return b.String()
}

// TestEveryMessagesServerMeansTheSame is the property of
// TestEveryServerMeansTheSame for the messages API.
func TestEveryMessagesServerMeansTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := anthropicServer{
			named: rapid.Bool().Draw(rt, "named"), starts: rapid.Bool().Draw(rt, "starts"), input: rapid.Bool().Draw(rt, "input"),
			pings: rapid.Bool().Draw(rt, "pings"), indexes: rapid.Bool().Draw(rt, "indexes"),
		}
		text := rapid.String().Draw(rt, "text")
		var want []intended
		for range rapid.IntRange(0, 3).Draw(rt, "calls") {
			want = append(want, intended{name: rapid.StringMatching(`[a-z]{1,8}`).Draw(rt, "name"), args: genObject(rt)})
		}
		f := &fixture{API: "anthropic-messages", body: []byte(s.events(rt, text, want))}
		f.HTTP.Status, f.HTTP.End = http.StatusOK, "close"
		f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
		size := rapid.IntRange(1, 300).Draw(rt, "read")
		reply, err := f.provider(t, "http://in.memory", f.inMemory(func() int { return size })).Stream(t.Context(), question(), nil)
		if err != nil || reply.Text() != text || len(reply.ToolCalls) != len(want) || reply.Usage.TotalTokens != 7 {
			rt.Fatalf("%+v\n%s\n got %+v %v\nwant %q %+v", s, f.body, reply, err, text, want)
		}
		for i := range want {
			c := &reply.ToolCalls[i]
			if c.Name != want[i].name || c.ID != fmt.Sprint("toolu_", i) || !sameJSON(c.Arguments, []byte(want[i].args)) {
				rt.Fatalf("%s\n got %+v\nwant %+v", f.body, c, want[i])
			}
		}
		checkReply(t, reply, err)
	})
}

// TestDigest covers what recorded exchanges do not.
func TestDigest(t *testing.T) {
	long := strings.Repeat("é", 2049)
	reply := &Reply{
		Content:   Quote(long),
		Reasoning: Quote("r"),
		ToolCalls: []ToolCall{
			{ID: "a", Name: "f", Arguments: json.RawMessage(`{"x":"` + long + `"}`)},
			{ID: "b", Name: "g", Arguments: json.RawMessage(`{}`), RawArguments: " ", NoArguments: true},
			{ID: "c", Name: "h", ArgumentsError: ArgumentsNotObject, RawArguments: "7"},
		},
		FinishReason: FinishLength,
	}
	d := NewDigest(reply, io.ErrUnexpectedEOF)
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"text":null,"textLen":4098,"textSha256":"` + hash(long) + `","reasoning":"r","toolCalls":[` +
		`{"id":"a","name":"f","argumentsSha256":"` + hash(`{"x":"`+long+`"}`) + `"},{"id":"b","name":"g","arguments":{}},` +
		`{"id":"c","name":"h","arguments":null,"argumentsError":"not_object","rawArguments":"7"}],` +
		`"finishReason":"length","usage":null,"error":{"kind":"unknown","retryable":false,"message":"unexpected EOF"}}`
	if string(raw) != want {
		t.Errorf("\n got %s\nwant %s", raw, want)
	}
	empty, err := json.Marshal(NewDigest(&Reply{}, nil))
	if err != nil || string(empty) != `{"text":"","reasoning":"","toolCalls":[],"finishReason":null,"usage":null,"error":null}` {
		t.Errorf("%s, %v", empty, err)
	}
}

// TestNames holds the names that callers print and compare.
func TestNames(t *testing.T) {
	for kind, want := range map[DeltaKind]string{DeltaText: "text", DeltaReasoning: "reasoning", 0: "unknown", 9: "unknown"} {
		if got := kind.String(); got != want {
			t.Errorf("%d: %s", kind, got)
		}
	}
	for provider, want := range map[string]string{
		"openai": "openai_compat", "openai_compat": "openai_compat", "openai-compatible": "openai_compat", "ollama": "openai_compat",
		"anthropic": "anthropic", "claude": "anthropic",
	} {
		if p := newProvider(t, Config{Provider: provider}); p.Name() != want {
			t.Errorf("%s: %s", provider, p.Name())
		}
	}
	r := Reply{Content: Quote("a"), Reasoning: Quote("b"), ToolCalls: []ToolCall{{ID: "x"}}, Opaque: json.RawMessage(`{}`)}
	if m := r.Message(); m.Role != RoleAssistant || string(m.Content) != `"a"` || string(m.Reasoning) != `"b"` || len(m.ToolCalls) != 1 || string(m.Opaque) != "{}" {
		t.Errorf("%+v", m)
	}
	if r.Text() != "a" || r.ReasoningText() != "b" || (&Reply{}).Text() != "" {
		t.Errorf("%q %q", r.Text(), r.ReasoningText())
	}
}

// TestWarnings holds that ignored input leaves a trace, and not much of one.
func TestWarnings(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "data: secret %d\n\n", i)
	}
	f := &fixture{API: "openai-chat", body: []byte(b.String() + stop)}
	f.HTTP.Status, f.HTTP.End = http.StatusOK, "close"
	f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
	reply, err := f.provider(t, "http://in.memory", f.inMemory(func() int { return 64 })).Stream(t.Context(), question(), nil)
	if err != nil || len(reply.Warnings) != 1 || strings.Contains(reply.Warnings[0], "secret") {
		t.Errorf("%v, %q", err, reply.Warnings)
	}
}
