package executors

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/dlp"
	"github.com/steerable-go/sidecar/authz/govern"
	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
	"github.com/steerable-go/sidecar/sandbox"
)

// memoryLog keeps the words that the records of outcomes hold.
type memoryLog struct {
	mu       sync.Mutex // guards following
	outcomes []string
}

func (l *memoryLog) Append(_ context.Context, r auditlog.Record) (auditlog.Receipt, error) {
	var meta struct {
		Phase  string `json:"phase"`
		Result string `json:"result"`
	}
	if err := json.Unmarshal(r.Meta, &meta); err != nil {
		return auditlog.Receipt{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if meta.Phase == "outcome" {
		l.outcomes = append(l.outcomes, meta.Result)
	}
	return auditlog.Receipt{}, nil
}

// TestOutcomeIsWhatHappened: the record and the budgets say that a call ran if
// it ran, whatever the code on its result is, and that it did not if a layer
// stopped it.
func TestOutcomeIsWhatHappened(t *testing.T) {
	const spawned = `{"exitCode":0,"sandbox":{"backend":"w","enforcement":"partial"}}`
	for _, test := range []struct {
		name    string
		command string
		confine ConfineOptions
		bytes   int64 // of the request's budget; 0 is the default
		reply   string
		code    string // of the result
		word    string // of the record
		used    int64  // calls of the budget
	}{
		{"it ran", "make x", ConfineOptions{HostSpawn: true}, 0, spawned, "", "ok", 1},
		{"it ran below what was required", "make x", ConfineOptions{HostSpawn: true, RequireFull: true}, 0, spawned, ErrorSandboxUnavailable, "error", 1},
		{"it ran and the result was withheld", "make x", ConfineOptions{HostSpawn: true}, 500, `{"exitCode":0,"stdout":"` + strings.Repeat("x", 900) + `"}`, ErrorAuthzDenied, "ok", 1},
		{"the host's code is not ours", "make x", ConfineOptions{}, 0, `{"success":false,"error":"approval_denied"}`, ErrorApprovalDenied, "error", 1},
		{"no backend where one is required", "make x", ConfineOptions{RequireBackend: true}, 0, spawned, ErrorSandboxUnavailable, "refused", 0},
		{"a critical command", "sudo ls", ConfineOptions{HostSpawn: true}, 0, spawned, ErrorPolicyDenied, "refused", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := &memoryLog{}
			auth := authorization(t, log, test.bytes)
			c := confiner(test.confine, nil, sandbox.ErrNoBackend)
			classifier, err := safety.New(safety.SetReference)
			if err != nil {
				t.Fatal(err)
			}
			in := &Inspector{Shell: c.opts.Shell, Confiner: c, Classifier: classifier, Platform: safety.PlatformUnix}
			host := answering(test.reply)
			e := Chain(NewHostToolExecutor(host), Inspect(in), Govern(auth), SafetyGate(GateEnforce, false, zerolog.Nop()), Sandboxed(c, host, &SpawnReports{}))
			arguments, err := json.Marshal(map[string]string{"command": test.command})
			if err != nil {
				t.Fatal(err)
			}
			result := run(t, e, callOf("bash", string(arguments)))
			if result.Error != test.code {
				t.Errorf("code %q, want %q: %.300s", result.Error, test.code, result.AppendJSON(nil))
			}
			if got := strings.Join(log.outcomes, " "); got != test.word {
				t.Errorf("recorded %q, want %q", got, test.word)
			}
			if got := auth.state.Used.Calls; got != test.used {
				t.Errorf("%d calls are counted, want %d", got, test.used)
			}
			if refused := test.word == "refused"; result.Refused != refused {
				t.Errorf("the result says refused %v, want %v", result.Refused, refused)
			}
		})
	}
}

// TestOutcomeOfAnEndedTurn: a turn that is cancelled while a person is asked is
// no error of the tool.
func TestOutcomeOfAnEndedTurn(t *testing.T) {
	for _, test := range []struct {
		name, word string
		cause      error
	}{
		{"cancelled", "cancelled", ErrTurnCancelled},
		{"ended", "error", errors.New("hard limit")},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			person := hostFunc(func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
				cancel(test.cause)
				return nil, context.Cause(ctx)
			})
			log := &memoryLog{}
			gate := approvals.NewGate(approvals.Options{Mode: approvals.GateHost, Host: &HostApprover{Caller: person, Notify: func(string, any) {}}})
			e := Chain(NewHostToolExecutor(echoHost()), Inspect(&Inspector{Shell: &Shell{}}), Govern(authorization(t, log, 0)), Approval(ApprovalOptions{Gate: gate}))
			if _, err := e.Execute(ctx, callOf("bash", `{"command":"make x"}`)); !errors.Is(err, test.cause) {
				t.Errorf("got %v, want %v", err, test.cause)
			}
			if got := strings.Join(log.outcomes, " "); got != test.word {
				t.Errorf("recorded %q, want %q", got, test.word)
			}
		})
	}
}

func authorization(t *testing.T, log Recorder, bytes int64) *Authorization {
	t.Helper()
	tools, err := govern.NewTools(nil)
	if err != nil {
		t.Fatal(err)
	}
	state := govern.NewState(capabilities.NewPrincipal("u1"))
	if bytes > 0 {
		state.Limits.Bytes = bytes
	}
	return NewAuthorization(AuthorizationOptions{
		Governor: govern.New(govern.Options{}), Tools: tools, Mode: govern.Enforce, State: state,
		Owner: "u1", Log: log, Logger: zerolog.Nop(), Now: func() time.Time { return time.Unix(0, 0) },
	})
}

// noLog is a log that cannot be written.
type noLog struct{}

func (noLog) Append(context.Context, auditlog.Record) (auditlog.Receipt, error) {
	return auditlog.Receipt{}, errors.New("no space left")
}

// secretText is what no pattern may let pass.
func secretText() string { return "ghp_" + strings.Repeat("a1b2c3d4e5f6", 3) }

// TestRepliesFailClosed: whatever keeps the pipeline from looking at a text, or
// its denial from being recorded, withholds the text; observing changes none.
func TestRepliesFailClosed(t *testing.T) {
	text := "the key is " + secretText()
	for _, test := range []struct {
		name   string
		change func(*AuthorizationOptions)
		want   string // what is shown for the text above
		clean  string // what is shown for "done"
	}{
		{"blocked", func(*AuthorizationOptions) {}, "[withheld: github_token]", "done"},
		{"redacted", func(o *AuthorizationOptions) { o.Replies = govern.RedactReplies }, "the key is ghp_…f6", "done"},
		{"no budget is left", func(o *AuthorizationOptions) { o.State.Used.Bytes = o.State.Limits.Bytes }, "[withheld: github_token]", "done"},
		{"a stage fails", func(o *AuthorizationOptions) { o.Governor = &govern.Governor{} }, "[withheld: REASON_INTERNAL_ERROR]", "[withheld: REASON_INTERNAL_ERROR]"},
		{"another owner", func(o *AuthorizationOptions) { o.Owner = "u2" }, "[withheld: REASON_OWNER_MISMATCH]", "[withheld: REASON_OWNER_MISMATCH]"},
		{"no record", func(o *AuthorizationOptions) { o.Log, o.Replies = noLog{}, govern.RedactReplies }, "[withheld: REASON_AUDIT_UNAVAILABLE]", "done"},
		{"an unknown treatment", func(o *AuthorizationOptions) { o.Replies = 99 }, "[withheld: github_token]", "done"},
		{"ignored", func(o *AuthorizationOptions) { o.Replies = govern.IgnoreReplies }, text, "done"},
		{"observed", func(o *AuthorizationOptions) { o.Mode = govern.Observe }, text, "done"},
		{"observed without a record", func(o *AuthorizationOptions) { o.Mode, o.Log = govern.Observe, noLog{} }, text, "done"},
	} {
		opts := authorization(t, &memoryLog{}, 0).opts
		opts.Replies = govern.BlockReplies
		test.change(&opts)
		a := NewAuthorization(opts)
		if got := a.Reply(t.Context(), text); got != test.want {
			t.Errorf("%s: shown %q, want %q", test.name, got, test.want)
		}
		if got := a.Reply(t.Context(), "done"); got != test.clean {
			t.Errorf("%s: shown %q, want %q", test.name, got, test.clean)
		}
	}
	var none *Authorization
	if none.GuardsReplies() || none.HoldsReplies() {
		t.Error("no authorization guards replies")
	}
}

// TestTaint: a secret anywhere in what the model reads taints the request, and
// then an outbound call goes to a person, who is not there.
func TestTaint(t *testing.T) {
	for name, test := range map[string]struct {
		result protocol.ToolResult
		err    error
		taints bool
	}{
		"data":         {result: protocol.ToolResult{Success: true, Data: json.RawMessage(`{"k":"` + secretText() + `"}`)}, taints: true},
		"message":      {result: protocol.ToolResult{Success: true, Message: secretText()}, taints: true},
		"error":        {result: protocol.ToolResult{Error: "cannot log in with password=hunter2hunter2"}, taints: true},
		"next action":  {result: protocol.ToolResult{Success: true, NextAction: secretText()}, taints: true},
		"broken data":  {result: protocol.ToolResult{Success: true, Data: json.RawMessage(`{"k":`)}, taints: true},
		"failed call":  {err: errors.New("no access for " + secretText()), taints: true},
		"nothing":      {result: protocol.ToolResult{Success: true, Message: "done", Data: json.RawMessage(`{"k":"v"}`)}},
		"plain result": {result: protocol.ToolResult{Error: "not found"}},
	} {
		opts := authorization(t, &memoryLog{}, 0).opts
		opts.Scanner = dlp.New(dlp.Options{})
		a := NewAuthorization(opts)
		a.watch(&test.result, test.err)
		if a.state.Tainted != test.taints {
			t.Errorf("%s: tainted %v, want %v", name, a.state.Tainted, test.taints)
		}
		out := a.decide(t.Context(), callOf("web_search", `{"query":"weather"}`))
		if asks := out.Reasons()[0] == authz.ReasonTaintedRequest; asks != test.taints {
			t.Errorf("%s: the next call out: %v", name, out.Reasons())
		}
	}
}

// TestUnknownModeEnforces: only the modes that are known to let calls run do.
func TestUnknownModeEnforces(t *testing.T) {
	for mode, runs := range map[govern.Mode]bool{govern.Enforce: false, govern.Observe: true, govern.Off: true, 99: false} {
		opts := authorization(t, &memoryLog{}, 0).opts
		opts.Mode = mode
		host := answering(`{"success":true}`)
		result := run(t, Chain(NewHostToolExecutor(host), Govern(NewAuthorization(opts))), callOf("frobnicate", `{"a":1}`))
		if result.Success != runs {
			t.Errorf("mode %d: %.200s", mode, result.AppendJSON(nil))
		}
	}
}

// TestObservedDenial: a call that would have been denied was never counted, so
// that another layer's refusal has nothing to give back.
func TestObservedDenial(t *testing.T) {
	opts := authorization(t, &memoryLog{}, 0).opts
	opts.Mode, opts.State.Used.Calls, opts.State.Used.Bytes = govern.Observe, 3, 300
	a := NewAuthorization(opts)
	stop := func(next ToolExecutor) ToolExecutor { return refusing{next} }
	result := run(t, Chain(refusing{}, Govern(a), stop), callOf("frobnicate", `{"a":1}`))
	if !result.Refused || a.state.Used.Calls != 3 || a.state.Used.Bytes != 300 {
		t.Errorf("refused %v, used %+v", result.Refused, a.state.Used)
	}
}

// refusing is a layer that refuses everything.
type refusing struct{ ToolExecutor }

func (refusing) Execute(context.Context, *Call) (*protocol.ToolResult, error) {
	return refused(ErrorPolicyDenied, "no"), nil
}
