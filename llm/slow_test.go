package llm

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// slowReply reads a chat-completions stream with encoding/json and the plainest
// code that follows the rules. Tool calls go through the same accumulator, which
// has tests of its own; what is compared is the reading of the bytes.
type slowReply struct {
	text, reasoning []uint16
	calls           calls
	finish          string
	usage           *Usage
}

// object decodes an object; anything else gives nil.
func object(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// take reads one chunk. It returns false if it is no JSON.
func (s *slowReply) take(t *testing.T, payload string) bool {
	t.Helper()
	if !json.Valid([]byte(payload)) {
		return false
	}
	top := object(json.RawMessage(payload))
	var choices []json.RawMessage
	_ = json.Unmarshal(top["choices"], &choices)
	var choice map[string]json.RawMessage
	for _, raw := range choices {
		if choice = object(raw); choice != nil {
			break
		}
	}
	d := object(choice["delta"])
	for _, key := range []string{"reasoning_content", "reasoning"} {
		if isText(d[key]) {
			s.reasoning = append(s.reasoning, unitsOf(t, string(d[key]))...)
			break
		}
	}
	if isText(d["content"]) {
		s.text = append(s.text, unitsOf(t, string(d["content"]))...)
	}
	s.takeCalls(d["tool_calls"])
	if isText(choice["finish_reason"]) && s.finish == "" {
		s.finish = unquote(choice["finish_reason"])
	}
	for _, raw := range []json.RawMessage{choice["usage"], top["usage"]} {
		c := plainCompat()
		if u := c.usage(raw); u != nil {
			s.usage = u
		}
	}
	return true
}

// takeCalls reads the entries of tool_calls.
func (s *slowReply) takeCalls(raw json.RawMessage) {
	s.calls.delta++
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, entry := range list {
		m := object(entry)
		if m == nil {
			continue
		}
		f := fragment{id: scalar(m["id"]), index: -1}
		var index int
		if len(m["index"]) > 0 && m["index"][0] != 'n' && json.Unmarshal(m["index"], &index) == nil && index >= 0 {
			f.index = index
		}
		function := object(m["function"])
		f.name = scalar(function["name"])
		f.args = function["arguments"]
		s.calls.add(&f)
	}
}

// plainFields says whether a payload uses only what slowReply reads.
func plainFields(payload string) bool {
	for _, word := range []string{
		"error", "detail", "object", "message", "msg", "code", "refusal", "function_call", "reasoning_details", `\u`,
	} {
		if strings.Contains(payload, word) {
			return false
		}
	}
	var v any
	if json.Unmarshal([]byte(payload), &v) != nil {
		return true
	}
	return !anyOf(payload, `"content":[`, `"reasoning":[`, `"reasoning_content":[`, `"tool_calls":{`) && !repeats(payload)
}

// repeats says whether an object names a member twice. What that means is
// defined, and tested, elsewhere.
func repeats(payload string) bool {
	d := json.NewDecoder(strings.NewReader(payload))
	return walk(d)
}

func walk(d *json.Decoder) bool {
	tok, err := d.Token()
	if err != nil {
		return false
	}
	switch tok {
	case json.Delim('{'):
		seen := map[any]bool{}
		for d.More() {
			key, err := d.Token()
			if err != nil || seen[key] {
				return true
			}
			seen[key] = true
			if walk(d) {
				return true
			}
		}
		_, _ = d.Token()
	case json.Delim('['):
		for d.More() {
			if walk(d) {
				return true
			}
		}
		_, _ = d.Token()
	}
	return false
}

// FuzzStream holds that the fast reader and the slow one read the same reply out
// of two chunks.
func FuzzStream(f *testing.F) {
	f.Add(delta(`{"content":"a"}`), delta(`{"content":"b","reasoning":"c"}`), 3)
	f.Add(delta(`{"content":"\ud83d"}`), delta(`{"content":"\ude80"}`), 1)
	f.Add(callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), callChunk(`{"index":0,"function":{"arguments":"1}"}}`), 9)
	f.Add(callChunk(`{"index":-1,"id":7,"function":{"name":"f","arguments":{"a":[1]}}},{"function":{"name":"g"}}`), finishWith(`"tool_calls"`), 100)
	f.Add(`{"choices":null,"usage":{"prompt_tokens":1,"completion_tokens":2}}`, `{"choices":[5,{"delta":{"content":"é"},"usage":{"total_tokens":3}}]}`, 2)
	f.Add(`{"choices":[{"delta":{"content":"a"}}]`, ` {"choices" : [ ] } `, 2)
	f.Fuzz(func(t *testing.T, first, second string, size int) {
		if size < 1 || strings.ContainsAny(first+second, "\r\n") || !plainFields(first) || !plainFields(second) {
			return
		}
		want := &slowReply{}
		stream := ""
		bad := false
		for _, payload := range []string{first, second} {
			stream += "data:" + payload + "\n\n"
			trimmed := strings.Trim(payload, " \t")
			if strings.HasPrefix(trimmed, "{") && !bad {
				bad = !want.take(t, trimmed)
			} else if trimmed == "[DONE]" {
				return
			}
		}
		fx := &fixture{API: "openai-chat", body: []byte(stream + "data: [DONE]\n\n")}
		fx.HTTP.Status = 200
		fx.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
		fx.HTTP.End = "close"
		sink := &collector{tb: t}
		got := ask(t, fx.provider(t, "http://in.memory", fx.inMemory(func() int { return size })), sink)
		sink.check(got)
		text := string(utf16.Decode(want.text))
		if got.Text != nil && *got.Text != text {
			t.Errorf("text %q, want %q", *got.Text, text)
		}
		if reasoning := string(utf16.Decode(want.reasoning)); got.Reasoning != reasoning {
			t.Errorf("reasoning %q, want %q", got.Reasoning, reasoning)
		}
		if bad {
			if got.Error == nil || got.Error.Kind != KindServer || len(got.ToolCalls) > 0 {
				t.Errorf("malformed input gives %+v", got)
			}
			return
		}
		if finishReason(want.finish) == FinishError && want.finish != "" {
			return
		}
		if diff := cmp.Diff(digests(want.calls.finish()), got.ToolCalls); diff != "" {
			t.Errorf("calls (-slow +fast):\n%s", diff)
		}
		if diff := cmp.Diff(want.usage, got.Usage); diff != "" {
			t.Errorf("usage (-slow +fast):\n%s", diff)
		}
	})
}

func digests(list []ToolCall) []DigestCall {
	out := []DigestCall{}
	for i := range list {
		out = append(out, digestCall(&list[i]))
	}
	return out
}

// FuzzToolCalls feeds fragments in every form and holds what must be true of
// every result: unique ids, and arguments that are one object on one line.
func FuzzToolCalls(f *testing.F) {
	f.Add("a", 0, "f", `"{\"x\":"`, "", 1, "", `"1}"`, "a", -1, "g", `{}`)
	f.Add("", -1, "f", `"{}"`, "", -1, "f", `"{\"a\":1}"`, "", 0, "", `"\ud83d"`)
	f.Add("call_1", 2, "<|x", `""`, "", 0, "to=functions.y", `null`, "call_1", 5, "z", `[1]`)
	f.Fuzz(func(t *testing.T, id1 string, i1 int, n1, a1, id2 string, i2 int, n2, a2, id3 string, i3 int, n3, a3 string) {
		var c calls
		pieces := 0
		for _, f := range []fragment{
			{id: id1, index: max(i1, -1), name: n1, args: []byte(a1)},
			{id: id2, index: max(i2, -1), name: n2, args: []byte(a2)},
			{id: id3, index: max(i3, -1), name: n3, args: []byte(a3)},
		} {
			if !json.Valid(f.args) {
				f.args = nil
			}
			if !f.empty() {
				pieces++
			}
			f.args = bytes.TrimSpace(f.args)
			c.delta++
			c.add(&f)
		}
		list := c.finish()
		if len(list) > pieces {
			t.Errorf("%d calls of %d fragments", len(list), pieces)
		}
		seen := map[string]bool{}
		for _, call := range list {
			if call.ID == "" || seen[call.ID] {
				t.Errorf("id %q is empty or taken", call.ID)
			}
			seen[call.ID] = true
			switch call.ArgumentsError {
			case "":
				if object(call.Arguments) == nil || !json.Valid(call.Arguments) || bytes.ContainsAny(call.Arguments, "\n\r") || !utf8.Valid(call.Arguments) {
					t.Errorf("arguments %q", call.Arguments)
				}
			case ArgumentsInvalidJSON, ArgumentsNotObject:
				if call.Arguments != nil || call.RawArguments == "" {
					t.Errorf("flagged call %+v", call)
				}
			default:
				t.Errorf("flag %q", call.ArgumentsError)
			}
		}
	})
}

// TestSlowReplyOnFixtures holds that the slow reader is worth comparing with.
func TestSlowReplyOnFixtures(t *testing.T) {
	compared := 0
	for _, f := range loadFixtures(t, "fixtures") {
		if f.API != "openai-chat" || f.HTTP.Status != 200 || f.Expect["error"] != nil || f.HTTP.Headers["content-type"] == "application/json" {
			continue
		}
		lines := plainEvents(string(f.body))
		s := &slowReply{}
		plain := true
		for _, line := range lines {
			payload := strings.Trim(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|false"), " \t")
			payload = strings.Replace(payload, `"object":"chat.completion.chunk",`, "", 1)
			if strings.HasPrefix(payload, "{") {
				plain = plain && (plainFields(payload) || strings.Contains(f.Name, "surrogate"))
				s.take(t, payload)
			}
		}
		if !plain {
			continue
		}
		compared++
		got := ask(t, f.provider(t, "http://in.memory", f.inMemory(func() int { return 100 })), nil)
		if text := string(utf16.Decode(s.text)); got.Text != nil && *got.Text != text {
			t.Errorf("%s: text %q, want %q", f.Name, *got.Text, text)
		}
		if diff := cmp.Diff(digests(s.calls.finish()), got.ToolCalls); diff != "" {
			t.Errorf("%s: calls (-slow +fast):\n%s", f.Name, diff)
		}
	}
	if compared < 40 {
		t.Errorf("only %d fixtures compared", compared)
	}
}
