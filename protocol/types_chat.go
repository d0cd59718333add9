package protocol

import "encoding/json"

// ChatStreamParams is the params of agent.chat.stream. Members that a layer
// decodes itself are left encoded.
type ChatStreamParams struct {
	Provider        string            `json:"provider,omitempty"`
	Model           string            `json:"model,omitempty"`
	Messages        []json.RawMessage `json:"messages,omitempty"`
	BaseURL         string            `json:"baseUrl,omitempty"`
	BaseURLSnake    string            `json:"base_url,omitempty"`
	APIKey          string            `json:"apiKey,omitempty"`
	APIKeySnake     string            `json:"api_key,omitempty"`
	Temperature     json.RawMessage   `json:"temperature,omitempty"`
	MaxTokens       *int              `json:"maxTokens,omitempty"`
	ReasoningEffort string            `json:"reasoningEffort,omitempty"`
	Compat          json.RawMessage   `json:"compat,omitempty"`
	ProviderOptions json.RawMessage   `json:"providerOptions,omitempty"`
	StreamID        string            `json:"streamId,omitempty"`
	UseCoreLoop     *bool             `json:"useCoreLoop,omitempty"`
	ContentMode     string            `json:"contentMode,omitempty"` // all or final
	SystemPrompt    string            `json:"systemPrompt,omitempty"`
	ChatID          string            `json:"chatId,omitempty"`
	SessionID       string            `json:"sessionId,omitempty"`
	ProjectRoot     string            `json:"projectRoot,omitempty"`
	ToolContext     json.RawMessage   `json:"toolContext,omitempty"`
	Tools           json.RawMessage   `json:"tools,omitempty"`
	ToolsViaHost    bool              `json:"toolsViaHost,omitempty"`
	ToolFilter      []string          `json:"toolFilter,omitempty"`
	ExecSandbox     json.RawMessage   `json:"execSandbox,omitempty"`
	Approval        json.RawMessage   `json:"approval,omitempty"`
	Authz           json.RawMessage   `json:"authz,omitempty"`
	Safety          json.RawMessage   `json:"safety,omitempty"`
	HostCaps        json.RawMessage   `json:"hostCapabilities,omitempty"`
	MaxRounds       *int              `json:"maxRounds,omitempty"`
	MaxToolErrors   *int              `json:"maxToolErrors,omitempty"`
	MaxToolCalls    *int              `json:"budgetMaxToolCalls,omitempty"`
	BudgetTokens    *int64            `json:"budgetTokens,omitempty"`
	MaxContext      *int64            `json:"maxContextTokens,omitempty"`
	ToolTimeoutMs   *int64            `json:"toolTimeoutMs,omitempty"`
	SoftTimeoutMs   *int64            `json:"softTimeoutMs,omitempty"`
	HardTimeoutMs   *int64            `json:"hardTimeoutMs,omitempty"`
	IdleTimeoutMs   *int64            `json:"idleTimeoutMs,omitempty"`
	SteerMode       string            `json:"steerMode,omitempty"` // boundary or interrupt
	ToolDedup       bool              `json:"toolDedup,omitempty"`
	DoomLoop        *DoomLoop         `json:"doomLoop,omitempty"`
	RawChunks       bool              `json:"streamRawChunks,omitempty"`
	Resume          bool              `json:"resume,omitempty"`
}

// DoomLoop asks for detection of a model that repeats one call: after Warn
// equal calls in a row the model is told, after Halt the turn fails. 0 turns
// the step off.
type DoomLoop struct {
	Warn int `json:"warn,omitempty"`
	Halt int `json:"halt,omitempty"`
}

// ChatStreamResult is the result of agent.chat.stream.
type ChatStreamResult struct {
	StreamID string `json:"streamId"`
}

// ChatCancelParams is the params of agent.chat.cancel.
type ChatCancelParams struct {
	StreamID string `json:"streamId"`
}

// ChatSteerParams is the params of agent.chat.steer. Content has at most
// 32,000 characters.
type ChatSteerParams struct {
	StreamID string `json:"streamId"`
	Content  string `json:"content"`
}

// ChatSteerResult is the result of agent.chat.steer. Hosts check either
// member, so both are sent.
type ChatSteerResult struct {
	OK       bool   `json:"ok"`
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason,omitempty"`
}

// ChunkResult is the toolResult member of a stream.chunk.
type ChunkResult struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Success       bool            `json:"success"`
	DurationMs    int64           `json:"durationMs,omitempty"`
	Error         string          `json:"error,omitempty"`
	ResultPreview string          `json:"resultPreview,omitempty"` // at most 300 characters and an ellipsis
	Sandbox       json.RawMessage `json:"sandbox,omitempty"`
	Safety        json.RawMessage `json:"safety,omitempty"`
	Approval      json.RawMessage `json:"approval,omitempty"`
}

// AppendJSON implements [Appender].
func (r *ChunkResult) AppendJSON(dst []byte) []byte {
	dst = AppendString(append(dst, `{"id":`...), r.ID)
	dst = AppendString(append(dst, `,"name":`...), r.Name)
	dst = appendBool(append(dst, `,"success":`...), r.Success)
	if r.DurationMs > 0 {
		dst = appendInt(append(dst, `,"durationMs":`...), r.DurationMs)
	}
	dst = appendText(dst, `,"error":`, r.Error)
	dst = appendText(dst, `,"resultPreview":`, r.ResultPreview)
	for _, m := range []struct {
		key string
		raw json.RawMessage
	}{{`,"sandbox":`, r.Sandbox}, {`,"safety":`, r.Safety}, {`,"approval":`, r.Approval}} {
		if len(m.raw) > 0 {
			dst = append(append(dst, m.key...), m.raw...)
		}
	}
	return append(dst, '}')
}

// Usage counts tokens. Estimated says that the provider reported none.
type Usage struct {
	PromptTokens       int64   `json:"promptTokens"`
	CompletionTokens   int64   `json:"completionTokens"`
	TotalTokens        int64   `json:"totalTokens"`
	CachedPromptTokens int64   `json:"cachedPromptTokens,omitempty"`
	CostUSD            float64 `json:"costUsd,omitempty"`
	Estimated          bool    `json:"estimated,omitempty"`
}

// Done is the params of stream.done, the only and last terminal of a stream.
type Done struct {
	StreamID  string `json:"streamId"`
	OK        bool   `json:"ok"`
	Status    string `json:"status"` // completed, failed, cancelled, budget_exhausted or waiting_user
	Reason    string `json:"reason,omitempty"`
	TraceID   string `json:"traceId,omitempty"`
	Cancelled bool   `json:"cancelled,omitempty"`
	Aborted   bool   `json:"aborted,omitempty"`
	Usage     *Usage `json:"usage,omitempty"`
}

// StreamError is the params of stream.error, which stands right before the
// stream.done of a failed stream.
type StreamError struct {
	StreamID string `json:"streamId"`
	Kind     string `json:"kind"`
	Message  string `json:"message"`
	TraceID  string `json:"traceId,omitempty"`
}
