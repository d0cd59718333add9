package llm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// anthropicVersion is the only version of the messages API.
const anthropicVersion = "2023-06-01"

// anthropicMaxTokens stands where a request names no limit: the API demands one.
const anthropicMaxTokens = 8192

// anthropic is the messages API.
type anthropic struct {
	key string
}

// setHeader implements dialect.
func (p *anthropic) setHeader(h http.Header) {
	h.Set("Anthropic-Version", anthropicVersion)
	if p.key != "" {
		h.Set("X-Api-Key", p.key)
	}
}

// decoder implements dialect.
func (p *anthropic) decoder(a *assembly) decoder {
	return &anthropicDecoder{a: a}
}

// encode implements dialect.
func (p *anthropic) encode(req *Request) (body []byte, warnings []string, err error) {
	if req.Model == "" {
		return nil, nil, errNoModel
	}
	b := make([]byte, 0, bodySize(req))
	b = append(b, `{"model":`...)
	b = AppendQuoted(b, []byte(req.Model))
	limit := anthropicMaxTokens
	if req.MaxTokens != nil {
		limit = *req.MaxTokens
	}
	b = strconv.AppendInt(appendName(b, "max_tokens"), int64(limit), 10)
	b = append(b, `,"stream":true`...)
	if b, err = appendSystem(b, req.Messages); err != nil {
		return nil, nil, err
	}
	w := anthropicWriter{b: append(b, `,"messages":[`...)}
	for i := range req.Messages {
		if err := w.message(&req.Messages[i]); err != nil {
			return nil, nil, err
		}
	}
	b = append(w.close(), ']')
	if b, err = appendAnthropicTools(b, req); err != nil {
		return nil, nil, err
	}
	if req.Temperature != nil {
		b = appendTemperature(appendName(b, "temperature"), *req.Temperature)
	}
	if req.ReasoningEffort != "" {
		warnings = append(warnings, "the messages API takes no reasoning effort; it was left out")
	}
	b, err = appendExtra(b, req.Extra, []string{
		"model", "messages", "stream", "system", "max_tokens", "tools", "tool_choice", "temperature",
	})
	if err != nil {
		return nil, nil, err
	}
	return append(b, '}'), warnings, nil
}

// appendSystem appends the texts of all system messages, which the API keeps
// apart from the transcript.
func appendSystem(b []byte, messages []Message) ([]byte, error) {
	sep := `,"system":[`
	for i := range messages {
		m := &messages[i]
		if m.Role != RoleSystem {
			continue
		}
		parts, err := messageParts(m)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if isBlank(p.text) {
				continue
			}
			b = append(append(b, sep...), `{"type":"text","text":`...)
			b = append(append(b, p.text...), '}')
			sep = ","
		}
	}
	if sep == "," {
		b = append(b, ']')
	}
	return b, nil
}

// messageParts returns a message's content as parts.
func messageParts(m *Message) ([]part, error) {
	if len(m.Parts) > 0 {
		return parseParts(m.Parts)
	}
	content, err := stringOrEmpty(m.Content)
	if err != nil {
		return nil, err
	}
	return []part{{text: content}}, nil
}

// isBlank says whether a literal holds nothing but white space. The API refuses
// blocks of such text. No part of an image is blank text.
func isBlank(quoted []byte) bool {
	return quoted == nil || len(quoted) < 64 && strings.TrimSpace(unquote(quoted)) == ""
}

// anthropicWriter writes messages. The API wants user and assistant to take
// turns, and tool results to be blocks of a user message, so neighbours are
// merged.
type anthropicWriter struct {
	b    []byte
	role string // of the message that is open
}

// block prepares for one more block of a role.
func (w *anthropicWriter) block(role string) {
	if w.role == role {
		w.b = append(w.b, ',')
		return
	}
	if w.role != "" {
		w.b = append(w.close(), ',')
	}
	w.role = role
	w.b = append(w.b, `{"role":"`...)
	w.b = append(w.b, role...)
	w.b = append(w.b, `","content":[`...)
}

// close ends the message that is open, if any.
func (w *anthropicWriter) close() []byte {
	if w.role != "" {
		w.b = append(w.b, ']', '}')
	}
	return w.b
}

// message writes one message.
func (w *anthropicWriter) message(m *Message) error {
	switch m.Role {
	case RoleSystem:
		return nil
	case RoleTool:
		return w.toolResult(m)
	case RoleUser:
		return w.content("user", m)
	case RoleAssistant:
	}
	c := cursor{b: memberOf(m.Opaque, opaqueAnthropic)}
	if len(c.b) > 0 {
		for c.array(); c.element(); {
			raw := c.value()
			w.block("assistant")
			w.b = append(w.b, raw...)
		}
	}
	if err := w.content("assistant", m); err != nil {
		return err
	}
	for i := range m.ToolCalls {
		w.toolUse(&m.ToolCalls[i])
	}
	return nil
}

// content writes the text and images of a message.
func (w *anthropicWriter) content(role string, m *Message) error {
	parts, err := messageParts(m)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.text != nil && isBlank(p.text) {
			continue
		}
		w.block(role)
		w.b = appendAnthropicPart(w.b, p)
	}
	return nil
}

// toolUse writes a tool call.
func (w *anthropicWriter) toolUse(c *ToolCall) {
	w.block("assistant")
	w.b = append(w.b, `{"type":"tool_use","id":`...)
	w.b = appendAnthropicID(w.b, c.ID)
	w.b = append(w.b, `,"name":`...)
	w.b = AppendQuoted(w.b, []byte(c.Name))
	w.b = append(w.b, `,"input":`...)
	if len(c.Arguments) == 0 {
		w.b = append(w.b, `{}`...) // as for appendOpenAICall
	} else {
		w.b = append(w.b, c.Arguments...)
	}
	w.b = append(w.b, '}')
}

// toolResult writes a tool message.
func (w *anthropicWriter) toolResult(m *Message) error {
	parts, err := messageParts(m)
	if err != nil {
		return err
	}
	w.block("user")
	w.b = append(w.b, `{"type":"tool_result","tool_use_id":`...)
	w.b = appendAnthropicID(w.b, m.ToolCallID)
	sep := `,"content":[`
	for _, p := range parts {
		if p.text != nil && isBlank(p.text) {
			continue
		}
		w.b = append(w.b, sep...)
		w.b = appendAnthropicPart(w.b, p)
		sep = ","
	}
	if sep == "," {
		w.b = append(w.b, ']')
	}
	w.b = append(w.b, '}')
	return nil
}

// appendAnthropicPart appends a content block.
func appendAnthropicPart(b []byte, p part) []byte {
	switch {
	case p.text != nil:
		b = append(append(b, `{"type":"text","text":`...), p.text...)
		return append(b, '}')
	case p.url != nil:
		b = append(append(b, `{"type":"image","source":{"type":"url","url":`...), p.url...)
		return append(b, '}', '}')
	}
	b = append(append(b, `{"type":"image","source":{"type":"base64","media_type":`...), p.media...)
	b = append(append(b, `,"data":`...), p.data...)
	return append(b, '}', '}')
}

// appendAnthropicID appends an id in the characters that the API allows. Ids of
// other servers have more, and a transcript may have begun elsewhere.
func appendAnthropicID(b []byte, id string) []byte {
	b = append(b, '"')
	for i := range len(id) {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			c = '_'
		}
		b = append(b, c)
	}
	return append(b, '"')
}

// appendAnthropicTools appends the tools and the choice among them.
func appendAnthropicTools(b []byte, req *Request) ([]byte, error) {
	tools := bytes.TrimSpace(req.Tools)
	if some, err := hasTools(tools); !some {
		return b, err
	}
	sep := `,"tools":[`
	c := cursor{b: tools}
	for c.array(); c.element(); {
		tool := c.value()
		function := memberOf(tool, "function")
		if function == nil {
			function = tool
		}
		b = append(append(b, sep...), `{"name":`...)
		b = append(b, orElse(memberOf(function, "name"), `""`)...)
		if description := memberOf(function, "description"); isText(description) {
			b = append(appendName(b, "description"), description...)
		}
		b = append(appendName(b, "input_schema"), orElse(memberOf(function, "parameters"), `{"type":"object"}`)...)
		b = append(b, '}')
		sep = ","
	}
	if !c.end() {
		return nil, errBadTools
	}
	return appendAnthropicChoice(append(b, ']'), req.ToolChoice), nil
}

// appendAnthropicChoice translates an OpenAI tool choice.
func appendAnthropicChoice(b []byte, choice json.RawMessage) []byte {
	switch choice = bytes.TrimSpace(choice); {
	case isNull(choice):
		return b
	case string(choice) == `"required"`:
		return append(b, `,"tool_choice":{"type":"any"}`...)
	case string(choice) == `"none"`:
		return append(b, `,"tool_choice":{"type":"none"}`...)
	}
	if name := memberOf(memberOf(choice, "function"), "name"); isText(name) {
		b = append(append(b, `,"tool_choice":{"type":"tool","name":`...), name...)
		return append(b, '}')
	}
	return append(b, `,"tool_choice":{"type":"auto"}`...)
}

// orElse returns raw, or other if raw is absent or null.
func orElse(raw []byte, other string) []byte {
	if isNull(raw) {
		return []byte(other)
	}
	return raw
}
