package llm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// transcript is a conversation with everything in it.
func transcript() []Message {
	return []Message{
		{Role: RoleSystem, Content: Quote("be brief")},
		{Role: RoleUser, Name: "ann", Parts: json.RawMessage(`[{"type":"text","text":"look"},{"type":"image","mediaType":"image/jpeg","data":"QUJD"},{"type":"image","url":"https://h/i.png"}]`)},
		{Role: RoleAssistant, Content: Quote("on it"), Reasoning: Quote("hm"), ToolCalls: []ToolCall{
			{ID: "functions.ls:0", Name: "ls", Arguments: json.RawMessage(`{"p":"a\"b"}`), Extra: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"sig"}},"function":{"x":1}}`)},
			{ID: "b", Name: "rm", ArgumentsError: ArgumentsInvalidJSON, RawArguments: "{bad"},
		}},
		{Role: RoleTool, ToolCallID: "functions.ls:0", Name: "ls", Content: Quote("{\"ok\":true}")},
		{Role: RoleTool, ToolCallID: "b", Content: Quote("")},
		{Role: RoleUser, Content: Quote("and \u2028?")},
		{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "c", Name: "now", Arguments: json.RawMessage(`{}`)}}},
		{Role: RoleTool, ToolCallID: "c", Content: Quote("12")},
	}
}

const tools = `[{"type":"function","function":{"name":"ls","description":"list","parameters":{"type":"object","properties":{"p":{"type":"string"}}}}},{"type":"function","function":{"name":"now"}}]`

// pretty makes bodies comparable line by line.
func pretty(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", " "); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return b.String()
}

func TestChatRequest(t *testing.T) {
	req := &Request{
		Model: "m\"1", Messages: transcript(), Tools: json.RawMessage(tools), ToolChoice: json.RawMessage(`"required"`),
		Temperature: new(0.2), MaxTokens: new(100), ReasoningEffort: "low", Extra: json.RawMessage(` {"top_p":0.5,"stop":["x"]} `),
	}
	body, warnings, err := (&openAI{compat: plainCompat()}).encode(req)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := `{"model":"m\"1","messages":[
		{"role":"system","content":"be brief"},
		{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,QUJD"}},{"type":"image_url","image_url":{"url":"https://h/i.png"}}],"name":"ann"},
		{"role":"assistant","content":"on it","tool_calls":[
			{"id":"functions.ls:0","type":"function","function":{"name":"ls","arguments":"{\"p\":\"a\\\"b\"}","x":1},"extra_content":{"google":{"thought_signature":"sig"}}},
			{"id":"b","type":"function","function":{"name":"rm","arguments":"{}"}}]},
		{"role":"tool","content":"{\"ok\":true}","tool_call_id":"functions.ls:0"},
		{"role":"tool","content":"","tool_call_id":"b"},
		{"role":"user","content":"and \u2028?"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"now","arguments":"{}"}}]},
		{"role":"tool","content":"12","tool_call_id":"c"}],
		"stream":true,"stream_options":{"include_usage":true},"tools":` + tools + `,"tool_choice":"required",
		"temperature":0.2,"max_tokens":100,"reasoning_effort":"low","top_p":0.5,"stop":["x"]}`
	if diff := cmp.Diff(pretty(t, []byte(want)), pretty(t, body)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if spare := cap(body) - len(body); cap(body) > bodySize(req)+64 || spare < 0 {
		t.Errorf("the body grew: %d of %d estimated", cap(body), bodySize(req))
	}
}

func TestMessagesRequest(t *testing.T) {
	req := &Request{
		Model: "m", Messages: transcript(), Tools: json.RawMessage(tools), ToolChoice: json.RawMessage(`{"type":"function","function":{"name":"ls"}}`),
		Temperature: new(1.0), MaxTokens: new(100), ReasoningEffort: "low", Extra: json.RawMessage(`{"thinking":{"type":"enabled","budget_tokens":2000}}`),
	}
	body, warnings, err := (&anthropic{}).encode(req)
	if err != nil || len(warnings) != 1 {
		t.Fatal(err, warnings)
	}
	want := `{"model":"m","max_tokens":100,"stream":true,"system":[{"type":"text","text":"be brief"}],"messages":[
		{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"QUJD"}},{"type":"image","source":{"type":"url","url":"https://h/i.png"}}]},
		{"role":"assistant","content":[{"type":"text","text":"on it"},{"type":"tool_use","id":"functions_ls_0","name":"ls","input":{"p":"a\"b"}},{"type":"tool_use","id":"b","name":"rm","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_ls_0","content":[{"type":"text","text":"{\"ok\":true}"}]},{"type":"tool_result","tool_use_id":"b"},{"type":"text","text":"and \u2028?"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"now","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"12"}]}]}],
		"tools":[{"name":"ls","description":"list","input_schema":{"type":"object","properties":{"p":{"type":"string"}}}},{"name":"now","input_schema":{"type":"object"}}],
		"tool_choice":{"type":"tool","name":"ls"},"temperature":1,"thinking":{"type":"enabled","budget_tokens":2000}}`
	if diff := cmp.Diff(pretty(t, []byte(want)), pretty(t, body)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMessagesChoice covers the tool choices of the other API.
func TestMessagesChoice(t *testing.T) {
	for choice, want := range map[string]string{
		``: ``, `null`: ``, `"auto"`: `,"tool_choice":{"type":"auto"}`, `"none"`: `,"tool_choice":{"type":"none"}`,
		` "required" `: `,"tool_choice":{"type":"any"}`, `{"type":"x"}`: `,"tool_choice":{"type":"auto"}`,
	} {
		if got := string(appendAnthropicChoice(nil, json.RawMessage(choice))); got != want {
			t.Errorf("%s: %s, want %s", choice, got, want)
		}
	}
}

// TestRequestErrors holds that what cannot be sent is refused before anything is
// sent, and without quoting it.
func TestRequestErrors(t *testing.T) {
	user := func(m Message) *Request {
		m.Role = RoleUser
		return &Request{Model: "m", Messages: []Message{m}}
	}
	for _, tc := range []struct {
		name string
		req  *Request
		want string
	}{
		{"no model", &Request{}, "names no model"},
		{"content is no string", user(Message{Content: json.RawMessage(`{"a":1}`)}), "no JSON string"},
		{"parts are no array", user(Message{Parts: json.RawMessage(`{"type":"text"}`)}), "no array"},
		{"part without text", user(Message{Parts: json.RawMessage(`[{"type":"text"}]`)}), "no array"},
		{"part of another type", user(Message{Parts: json.RawMessage(`[{"type":"audio","data":"x"}]`)}), "no array"},
		{"image without a source", user(Message{Parts: json.RawMessage(`[{"type":"image"}]`)}), "no array"},
		{"tools are no array", &Request{Model: "m", Tools: json.RawMessage(`{}`)}, "no JSON array"},
		{"extra is no object", &Request{Model: "m", Extra: json.RawMessage(`[1]`)}, "no JSON object"},
		{"extra is cut", &Request{Model: "m", Extra: json.RawMessage(`{"a":1`)}, "no JSON object"},
		{"extra sets the messages", &Request{Model: "m", Extra: json.RawMessage(`{"messages":[]}`)}, `may not set "messages"`},
		{"extra sets the model by an escape", &Request{Model: "m", Extra: json.RawMessage(`{"\u006dodel":"x"}`)}, `may not set "model"`},
	} {
		for _, name := range []string{"openai", "anthropic"} {
			p := newProvider(t, Config{Provider: name, BaseURL: "http://127.0.0.1:1"})
			reply, err := p.Stream(t.Context(), tc.req, nil)
			e := failure(t, err)
			if e.Kind != KindInvalidRequest || e.Retryable || !strings.Contains(e.Message, tc.want) || reply == nil {
				t.Errorf("%s, %s: %+v", tc.name, name, e)
			}
		}
	}
}

// TestToolsOrNone holds that no tools means no member, since servers refuse an
// empty list.
func TestToolsOrNone(t *testing.T) {
	for raw, want := range map[string]bool{``: false, `null`: false, `[]`: false, " [ ] ": false, "\n" + tools: true} {
		for _, d := range []dialect{&openAI{compat: plainCompat()}, &anthropic{}} {
			body, _, err := d.encode(&Request{Model: "m", Tools: json.RawMessage(raw), ToolChoice: json.RawMessage(` "auto"`)})
			if err != nil || !json.Valid(body) {
				t.Errorf("%q: %s %v", raw, body, err)
			}
			top := object(body)
			if (top["tools"] != nil) != want || (top["tool_choice"] != nil) != want {
				t.Errorf("%q: %s", raw, body)
			}
		}
	}
}

// TestParts covers the forms of parts.
func TestParts(t *testing.T) {
	for _, tc := range []struct{ parts, want string }{
		{`[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]`, `"a\nb"`},
		{`[]`, `""`},
		{`[{"type":"image","source":"QUJD","media_type":"image/gif"}]`, `[{"type":"image_url","image_url":{"url":"data:image/gif;base64,QUJD"}}]`},
		{`[{"type":"image","source":"https://h/x"}]`, `[{"type":"image_url","image_url":{"url":"https://h/x"}}]`},
		{`[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}}]`, `[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]`},
		{`[{"type":"image_url","image_url":"https://h/x"}]`, `[{"type":"image_url","image_url":{"url":"https://h/x"}}]`},
		{`[{"type":"image","data":"AA"}]`, `[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]`},
	} {
		got, err := appendContent(nil, &Message{Parts: json.RawMessage(tc.parts)})
		if err != nil || string(got) != tc.want {
			t.Errorf("%s\n got %s %v\nwant %s", tc.parts, got, err, tc.want)
		}
	}
}

// TestVendors covers the table of differences.
func TestVendors(t *testing.T) {
	call := Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "a", Name: "f", Arguments: json.RawMessage(`{}`)}}}
	thought := call
	thought.Reasoning = Quote("hm")
	plain := Message{Role: RoleAssistant, Content: Quote("x"), Reasoning: Quote("hm")}
	details := call
	details.Opaque = json.RawMessage(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}`)
	req := func(m Message) *Request {
		return &Request{
			Model: "m", Messages: []Message{m}, Tools: json.RawMessage(`[{}]`), ToolChoice: json.RawMessage(`"required"`),
			Temperature: new(0.5), ReasoningEffort: "high", MaxTokens: new(9),
		}
	}
	for _, tc := range []struct {
		name, host, override string
		m                    Message
		with, without        []string
		warnings             int
	}{
		{"plain keeps reasoning to itself", "localhost", ``, thought, []string{`"tool_choice":"required"`, `"max_tokens":9`}, []string{"hm"}, 0},
		{"deepseek wants it back", "api.deepseek.com", ``, thought, []string{`"reasoning_content":"hm"`, `"tool_choice":"auto"`}, nil, 0},
		{"deepseek wants even none back", "API.DeepSeek.com", ``, call, []string{`"reasoning_content":""`}, nil, 0},
		{"deepseek only with calls", "api.deepseek.com", ``, plain, nil, []string{"reasoning_content"}, 0},
		{"no part of a name", "notdeepseek.com", ``, thought, nil, []string{"reasoning_content"}, 0},
		{"moonshot", "api.moonshot.ai", ``, thought, []string{`"reasoning_content":"hm"`}, []string{"temperature", "reasoning_effort"}, 2},
		{"openrouter", "openrouter.ai", ``, thought, []string{`"reasoning":"hm"`, `"reasoning":{"effort":"high"}`}, nil, 0},
		{"details in place of the text", "openrouter.ai", ``, details, []string{`"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]`}, []string{`"reasoning":"`}, 0},
		{"openai", "api.openai.com", ``, call, []string{`"max_completion_tokens":9`}, []string{`"max_tokens"`}, 0},
		{
			"override", "localhost", `{"reasoningEchoField":"thoughts","maxTokensField":"max_completion_tokens","supportsUsageInStreaming":false,"supportsTemperature":false}`, thought,
			[]string{`"thoughts":"hm"`, `"max_completion_tokens":9`},
			[]string{"include_usage", "temperature"},
			1,
		},
		{"override beats the table", "api.deepseek.com", `{"supportsForcedToolChoice":true,"echoEmptyReasoningForToolCalls":false}`, call, []string{`"tool_choice":"required"`}, []string{"reasoning_content"}, 0},
	} {
		c, err := compatFor(tc.host, json.RawMessage(tc.override))
		if err != nil {
			t.Fatal(tc.name, err)
		}
		body, warnings, err := (&openAI{compat: c}).encode(req(tc.m))
		if err != nil || !json.Valid(body) || len(warnings) != tc.warnings {
			t.Errorf("%s: %s %v %q", tc.name, body, err, warnings)
		}
		for _, part := range tc.with {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s: no %s in %s", tc.name, part, body)
			}
		}
		for _, part := range tc.without {
			if strings.Contains(string(body), part) {
				t.Errorf("%s: %s in %s", tc.name, part, body)
			}
		}
	}
	for _, bad := range []string{`{"supportsTemprature":true}`, `{"maxTokensField":"n"}`, `{"supportsTemperature":1}`, `[]`, `{`} {
		if _, err := New(Config{Provider: "openai", Compat: json.RawMessage(bad)}); err == nil || !strings.HasPrefix(err.Error(), "compat: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, empty := range []string{``, `null`, ` null `, `{}`} {
		if _, err := New(Config{Provider: "openai", Compat: json.RawMessage(empty)}); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// TestCompatReading covers the members that say where to read.
func TestCompatReading(t *testing.T) {
	c, err := compatFor("h", json.RawMessage(`{"reasoningDeltaFields":["thought"],"cachedTokensFields":["a.b","c"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.reasoningRank([]byte("thought")) != 1 || c.reasoningRank([]byte("reasoning")) != 0 {
		t.Error("reasoningDeltaFields not obeyed")
	}
	for raw, want := range map[string]int64{`{"a":{"b":3},"c":4}`: 3, `{"a":{"b":0},"c":4}`: 4, `{"a":5}`: 0} {
		if u := c.usage([]byte(`{"prompt_tokens":9,` + raw[1:])); u == nil || u.CachedPromptTokens != want {
			t.Errorf("%s: %+v", raw, u)
		}
	}
}

// TestDetails covers reasoning_details in pieces.
func TestDetails(t *testing.T) {
	var d details
	for _, raw := range []string{
		`null`, `"x"`, `[7]`, `[{"type":"reasoning.text","index":0,"text":"a","signature":null}]`,
		`[{"type":"reasoning.text","index":0,"text":"b"}]`,
		`[{"type":"reasoning.text","index":0,"text":"","signature":"s"}]`,
		`[{"type":"reasoning.encrypted","index":1,"data":"x","id":"1"},{"type":"reasoning.encrypted","index":1,"data":"y","id":"1"}]`,
		`[{"type":"reasoning.summary","index":2,"summary":"p"},{"type":"reasoning.summary","index":2,"summary":"q"}]`,
	} {
		d.add([]byte(raw))
	}
	want := `{"reasoning_details":[{"index":0,"signature":"s","text":"ab","type":"reasoning.text"},` +
		`{"data":"x","id":"1","index":1,"type":"reasoning.encrypted"},{"data":"y","id":"1","index":1,"type":"reasoning.encrypted"},` +
		`{"index":2,"summary":"pq","type":"reasoning.summary"}]}`
	if got := string(d.encode()); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestCallExtras holds that unknown members of a call make the round trip.
func TestCallExtras(t *testing.T) {
	f := &fixture{API: "openai-chat", body: []byte(
		"data: " + callChunk(`{"index":0,"id":"a","type":"function","extra_content":{"google":{"thought_signature":"s1"}},"x":null,"function":{"name":"f","arguments":"{}","y":1}}`) + "\n\n" +
			"data: " + callChunk(`{"index":0,"extra_content":{"google":{"thought_signature":"s2"}},"function":{"arguments":null}}`) + "\n\n" +
			"data: " + finishWith(`"tool_calls"`) + "\n\n")}
	f.HTTP.Status, f.HTTP.End = 200, "close"
	f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
	reply, err := f.provider(t, "http://in.memory", f.inMemory(func() int { return 50 })).Stream(t.Context(), question(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"extra_content":{"google":{"thought_signature":"s2"}},"function":{"y":1}}`
	if got := string(reply.ToolCalls[0].Extra); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	body := string(appendOpenAICall(nil, &reply.ToolCalls[0]))
	if want := `{"id":"a","type":"function","function":{"name":"f","arguments":"{}","y":1},"extra_content":{"google":{"thought_signature":"s2"}}}`; body != want {
		t.Errorf("\n got %s\nwant %s", body, want)
	}
}

// TestUniqueIDs holds that ids stay unique over rounds in which a server counts
// from the start.
func TestUniqueIDs(t *testing.T) {
	var history []Message
	seen := map[string]bool{}
	for round := range 50 {
		list := []ToolCall{{ID: "web_search:0"}, {ID: "web_search:1"}, {ID: "own" + strings.Repeat("x", round)}}
		UniqueIDs(list, history)
		again := append([]ToolCall(nil), list...)
		UniqueIDs(again, history)
		for i, c := range list {
			if seen[c.ID] {
				t.Fatalf("round %d: %q again", round, c.ID)
			}
			seen[c.ID] = true
			if again[i].ID != c.ID {
				t.Errorf("%q renamed once more to %q", c.ID, again[i].ID)
			}
		}
		if list[2].IDSynthesized || list[0].IDSynthesized != (round > 0) {
			t.Errorf("round %d: %+v", round, list)
		}
		history = append(history, Message{Role: RoleAssistant, ToolCalls: list})
	}
	// A new name must not be that of a neighbour.
	list := []ToolCall{{ID: "a"}, {ID: "a_0"}}
	UniqueIDs(list, []Message{{ToolCalls: []ToolCall{{ID: "a"}}}})
	if list[0].ID != "a_0_2" || list[1].ID != "a_0" {
		t.Errorf("%+v", list)
	}
}
