package llm

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// streamCase is a reply on one line per event, and what becomes of it.
type streamCase struct {
	name   string
	events []string // payloads; one that begins with "!" is raw text of the stream
	want   string   // members of the digest that differ from those of an empty reply
}

// delta wraps a delta into a chunk.
func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

// call wraps entries of tool_calls into a chunk.
func callChunk(entries string) string { return delta(`{"tool_calls":[` + entries + `]}`) }

// finishWith is a last chunk.
func finishWith(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":` + reason + `}]}`
}

// run plays the case and compares, with several cuts.
func (c streamCase) run(t *testing.T, api string) {
	t.Helper()
	c.runAs(t, api, "text/event-stream")
}

// runAs is run with another content type.
func (c streamCase) runAs(t *testing.T, api, kind string) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		var b strings.Builder
		for _, ev := range c.events {
			if raw, ok := strings.CutPrefix(ev, "!"); ok {
				b.WriteString(raw)
			} else {
				b.WriteString("data: " + ev + "\n\n")
			}
		}
		f := &fixture{Name: c.name, API: api, body: []byte(b.String())}
		f.HTTP.Status = 200
		f.HTTP.Headers = map[string]string{"Content-Type": kind}
		f.HTTP.End = "close"
		want := map[string]any{
			"text": "", "reasoning": "", "toolCalls": []any{}, "finishReason": "stop", "usage": nil, "error": nil,
		}
		maps.Copy(want, tree(t, json.RawMessage("{"+c.want+"}")))
		f.Expect = want
		for _, size := range []int{1 << 30, 1, 7} {
			sink := &collector{tb: t}
			d := ask(t, f.provider(t, "http://in.memory", f.inMemory(func() int { return size })), sink)
			sink.check(d)
			match(t, f, d)
		}
	})
}

const done = "[DONE]"

// TestToolCallQuirks covers what servers do to tool calls.
func TestToolCallQuirks(t *testing.T) {
	one := func(call string) string { return `"finishReason":"tool_calls","toolCalls":[` + call + `]` }
	for _, c := range []streamCase{
		{"index grows with every fragment", []string{
			callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`),
			callChunk(`{"index":1,"function":{"arguments":"{\"x\""}}`),
			callChunk(`{"index":2,"function":{"arguments":":1}"}}`),
			callChunk(`{"index":3,"id":"b","function":{"name":"g","arguments":""}}`),
			callChunk(`{"index":4,"function":{"arguments":"{\"y\":2}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"f","arguments":{"x":1}},{"id":"b","name":"g","arguments":{"y":2}}`)},
		{"index grows and the name is repeated", []string{
			callChunk(`{"index":0,"function":{"name":"f","arguments":"{\"x\""}}`),
			callChunk(`{"index":1,"function":{"name":"f","arguments":":1}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"call_0","name":"f","arguments":{"x":1},"idSynthesized":true}`)},
		{"index minus one", []string{
			callChunk(`{"index":-1,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			callChunk(`{"index":-1,"function":{"arguments":"1}"}}`),
			callChunk(`{"index":-1,"id":"b","function":{"name":"g","arguments":"{}"}}`),
			finishWith(`"stop"`), done,
		}, one(`{"id":"a","name":"f","arguments":{"x":1}},{"id":"b","name":"g","arguments":{}}`)},
		{"sparse indexes make no placeholders", []string{
			callChunk(`{"index":3,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			callChunk(`{"index":7,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`),
			callChunk(`{"index":3,"function":{"arguments":"1}"}}`),
			callChunk(`{"index":7,"function":{"arguments":"2}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"f","arguments":{"x":1}},{"id":"b","name":"g","arguments":{"y":2}}`)},
		{"null, text and fractional indexes are unknown", []string{
			callChunk(`{"index":null,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`),
			callChunk(`{"index":"0","function":{"arguments":"1"}}`),
			callChunk(`{"index":0.5,"function":{"arguments":"}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"f","arguments":{"x":1}}`)},
		{"id null and id number", []string{
			callChunk(`{"index":0,"id":null,"function":{"name":"f","arguments":"{}"}}`),
			callChunk(`{"index":1,"id":17,"function":{"name":"g","arguments":"{}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"call_0","name":"f","arguments":{},"idSynthesized":true},{"id":"17","name":"g","arguments":{}}`)},
		{"id arrives after the head", []string{
			callChunk(`{"index":0,"function":{"name":"f","arguments":""}}`),
			callChunk(`{"index":0,"id":"late","function":{"arguments":"{\"x\":1}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"late","name":"f","arguments":{"x":1}}`)},
		{"id that looks like one of ours", []string{
			callChunk(`{"index":0,"id":"call_1","function":{"name":"f","arguments":"{}"}}`),
			callChunk(`{"index":1,"function":{"name":"g","arguments":"{}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"call_1","name":"f","arguments":{}},{"id":"call_1_1","name":"g","arguments":{},"idSynthesized":true}`)},
		{"three calls with one id", []string{
			callChunk(`{"index":0,"id":"d","function":{"name":"f","arguments":"{\"n\":0}"}}`),
			callChunk(`{"index":1,"id":"d","function":{"name":"f","arguments":""}}`),
			callChunk(`{"index":2,"id":"d","function":{"name":"f","arguments":"{\"n\":2}"}}`),
			callChunk(`{"index":1,"id":"d","function":{"arguments":"{\"n\":1}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"d","name":"f","arguments":{"n":0}},{"id":"d_1","name":"f","arguments":{"n":1},"idSynthesized":true},{"id":"d_2","name":"f","arguments":{"n":2},"idSynthesized":true}`)},
		{"one id, other name, no index", []string{
			callChunk(`{"id":"d","function":{"name":"f","arguments":"{\"n\":0}"}}`),
			callChunk(`{"id":"d","function":{"name":"g","arguments":"{\"n\":1}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"d","name":"f","arguments":{"n":0}},{"id":"d_1","name":"g","arguments":{"n":1},"idSynthesized":true}`)},
		{"index always zero without ids", []string{
			callChunk(`{"index":0,"function":{"name":"f","arguments":"{\"n\":0}"}}`),
			callChunk(`{"index":0,"function":{"name":"f","arguments":"{\"n\":1}"}}`),
			finishWith(`"stop"`), done,
		}, one(`{"id":"call_0","name":"f","arguments":{"n":0},"idSynthesized":true},{"id":"call_1","name":"f","arguments":{"n":1},"idSynthesized":true}`)},
		{"two calls without arguments in one delta", []string{
			callChunk(`{"function":{"name":"now"}},{"function":{"name":"here"}}`),
			finishWith(`"stop"`), done,
		}, one(`{"id":"call_0","name":"now","arguments":{},"idSynthesized":true},{"id":"call_1","name":"here","arguments":{},"idSynthesized":true}`)},
		{"the head again at the end brings no call", []string{
			callChunk(`{"index":0,"function":{"name":"f","arguments":"{\"n\":0}"}}`),
			callChunk(`{"index":0,"function":{"name":"f","arguments":""}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"call_0","name":"f","arguments":{"n":0},"idSynthesized":true}`)},
		{"empty entries bring no call", []string{
			callChunk(`{},{"index":0},{"index":4,"type":"function","function":{"name":"","arguments":""}},null,7`),
			delta(`{"content":"x"}`), finishWith(`"stop"`), done,
		}, `"text":"x"`},
		{"name late", []string{
			callChunk(`{"index":0,"id":"a","function":{"arguments":""}}`),
			callChunk(`{"index":0,"function":{"name":"f","arguments":"{}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"f","arguments":{}}`)},
		{"name split before any argument", []string{
			callChunk(`{"index":0,"id":"a","function":{"name":"get_"}}`),
			callChunk(`{"index":0,"function":{"name":"weather","arguments":"{}"}}`),
			callChunk(`{"index":0,"function":{"name":"h"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"get_weather","arguments":{}},{"id":"call_1","name":"h","arguments":{},"idSynthesized":true}`)},
		{"other name in the middle of arguments is ignored", []string{
			callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
			callChunk(`{"index":0,"function":{"name":"zzz","arguments":":1}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"f","arguments":{"x":1}}`)},
		{"no name at all", []string{
			callChunk(`{"index":0,"id":"a","function":{"arguments":"{\"x\":1}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"","arguments":{"x":1}}`)},
		{"routing words before the name", []string{
			callChunk(`{"index":0,"id":"a","function":{"name":"to=functions.run<|channel|>commentary<|x|>","arguments":"{}"}}`),
			callChunk(`{"index":1,"id":"b","function":{"name":"<|channel|>","arguments":"{}"}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"run","arguments":{}},{"id":"b","name":"","arguments":{}}`)},
		{"function_call of the old API", []string{
			delta(`{"function_call":{"name":"f","arguments":""}}`),
			delta(`{"function_call":{"arguments":"{\"x\":"}}`),
			delta(`{"function_call":{"arguments":"1}"}}`),
			finishWith(`"function_call"`), done,
		}, one(`{"id":"call_0","name":"f","arguments":{"x":1},"idSynthesized":true}`)},
		{"tool_calls is one object", []string{
			delta(`{"tool_calls":{"id":"a","function":{"name":"f","arguments":{"x":1}}}}`),
			finishWith(`"tool_calls"`), done,
		}, one(`{"id":"a","name":"f","arguments":{"x":1}}`)},
	} {
		c.run(t, "openai-chat")
	}
}

// TestArguments covers the forms in which arguments arrive. Each case is what
// stands behind "arguments": in the fragments of one call.
func TestArguments(t *testing.T) {
	const bad = `"arguments":null,"argumentsError":`
	for _, tc := range []struct {
		name      string
		fragments []string
		want      string
	}{
		{"null", []string{`null`}, `"arguments":{}`},
		{"blank", []string{`" \n"`}, `"arguments":{}`},
		{"text null with blanks", []string{`" null "`}, `"arguments":{}`},
		{"text null in pieces", []string{`"nu"`, `"ll"`}, `"arguments":{}`},
		{"object in an object", []string{`{"a":{"b":[1,2.50,1e400]}}`}, `"arguments":{"a":{"b":[1,2.50,1e400]}}`},
		{"big and odd numbers stay exact", []string{`"{\"n\":123456789012345678901234567890,\"m\":-0,\"e\":1E5}"`}, `"arguments":{"n":123456789012345678901234567890,"m":-0,"e":1E5}`},
		{"pair split over fragments", []string{`"{\"s\":\"\ud83d"`, `"\ude80\"}"`}, `"arguments":{"s":"🚀"}`},
		{"lone half", []string{`"{\"s\":\"\ud83d"`, `"x\"}"`}, `"arguments":{"s":"\ufffdx"}`},
		{"lone half inside the arguments", []string{`"{\"s\":\"\\ud83d\"}"`}, `"arguments":{"s":"\ufffd"}`},
		{"line breaks between tokens", []string{`"{\n\t\"s\":\r\n 1}\n"`}, `"arguments":{"s":1}`},
		{"placeholder twice", []string{`"{}"`, `"{}"`, `"{\"a\":5}"`}, `"arguments":{"a":5}`},
		{"placeholder as object", []string{`{}`, `"{\"a\":"`, `"5}"`}, `"arguments":{"a":5}`},
		{"placeholder at the end does not wipe out", []string{`"{\"a\":5}"`, `{}`}, `"arguments":{"a":5}`},
		{"whole object again in pieces", []string{`"{\"a\":1,\"b\":2}"`, `"{\"b\":2,"`, `"\"a\":1}"`}, `"arguments":{"a":1,"b":2}`},
		{"other object again", []string{`"{\"a\":1}"`, `"{\"a\":2}"`}, bad + `"invalid_json","rawArguments":"{\"a\":1}{\"a\":2}"`},
		{"object replaces", []string{`"{\"a\":"`, `{"b":2}`}, `"arguments":{"b":2}`},
		{"text behind the object", []string{`"{\"a\":1} ok"`}, bad + `"invalid_json","rawArguments":"{\"a\":1} ok"`},
		{"single quotes", []string{`"{'a':1}"`}, bad + `"invalid_json","rawArguments":"{'a':1}"`},
		{"comma too many", []string{`"{\"a\":1,}"`}, bad + `"invalid_json","rawArguments":"{\"a\":1,}"`},
		{"NaN", []string{`"{\"a\":NaN}"`}, bad + `"invalid_json","rawArguments":"{\"a\":NaN}"`},
		{"cut", []string{`"{\"a\":\"b"`}, bad + `"invalid_json","rawArguments":"{\"a\":\"b"`},
		{"number", []string{`"42"`}, bad + `"not_object","rawArguments":"42"`},
		{"raw number", []string{`42`}, bad + `"not_object","rawArguments":"42"`},
		{"raw array", []string{`[1,2]`}, bad + `"not_object","rawArguments":"[1,2]"`},
		{"true", []string{`"true"`}, bad + `"not_object","rawArguments":"true"`},
		{"plain words", []string{`"ls -la"`}, bad + `"invalid_json","rawArguments":"ls -la"`},
		{"quoted words", []string{`"\"ls\""`}, bad + `"not_object","rawArguments":"\"ls\""`},
		{"encoded three times", []string{`"\"\\\"{}\\\"\""`}, bad + `"not_object","rawArguments":"\"\\\"{}\\\"\""`},
		{"encoded twice in pieces", []string{`"\"{\\\"a\\\":"`, `"1}\""`}, `"arguments":{"a":1}`},
		{"null byte behind the object", []string{`"{}\u0000"`}, bad + `"invalid_json","rawArguments":"{}\u0000"`},
	} {
		c := streamCase{name: tc.name}
		for i, f := range tc.fragments {
			head := ""
			if i == 0 {
				head = `"id":"a",`
			}
			name := ""
			if i == 0 {
				name = `"name":"f",`
			}
			c.events = append(c.events, callChunk(`{"index":0,`+head+`"function":{`+name+`"arguments":`+f+`}}`))
		}
		c.events = append(c.events, finishWith(`"tool_calls"`), done)
		c.want = `"finishReason":"tool_calls","toolCalls":[{"id":"a","name":"f",` + tc.want + `}]`
		c.run(t, "openai-chat")
	}
}

// TestTextAndFinish covers text, reasoning, finish reasons and usage.
func TestTextAndFinish(t *testing.T) {
	const use = `"usage":{"promptTokens":5,"completionTokens":2,"totalTokens":7,"cachedPromptTokens":0,"reasoningTokens":0,"cacheCreationTokens":0}`
	for _, c := range []streamCase{
		{"reasoning as a list", []string{delta(`{"reasoning":[{"type":"text","text":"a"},"b",{"content":"c"},{"type":"x"},5]}`), finishWith(`"stop"`)}, `"reasoning":"abc"`},
		{"both reasoning fields are one", []string{delta(`{"reasoning":"a","reasoning_content":"a"}`), delta(`{"reasoning_content":"","reasoning":"b"}`), finishWith(`"stop"`)}, `"reasoning":"ab"`},
		{"field beats thinking part", []string{delta(`{"reasoning":"r","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"x"}]}`), finishWith(`"stop"`)}, `"reasoning":"r","text":"x"`},
		{"thinking part with text", []string{delta(`{"content":[{"type":"thinking","thinking":"t"},"x"]}`), finishWith(`"stop"`)}, `"reasoning":"t","text":"x"`},
		{"refusal is the answer", []string{delta(`{"refusal":"no"}`), finishWith(`"stop"`)}, `"text":"no"`},
		{"second choice is not ours", []string{`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`, finishWith(`"stop"`)}, `"text":"a"`},
		{"whole message in one chunk", []string{`{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`, done}, `"text":"a"`},
		{"whole message repeated at the end", []string{delta(`{"content":"a"}`), `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`, done}, `"text":"a"`},
		{"escaped member names", []string{`{"\u0063hoices":[{"d\u0065lta":{"content":"a"}}]}`, finishWith(`"stop"`)}, `"text":"a"`},
		{"of repeated members the last counts", []string{`{"choices":[{"delta":{"content":"a"}}],"choices":[{"delta":{"content":"b","content":"c"}}]}`, finishWith(`"stop"`)}, `"text":"c"`},
		{"pair split around reasoning", []string{delta(`{"content":"\ud83d"}`), delta(`{"reasoning":"r"}`), delta(`{"content":"\ude80"}`), finishWith(`"stop"`)}, `"reasoning":"r","text":"🚀"`},
		{"half at the end", []string{delta(`{"content":"a\ud83d"}`), finishWith(`"stop"`)}, `"text":"a\ufffd"`},
		{"halves in the wrong order", []string{delta(`{"content":"\ude80\ud83d\ud83dx\ude80"}`), finishWith(`"stop"`)}, `"text":"\ufffd\ufffd\ufffdx\ufffd"`},
		{"bytes that are no UTF-8", []string{delta("{\"content\":\"a\xff\xe4\xbd\"}"), finishWith(`"stop"`)}, `"text":"a\ufffd\ufffd\ufffd"`},
		{"zero and slash escapes", []string{delta(`{"content":"\u0000\/\b"}`), finishWith(`"stop"`)}, `"text":"\u0000/\b"`},

		{"finish max_tokens", []string{delta(`{"content":"a"}`), finishWith(`"max_tokens"`)}, `"text":"a","finishReason":"length"`},
		{"finish model_length", []string{finishWith(`"model_length"`)}, `"finishReason":"length"`},
		{"finish sensitive", []string{finishWith(`"sensitive"`)}, `"finishReason":"content_filter"`},
		{"finish in capitals", []string{finishWith(`"LENGTH"`)}, `"finishReason":"length"`},
		{"finish of the future", []string{delta(`{"content":"a"}`), finishWith(`"eos_token"`)}, `"text":"a"`},
		{"finish repeated", []string{finishWith(`"length"`), finishWith(`"stop"`), done}, `"finishReason":"length"`},
		{"finish insufficient_system_resource", []string{delta(`{"content":"a"}`), finishWith(`"insufficient_system_resource"`), done}, `"text":"a","finishReason":"error","error":{"kind":"server","retryable":true}`},
		{"finish network_error drops the calls", []string{callChunk(`{"id":"a","function":{"name":"f","arguments":"{}"}}`), finishWith(`"network_error"`), done}, `"finishReason":"error","error":{"kind":"server","retryable":true}`},
		{"text after the finish", []string{finishWith(`"stop"`), delta(`{"content":"a"}`), done}, `"text":"a"`},
		{"nothing but the end", []string{done}, ``},

		{"usage beside the second finish", []string{finishWith(`"stop"`), `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`, done}, use},
		{"usage without a total", []string{finishWith(`"stop"`), `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, done}, use},
		{"usage as fractions", []string{finishWith(`"stop"`), `{"choices":[],"usage":{"prompt_tokens":5.0,"completion_tokens":2e0,"total_tokens":7}}`, done}, use},
		{"usage empty or null after a report", []string{finishWith(`"stop"`), `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`, `{"choices":[],"usage":{}}`, `{"choices":[],"usage":null}`, done}, use},
		{"usage in chunk beats that in choice", []string{`{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`, done}, use},
	} {
		c.run(t, "openai-chat")
	}
}

// TestFraming covers the event stream itself.
func TestFraming(t *testing.T) {
	a, end := delta(`{"content":"a"}`), finishWith(`"stop"`)
	for _, c := range []streamCase{
		{"bare CR", []string{"!data: " + a + "\r\rdata: " + end + "\r\rdata: [DONE]\r\r"}, `"text":"a"`},
		{"mixed line ends", []string{"!data: " + a + "\r\n\ndata: " + end + "\n\rdata: [DONE]\r\r\n"}, `"text":"a"`},
		{"all fields", []string{"!id: 7\nretry: 100\nevent: message\ndata: " + a + "\nid\nunknown: x\n\n", end, done}, `"text":"a"`},
		{"data without colon", []string{"!data\n\ndata\ndata\n\n", a, end}, `"text":"a"`},
		{"no blank line after the last event", []string{a, "!data: " + end + "\n"}, `"text":"a"`},
		{"no line end after the last event", []string{a, "!data: " + end}, `"text":"a"`},
		{"last event cut after the finish", []string{a, end, `!data: {"choices":[],"usage":{"prompt_to`}, `"text":"a"`},
		{"last event cut before the finish", []string{a, `!data: {"choices":[{"delta":{"content":"b`}, `"text":"a","finishReason":null,"error":{"kind":"transport","retryable":true}`},
		{"nothing after done counts", []string{a, end, done, delta(`{"content":"b"}`), `{"error":"late"}`}, `"text":"a"`},
		{"nothing at all", []string{"!"}, `"finishReason":null,"error":{"kind":"transport","retryable":true}`},
		{"comments only", []string{"!: hello\n\n: bye\n\n"}, `"finishReason":null,"error":{"kind":"transport","retryable":true}`},
		{"payloads that are no objects", []string{`42`, `"text"`, `null`, `[]`, `[1,{"a":2}]`, `done`, `[done]`, a, end, done}, `"text":"a"`},
		{"blank payloads", []string{"!data: \t \n\n", a, "!data:\ndata:\n\n", end, done}, `"text":"a"`},
		{"garbage behind the object", []string{a + " x", end, done}, `"finishReason":null,"error":{"kind":"server","retryable":true}`},
		{"two objects in one event", []string{a + a, end, done}, `"finishReason":null,"error":{"kind":"server","retryable":true}`},
		{"malformed deep inside", []string{`{"choices":[{"delta":{"content":"a"},"x":[1,]}]}`, done}, `"finishReason":null,"error":{"kind":"server","retryable":true}`},
		{"bad escape", []string{delta(`{"content":"\x"}`), done}, `"finishReason":null,"error":{"kind":"server","retryable":true}`},
		{"raw tab in a string", []string{delta("{\"content\":\"\t\"}"), done}, `"finishReason":null,"error":{"kind":"server","retryable":true}`},
		{"json over lines with CRLF", []string{"!data: {\"choices\":[\r\ndata: {\"delta\":\r\ndata: {\"content\":\"a\"}}]}\r\n\r\n", end, done}, `"text":"a"`},
		{"data line between other events", []string{"!event: x\n\ndata: " + a + "\n: comment\nid: 1\n\n", end, done}, `"text":"a"`},
	} {
		c.run(t, "openai-chat")
	}
}

// TestInBandErrors covers errors at HTTP 200.
func TestInBandErrors(t *testing.T) {
	text := delta(`{"content":"par"}`)
	failed := func(kind, part string) string {
		retry := map[bool]string{true: "true", false: "false"}[ErrorKind(kind).retryable()]
		return `"text":"par","finishReason":null,"error":{"kind":"` + kind + `","retryable":` + retry + `,"messageContains":"` + part + `"}`
	}
	for _, tc := range []struct{ name, event, want string }{
		{"with empty choices", `{"choices":[],"error":{"message":"boom","code":500}}`, failed("server", "boom")},
		{"code as text", `{"error":{"message":"boom","code":"429"}}`, failed("rate_limit", "boom")},
		{"code 401", `{"error":{"message":"boom","code":401}}`, failed("auth", "boom")},
		{"type in camel case", `{"error":{"message":"boom","type":"BadRequestError"}}`, failed("invalid_request", "boom")},
		{"bare JSON", "!{\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n", failed("server", "boom")},
		{"bare JSON over lines", "!{\n  \"error\": {\n    \"message\": \"boom\",\n\n    \"type\": \"server_error\"\n  }\n}\n", failed("server", "boom")},
		{"bare JSON without line end", "!{\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}", failed("server", "boom")},
		{"error_type and error_message", `{"error_type":"context_length_exceeded","error_message":"boom"}`, failed("context_overflow", "boom")},
		{"object error", `{"object":"error","message":"boom","type":"BadRequestError","param":null,"code":400}`, failed("invalid_request", "boom")},
		{"detail text", `{"detail":"Internal Server Error"}`, failed("server", "Internal")},
		{"detail list", `{"detail":[{"loc":["body"],"msg":"field required","type":"value_error"}]}`, failed("unknown", "field required")},
		{"code and message alone", `{"code":"InvalidParameter","message":"boom","request_id":"r"}`, failed("unknown", "boom")},
		{"event error with text", "!event: error\ndata: upstream overloaded\n\n", failed("server", "upstream")},
		{"event error with message only", "!event: error\ndata: {\"message\":\"boom\",\"type\":\"rate_limit_error\"}\n\n", failed("rate_limit", "boom")},
		{"event error with nothing", "!event: error\ndata:\n\n", failed("unknown", "without a message")},
		{"event error with something else", "!event: error\ndata: {\"x\":1}\n\n", failed("unknown", "x")},
		{"error field with text", "!error: model is overloaded\n\n", failed("server", "overloaded")},
		{"error in the choice", `{"choices":[{"index":0,"delta":{},"error":{"code":502,"message":"boom"},"finish_reason":null}]}`, failed("server", "boom")},
		{"list around the error", `[{"error":{"code":429,"message":"boom","status":"RESOURCE_EXHAUSTED"}}]`, failed("rate_limit", "boom")},
		{"quota", `{"error":{"message":"boom","type":"insufficient_quota","code":"insufficient_quota"}}`, strings.Replace(failed("rate_limit", "boom"), "true", "false", 1)},
		{"wording alone", `{"error":{"message":"Rate limit reached for TPM"}}`, failed("rate_limit", "TPM")},
		{"overflow at code 500", `{"error":{"code":500,"message":"the request exceeds the available context size"}}`, failed("context_overflow", "context size")},
		{"tokens per minute are no overflow", `{"error":{"message":"Too many tokens per min","type":"tokens","code":"rate_limit_exceeded"}}`, failed("rate_limit", "per min")},
		{
			"retry delay in the body", `{"error":{"code":429,"message":"boom","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37.5s"}]}}`,
			strings.Replace(failed("rate_limit", "boom"), `"messageContains"`, `"retryAfterMs":37500,"messageContains"`, 1),
		},
	} {
		events := []string{text, tc.event, done}
		if strings.HasSuffix(tc.name, "without line end") {
			events = events[:2]
		}
		streamCase{name: tc.name, events: events, want: tc.want}.run(t, "openai-chat")
	}
	for _, tc := range []struct{ name, event string }{
		{"null", `{"choices":[],"error":null}`},
		{"empty text", `{"choices":[],"error":""}`},
		{"false", `{"choices":[],"error":false}`},
		{"empty object", `{"choices":[],"error":{}}`},
		{"code and message of a chunk", `{"choices":[{"delta":{"content":""}}],"code":0,"message":"ok"}`},
		{"success code", `{"code":200,"message":"ok"}`},
	} {
		streamCase{name: "no error: " + tc.name, events: []string{text, tc.event, finishWith(`"stop"`), done}, want: `"text":"par"`}.run(t, "openai-chat")
	}
}
