package llm

import (
	"encoding/json"
	"testing"
)

// Pieces of a messages stream.
const (
	anStart = `{"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"output_tokens":1}}}`
	anStop  = `{"type":"message_stop"}`
	anUsage = `"usage":{"promptTokens":10,"completionTokens":5,"totalTokens":15,"cachedPromptTokens":0,"reasoningTokens":0,"cacheCreationTokens":0}`
)

func anOpen(index, block string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":` + block + `}`
}

func anDelta(index, delta string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":` + delta + `}`
}

func anEnd(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":` + reason + `},"usage":{"output_tokens":5}}`
}

func TestMessages(t *testing.T) {
	text := anDelta("0", `{"type":"text_delta","text":"a"}`)
	for _, c := range []streamCase{
		{"no event lines, no block start", []string{anStart, text, anEnd(`"end_turn"`), anStop}, `"text":"a",` + anUsage},
		{"no type in the payload", []string{
			"!event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":10}}}\n\n",
			"!event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n",
			"!event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n",
		}, `"text":"a",` + anUsage},
		{"text in the block start", []string{anStart, anOpen("0", `{"type":"text","text":"he"}`), anDelta("0", `{"type":"text_delta","text":"llo"}`), anEnd(`"stop_sequence"`), anStop}, `"text":"hello",` + anUsage},
		{"input in the block start", []string{anStart, anOpen("0", `{"type":"tool_use","id":"t","name":"f","input":{"a":1}}`), anEnd(`"tool_use"`), anStop}, `"finishReason":"tool_calls","toolCalls":[{"id":"t","name":"f","arguments":{"a":1}}],` + anUsage},
		{"blocks interleaved and out of order", []string{
			anStart,
			anOpen("2", `{"type":"tool_use","id":"t2","name":"g","input":{}}`),
			anOpen("1", `{"type":"tool_use","id":"t1","name":"f","input":{}}`),
			anDelta("1", `{"type":"input_json_delta","partial_json":"{\"a\":"}`),
			anDelta("2", `{"type":"input_json_delta","partial_json":"{\"b\":2}"}`),
			text,
			anDelta("1", `{"type":"input_json_delta","partial_json":"1}"}`),
			anEnd(`"end_turn"`), anStop,
		}, `"text":"a","finishReason":"tool_calls","toolCalls":[{"id":"t2","name":"g","arguments":{"b":2}},{"id":"t1","name":"f","arguments":{"a":1}}],` + anUsage},
		{"deltas without an index", []string{
			anStart, `{"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
			`{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`, anEnd(`"tool_use"`),
		}, `"finishReason":"tool_calls","toolCalls":[{"id":"t","name":"f","arguments":{"a":1}}],` + anUsage},
		{"server tool is not ours to run", []string{
			anStart, anOpen("0", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`),
			anDelta("0", `{"type":"input_json_delta","partial_json":"{\"q\":1}"}`),
			anOpen("1", `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`),
			anOpen("2", `{"type":"text","text":""}`), anDelta("2", `{"type":"text_delta","text":"a"}`), anEnd(`"pause_turn"`), anStop,
		}, `"text":"a",` + anUsage},
		{"context window exceeded", []string{anStart, text, anEnd(`"model_context_window_exceeded"`), anStop}, `"text":"a","finishReason":"length",` + anUsage},
		{"reset after the stop reason", []string{anStart, text, anEnd(`"end_turn"`)}, `"text":"a",` + anUsage},
		{"stop without a reason", []string{anStart, text, anEnd(`null`), anStop}, `"text":"a","finishReason":null,"error":{"kind":"transport","retryable":true}`},
		{"no usage", []string{`{"type":"message_start","message":{}}`, text, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, anStop}, `"text":"a"`},
		{"usage in the start only", []string{anStart, text, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, anStop}, `"text":"a","usage":{"promptTokens":10,"completionTokens":1,"totalTokens":11,"cachedPromptTokens":0,"reasoningTokens":0,"cacheCreationTokens":0}`},
		{"pair split over deltas", []string{anStart, anDelta("0", `{"type":"text_delta","text":"\ud83d"}`), anDelta("0", `{"type":"text_delta","text":"\ude80"}`), anEnd(`"end_turn"`), anStop}, `"text":"🚀",` + anUsage},
		{"done of a gateway", []string{anStart, text, anEnd(`"end_turn"`), done, text}, `"text":"a",` + anUsage},
		{"malformed event", []string{anStart, text, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"`, anStop}, `"text":"a","finishReason":null,"error":{"kind":"server","retryable":true}`},
		{"error drops the calls", []string{
			anStart, anOpen("0", `{"type":"tool_use","id":"t","name":"f","input":{"a":1}}`),
			`{"type":"error","error":{"type":"api_error","message":"boom"}}`, anEnd(`"tool_use"`), anStop,
		}, `"finishReason":null,"error":{"kind":"server","retryable":true,"messageContains":"boom"}`},
		{"authentication error", []string{"!event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"boom\"}}\n\n"}, `"finishReason":null,"error":{"kind":"auth","retryable":false,"messageContains":"boom"}`},
		{"overflow", []string{"!event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 205351 tokens > 200000 maximum\"}}\n\n"}, `"finishReason":null,"error":{"kind":"context_overflow","retryable":false}`},
		{"unknown event with an error member", []string{anStart, `{"type":"vendor","error":{"type":"overloaded_error","message":"boom"}}`}, `"finishReason":null,"error":{"kind":"server","retryable":true,"messageContains":"boom"}`},
		{"deltas of the wrong type", []string{anStart, anDelta("0", `{"type":"text_delta","text":5}`), anDelta("0", `7`), anDelta("9", `{"type":"input_json_delta","partial_json":"x"}`), `{"type":5}`, text, anEnd(`"end_turn"`), anStop}, `"text":"a",` + anUsage},
	} {
		c.run(t, "anthropic-messages")
	}
}

// TestThinkingGoesBack holds that signed blocks return unchanged and in order.
func TestThinkingGoesBack(t *testing.T) {
	var found *fixture
	for _, f := range loadFixtures(t, "fixtures") {
		if f.Name == "an_thinking" {
			found = f
		}
	}
	p := found.provider(t, "http://in.memory", found.inMemory(func() int { return 3 }))
	reply, err := p.Stream(t.Context(), &Request{Model: "m"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"anthropic_blocks":[{"type":"thinking","thinking":"step 1 step 2","signature":"c2ln"},{"type":"redacted_thinking","data":"ZW5j"}]}`
	if string(reply.Opaque) != want {
		t.Errorf("opaque\n got %s\nwant %s", reply.Opaque, want)
	}
	body, _, err := (&anthropic{}).encode(&Request{Model: "m", Messages: []Message{reply.Message()}})
	if err != nil {
		t.Fatal(err)
	}
	wantBody := `{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"assistant","content":[` +
		`{"type":"thinking","thinking":"step 1 step 2","signature":"c2ln"},{"type":"redacted_thinking","data":"ZW5j"},{"type":"text","text":"done"}]}]}`
	if string(body) != wantBody {
		t.Errorf("body\n got %s\nwant %s", body, wantBody)
	}
	// Another vendor must not see them.
	other, _, err := (&openAI{compat: plainCompat()}).encode(&Request{Model: "m", Messages: []Message{reply.Message()}})
	if err != nil || !json.Valid(other) {
		t.Fatalf("%s: %v", other, err)
	}
	if got := memberOf(memberOf(other, "messages"), "anthropic_blocks"); got != nil || containsAny(string(other), "redacted", "c2ln") {
		t.Errorf("foreign blocks in %s", other)
	}
}

func containsAny(text string, parts ...string) bool { return anyOf(text, parts...) }
