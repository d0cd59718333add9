package llm

import (
	"bytes"
	"net/http"
	"strconv"
)

// openAI is the chat-completions API.
type openAI struct {
	key    string
	compat compat
}

// setHeader implements dialect.
func (o *openAI) setHeader(h http.Header) {
	if o.key != "" {
		h.Set("Authorization", "Bearer "+o.key)
	}
}

// decoder implements dialect.
func (o *openAI) decoder(a *assembly) decoder {
	return &openAIDecoder{a: a, compat: &o.compat}
}

// encode implements dialect.
func (o *openAI) encode(req *Request) (body []byte, warnings []string, err error) {
	if req.Model == "" {
		return nil, nil, errNoModel
	}
	b := make([]byte, 0, bodySize(req))
	b = append(b, `{"model":`...)
	b = AppendQuoted(b, []byte(req.Model))
	b = append(b, `,"messages":[`...)
	for i := range req.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = o.appendMessage(b, &req.Messages[i]); err != nil {
			return nil, nil, err
		}
	}
	b = append(b, `],"stream":true`...)
	if o.compat.supportsUsageInStreaming {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	if b, err = o.appendTools(b, req); err != nil {
		return nil, nil, err
	}
	b, warnings = o.appendOptions(b, req)
	b, err = appendExtra(b, req.Extra, []string{
		"model", "messages", "stream", "stream_options", "tools", "tool_choice",
		"temperature", "max_tokens", "max_completion_tokens", "reasoning_effort", "n",
	})
	if err != nil {
		return nil, nil, err
	}
	return append(b, '}'), warnings, nil
}

// appendTools appends the tools and the choice among them.
func (o *openAI) appendTools(b []byte, req *Request) ([]byte, error) {
	tools, choice := bytes.TrimSpace(req.Tools), bytes.TrimSpace(req.ToolChoice)
	if some, err := hasTools(tools); !some {
		return b, err
	}
	b = append(appendName(b, "tools"), tools...)
	switch {
	case isNull(choice):
	case !o.compat.supportsForcedToolChoice && string(choice) != `"none"`:
		b = append(b, `,"tool_choice":"auto"`...)
	default:
		b = append(appendName(b, "tool_choice"), choice...)
	}
	return b, nil
}

// appendOptions appends what the vendor accepts, and says what it does not.
func (o *openAI) appendOptions(b []byte, req *Request) (out []byte, warnings []string) {
	if req.Temperature != nil {
		if o.compat.supportsTemperature {
			b = appendTemperature(appendName(b, "temperature"), *req.Temperature)
		} else {
			warnings = append(warnings, "the vendor takes no temperature; it was left out")
		}
	}
	if req.MaxTokens != nil {
		b = strconv.AppendInt(appendName(b, o.compat.maxTokensField), int64(*req.MaxTokens), 10)
	}
	if req.ReasoningEffort == "" {
		return b, warnings
	}
	if !o.compat.supportsReasoningEffort {
		return b, append(warnings, "the vendor takes no reasoning effort; it was left out")
	}
	effort := Quote(req.ReasoningEffort)
	b = append(appendName(b, "reasoning_effort"), effort...)
	if o.compat.effortObject {
		b = append(append(append(b, `,"reasoning":{"effort":`...), effort...), '}')
	}
	return b, warnings
}

// appendMessage appends one message.
func (o *openAI) appendMessage(b []byte, m *Message) ([]byte, error) {
	b = append(b, `{"role":`...)
	b = AppendQuoted(b, []byte(m.Role))
	b, err := appendContent(appendName(b, "content"), m)
	if err != nil {
		return nil, err
	}
	if m.Name != "" && m.Role != RoleTool { // tool messages have an id in place of a name
		b = AppendQuoted(appendName(b, "name"), []byte(m.Name))
	}
	if m.ToolCallID != "" {
		b = AppendQuoted(appendName(b, "tool_call_id"), []byte(m.ToolCallID))
	}
	for i := range m.ToolCalls {
		if i == 0 {
			b = append(appendName(b, "tool_calls"), '[')
		} else {
			b = append(b, ',')
		}
		b = appendOpenAICall(b, &m.ToolCalls[i])
	}
	if len(m.ToolCalls) > 0 {
		b = append(b, ']')
	}
	if m.Role == RoleAssistant {
		b = o.appendReasoning(b, m)
	}
	return append(b, '}'), nil
}

// appendReasoning gives the vendor back its reasoning.
func (o *openAI) appendReasoning(b []byte, m *Message) []byte {
	if details := memberOf(m.Opaque, opaqueDetails); details != nil {
		return append(appendName(b, "reasoning_details"), details...)
	}
	if o.compat.reasoningEchoField == "" || len(m.ToolCalls) == 0 {
		return b
	}
	switch {
	case isText(m.Reasoning):
		b = append(appendName(b, o.compat.reasoningEchoField), m.Reasoning...)
	case o.compat.echoEmptyReasoningForToolCalls:
		b = append(appendName(b, o.compat.reasoningEchoField), `""`...)
	}
	return b
}

// appendContent appends a message's content. Text alone is always one string,
// which the simplest servers understand.
func appendContent(b []byte, m *Message) ([]byte, error) {
	if len(m.Parts) > 0 {
		return appendOpenAIParts(b, m)
	}
	if isNull(m.Content) && len(m.ToolCalls) > 0 {
		return append(b, `null`...), nil
	}
	content, err := stringOrEmpty(m.Content)
	if err != nil {
		return nil, err
	}
	return append(b, content...), nil
}

// appendOpenAIParts appends content that has parts.
func appendOpenAIParts(b []byte, m *Message) ([]byte, error) {
	parts, err := parseParts(m.Parts)
	if err != nil {
		return nil, err
	}
	if onlyText(parts) {
		b = append(b, '"')
		for _, p := range parts {
			b = append(b, inside(p.text)...)
		}
		return append(b, '"'), nil
	}
	b = append(b, '[')
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case p.text != nil:
			b = append(append(b, `{"type":"text","text":`...), p.text...)
			b = append(b, '}')
		case p.url != nil:
			b = append(append(b, `{"type":"image_url","image_url":{"url":`...), p.url...)
			b = append(b, '}', '}')
		default:
			b = append(append(b, `{"type":"image_url","image_url":{"url":"data:`...), inside(p.media)...)
			b = append(append(b, `;base64,`...), inside(p.data)...)
			b = append(b, '"', '}', '}')
		}
	}
	return append(b, ']'), nil
}

// onlyText says whether there is no image among the parts.
func onlyText(parts []part) bool {
	for _, p := range parts {
		if p.text == nil {
			return false
		}
	}
	return true
}

// appendOpenAICall appends a tool call. Arguments that did not parse go back as
// an empty object: some servers parse the history and refuse it otherwise, and
// the tool message tells the model what was wrong.
func appendOpenAICall(b []byte, c *ToolCall) []byte {
	b = append(b, `{"id":`...)
	b = AppendQuoted(b, []byte(c.ID))
	b = append(b, `,"type":"function","function":{"name":`...)
	b = AppendQuoted(b, []byte(c.Name))
	b = appendName(b, "arguments")
	if len(c.Arguments) == 0 {
		b = append(b, `"{}"`...)
	} else {
		b = AppendQuoted(b, c.Arguments)
	}
	b = appendMembers(b, memberOf(c.Extra, "function"), "")
	b = append(b, '}')
	b = appendMembers(b, c.Extra, "function")
	return append(b, '}')
}

// appendMembers appends the members of an object, except one.
func appendMembers(b, object []byte, except string) []byte {
	if len(object) == 0 || object[0] != '{' {
		return b
	}
	c := cursor{b: object}
	for c.object(); c.member(); {
		key := c.key
		value := c.value()
		if string(key) == except {
			continue
		}
		b = AppendQuoted(append(b, ','), key)
		b = append(append(b, ':'), value...)
	}
	return b
}
