package schemas

import "strings"

// Names of the schemas of whole frames. The Sidecar… ones are closed and hold
// for what the sidecar sends; the Host… ones say what it accepts.
const (
	FrameRequest      = "sidecar/SidecarRequest"
	FrameNotification = "sidecar/SidecarNotification"
	FrameResponse     = "sidecar/SidecarResponse"
	FrameError        = "sidecar/SidecarError"
	HostRequest       = "sidecar/HostRequest"
	HostNotification  = "sidecar/HostNotification"
	HostResponse      = "sidecar/HostResponse"
)

// Params returns the name of the schema for the parameters of a method that a
// host calls, or "" if no such method is served. Absent parameters count as an
// empty object.
func Params(method string) string { return lookup(method).params }

// Result returns the name of the schema for the result of a method that a host
// calls, or "".
func Result(method string) string { return lookup(method).result }

// Notification returns the name of the schema for the parameters of a
// notification that the sidecar sends, or "".
func Notification(method string) string { return lookup(method).notification }

// ReverseParams returns the name of the schema for the parameters of a method
// that the sidecar calls on the host, or "".
func ReverseParams(method string) string { return lookup(method).reverseParams }

// ReverseResult returns the name of the schema for what a host answers to a
// method that the sidecar calls, or "".
func ReverseResult(method string) string { return lookup(method).reverseResult }

// Methods returns every method and notification that has a schema, in a fixed
// order. chat.stream, chat.cancel and chat.steer are the same methods as those
// under agent.chat.
func Methods() []string {
	return []string{
		"system.ping", "system.shutdown", "system.shutdown_now",
		"agent.session.create", "agent.session.resume", "agent.session.list",
		"agent.chat.stream", "agent.chat.cancel", "agent.chat.steer",
		"chat.stream", "chat.cancel", "chat.steer",
		"tool.list", "tool.invoke", "config.get", "config.set", "sandbox.describe", "trace.fetch",
		"lifecycle.ready", "lifecycle.shutdown", "stream.chunk", "stream.done", "stream.error",
		"approval.request", "approval.resolved", "host.process.spawn",
	}
}

// row is what the protocol knows of one method. Empty fields mean that the
// method does not occur in that role.
type row struct {
	params, result               string
	notification                 string
	reverseParams, reverseResult string
}

// lookup finds a method's row. Switches instead of a table in a variable leave
// nothing to be set up when the process starts.
func lookup(method string) row {
	space, name, _ := strings.Cut(method, ".")
	switch space {
	case "system":
		return systemRow(name)
	case "agent":
		return agentRow(name)
	case "chat":
		return chatRow(name)
	case "tool":
		return toolRow(name)
	case "config", "sandbox", "trace":
		return describeRow(method)
	case "lifecycle", "stream":
		return notificationRow(method)
	case "approval", "host":
		return reverseRow(method)
	}
	return row{}
}

// systemRow has the methods under system, which every host calls first and last.
func systemRow(name string) row {
	switch name {
	case "ping":
		return row{params: "sidecar/SystemParams", result: "sidecar/SidecarHealth"}
	case "shutdown", "shutdown_now":
		return row{params: "sidecar/SystemParams", result: "sidecar/ShutdownResult"}
	}
	return row{}
}

// agentRow has the methods under agent: sessions and, one level deeper, chats.
func agentRow(name string) row {
	if chat, ok := strings.CutPrefix(name, "chat."); ok {
		return chatRow(chat)
	}
	switch name {
	case "session.create":
		return row{params: "runtime/SessionCreateParams", result: "runtime/AgentSession"}
	case "session.resume":
		return row{params: "runtime/SessionResumeParams", result: "runtime/AgentSession"}
	case "session.list":
		return row{params: "runtime/SessionListParams", result: "runtime/SessionListResult"}
	}
	return row{}
}

// chatRow has the methods of chats, under agent.chat and under chat alike.
func chatRow(name string) row {
	switch name {
	case "stream":
		return row{params: "chat/ChatStreamParams", result: "chat/ChatStreamResult"}
	case "cancel":
		return row{params: "chat/ChatCancelParams", result: "chat/ChatCancelResult"}
	case "steer":
		return row{params: "chat/ChatSteerParams", result: "chat/ChatSteerResult"}
	}
	return row{}
}

// toolRow has the methods under tool. tool.invoke is called in both directions:
// hosts run tools of the sidecar with it, and the sidecar runs tools of the host.
func toolRow(name string) row {
	switch name {
	case "list":
		return row{params: "tools/ToolListParams", result: "tools/ToolListResult"}
	case "invoke":
		return row{
			params: "tools/ToolInvokeParams", result: "tools/ToolResult",
			reverseParams: "tools/ToolInvokeCall", reverseResult: "tools/ToolInvokeReply",
		}
	}
	return row{}
}

// describeRow has the methods that tell about the process and its past turns.
func describeRow(method string) row {
	switch method {
	case "config.get":
		return row{params: "sidecar/ConfigGetParams", result: "sidecar/ConfigResult"}
	case "config.set":
		return row{params: "sidecar/ConfigSetParams", result: "sidecar/ConfigResult"}
	case "sandbox.describe":
		return row{params: "runtime/SandboxDescribeParams", result: "runtime/SandboxDescribeResult"}
	case "trace.fetch":
		return row{params: "runtime/TraceFetchParams", result: "runtime/TraceFetchResult"}
	}
	return row{}
}

// notificationRow has what the sidecar sends without expecting an answer.
func notificationRow(method string) row {
	switch method {
	case "lifecycle.ready":
		return row{notification: "sidecar/LifecycleReady"}
	case "lifecycle.shutdown":
		return row{notification: "sidecar/LifecycleShutdown"}
	case "stream.chunk":
		return row{notification: "events/StreamChunk"}
	case "stream.done":
		return row{notification: "events/StreamDone"}
	case "stream.error":
		return row{notification: "events/StreamError"}
	}
	return row{}
}

// reverseRow has what the sidecar asks of the host, beside tool.invoke.
func reverseRow(method string) row {
	switch method {
	case "approval.request":
		return row{reverseParams: "safety/ApprovalRequest", reverseResult: "safety/ApprovalDecision"}
	case "approval.resolved":
		return row{notification: "safety/ApprovalResolved"}
	case "host.process.spawn":
		return row{reverseParams: "host/ProcessSpawnParams", reverseResult: "host/ProcessSpawnReply"}
	}
	return row{}
}
