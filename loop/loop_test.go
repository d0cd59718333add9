package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is an Events that writes down what happens, a line each.
type recorder struct {
	mu    sync.Mutex
	lines []string
	text  strings.Builder
}

func (r *recorder) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *recorder) Delta(_ context.Context, kind llm.DeltaKind, quoted []byte, _ bool) error {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return err
	}
	if s == "" {
		return nil
	}
	if kind == llm.DeltaText {
		r.text.WriteString(s)
	}
	r.add("%s %s", kind, s)
	return nil
}
func (r *recorder) Reset(attempt int)                 { r.add("reset %d", attempt) }
func (r *recorder) ToolCall(c *executors.Call)        { r.add("call %s %s", c.ID, c.Name) }
func (r *recorder) Round(int) func()                  { return func() {} }
func (r *recorder) Reply(f string, _ *protocol.Usage) { r.add("reply %s", f) }
func (r *recorder) ToolResult(c *executors.Call, res *protocol.ToolResult, _ time.Duration) {
	r.add("result %s %v %s", c.ID, res.Success, res.Error)
}

func (r *recorder) Notice(n any) {
	raw, _ := json.Marshal(n)
	var m map[string]any
	_ = json.Unmarshal(raw, &m)
	r.add("notice %v", m["kind"])
}

// toolFunc is an executor made of a function.
type toolFunc struct {
	run  func(ctx context.Context, call *executors.Call) (*protocol.ToolResult, error)
	safe func(name string) bool
}

func (f toolFunc) Execute(ctx context.Context, call *executors.Call) (*protocol.ToolResult, error) {
	return f.run(ctx, call)
}

func (f toolFunc) ConcurrencySafe(call *executors.Call) bool {
	return f.safe != nil && f.safe(call.Name)
}

// table runs tools by name; unknown names fail.
func table(tools map[string]*protocol.ToolResult) toolFunc {
	return toolFunc{run: func(_ context.Context, call *executors.Call) (*protocol.ToolResult, error) {
		if r := tools[call.Name]; r != nil {
			copied := *r
			return &copied, nil
		}
		return &protocol.ToolResult{Error: "Unknown tool: " + call.Name}, nil
	}}
}

// spy passes requests on to the scripted model and keeps them.
type spy struct {
	llm.Provider
	requests [][]llm.Message
}

func (s *spy) Stream(ctx context.Context, req *llm.Request, sink llm.Sink) (*llm.Reply, error) {
	s.requests = append(s.requests, append([]llm.Message(nil), req.Messages...))
	return s.Provider.Stream(ctx, req, sink)
}

// script makes options for a turn whose model plays a script.
func script(t *testing.T, replies string, executor executors.ToolExecutor) (Options, *recorder, *spy) {
	t.Helper()
	p, err := llm.New(llm.Config{Provider: "scripted", Script: json.RawMessage(replies)})
	if err != nil {
		t.Fatal(err)
	}
	events, model := &recorder{}, &spy{Provider: p}
	return Options{
		Provider: model, Executor: executor, Events: events,
		Turn:      &executors.Turn{StreamID: "s"},
		Request:   llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Content: json.RawMessage(`"go"`)}}},
		MaxRounds: DefaultMaxRounds, MaxToolErrors: DefaultMaxToolErrors,
		Now: time.Now, Rand: func() float64 { return 0.5 },
	}, events, model
}

func ok() *protocol.ToolResult {
	return &protocol.ToolResult{Success: true, Data: json.RawMessage(`{"id":1}`)}
}

// TestTurns drives whole turns and compares everything that happens.
func TestTurns(t *testing.T) {
	call := func(id, name string) string {
		return fmt.Sprintf(`{"toolCalls":[{"id":%q,"name":%q,"arguments":{}}]}`, id, name)
	}
	for _, test := range []struct {
		name, script string
		change       func(*Options)
		tools        map[string]*protocol.ToolResult
		status       Status
		reason       string
		events       []string
	}{
		{
			name: "text", script: `[{"text":["a","b"]}]`,
			status: StatusCompleted, reason: ReasonAnswered, events: []string{"text a", "text b"},
		},
		{
			name: "basic_tool_round", script: "[" + call("c1", "t") + "," + call("c2", "t") + `,{"text":"done"}]`,
			tools:  map[string]*protocol.ToolResult{"t": ok()},
			status: StatusCompleted, reason: ReasonAnswered,
			events: []string{"call c1 t", "result c1 true ", "notice round_end", "call c2 t", "result c2 true ", "notice round_end", "text done"},
		},
		{
			name: "budget_exhausted_rounds", script: "[" + call("c1", "t") + "]",
			tools: map[string]*protocol.ToolResult{"t": ok()}, change: func(o *Options) { o.MaxRounds = 1 },
			status: StatusBudgetExhausted, reason: "reached maxRounds=1 runaway guard",
			events: []string{"call c1 t", "result c1 true ", "notice round_end", "notice budget_exhausted"},
		},
		{
			name: "zero rounds", script: `[{"text":"x"}]`, change: func(o *Options) { o.MaxRounds = 0 },
			status: StatusBudgetExhausted, reason: "reached maxRounds=0 runaway guard", events: []string{"notice budget_exhausted"},
		},
		{
			name: "zero tool errors", script: `[{"text":"x"}]`, change: func(o *Options) { o.MaxToolErrors = 0 },
			status: StatusFailed, reason: ReasonToolErrors,
		},
		{
			name: "breaker", script: "[" + call("c1", "no") + "]", change: func(o *Options) { o.MaxToolErrors = 2 },
			status: StatusFailed, reason: ReasonToolErrors,
			events: []string{
				"call c1 no", "result c1 false Unknown tool: no", "notice round_end",
				"call c1_0 no", "result c1_0 false Unknown tool: no",
			},
		},
		{
			name:   "breaker in the middle of a round",
			script: `[{"toolCalls":[{"id":"a","name":"no"},{"id":"b","name":"no"},{"id":"c","name":"t"}]}]`, change: func(o *Options) { o.MaxToolErrors = 2 },
			status: StatusFailed, reason: ReasonToolErrors,
			events: []string{
				"call a no", "result a false Unknown tool: no", "call b no", "result b false Unknown tool: no",
				"result c false not_executed",
			},
		},
		{
			name: "tool call budget", script: `[{"toolCalls":[{"id":"a","name":"t"},{"id":"b","name":"t"}]}]`,
			tools: map[string]*protocol.ToolResult{"t": ok()}, change: func(o *Options) { o.MaxToolCalls = 1 },
			status: StatusBudgetExhausted, reason: ReasonToolCalls,
			events: []string{"call a t", "result a true ", "notice budget_exhausted", "result b false not_executed"},
		},
		{
			name: "token budget", script: "[" + call("c1", "t") + `,{"text":"x"}]`, tools: map[string]*protocol.ToolResult{"t": ok()},
			change: func(o *Options) { o.Budget = 1 },
			status: StatusBudgetExhausted, reason: ReasonTokens,
			events: []string{"call c1 t", "result c1 true ", "notice round_end", "notice budget_exhausted"},
		},
		{
			name: "empty answer", script: `[{"text":""}]`, status: StatusFailed, reason: ReasonEmpty,
		},
		{
			name: "empty answer with a full window", script: `[{"text":"","usage":{"promptTokens":96,"completionTokens":0,"totalTokens":96}}]`,
			change: func(o *Options) { o.Window = 100 },
			status: StatusFailed, reason: ReasonEmpty + " (the prompt fills the model's context window)",
		},
		{
			name: "retry before anything was shown", script: `[{"error":{"status":503,"message":"busy"}},{"text":"x"}]`,
			status: StatusCompleted, reason: ReasonAnswered, events: []string{"notice hook_action", "text x"},
		},
		{
			name: "retry after text was shown", script: `[{"text":"half","cut":true},{"text":"whole"}]`,
			status: StatusCompleted, reason: ReasonAnswered,
			events: []string{"text half", "notice hook_action", "reset 2", "text whole"},
		},
		{
			name: "a cut reply never runs its calls", script: `[{"toolCalls":[{"id":"c1","name":"t"}],"cut":true},{"text":"x"}]`,
			tools:  map[string]*protocol.ToolResult{"t": ok()},
			status: StatusCompleted, reason: ReasonAnswered, events: []string{"notice hook_action", "text x"},
		},
		{
			name: "terminal tool", script: `[{"toolCalls":[{"id":"a","name":"ask"},{"id":"b","name":"t"}]}]`,
			tools: map[string]*protocol.ToolResult{"ask": {
				Success: true, Terminal: true, Data: json.RawMessage(`{"terminal_status":"waiting_user"}`),
			}},
			status: StatusWaitingUser, reason: "tool 'ask' ended the turn",
			events: []string{"call a ask", "result a true ", "result b false not_executed"},
		},
		{
			name: "terminal tool with a status nobody knows", script: `[{"toolCalls":[{"id":"a","name":"ask"}]}]`,
			tools:  map[string]*protocol.ToolResult{"ask": {Terminal: true, Data: json.RawMessage(`{"terminal_status":"great"}`)}},
			status: StatusFailed, reason: "tool 'ask' ended the turn", events: []string{"call a ask", "result a false "},
		},
		{
			name: "dedup", script: "[" + call("c1", "t") + "," + call("c2", "t") + `,{"text":"x"}]`,
			tools: map[string]*protocol.ToolResult{"t": ok()}, change: func(o *Options) { o.Dedup = true },
			status: StatusCompleted, reason: ReasonAnswered,
			events: []string{"call c1 t", "result c1 true ", "notice round_end", "call c2 t", "result c2 false duplicate_call", "notice round_end", "text x"},
		},
		{
			name:   "dedup lets a call repeat after another succeeded",
			script: "[" + call("c1", "t") + "," + call("c2", "u") + "," + call("c3", "t") + `,{"text":"x"}]`,
			tools:  map[string]*protocol.ToolResult{"t": ok(), "u": ok()}, change: func(o *Options) { o.Dedup = true },
			status: StatusCompleted, reason: ReasonAnswered,
			events: []string{
				"call c1 t", "result c1 true ", "notice round_end", "call c2 u", "result c2 true ", "notice round_end",
				"call c3 t", "result c3 true ", "notice round_end", "text x",
			},
		},
		{
			name: "doom loop", script: "[" + call("c1", "t") + "]", tools: map[string]*protocol.ToolResult{"t": ok()},
			change: func(o *Options) { o.DoomHalt = 2 }, status: StatusFailed, reason: ReasonDoomLoop,
			events: []string{"call c1 t", "result c1 true ", "notice round_end", "call c1_0 t", "result c1_0 true "},
		},
		{
			name: "final only", script: `[{"text":"thinking","toolCalls":[{"id":"a","name":"t"}]},{"text":["an","swer"]}]`,
			tools: map[string]*protocol.ToolResult{"t": ok()}, change: func(o *Options) { o.FinalOnly = true },
			status: StatusCompleted, reason: ReasonAnswered,
			events: []string{"call a t", "result a true ", "notice round_end", "text answer"},
		},
		{
			name: "plain", script: `[{"text":"x"}]`, change: func(o *Options) { o.Plain = true },
			status: StatusCompleted, reason: ReasonAnswered, events: []string{"text x", "reply stop"},
		},
		{
			name: "plain runs no tools", script: "[" + call("c1", "t") + "]", change: func(o *Options) { o.Plain = true },
			status: StatusFailed, reason: ReasonNoTools, events: []string{"reply tool_calls"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts, events, _ := script(t, test.script, table(test.tools))
			opts.Retry = llm.RetryPolicy{Base: time.Millisecond}
			if test.change != nil {
				test.change(&opts)
			}
			out := Run(context.Background(), opts)
			if out.Status != test.status || out.Reason != test.reason {
				t.Errorf("got %s %q, want %s %q", out.Status, out.Reason, test.status, test.reason)
			}
			if diff := cmp.Diff(test.events, events.lines); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProviderFailure(t *testing.T) {
	for _, test := range []struct {
		name, script string
		attempts     int
	}{
		{"not worth a retry", `[{"error":{"status":401,"message":"bad key"}}]`, 1},
		{"three attempts", `[{"error":{"status":500,"message":"broken"}}]`, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts, _, model := script(t, test.script, nil)
			opts.Retry = llm.RetryPolicy{Base: time.Millisecond}
			out := Run(context.Background(), opts)
			if out.Status != StatusFailed || out.Failure == nil || out.Failure.Kind != "LoopError" {
				t.Errorf("outcome %+v", out)
			}
			if len(model.requests) != test.attempts {
				t.Errorf("%d attempts, want %d", len(model.requests), test.attempts)
			}
		})
	}
}

// TestRetryAfterIsObeyed: the server's wish beats the backoff.
func TestRetryAfterIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts, _, _ := script(t, `[{"error":{"status":429,"message":"slow","retryAfterMs":7000}},{"text":"x"}]`, nil)
		start := time.Now()
		if out := Run(context.Background(), opts); out.Status != StatusCompleted {
			t.Fatalf("outcome %+v", out)
		}
		if waited := time.Since(start); waited < 7*time.Second || waited > 8*time.Second {
			t.Errorf("waited %v, want 7 s", waited)
		}
	})
}

func TestEveryCallIsAnswered(t *testing.T) {
	const three = `[{"toolCalls":[{"id":"a","name":"t"},{"id":"b","name":"t"},{"id":"c","name":"t"}]},{"text":"x"}]`
	for _, test := range []struct {
		name    string
		run     func(cancel context.CancelCauseFunc, call *executors.Call) (*protocol.ToolResult, error)
		status  Status
		aborted bool
		results []string
	}{
		{"cancelled in the second", func(cancel context.CancelCauseFunc, call *executors.Call) (*protocol.ToolResult, error) {
			if call.ID == "b" {
				cancel(executors.ErrTurnCancelled)
				return nil, context.Canceled
			}
			return ok(), nil
		}, StatusCancelled, false, []string{"", "cancelled", "cancelled"}},
		{"aborted in the second", func(_ context.CancelCauseFunc, call *executors.Call) (*protocol.ToolResult, error) {
			if call.ID == "b" {
				return nil, &executors.AbortError{Reason: "enough"}
			}
			return ok(), nil
		}, StatusFailed, true, []string{"", "enough", "aborted"}},
		{"an error is a result", func(_ context.CancelCauseFunc, call *executors.Call) (*protocol.ToolResult, error) {
			if call.ID == "b" {
				return nil, errors.New("broken pipe")
			}
			return ok(), nil
		}, StatusCompleted, false, []string{"", "tool_error", ""}},
		{"a panic is a result", func(_ context.CancelCauseFunc, call *executors.Call) (*protocol.ToolResult, error) {
			if call.ID == "b" {
				panic("tool")
			}
			return ok(), nil
		}, StatusCompleted, false, []string{"", "tool_error", ""}},
		{"nothing is a failure", func(_ context.CancelCauseFunc, call *executors.Call) (*protocol.ToolResult, error) {
			if call.ID == "b" {
				return nil, nil
			}
			return ok(), nil
		}, StatusCompleted, false, []string{"", "tool_error", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			opts, events, model := script(t, three, toolFunc{run: func(_ context.Context, call *executors.Call) (*protocol.ToolResult, error) {
				return test.run(cancel, call)
			}})
			out := Run(ctx, opts)
			if out.Status != test.status || out.Aborted != test.aborted {
				t.Errorf("outcome %+v", out)
			}
			var results []string
			for _, line := range events.lines {
				if strings.HasPrefix(line, "result ") {
					results = append(results, strings.SplitN(line, " ", 4)[3])
				}
			}
			if diff := cmp.Diff(test.results, results); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if last := model.requests[len(model.requests)-1]; test.status == StatusCompleted {
				checkTranscript(t, last)
			}
		})
	}
}

// checkTranscript demands that every call is followed by exactly one answer.
func checkTranscript(t *testing.T, messages []llm.Message) {
	t.Helper()
	used := map[string]bool{}
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == llm.RoleTool {
			t.Errorf("message %d answers nothing", i)
		}
		for _, call := range m.ToolCalls {
			i++
			if i >= len(messages) || messages[i].Role != llm.RoleTool || messages[i].ToolCallID != call.ID {
				t.Fatalf("call %s has no answer right behind it", call.ID)
			}
			if used[call.ID] {
				t.Errorf("id %s is used twice", call.ID)
			}
			used[call.ID] = true
		}
	}
}

func TestParallelBatches(t *testing.T) {
	var running, most atomic.Int32
	barrier := make(chan struct{})
	tool := toolFunc{
		safe: func(name string) bool { return name == "read" },
		run: func(_ context.Context, call *executors.Call) (*protocol.ToolResult, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for {
				m := most.Load()
				if n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			if call.Name == "write" && n != 1 {
				t.Error("an unsafe call ran beside others")
			}
			if call.Name == "read" && call.ID < "r4" { // the first batch of four meets
				select {
				case barrier <- struct{}{}:
				case <-barrier:
				case <-time.After(2 * time.Second):
					t.Error("safe calls do not run at once")
				}
			}
			return ok(), nil
		},
	}
	calls := []string{"r0 read", "r1 read", "r2 read", "r3 read", "r4 read", "w1 write", "r5 read"}
	var list []string
	for _, c := range calls {
		id, name, _ := strings.Cut(c, " ")
		list = append(list, fmt.Sprintf(`{"id":%q,"name":%q}`, id, name))
	}
	opts, events, _ := script(t, `[{"toolCalls":[`+strings.Join(list, ",")+`]},{"text":"x"}]`, tool)
	if out := Run(context.Background(), opts); out.Status != StatusCompleted {
		t.Fatalf("outcome %+v", out)
	}
	want := []string{
		"call r0 read", "call r1 read", "call r2 read", "call r3 read", "call r4 read",
		"result r0 true ", "result r1 true ", "result r2 true ", "result r3 true ", "result r4 true ",
		"call w1 write", "result w1 true ", "call r5 read", "result r5 true ", "notice round_end", "text x",
	}
	if diff := cmp.Diff(want, events.lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if most.Load() > defaultParallel {
		t.Errorf("%d calls ran at once, the limit is %d", most.Load(), defaultParallel)
	}
}

func TestCancelDuringRetryWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		opts, _, _ := script(t, `[{"error":{"status":429,"message":"slow","retryAfterMs":60000}}]`, nil)
		time.AfterFunc(time.Second, func() { cancel(executors.ErrTurnCancelled) })
		start := time.Now()
		if out := Run(ctx, opts); out.Status != StatusCancelled || out.Reason != ReasonCancelled {
			t.Errorf("outcome %+v", out)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestHardAndSoftTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts, events, _ := script(t, `[{"toolCalls":[{"id":"a","name":"t"}]}]`, toolFunc{
			run: func(ctx context.Context, _ *executors.Call) (*protocol.ToolResult, error) {
				select {
				case <-time.After(time.Second):
					return ok(), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			},
		})
		opts.SoftTimeout, opts.HardTimeout = 1500*time.Millisecond, 3500*time.Millisecond
		out := Run(context.Background(), opts)
		if out.Status != StatusFailed || out.Reason != ReasonDeadline || out.Failure == nil {
			t.Errorf("outcome %+v", out)
		}
		if n := strings.Count(strings.Join(events.lines, "\n"), "notice soft_timeout"); n != 1 {
			t.Errorf("%d soft timeout notices, want 1", n)
		}
	})
}
