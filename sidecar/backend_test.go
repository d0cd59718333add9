package sidecar

import (
	"os"
	"testing"

	"github.com/steerable-go/sidecar/sandbox"
)

// TestSandboxBackendNone shows that sandbox.describe agrees with what the
// operator chose.
func TestSandboxBackendNone(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *Options) {
		o.Sandbox, o.SandboxBackend = sandbox.NewHost(sandbox.Options{Executable: exe}), "none"
	})
	s.send(`{"jsonrpc":"2.0","id":1,"method":"sandbox.describe"}`)
	s.want(`"id":1`, `"backend":"none"`, `"enforcement":"none"`)
}
