package nofile

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestOriginal compares with what the shell that starts us would see: exec
// gives children the inherited limit back.
func TestOriginal(t *testing.T) {
	limit, ok := Original()
	if !ok {
		t.Fatal("the limit could not be read")
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -n").Output()
	if err != nil {
		t.Fatal(err)
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	t.Logf("inherited %d, raised to %d", limit.Cur, now.Cur)
	if limit.Cur > now.Cur {
		t.Errorf("inherited %d is above the present %d", limit.Cur, now.Cur)
	}
	if got := strings.TrimSpace(string(out)); got == "" {
		t.Error("the shell shows no limit")
	}
}
