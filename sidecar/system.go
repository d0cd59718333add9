package sidecar

import (
	"context"
	"math/rand/v2"
	"runtime"

	"github.com/steerable-go/sidecar/protocol"
)

func (s *Server) ping(context.Context, *protocol.Request) (any, error) {
	return s.health(), nil
}

// health is the answer to a ping. Its status is always "ok": a sidecar that
// can answer serves.
func (s *Server) health() *protocol.Health {
	return &protocol.Health{
		Status: "ok", Version: Version, ProtocolVersion: protocol.ProtocolVersion,
		UptimeMs: s.opts.Now().Sub(s.started).Milliseconds(), PID: s.pid,
		Platform: s.platform, LoadedTools: s.router.Len(),
	}
}

// Platform is <os>-<machine> in the words of uname, like linux-x86_64.
func Platform() string {
	machine := runtime.GOARCH
	switch {
	case machine == "amd64" && runtime.GOOS == "windows":
		machine = "AMD64"
	case machine == "amd64":
		machine = "x86_64"
	case machine == "arm64" && runtime.GOOS == "linux":
		machine = "aarch64"
	case machine == "arm64" && runtime.GOOS == "windows":
		machine = "ARM64"
	}
	system := runtime.GOOS
	if system == "windows" {
		system = "win32" // Python's sys.platform, which hosts compare with
	}
	return system + "-" + machine
}

// random is the default source of jitter; nothing secret depends on it.
func random() float64 { return rand.Float64() } //nolint:gosec // jitter only
