package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// personFunc is a person made of a function, with a host that keeps what it is
// told.
type personFunc func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// asked returns a chain that asks the person, and what it sends to the host.
func (f personFunc) asked(gate approvals.Options, opts ApprovalOptions, in *Inspector) (ToolExecutor, *[]string) {
	sent := new([]string)
	caller := hostFunc(func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		*sent = append(*sent, method+" "+string(params))
		return f(ctx, params)
	})
	gate.Mode = approvals.GateHost
	gate.Host = &HostApprover{Caller: caller, Timeout: gate.Timeout, Notify: func(method string, params any) {
		raw, err := protocol.Marshal(params)
		if err != nil {
			raw = []byte(err.Error())
		}
		*sent = append(*sent, method+" "+string(raw))
	}}
	opts.Gate = approvals.NewGate(gate)
	return Chain(NewHostToolExecutor(echoHost()), Inspect(in), Approval(opts)), sent
}

func saying(reply string) personFunc {
	return func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(reply), nil }
}

// TestWorkspaceAutoApproval: what stays inside the workspace runs unasked only
// where a real backend enforces everything.
func TestWorkspaceAutoApproval(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", ".env"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(root), filepath.Join(root, "out")); err != nil {
		t.Skip("this file system has no symbolic links:", err)
	}
	full := fakeBackend{sandbox.Report{Backend: "bwrap", Enforcement: policy.Full}}
	partial := fakeBackend{sandbox.Report{Backend: "landlock", Enforcement: policy.Partial}}
	for _, test := range []struct {
		name, tool, args string
		backend          sandbox.Backend
		err              error
		tools            []string
		unconfined       bool // the turn has no confinement
		asks             bool
	}{
		{name: "command", tool: "bash", args: `{"command":"ls"}`, backend: full},
		{name: "path", tool: "local_read_file", args: `{"path":"a.txt"}`, backend: full},
		{name: "new file", tool: "local_write_file", args: `{"path":"b.txt"}`, backend: full},
		{name: "secret", tool: "local_read_file", args: `{"path":".env"}`, backend: full, asks: true},
		{name: "through a link", tool: "local_write_file", args: `{"path":"out/b.txt"}`, backend: full, asks: true},
		{name: "tool without paths", tool: "deploy", args: `{}`, backend: full, asks: true},
		{name: "command, partial", tool: "bash", args: `{"command":"ls"}`, backend: partial, asks: true},
		{name: "path, partial", tool: "local_read_file", args: `{"path":"a.txt"}`, backend: partial, asks: true},
		{name: "command, no backend", tool: "bash", args: `{"command":"ls"}`, err: sandbox.ErrNoBackend, asks: true},
		{name: "path, no backend", tool: "local_read_file", args: `{"path":"a.txt"}`, err: sandbox.ErrNoBackend, asks: true},
		{name: "path, failed backend", tool: "local_read_file", args: `{"path":"a.txt"}`, err: errors.New("probe broke"), asks: true},
		{name: "command of a tool that is not wrapped", tool: "bash", args: `{"command":"ls"}`, backend: full, tools: []string{"run"}, asks: true},
		{name: "path beside other tools", tool: "local_read_file", args: `{"path":"a.txt"}`, backend: full, tools: []string{"run"}},
		{name: "command without confinement", tool: "bash", args: `{"command":"ls"}`, backend: full, unconfined: true, asks: true},
		{name: "path without confinement", tool: "local_read_file", args: `{"path":"a.txt"}`, backend: full, unconfined: true, asks: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := confiner(ConfineOptions{Tools: test.tools, Policy: policy.Policy{Roots: []string{root}}}, test.backend, test.err)
			if test.unconfined {
				c = nil
			}
			e, sent := saying(`{"kind":"deny_once"}`).asked(
				approvals.Options{WorkspaceAuto: true, Matcher: everyPrefix{}},
				ApprovalOptions{Enforced: true, Workspace: c}, &Inspector{Shell: &Shell{Tools: test.tools}, Confiner: c})
			call := callOf(test.tool, test.args)
			call.Turn.ProjectRoot = root
			result := run(t, e, call)
			if result.Success == test.asks || (len(*sent) > 0) != test.asks {
				t.Errorf("got %s after %q, want it asked about: %v", result.AppendJSON(nil), *sent, test.asks)
			}
		})
	}
}

// everyPrefix is a matcher that takes every command apart and knows no prefix.
type everyPrefix struct{}

func (everyPrefix) Match(effect approvals.Effect, _ []string, _ string) bool {
	return effect == approvals.EffectDeny
}
func (everyPrefix) Unknown([]string, string) string { return "" }
func (everyPrefix) Parses(string) bool              { return true }
func (everyPrefix) Suggest(string) []string         { return nil }
func (everyPrefix) Broad([]string) string           { return "" }

// TestTheQuestion compares whole frames: a host relies on every member.
func TestTheQuestion(t *testing.T) {
	classifier, err := safety.New(safety.SetReference)
	if err != nil {
		t.Fatal(err)
	}
	full := fakeBackend{sandbox.Report{Backend: "bwrap", Enforcement: policy.Full}}
	resolved := protocol.NotifyApprovalResolved + ` {"streamId":"s","requestId":"s/c1","outcome":"answered"}`
	question := func(tool, args, rest string) []string {
		shape := `%[1]s {"toolName":"%[2]s","arguments":%[3]s,"mode":"other","category":"%[2]s","round":0,"streamId":"s","chatId":"chat","callId":"c1","requestId":"s/c1",` +
			`"suggestedPrefix":null,%[4]s"fingerprint":"%[5]s","timeoutMs":2000}`
		return []string{
			fmt.Sprintf(shape, protocol.ReverseApproval, tool, args, rest, approvals.FingerprintOf(json.RawMessage(args))), resolved,
		}
	}
	for _, test := range []struct{ name, tool, args, rest string }{
		{"safe command", "bash", `{"command":"ls"}`, `"severity":"safe","matchedRules":[],"sandbox":{"backend":"bwrap","enforcement":"full"},`},
		{"warning", "bash", `{"command":"rm x"}`, `"severity":"warning","matchedRules":["rm"],"sandbox":{"backend":"bwrap","enforcement":"full"},`},
		{"no command", "deploy", `{"to":"<prod>"}`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := &Inspector{Shell: &Shell{}, Classifier: classifier, Platform: safety.PlatformUnix, Confiner: confiner(ConfineOptions{}, full, nil)}
			e, sent := saying(`{"kind":"allow_once"}`).asked(approvals.Options{Timeout: 2 * time.Second, Matcher: everyPrefix{}}, ApprovalOptions{Enforced: true}, in)
			if result := run(t, e, callOf(test.tool, test.args)); !result.Success {
				t.Errorf("got %s", result.AppendJSON(nil))
			}
			if diff := cmp.Diff(question(test.tool, test.args, test.rest), *sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// TestArgumentsThatChangeAreNotRun: what was approved is what was shown.
func TestArgumentsThatChangeAreNotRun(t *testing.T) {
	call := callOf("deploy", `{"to":"test"}`)
	shown := slices.Clone(call.Arguments)
	swap := personFunc(func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		if !strings.Contains(string(params), string(shown)) {
			t.Errorf("shown %s, want the arguments %s", params, shown)
		}
		copy(call.Arguments, `{"to":"prod"}`)
		return json.RawMessage(`{"kind":"allow_always"}`), nil
	})
	e, _ := swap.asked(approvals.Options{}, ApprovalOptions{}, &Inspector{Shell: &Shell{}})
	result := run(t, e, call)
	if result.Success || result.Error != ErrorApprovalDenied || !strings.Contains(string(result.AppendJSON(nil)), approvals.ErrArgumentsChanged.Error()) {
		t.Errorf("got %s", result.AppendJSON(nil))
	}
}

// TestQuestionsWithoutAnAnswer: each denies, under a reason of its own, and the
// host hears of every question it has seen.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	late := personFunc(func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return json.RawMessage(`{"kind":"allow_always"}`), nil // the answer crossed the end of the wait
	})
	failing := func(err error) personFunc {
		return func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, err }
	}
	for _, test := range []struct {
		name    string
		person  personFunc
		reason  approvals.Reason
		outcome string // empty: the host is told nothing
	}{
		{"late", late, approvals.ReasonTimedOut, "timed_out"},
		{"not an answer", saying(`{"kind":"timed_out"}`), approvals.ReasonInvalid, "answered"},
		{"host error", failing(errors.New("no dialog")), approvals.ReasonFailed, "answered"},
		{"too large to be sent", failing(protocol.ErrFrameTooLarge), approvals.ReasonFailed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, sent := test.person.asked(approvals.Options{Timeout: time.Millisecond}, ApprovalOptions{}, &Inspector{Shell: &Shell{}})
			result := run(t, e, callOf("deploy", `{}`))
			if got := string(result.Data); result.Success || result.Error != ErrorApprovalDenied || !strings.Contains(got, `"reasonCode":"`+string(test.reason)+`"`) {
				t.Errorf("got %s, want reason %s", result.AppendJSON(nil), test.reason)
			}
			told := (*sent)[1:]
			if test.outcome == "" && len(told) == 0 {
				return
			}
			want := []string{protocol.NotifyApprovalResolved + ` {"streamId":"s","requestId":"s/c1","outcome":"` + test.outcome + `"}`}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}
