package llm

import (
	"bytes"
	"fmt"
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
