package loop

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/protocol"
)

// TestRepair feeds any history a host might keep and demands a transcript that
// servers accept, with no message of a person or model lost.
func TestRepair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"a", "b", "", "call_0", "a_1"})
		var history []llm.Message
		texts := 0
		for range rapid.IntRange(0, 12).Draw(t, "messages") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				history = append(history, llm.Message{Role: llm.RoleUser, Content: json.RawMessage(`"x"`)})
				texts++
			case 1:
				history = append(history, llm.Message{Role: llm.RoleTool, ToolCallID: ids.Draw(t, "answer"), Content: json.RawMessage(`"r"`)})
			default:
				m := llm.Message{Role: llm.RoleAssistant, Content: json.RawMessage(`""`)}
				for range rapid.IntRange(0, 3).Draw(t, "calls") {
					m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: ids.Draw(t, "id"), Name: "t"})
				}
				history = append(history, m)
			}
		}
		before, _ := json.Marshal(history)
		var tr transcript
		tr.load(history)
		used, left := map[string]bool{}, 0
		for i := 0; i < len(tr.messages); i++ {
			m := tr.messages[i]
			if m.Role == llm.RoleTool {
				t.Fatalf("message %d answers nothing", i)
			}
			if m.Role == llm.RoleUser {
				left++
			}
			for _, call := range m.ToolCalls {
				i++
				if i >= len(tr.messages) || tr.messages[i].ToolCallID != call.ID || tr.messages[i].Role != llm.RoleTool {
					t.Fatalf("call %q has no answer", call.ID)
				}
				if call.ID == "" || used[call.ID] {
					t.Fatalf("id %q is empty or used twice", call.ID)
				}
				used[call.ID] = true
			}
		}
		if left != texts {
			t.Fatalf("%d of %d user messages are left", left, texts)
		}
		if after, _ := json.Marshal(history); string(after) != string(before) {
			t.Fatal("the host's messages were changed")
		}
	})
}

func TestRepairKeepsAnswersWithTheirCalls(t *testing.T) {
	var tr transcript
	tr.load([]llm.Message{
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "x", Name: "t"}, {ID: "x", Name: "t"}}},
		{Role: llm.RoleTool, ToolCallID: "x", Content: json.RawMessage(`"first"`)},
		{Role: llm.RoleTool, ToolCallID: "x", Content: json.RawMessage(`"second"`)},
		{Role: llm.RoleTool, ToolCallID: "x", Content: json.RawMessage(`"third"`)},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "x", Name: "t"}}},
	})
	var got []string
	for _, m := range tr.messages {
		if m.Role == llm.RoleTool {
			got = append(got, m.ToolCallID+"="+string(m.Content[:min(len(m.Content), 8)]))
		}
	}
	if want := `x="first" x_1="second" x_0="{\"succ`; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}

func TestSteer(t *testing.T) {
	var s Steer
	opts, events, model := script(t, `[{"toolCalls":[{"id":"a","name":"t"}]},{"text":"x"},{"text":"y"}]`, toolFunc{
		run: func(context.Context, *executors.Call) (*protocol.ToolResult, error) {
			if !s.Add("be brief") {
				t.Error("a running turn refuses steering")
			}
			return ok(), nil
		},
	})
	opts.Steer = &s
	if out := Run(context.Background(), opts); out.Status != StatusCompleted {
		t.Fatalf("outcome %+v", out)
	}
	last := model.requests[1]
	if m := last[len(last)-1]; m.Role != llm.RoleUser || string(m.Content) != `"be brief"` {
		t.Errorf("the model was not told: %+v", m)
	}
	if !strings.Contains(strings.Join(events.lines, "\n"), "notice steer") {
		t.Error("no notice")
	}
	if s.Add("late") {
		t.Error("a finished turn accepts steering")
	}
}

// TestSteerWhileAnswering: a message that was accepted is never lost, even when
// the model has just given its final answer.
func TestSteerWhileAnswering(t *testing.T) {
	var s Steer
	opts, _, model := script(t, `[{"text":"x"},{"text":"y"}]`, nil)
	opts.Steer = &s
	opts.Events = steering{opts.Events, func() { s.Add("more") }}
	if out := Run(context.Background(), opts); out.Status != StatusCompleted || len(model.requests) < 2 {
		t.Errorf("outcome %+v after %d requests", out, len(model.requests))
	}
}

// steering calls a function once, at the first delta.
type steering struct {
	Events
	first func()
}

func (s steering) Delta(ctx context.Context, kind llm.DeltaKind, quoted []byte, more bool) error {
	if len(quoted) > 2 && string(quoted) == `"x"` {
		s.first()
	}
	return s.Events.Delta(ctx, kind, quoted, more)
}

func TestSteerInterrupts(t *testing.T) {
	s := Steer{Interrupt: true}
	opts, _, model := script(t, `[{"text":["x","long"],"delayMs":60000},{"text":"y"}]`, nil)
	opts.Steer = &s
	started := make(chan struct{}, 2)
	opts.Provider = starting{model, started}
	go func() {
		<-started
		s.Add("stop that")
	}()
	done := make(chan Outcome, 1)
	go func() { done <- Run(context.Background(), opts) }()
	select {
	case out := <-done:
		if out.Status != StatusCompleted {
			t.Errorf("outcome %+v", out)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the request was not interrupted")
	}
	last := model.requests[len(model.requests)-1]
	if m := last[len(last)-1]; string(m.Content) != `"stop that"` {
		t.Errorf("the model was not told: %s", m.Content)
	}
}

func TestSpill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	s := &Spill{Dir: dir, Now: time.Now}
	big := `{"stdout":"` + strings.Repeat("é", 60_000) + `THE END"}`
	var tr transcript
	call := &executors.Call{ToolCall: protocol.ToolCall{ID: "a", Name: "t"}}
	tr.result(call, &protocol.ToolResult{Success: true, Data: json.RawMessage(big)}, s)
	var content string
	if err := json.Unmarshal(tr.messages[0].Content, &content); err != nil {
		t.Fatal(err)
	}
	if len(content) > spillLimit || !utf8.ValidString(content) {
		t.Errorf("the model sees %d bytes", len(content))
	}
	var seen struct {
		Success bool
		Data    shortened
	}
	if err := json.Unmarshal([]byte(content), &seen); err != nil {
		t.Fatal(err)
	}
	if !seen.Success || !seen.Data.Truncated || !strings.HasSuffix(seen.Data.Tail, `THE END"}`) || !strings.HasPrefix(seen.Data.Head, `{"stdout":"é`) {
		t.Errorf("head %.40q, tail %.40q", seen.Data.Head, seen.Data.Tail[max(0, len(seen.Data.Tail)-40):])
	}
	info, err := os.Stat(seen.Data.Path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("file mode %v", info.Mode())
	}
	if d, _ := os.Stat(dir); d.Mode().Perm() != 0o700 {
		t.Errorf("folder mode %v", d.Mode())
	}
	kept, err := os.ReadFile(seen.Data.Path)
	if err != nil || !strings.Contains(string(kept), big) {
		t.Errorf("the file does not hold the result: %v", err)
	}
}

func TestSpillWithoutAPlace(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Spill{{}, {Dir: filepath.Join(blocked, "x"), Now: time.Now}, {Dir: t.TempDir(), Now: time.Now, used: spillBudget}} {
		short := s.Shorten(&protocol.ToolResult{Success: true, Data: json.RawMessage(`{"x":"` + strings.Repeat("y", 1<<20) + `"}`)})
		if short == nil || len(short.Data) > maxWhole || strings.Contains(string(short.Data), "fullResultPath") {
			t.Errorf("%+v: data of %d bytes", s, len(short.Data))
		}
	}
}

func TestSpillSweepsOldFiles(t *testing.T) {
	dir := t.TempDir()
	old, young, other := filepath.Join(dir, "result-1.json"), filepath.Join(dir, "result-2.json"), filepath.Join(dir, "notes")
	for _, path := range []string{old, young, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-30 * 24 * time.Hour)
	for _, path := range []string{old, other} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	s := &Spill{Dir: dir, Now: time.Now}
	if _, err := s.store([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{old: false, young: true, other: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
}

// starting tells when a request begins.
type starting struct {
	llm.Provider
	began chan<- struct{}
}

func (s starting) Stream(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Reply, error) {
	s.began <- struct{}{}
	return s.Provider.Stream(ctx, req, sink)
}
