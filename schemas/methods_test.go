package schemas

import "testing"

// TestMethodTable pins which schema belongs to which method: other packages and
// generated host types depend on the names.
func TestMethodTable(t *testing.T) {
	for _, tt := range []struct {
		role func(string) string
		want map[string]string
	}{
		{Params, map[string]string{
			"system.ping": "sidecar/SystemParams", "system.shutdown": "sidecar/SystemParams", "system.shutdown_now": "sidecar/SystemParams",
			"agent.session.create": "runtime/SessionCreateParams", "agent.session.resume": "runtime/SessionResumeParams", "agent.session.list": "runtime/SessionListParams",
			"agent.chat.stream": "chat/ChatStreamParams", "agent.chat.cancel": "chat/ChatCancelParams", "agent.chat.steer": "chat/ChatSteerParams",
			"chat.stream": "chat/ChatStreamParams", "chat.cancel": "chat/ChatCancelParams", "chat.steer": "chat/ChatSteerParams",
			"tool.list": "tools/ToolListParams", "tool.invoke": "tools/ToolInvokeParams",
			"config.get": "sidecar/ConfigGetParams", "config.set": "sidecar/ConfigSetParams",
			"sandbox.describe": "runtime/SandboxDescribeParams", "trace.fetch": "runtime/TraceFetchParams",
		}},
		{Result, map[string]string{
			"system.ping": "sidecar/SidecarHealth", "system.shutdown": "sidecar/ShutdownResult", "system.shutdown_now": "sidecar/ShutdownResult",
			"agent.session.create": "runtime/AgentSession", "agent.session.resume": "runtime/AgentSession", "agent.session.list": "runtime/SessionListResult",
			"agent.chat.stream": "chat/ChatStreamResult", "agent.chat.cancel": "chat/ChatCancelResult", "agent.chat.steer": "chat/ChatSteerResult",
			"chat.stream": "chat/ChatStreamResult", "chat.cancel": "chat/ChatCancelResult", "chat.steer": "chat/ChatSteerResult",
			"tool.list": "tools/ToolListResult", "tool.invoke": "tools/ToolResult",
			"config.get": "sidecar/ConfigResult", "config.set": "sidecar/ConfigResult",
			"sandbox.describe": "runtime/SandboxDescribeResult", "trace.fetch": "runtime/TraceFetchResult",
		}},
		{Notification, map[string]string{
			"lifecycle.ready": "sidecar/LifecycleReady", "lifecycle.shutdown": "sidecar/LifecycleShutdown",
			"stream.chunk": "events/StreamChunk", "stream.done": "events/StreamDone", "stream.error": "events/StreamError",
			"approval.resolved": "safety/ApprovalResolved",
		}},
		{ReverseParams, map[string]string{
			"tool.invoke": "tools/ToolInvokeCall", "approval.request": "safety/ApprovalRequest", "host.process.spawn": "host/ProcessSpawnParams",
		}},
		{ReverseResult, map[string]string{
			"tool.invoke": "tools/ToolInvokeReply", "approval.request": "safety/ApprovalDecision", "host.process.spawn": "host/ProcessSpawnReply",
		}},
	} {
		found := 0
		for _, method := range Methods() {
			got := tt.role(method)
			if got != tt.want[method] {
				t.Errorf("%s: %q, want %q", method, got, tt.want[method])
			}
			if got != "" {
				found++
			}
		}
		if found != len(tt.want) {
			t.Errorf("%d methods, want %d: Methods lacks some", found, len(tt.want))
		}
	}
}
