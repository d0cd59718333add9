package sidecar

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
)

// In-process tools that say which of their arguments is a command line are shell
// tools under any name, on both ways to them.
func TestInProcessShellToolsAreGraded(t *testing.T) {
	var ran atomic.Int32
	s := start(t, func(o *Options) {
		o.Tools = []executors.Tool{{
			Name: "console", ShellParam: "line",
			Run: func(context.Context, *executors.Call) (*protocol.ToolResult, error) {
				ran.Add(1)
				return &protocol.ToolResult{Success: true}, nil
			},
		}, {Name: "other"}}
	})
	s.send(`{"id":1,"method":"tool.invoke","params":{"name":"console","arguments":{"line":"rm -rf /"},"consentGranted":true}}`)
	s.want(`"id":1`, `"error"`, `policy_denied`)
	s.send(`{"id":2,"method":"tool.invoke","params":{"name":"console","arguments":{"line":"true"}}}`)
	s.want(`"id":2`, `"success":true`)
	s.turn("a", `[{"toolCalls":[{"id":"c","name":"console","arguments":{"line":"rm -rf /"}},{"id":"d","name":"other"}]},{"text":["x"]}]`,
		`,"useCoreLoop":true,"toolFilter":["console"]`)
	s.until(`policy_denied`)
	s.until(`Unknown tool: other`)
	s.until(`"method":"stream.done"`)
	if n := ran.Load(); n != 1 {
		t.Errorf("ran %d times, want 1", n)
	}
}
