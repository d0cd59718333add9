package llm

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestDelivery plays some fixtures in other ways than they were recorded.
func TestDelivery(t *testing.T) {
	client := NewHTTPClient(HTTPOptions{})
	t.Cleanup(client.CloseIdleConnections)
	for _, original := range loadFixtures(t, "fixtures") {
		switch original.Name {
		case "oa_tool_fragments", "oa_basic_text", "an_thinking", "sse_crlf", "err_inband_rate_limit", "http_200_json_completion", "http_429_retry_after":
		default:
			continue
		}
		for _, way := range []struct {
			name   string
			change func(f *fixture)
		}{
			{"gzip", func(f *fixture) { f.HTTP.Encoding = "gzip" }},
			{"gzip by event", func(f *fixture) { f.HTTP.Encoding, f.HTTP.Write.Mode = "gzip", "events" }},
			{"gzip by byte", func(f *fixture) {
				f.HTTP.Encoding, f.HTTP.Write.Mode, f.HTTP.Write.Size = "gzip", "bytes", 1
			}},
			{"slowly", func(f *fixture) {
				f.HTTP.Write.Mode, f.HTTP.Write.DelayMs = "events", 5
				f.Client.IdleTimeoutMs = 20000
			}},
			{"three bytes at a time", func(f *fixture) { f.HTTP.Write.Mode, f.HTTP.Write.Size = "bytes", 3 }},
		} {
			t.Run(original.Name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				f := *original
				way.change(&f)
				sink := &collector{tb: t}
				d := ask(t, f.provider(t, serveFixture(t, &f).url(), client), sink)
				match(t, &f, d)
				sink.check(d)
			})
		}
	}
}

// TestEndsAfterTheEndMark holds that a reset or silence after the end mark is no
// error, and before it is one.
func TestEndsAfterTheEndMark(t *testing.T) {
	client := NewHTTPClient(HTTPOptions{})
	t.Cleanup(client.CloseIdleConnections)
	call := "data: " + callChunk(`{"id":"a","function":{"name":"f","arguments":"{}"}}`) + "\n\n"
	for _, end := range []string{"reset", "stall"} {
		for _, tc := range []struct {
			name, body string
			ok         bool
		}{
			{"before", call, false},
			{"in the middle of the mark", call + "data: " + finishWith(`"tool_calls"`), false},
			{"after the finish", call + "data: " + finishWith(`"tool_calls"`) + "\n\n", true},
			{"after done", call + "data: [DONE]\n\n", true},
		} {
			t.Run(end+" "+tc.name, func(t *testing.T) {
				t.Parallel()
				f := &fixture{API: "openai-chat", body: []byte(tc.body)}
				f.HTTP.Status, f.HTTP.End = 200, end
				f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
				f.Client.IdleTimeoutMs = 1000
				d := ask(t, f.provider(t, serveFixture(t, f).url(), client), nil)
				if tc.ok && (d.Error != nil || len(d.ToolCalls) != 1) || !tc.ok && (d.Error == nil || d.Error.Kind != KindTransport || len(d.ToolCalls) != 0) {
					t.Errorf("%+v, error %+v", d, d.Error)
				}
			})
		}
	}
}

// TestGzipIsStreamed holds that compressed text is shown when it arrives, and
// not when the stream ends.
func TestGzipIsStreamed(t *testing.T) {
	f := &fixture{API: "openai-chat", body: []byte("data: " + delta(`{"content":"now"}`) + "\n\n")}
	f.HTTP.Status, f.HTTP.End, f.HTTP.Encoding = 200, "stall", "gzip"
	f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
	f.Client.IdleTimeoutMs = 1000
	client := NewHTTPClient(HTTPOptions{})
	t.Cleanup(client.CloseIdleConnections)
	d := ask(t, f.provider(t, serveFixture(t, f).url(), client), nil)
	if *d.Text != "now" || d.Error == nil || !strings.Contains(d.Error.Message, "idle") {
		t.Errorf("%q, %+v", *d.Text, d.Error)
	}
}

// TestHugeLine holds that a line of 33 MiB comes through.
func TestHugeLine(t *testing.T) {
	const size = 33 << 20
	var b bytes.Buffer
	b.WriteString(`data: {"choices":[{"delta":{"content":"`)
	b.Write(bytes.Repeat([]byte("x"), size))
	b.WriteString("\"},\"finish_reason\":\"stop\"}]}\n\n")
	f := &fixture{API: "openai-chat", body: b.Bytes()}
	f.HTTP.Status, f.HTTP.End = 200, "close"
	f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
	start := time.Now()
	d := ask(t, f.provider(t, "http://in.memory", f.inMemory(func() int { return 32 << 10 })), nil)
	if d.Error != nil || d.TextLen != size {
		t.Errorf("%d bytes, %+v", d.TextLen, d.Error)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}
