package executors

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/govern"
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
			e := Chain(NewHostToolExecutor(host), Inspect(in), Govern(auth), SafetyGate(GateEnforce, false), Sandboxed(c, host, &SpawnReports{}))
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
