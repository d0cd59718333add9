package conformance

import (
	"os/exec"
	"testing"
)

// TestNodeHost runs the tests that are written for a host in Node against the
// sidecar that this test has built.
func TestNodeHost(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	cmd := exec.CommandContext(t.Context(), node, "--test", "host/test/")
	cmd.Dir = ".."
	cmd.Env = append(cmd.Environ(), "SIDECAR_BINARY="+buildSidecar(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", cmd, err, out)
	}
}
