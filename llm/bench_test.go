package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// streamOf returns a chat-completions stream of n text chunks.
func streamOf(n int) []byte {
	const head = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"delta":`
	var b bytes.Buffer
	b.WriteString(head + `{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	for i := range n {
		fmt.Fprintf(&b, head+`{"content":" the quick brown fox %d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i)
	}
	b.WriteString(head + `{},"logprobs":null,"finish_reason":"stop"}]}` + "\n\n")
	b.WriteString(`data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}` + "\n\ndata: [DONE]\n\n")
	return b.Bytes()
}

func BenchmarkStream5000(b *testing.B) {
	f := &fixture{API: "openai-chat", body: streamOf(5000)}
	f.HTTP.Status = 200
	f.HTTP.End = "close"
	f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
	p := f.provider(b, "http://in.memory", f.inMemory(func() int { return 4096 }))
	shown := 0
	sink := SinkFunc(func(DeltaKind, []byte, bool) error { shown++; return nil })
	req := &Request{Model: "m"}
	b.SetBytes(int64(len(f.body)))
	b.ReportAllocs()
	for b.Loop() {
		shown = 0
		if _, err := p.Stream(b.Context(), req, sink); err != nil {
			b.Fatal(err)
		}
	}
	if shown != 5000 {
		b.Fatalf("%d deltas", shown)
	}
}

// BenchmarkEncode encodes the request of the 200th tool round.
func BenchmarkEncode(b *testing.B) {
	req := &Request{Model: "m", Tools: json.RawMessage(tools)}
	for i := range 200 {
		id := fmt.Sprint("call_", i)
		req.Messages = append(req.Messages,
			Message{Role: RoleAssistant, Content: Quote("working on it"), ToolCalls: []ToolCall{{ID: id, Name: "ls", Arguments: json.RawMessage(`{"path":"/some/where","depth":3}`)}}},
			Message{Role: RoleTool, ToolCallID: id, Content: Quote(strings.Repeat(`{"name":"file","size":123}`+"\n", 20))})
	}
	for _, d := range []struct {
		name string
		dialect
	}{{"chat", &openAI{compat: plainCompat()}}, {"messages", &anthropic{}}} {
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body, _, err := d.encode(req)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}

// BenchmarkQuote escapes a tool result.
func BenchmarkQuote(b *testing.B) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("a line of text without anything to escape; ", 100),
		"json":  strings.Repeat(`{"name":"file","size":123}`+"\n", 150),
		"cjk":   strings.Repeat("你好，世界🌍", 200),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf = AppendQuoted(buf[:0], []byte(text))
			}
		})
	}
}
