//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
)

// TestSurvivesAClosedStderr: a host that stops reading the log keeps its
// tunnels.
func TestSurvivesAClosedStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t.Context(), nil, "--bind", "127.0.0.1:0", "--allow", "a.example", "--log-level", "debug")
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_ = w.Close()
	line, err := bufio.NewReaderSize(io.LimitReader(r, 200), 200).ReadString('\n')
	_, addr, ok := strings.Cut(strings.TrimSpace(line), "egress proxy on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	_ = r.Close()
	for range 3 { // each writes a log line into the broken pipe
		if got := talk(t, addr, "CONNECT b.example:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
			t.Errorf("%q", got)
		}
	}
}
