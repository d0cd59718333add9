package sidecar

import (
	"encoding/json"

	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/protocol"
)

// hostMessage is one entry of the history, in the host's words.
type hostMessage struct {
	Role             llm.Role        `json:"role"`
	Content          json.RawMessage `json:"content"`
	Parts            json.RawMessage `json:"parts"`
	Name             string          `json:"name"`
	ToolCallID       string          `json:"toolCallId"`
	ToolCalls        []hostCall      `json:"toolCalls"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningContent json.RawMessage `json:"reasoningContent"`
}

// hostCall is a tool call of the history, in our form or in that of the
// chat-completions interface.
type hostCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Function  struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// parseMessages reads the history.
func parseMessages(p *protocol.ChatStreamParams, spec *turnSpec) error {
	if len(p.Messages) == 0 {
		return protocol.InvalidParams("messages must hold at least one message")
	}
	messages := make([]llm.Message, 0, len(p.Messages)+8)
	for i, raw := range p.Messages {
		var m hostMessage
		if err := protocol.Decode(raw, &m); err != nil {
			return protocol.InvalidParams("messages[%d]: %s", i, err)
		}
		switch m.Role {
		case llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool:
		default:
			return protocol.InvalidParams("messages[%d]: invalid role %q", i, m.Role)
		}
		if i == 0 && m.Role == llm.RoleSystem && p.SystemPrompt != "" {
			return protocol.InvalidParams("systemPrompt cannot be combined with a leading system message")
		}
		messages = append(messages, m.convert())
	}
	if p.SystemPrompt != "" {
		system := llm.Message{Role: llm.RoleSystem, Content: protocol.AppendString(nil, p.SystemPrompt)}
		messages = append([]llm.Message{system}, messages...)
	}
	spec.options.Request.Messages = messages
	return nil
}

func (m *hostMessage) convert() llm.Message {
	out := llm.Message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID}
	out.Content, out.Parts = present(m.Content), present(m.Parts)
	if out.Content == nil && out.Parts == nil {
		out.Content = json.RawMessage(`""`)
	}
	out.Reasoning = present(m.Reasoning)
	if out.Reasoning == nil {
		out.Reasoning = present(m.ReasoningContent)
	}
	for _, c := range m.ToolCalls {
		call := llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments}
		if call.Name == "" {
			call.Name, call.Arguments = c.Function.Name, c.Function.Arguments
		}
		call.Arguments = objectArguments(call.Arguments)
		out.ToolCalls = append(out.ToolCalls, call)
	}
	return out
}

// objectArguments returns arguments as an object: the chat-completions form
// carries them in a string. What is neither is sent as it is empty, since a
// server would refuse the whole history for it.
func objectArguments(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) == nil && json.Valid([]byte(text)) {
			raw = json.RawMessage(text)
		}
	}
	if len(raw) == 0 || raw[0] != '{' {
		return json.RawMessage("{}")
	}
	return raw
}

// present returns nil for an absent or null member.
func present(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}
