package llm

import (
	"errors"
	"strconv"
)

// errMalformed says that a payload is not the JSON it started as.
var errMalformed = errors.New("malformed JSON")

// openAIDecoder reads chat-completion chunks:
//
//	{"choices":[{"delta":{"content":"Hel"},"finish_reason":null}]}
//	{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}}]}
//	{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}
//	{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}
//	{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}
//	[DONE]
//
// Hardly any server sends exactly this. What they send instead is listed in the
// tests: TestToolCallQuirks, TestArguments, TestTextAndFinish, TestInBandErrors.
type openAIDecoder struct {
	a       *assembly
	compat  *compat
	chunk   openAIChunk
	details details
}

// openAIChunk is one chunk, split into raw values. A chunk is split as a whole
// before any of it is used, so that a malformed one leaves no trace.
type openAIChunk struct {
	usage       []byte
	choiceUsage []byte
	finish      []byte
	choiceError []byte
	delta       openAIDelta
	hasChoice   bool
	suspect     bool // a member that may mean an error is present
}

// openAIDelta is the part of a chunk that brings something new.
type openAIDelta struct {
	present      bool
	content      []byte
	refusal      []byte
	reasoning    []byte // of the vendor's fields the one preferred
	rank         int    // its place in the order of preference
	details      []byte
	toolCalls    []byte
	functionCall []byte
}

// event takes one chunk.
func (d *openAIDecoder) event(_, payload []byte) error {
	d.chunk = openAIChunk{}
	if !d.split(payload) {
		return errMalformed
	}
	if err := d.apply(); err != nil {
		return err
	}
	return d.inBandError(payload)
}

// whole takes a completion that came in one piece.
func (d *openAIDecoder) whole(payload []byte) error {
	if err := d.event(nil, payload); err != nil {
		return err
	}
	if !d.chunk.hasChoice {
		return newError(KindUnknown, "the JSON reply is neither a completion nor an error")
	}
	d.a.ended = true
	return nil
}

// finish completes the reply.
func (d *openAIDecoder) finish() {
	if raw := d.details.encode(); raw != nil {
		d.a.opaque = raw
	}
}

// split fills in d.chunk.
func (d *openAIDecoder) split(payload []byte) bool {
	c := cursor{b: payload}
	ch := &d.chunk
	for c.object(); c.member(); {
		switch string(c.key) {
		case "choices":
			d.splitChoices(&c)
		case "usage":
			ch.usage = c.value()
		case "object":
			ch.suspect = string(c.value()) == `"error"` || ch.suspect
		case "error", "detail", "error_type", "error_message", "code", "message", "msg":
			ch.suspect = !isNull(c.value()) || ch.suspect
		default:
			c.value()
		}
	}
	return c.end()
}

// splitChoices reads the first choice; only one is ever asked for.
func (d *openAIDecoder) splitChoices(c *cursor) {
	if c.peek() != '[' {
		c.value()
		return
	}
	// Of a repeated member the last counts, as everywhere.
	d.chunk = openAIChunk{usage: d.chunk.usage, suspect: d.chunk.suspect}
	for c.array(); c.element(); {
		if d.chunk.hasChoice || c.peek() != '{' {
			c.value()
			continue
		}
		d.chunk.hasChoice = true
		d.splitChoice(c)
	}
}

// splitChoice reads one choice.
func (d *openAIDecoder) splitChoice(c *cursor) {
	ch := &d.chunk
	var message []byte
	for c.object(); c.member(); {
		switch string(c.key) {
		case "delta":
			d.splitDelta(c)
		case "message":
			message = c.value()
		case "finish_reason":
			ch.finish = c.value()
		case "usage":
			ch.choiceUsage = c.value()
		case "error":
			ch.choiceError = c.value()
		default:
			c.value()
		}
	}
	// A whole message stands where a server does not stream. Some servers repeat
	// it at the end of a stream, where it must not be read again.
	if !ch.delta.present && len(message) > 0 && message[0] == '{' && d.untouched() {
		inner := cursor{b: message}
		d.splitDelta(&inner)
	}
}

// untouched says whether nothing has arrived so far.
func (d *openAIDecoder) untouched() bool {
	return d.a.text.joined == nil && d.a.reasoning.joined == nil && len(d.a.calls.list) == 0
}

// splitDelta reads what is new in a choice.
func (d *openAIDecoder) splitDelta(c *cursor) {
	if c.peek() != '{' {
		c.value()
		return
	}
	d.chunk.delta = openAIDelta{present: true}
	delta := &d.chunk.delta
	for c.object(); c.member(); {
		switch string(c.key) {
		case "content":
			delta.content = c.value()
		case "role":
			c.value()
		case "refusal":
			delta.refusal = c.value()
		case "tool_calls":
			delta.toolCalls = c.value()
		case "function_call":
			delta.functionCall = c.value()
		case "reasoning_details":
			delta.details = c.value()
		default:
			rank := d.compat.reasoningRank(c.key)
			raw := c.value()
			if rank > 0 && hasText(raw) && (delta.rank == 0 || rank < delta.rank) {
				delta.reasoning, delta.rank = raw, rank
			}
		}
	}
}

// hasText says whether a value can hold some text.
func hasText(raw []byte) bool {
	return isText(raw) || len(raw) > 2 && raw[0] == '['
}

// apply adds the chunk to the reply.
func (d *openAIDecoder) apply() error {
	ch := &d.chunk
	if err := d.applyReasoning(); err != nil {
		return err
	}
	content := ch.delta.content
	if !hasText(content) {
		content = ch.delta.refusal
	}
	if err := d.applyContent(content); err != nil {
		return err
	}
	d.details.add(ch.delta.details)
	d.applyCalls()
	if isText(ch.finish) {
		d.a.end(unquote(ch.finish))
	}
	for _, raw := range [][]byte{ch.choiceUsage, ch.usage} {
		if u := d.compat.usage(raw); u != nil {
			d.a.usage = u
		}
	}
	return nil
}

// applyReasoning shows the reasoning, from one of the places where it can be.
func (d *openAIDecoder) applyReasoning() error {
	delta := &d.chunk.delta
	switch {
	case len(delta.reasoning) > 0 && delta.reasoning[0] == '"':
		return d.a.add(DeltaReasoning, delta.reasoning)
	case len(delta.reasoning) > 0:
		return d.eachText(delta.reasoning, func(_ string, quoted []byte) error {
			return d.a.add(DeltaReasoning, quoted)
		})
	case len(delta.content) > 0 && delta.content[0] == '[':
		return d.eachText(delta.content, func(kind string, quoted []byte) error {
			if kind != "thinking" {
				return nil
			}
			return d.a.add(DeltaReasoning, quoted)
		})
	}
	return nil
}

// applyContent shows the text, a string or a list of parts.
func (d *openAIDecoder) applyContent(content []byte) error {
	switch {
	case !hasText(content):
		return nil
	case content[0] == '"':
		return d.a.add(DeltaText, content)
	}
	return d.eachText(content, func(kind string, quoted []byte) error {
		if kind == "thinking" {
			return nil
		}
		return d.a.add(DeltaText, quoted)
	})
}

// eachText calls f with every literal in a list of parts: strings, objects with
// "text" or "content", and objects whose "thinking" is text or another list.
func (d *openAIDecoder) eachText(list []byte, f func(kind string, quoted []byte) error) error {
	c := cursor{b: list}
	for c.array(); c.element(); {
		raw := c.value()
		var err error
		switch {
		case isText(raw):
			err = f("text", raw)
		case len(raw) > 0 && raw[0] == '{':
			err = d.partText(raw, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// partText calls f with the literals of one part.
func (d *openAIDecoder) partText(part []byte, f func(kind string, quoted []byte) error) error {
	var text, thinking []byte
	c := cursor{b: part}
	for c.object(); c.member(); {
		switch string(c.key) {
		case "text", "content":
			text = c.value()
		case "thinking":
			thinking = c.value()
		default:
			c.value()
		}
	}
	switch {
	case isText(thinking):
		return f("thinking", thinking)
	case hasText(thinking):
		return d.eachText(thinking, func(_ string, quoted []byte) error { return f("thinking", quoted) })
	case isText(text):
		return f("text", text)
	}
	return nil
}

// applyCalls adds the fragments of tool calls.
func (d *openAIDecoder) applyCalls() {
	delta := &d.chunk.delta
	d.a.calls.delta++
	switch {
	case isNull(delta.toolCalls):
	case delta.toolCalls[0] == '[':
		c := cursor{b: delta.toolCalls}
		for c.array(); c.element(); {
			d.applyCall(c.value())
		}
	default:
		d.applyCall(delta.toolCalls)
	}
	if len(delta.functionCall) > 0 && delta.functionCall[0] == '{' {
		f := fragment{index: -1}
		f.readFunction(delta.functionCall)
		d.a.calls.add(&f)
	}
}

// applyCall adds one entry of tool_calls.
func (d *openAIDecoder) applyCall(raw []byte) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	f := fragment{index: -1}
	c := cursor{b: raw}
	for c.object(); c.member(); {
		key := string(c.key)
		value := c.value()
		switch key {
		case "id":
			f.id = scalar(value)
		case "index":
			if n, err := strconv.Atoi(string(value)); err == nil && n >= 0 {
				f.index = n
			}
		case "function":
			f.readFunction(value)
		case "type":
		default:
			f.extra.put(key, false, value)
		}
	}
	d.a.calls.add(&f)
}

// readFunction reads the "function" of a call.
func (f *fragment) readFunction(raw []byte) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	c := cursor{b: raw}
	for c.object(); c.member(); {
		key := string(c.key)
		value := c.value()
		switch key {
		case "name":
			f.name = scalar(value)
		case "arguments":
			f.args = value
		default:
			f.extra.put(key, true, value)
		}
	}
}

// scalar returns the text of a string, the spelling of a number, else "".
func scalar(raw []byte) string {
	switch {
	case isText(raw):
		return unquote(raw)
	case len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'):
		return string(raw)
	}
	return ""
}

// inBandError finds an error that came in place of, or along with, a chunk.
func (d *openAIDecoder) inBandError(payload []byte) error {
	ch := &d.chunk
	if !isNull(ch.choiceError) {
		wrapped := append(append([]byte(`{"error":`), ch.choiceError...), '}')
		if e := errorFromPayload(wrapped, false); e != nil {
			return e
		}
	}
	if !ch.suspect {
		return nil
	}
	if e := errorFromPayload(payload, ch.hasChoice); e != nil {
		return e
	}
	return nil
}
