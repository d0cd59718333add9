package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// TestHostSpawnMalformedAnswer: a host whose answer cannot be read has
// answered, so nobody may say that the command was not run.
func TestHostSpawnMalformedAnswer(t *testing.T) {
	fails := func(err error) hostFunc {
		return func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, err }
	}
	for _, test := range []struct {
		name string
		err  error
		code string // begins the result's error
		ran  string // what is said of the command, in the result
	}{
		{"too long", fmt.Errorf("%w: line exceeds 9 bytes", protocol.ErrMalformedAnswer), ErrorToolError, "Whether the command ran is unknown."},
		{"a refusal", &protocol.Error{Message: "malformed answer"}, "host confined spawn unavailable", "command was NOT run unsandboxed"},
		{"a frame that is too large for the host", protocol.ErrFrameTooLarge, "host confined spawn unavailable", "command was NOT run unsandboxed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := run(t, spawnChain(t, fails(test.err), ConfineOptions{HostSpawn: true}), callOf("bash", `{"command":"ls"}`))
			got := string(result.AppendJSON(nil))
			if result.Success || !result.NeedsFollowup || !strings.HasPrefix(result.Error, test.code) || !strings.Contains(got, test.ran) {
				t.Errorf("got %s, want %s and %q", got, test.code, test.ran)
			}
			if !strings.Contains(got, `"enforcement":"none"`) {
				t.Errorf("got %s, which claims a confinement that nobody reported", got)
			}
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := spawnChain(t, fails(ctx.Err()), ConfineOptions{HostSpawn: true}).Execute(ctx, callOf("bash", `{"command":"ls"}`))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled turn is no failure of the host: %v", err)
	}
}

// TestHostSpawnUnaskedFor: the host is not asked to hide paths or to limit
// anything, so its report of full does not speak of that.
func TestHostSpawnUnaskedFor(t *testing.T) {
	const full = `{"exitCode":0,"sandbox":{"backend":"w","enforcement":"full"}}`
	hidden := policy.Policy{ReadDeny: []string{"/home/me/.ssh"}}
	limited := policy.Policy{Limits: policy.Limits{CPUSeconds: 1}}
	both := policy.Policy{ReadDeny: hidden.ReadDeny, Limits: limited.Limits}
	for name, test := range map[string]struct {
		p           policy.Policy
		reply, want string
	}{
		"nothing more":   {policy.Policy{}, full, `"_sandbox":{"backend":"w","enforcement":"full"}`},
		"hidden":         {hidden, full, `"_sandbox":{"backend":"w","enforcement":"partial","notEnforced":["readDeny"]}`},
		"limited":        {limited, full, `"_sandbox":{"backend":"w","enforcement":"partial","notEnforced":["limits"]}`},
		"both":           {both, full, `"notEnforced":["readDeny","limits"]`},
		"less than full": {both, `{"exitCode":0,"sandbox":{"backend":"w","enforcement":"partial","notEnforced":["limits","egress"]}}`, `"notEnforced":["limits","egress","readDeny"]`},
		"none":           {both, `{"exitCode":0}`, `"_sandbox":{"backend":"host-spawn","enforcement":"none"}`},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			host := hostFunc(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				asked++
				return json.RawMessage(test.reply), nil
			})
			opts := ConfineOptions{HostSpawn: true, Policy: test.p}
			if got := string(run(t, spawnChain(t, host, opts), callOf("bash", `{"command":"ls"}`)).AppendJSON(nil)); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			opts.RequireFull = true
			opts.HostReport = func() *sandbox.Report { return &sandbox.Report{Backend: "w", Enforcement: policy.Full} }
			result := run(t, spawnChain(t, host, opts), callOf("bash", `{"command":"ls"}`))
			if refused := result.Error == ErrorSandboxUnavailable; refused != (name != "nothing more") || refused != (asked == 1) {
				t.Errorf("where full is required: %s, after the host was asked %d times", result.AppendJSON(nil), asked)
			}
		})
	}
}
