package llm_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/steerable-go/sidecar/llm"
)

func Example() {
	p, err := llm.New(llm.Config{
		Provider: "scripted", // or openai_compat, ollama, anthropic with BaseURL and APIKey
		Script:   json.RawMessage(`[{"text":["Hel","lo"],"toolCalls":[{"name":"now"}]}]`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &llm.Request{
		Model:    "any",
		Messages: []llm.Message{{Role: llm.RoleUser, Content: llm.Quote("What time is it?")}},
	}
	sink := llm.SinkFunc(func(kind llm.DeltaKind, quoted []byte, _ bool) error {
		fmt.Printf("%v %s\n", kind, quoted)
		return nil
	})
	reply, err := p.Stream(context.Background(), req, sink)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, call := range reply.ToolCalls {
		fmt.Println(call.ID, call.Name, string(call.Arguments))
	}
	fmt.Println(reply.FinishReason)
	// Output:
	// text "Hel"
	// text "lo"
	// call_0 now {}
	// tool_calls
}

func ExampleRetryPolicy_Next() {
	err := &llm.Error{Kind: llm.KindServer, Retryable: true}
	for attempt := 1; ; attempt++ {
		delay, retry := llm.RetryPolicy{}.Next(attempt, err, nil)
		if !retry {
			break
		}
		fmt.Println(delay)
	}
	// Output:
	// 200ms
	// 400ms
}
