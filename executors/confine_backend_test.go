package executors

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// TestChosenBackend shows that an operator can take the backends away but not
// what a request requires of them.
func TestChosenBackend(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := sandbox.NewHost(sandbox.Options{Executable: exe})
	call := &Call{Turn: &Turn{}}
	call.Name, call.Arguments = "bash", json.RawMessage(`{"command":"ls"}`)
	for _, tt := range []struct {
		name    string
		opts    ConfineOptions
		refused bool
	}{
		{"none", ConfineOptions{Host: host, Backend: policy.BackendNone}, false},
		{"no host at all", ConfineOptions{}, false},
		{"none, and a backend is required", ConfineOptions{Host: host, Backend: policy.BackendNone, RequireBackend: true}, true},
		{"none, and full is required", ConfineOptions{Host: host, Backend: policy.BackendNone, RequireFull: true}, true},
	} {
		tt.opts.Shell = &Shell{}
		c := NewConfiner(t.Context(), tt.opts)
		if _, err := c.choose(); !errors.Is(err, sandbox.ErrNoBackend) {
			t.Errorf("%s: want no backend, got %v", tt.name, err)
		}
		d := c.Decide(t.Context(), call)
		if d.Backend != nil || d.Report.Enforcement != policy.None || (d.Refused != "") != tt.refused {
			t.Errorf("%s: got %+v", tt.name, d)
		}
	}
}
