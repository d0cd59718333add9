package protocol

import "encoding/json"

// SessionCreateParams is the params of agent.session.create.
type SessionCreateParams struct {
	ChatID       string          `json:"chatId"`
	SessionID    string          `json:"sessionId,omitempty"`
	UserID       string          `json:"userId,omitempty"`       // default "local"
	CurrentStage string          `json:"currentStage,omitempty"` // default "plan"
	Scenario     string          `json:"scenario,omitempty"`     // default "agent-entry"
	StageData    json.RawMessage `json:"stageData,omitempty"`
	ProjectID    string          `json:"projectId,omitempty"`
}

// Session is the result of agent.session.create and resume.
type Session struct {
	SessionID    string          `json:"sessionId"`
	UserID       string          `json:"userId"`
	ChatID       string          `json:"chatId"`
	CurrentStage string          `json:"currentStage"`
	Scenario     string          `json:"scenario"`
	IsActive     bool            `json:"isActive"`
	CreatedAt    string          `json:"createdAt"` // RFC 3339, UTC
	UpdatedAt    string          `json:"updatedAt"` // RFC 3339, UTC
	StageData    json.RawMessage `json:"stageData,omitempty"`
	ProjectID    string          `json:"projectId,omitempty"`
}

// SessionResumeParams is the params of agent.session.resume.
type SessionResumeParams struct {
	SessionID string `json:"sessionId"`
}

// SessionListParams is the params of agent.session.list; empty members do not
// filter.
type SessionListParams struct {
	UserID     string `json:"userId,omitempty"`
	ChatID     string `json:"chatId,omitempty"`
	ActiveOnly bool   `json:"activeOnly,omitempty"`
}

// TraceFetchParams is the params of trace.fetch.
type TraceFetchParams struct {
	TraceID string `json:"traceId"`
}

// Trace is the result of trace.fetch: one span for each round and each tool
// call of a turn.
type Trace struct {
	Trace  TraceInfo         `json:"trace"`
	Spans  []Span            `json:"spans"`
	Events []json.RawMessage `json:"events"`
}

// TraceInfo describes the turn as a whole.
type TraceInfo struct {
	ID       string `json:"id"`
	StreamID string `json:"streamId"`
	ChatID   string `json:"chatId,omitempty"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"`
	StartMs  int64  `json:"startMs"` // Unix time in milliseconds
	EndMs    int64  `json:"endMs,omitempty"`
}

// Span is a round or a tool call.
type Span struct {
	ID       string    `json:"id"`
	ParentID string    `json:"parentId,omitempty"`
	Name     string    `json:"name"`
	StartMs  int64     `json:"startMs"`
	EndMs    int64     `json:"endMs"`
	Attrs    SpanAttrs `json:"attrs"`
}

// SpanAttrs are the facts about a tool call; a round has none.
type SpanAttrs struct {
	CallID   string `json:"callId,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Decision string `json:"decision,omitempty"` // allowed, denied, …
	Sandbox  string `json:"sandbox,omitempty"`  // <backend>/<enforcement>
	Error    string `json:"error,omitempty"`
}
