package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func scriptedProvider(t *testing.T, script string) Provider {
	t.Helper()
	p, err := New(Config{Provider: "scripted", Script: json.RawMessage(script)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestScripted(t *testing.T) {
	p := scriptedProvider(t, `[
		{"text":["a\ud83d\ude80","b"],"reasoning":"r","toolCalls":[{"name":"f","arguments":{"n":1.0}},{"id":"x","name":"g","rawArguments":"{bad"},{"name":"h"}],"usage":{"promptTokens":5,"completionTokens":1,"totalTokens":6}},
		{"text":"cut off","toolCalls":[{"name":"f"}],"cut":true},
		{"error":{"kind":"rate_limit","message":"slow","retryAfterMs":700}},
		{"text":"par","error":{"status":500,"message":"exceeds the context"}},
		{"text":"last","finishReason":"length"}
	]`)
	usage := `"usage":{"promptTokens":5,"completionTokens":1,"totalTokens":6,"cachedPromptTokens":0,"reasoningTokens":0,"cacheCreationTokens":0}`
	for i, want := range []string{
		`{"text":"a🚀b","reasoning":"r","toolCalls":[{"id":"call_0","name":"f","arguments":{"n":1.0},"idSynthesized":true},{"id":"x","name":"g","arguments":null,"argumentsError":"invalid_json","rawArguments":"{bad"},{"id":"call_2","name":"h","arguments":{},"idSynthesized":true}],"finishReason":"tool_calls",` + usage + `,"error":null}`,
		`{"text":"cut off","reasoning":"","toolCalls":[],"finishReason":null,"usage":null,"error":{"kind":"transport","retryable":true,"message":"the stream ended without an end mark"}}`,
		`{"text":"","reasoning":"","toolCalls":[],"finishReason":null,"usage":null,"error":{"kind":"rate_limit","retryable":true,"message":"slow","retryAfterMs":700}}`,
		`{"text":"par","reasoning":"","toolCalls":[],"finishReason":null,"usage":null,"error":{"kind":"context_overflow","retryable":false,"status":500,"message":"exceeds the context"}}`,
		`{"text":"last","reasoning":"","toolCalls":[],"finishReason":"length","usage":null,"error":null}`,
		`{"text":"last","reasoning":"","toolCalls":[],"finishReason":"length","usage":null,"error":null}`,
	} {
		sink := &collector{tb: t}
		d := ask(t, p, sink)
		sink.check(d)
		if diff := cmp.Diff(tree(t, json.RawMessage(want)), tree(t, d)); diff != "" {
			t.Errorf("reply %d (-want +got):\n%s", i, diff)
		}
	}
	if p.Name() != "scripted" {
		t.Errorf("name %q", p.Name())
	}
}

func TestScriptedDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := scriptedProvider(t, `[{"text":["a","b"],"delayMs":100},{"delayMs":50}]`)
		start := time.Now()
		ask(t, p, nil)
		ask(t, p, nil)
		if took := time.Since(start); took != 250*time.Millisecond {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		reply, err := p.Stream(ctx, &Request{}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || reply == nil || failure(t, err).Retryable {
			t.Errorf("%v", err)
		}
	})
}

func TestScriptErrors(t *testing.T) {
	for script, want := range map[string]string{
		``:                     "not a JSON array",
		`{}`:                   "not a JSON array",
		`[]`:                   "no replies",
		`[{"txt":"a"}]`:        `reply 0: json: unknown field "txt"`,
		`[{},{"text":5}]`:      `reply 1: a text must be`,
		`[{"text":["a",5]}]`:   `reply 0: a text must be`,
		`[{"delayMs":"x"}]`:    `reply 0: member "delayMs": unexpected string`,
		`[{"delayMs":-1}]`:     `reply 0: member "delayMs": negative`,
		`[{"toolCalls":[{}]}]`: `reply 0: member "toolCalls[0].name": missing`,
		`[{"toolCalls":[{"name":"f"},{"name":"g","arguments":[]}]}]`:      `member "toolCalls[1].arguments": not an object`,
		`[{"toolCalls":[{"name":"f","arguments":{},"rawArguments":""}]}]`: `member "toolCalls[0].rawArguments": not together`,
		`[{"toolCalls":[{"name":"f","args":{}}]}]`:                        `unknown field "args"`,
		`[{"finishReason":"done"}]`:                                       `member "finishReason": unknown value "done"`,
		`[{"error":{"message":"x"}}]`:                                     `needs either kind or status`,
		`[{"error":{"kind":"bad"}}]`:                                      `member "error.kind": unknown kind "bad"`,
		`[{"usage":{"promptTokens":"1"}}]`:                                `member "usage.promptTokens"`,
		`[null,7]`:                                                        `reply 1`,
	} {
		_, err := New(Config{Provider: "scripted", Script: json.RawMessage(script)})
		if err == nil || !strings.HasPrefix(err.Error(), "script: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", script, err, want)
		}
	}
}

// TestScriptedSink holds that a sink ends a scripted reply as well.
func TestScriptedSink(t *testing.T) {
	boom := errors.New("boom")
	p := scriptedProvider(t, `[{"text":["a","b"],"toolCalls":[{"name":"f"}]}]`)
	n := 0
	reply, err := p.Stream(t.Context(), &Request{}, SinkFunc(func(DeltaKind, []byte, bool) error { n++; return boom }))
	if !errors.Is(err, boom) || n != 1 || len(reply.ToolCalls) != 0 {
		t.Errorf("%d calls, %v", n, err)
	}
}
