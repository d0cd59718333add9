package executors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/protocol"
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
