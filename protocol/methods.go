package protocol

// Methods that a host calls.
const (
	MethodPing          = "system.ping"
	MethodShutdown      = "system.shutdown"
	MethodShutdownNow   = "system.shutdown_now"
	MethodSessionCreate = "agent.session.create"
	MethodSessionResume = "agent.session.resume"
	MethodSessionList   = "agent.session.list"
	MethodChatStream    = "agent.chat.stream"
	MethodChatCancel    = "agent.chat.cancel"
	MethodChatSteer     = "agent.chat.steer"
	MethodToolList      = "tool.list"
	MethodToolInvoke    = "tool.invoke" // also a reverse call
	MethodConfigGet     = "config.get"
	MethodConfigSet     = "config.set"
	MethodDescribe      = "sandbox.describe"
	MethodTraceFetch    = "trace.fetch"
)

// Short names that are the same methods.
const (
	AliasChatStream = "chat.stream"
	AliasChatCancel = "chat.cancel"
	AliasChatSteer  = "chat.steer"
)

// Reverse calls, which the sidecar makes to the host.
const (
	ReverseToolInvoke = MethodToolInvoke
	ReverseSpawn      = "host.process.spawn"
	ReverseApproval   = "approval.request"
)

// Notifications that the sidecar sends.
const (
	NotifyReady            = "lifecycle.ready"
	NotifyShutdown         = "lifecycle.shutdown"
	NotifyChunk            = "stream.chunk"
	NotifyDone             = "stream.done"
	NotifyError            = "stream.error"
	NotifyApprovalResolved = "approval.resolved"
)

// ProtocolVersion is the version of the wire contract; it is part of every
// schema's $id. A host compares the major part.
const ProtocolVersion = "0.1.0"

// ReadyMarker begins the line on standard error that desktop supervisors wait
// for; the health object follows it.
const ReadyMarker = "__SIDECAR_READY__:"
