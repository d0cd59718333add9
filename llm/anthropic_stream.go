package llm

import (
	"encoding/json"
	"slices"
	"strconv"
)

// anthropicDecoder reads the events of the messages API:
//
//	message_start                  usage so far
//	  content_block_start          per index: text, thinking, tool_use, …
//	    content_block_delta        text, thinking, signature, partial_json
//	  content_block_stop
//	message_delta                  stop_reason, which is the end mark, and usage
//	message_stop
//
// ping and error may stand anywhere. Blocks may be interleaved, and gateways
// drop the event lines, the indexes or the block starts.
type anthropicDecoder struct {
	a      *assembly
	ev     anthropicEvent
	blocks []*block
	counts [4]int64 // see the names in note
	noted  bool
}

// anthropicEvent is one event, split into raw values.
type anthropicEvent struct {
	kind    string
	index   int
	block   []byte
	delta   []byte
	message []byte
	usage   []byte
}

// block is a content block while it arrives.
type block struct {
	index     int
	kind      string
	call      *call // of a tool_use block
	raw       []byte
	thinking  decoded
	signature decoded
}

// event takes one event. Its kind is in the payload; the event's name stands in
// where a gateway has dropped it.
func (d *anthropicDecoder) event(name, payload []byte) error {
	if !d.split(payload) {
		return errMalformed
	}
	ev := &d.ev
	if ev.kind == "" {
		ev.kind = string(name)
	}
	switch ev.kind {
	case "message_start":
		d.note(memberOf(ev.message, "usage"))
	case "content_block_start":
		return d.start()
	case "content_block_delta":
		return d.delta()
	case "message_delta":
		if stop := memberOf(ev.delta, "stop_reason"); isText(stop) {
			d.a.end(unquote(stop))
		}
		d.note(ev.usage)
	case "message_stop":
		d.a.done = true
	case "content_block_stop", "ping":
	default: // an error, or an event of the future
		if e := errorFromPayload(payload, false); e != nil {
			return e
		}
	}
	return nil
}

// split fills in d.ev.
func (d *anthropicDecoder) split(payload []byte) bool {
	d.ev = anthropicEvent{index: -1}
	ev := &d.ev
	c := cursor{b: payload}
	for c.object(); c.member(); {
		switch string(c.key) {
		case "type":
			ev.kind = d.kind(c.value())
		case "index":
			if n, err := strconv.Atoi(string(c.value())); err == nil {
				ev.index = n
			}
		case "content_block":
			ev.block = c.value()
		case "delta":
			ev.delta = c.value()
		case "message":
			ev.message = c.value()
		case "usage":
			ev.usage = c.value()
		default:
			c.value()
		}
	}
	return c.end()
}

// kind returns the type of an event; the frequent one costs no allocation.
func (d *anthropicDecoder) kind(raw []byte) string {
	if string(raw) == `"content_block_delta"` {
		return "content_block_delta"
	}
	return scalar(raw)
}

// start opens a content block.
func (d *anthropicDecoder) start() error {
	raw := d.ev.block
	b := &block{index: d.ev.index, kind: scalar(memberOf(raw, "type"))}
	d.blocks = append(d.blocks, b)
	switch b.kind {
	case "text":
		return d.text(memberOf(raw, "text"))
	case "thinking":
		if s := memberOf(raw, "signature"); isText(s) {
			b.signature.add(s)
		}
		return d.think(b, memberOf(raw, "thinking"))
	case "redacted_thinking":
		b.raw = append(b.raw, raw...)
	case "tool_use":
		b.call = d.a.calls.open(scalar(memberOf(raw, "id")), b.index)
		b.call.addName(scalar(memberOf(raw, "name")), 0)
		b.call.addArguments(memberOf(raw, "input"))
	}
	return nil // other blocks, such as server_tool_use, are not for us to act on
}

// delta continues a content block.
func (d *anthropicDecoder) delta() error {
	var kind, piece []byte
	c := cursor{b: d.ev.delta}
	for c.object(); c.member(); {
		switch string(c.key) {
		case "type":
			kind = c.value()
		case "text", "partial_json", "thinking", "signature":
			piece = c.value() // a delta has only the one of its type
		default:
			c.value()
		}
	}
	b := d.at(d.ev.index)
	switch string(kind) {
	case `"text_delta"`:
		return d.text(piece)
	case `"thinking_delta"`:
		return d.think(b, piece)
	case `"signature_delta"`:
		if b != nil && isText(piece) {
			b.signature.add(piece)
		}
	case `"input_json_delta"`:
		if b != nil && b.call != nil {
			b.call.addArguments(piece)
			d.a.calls.size += len(piece)
		}
	}
	return nil
}

// at returns the block opened last at an index, or, without an index, the block
// opened last; nil if there is none.
func (d *anthropicDecoder) at(index int) *block {
	for _, b := range slices.Backward(d.blocks) {
		if index < 0 || b.index == index {
			return b
		}
	}
	return nil
}

// text shows a piece of text.
func (d *anthropicDecoder) text(quoted []byte) error {
	if !isText(quoted) {
		return nil
	}
	return d.a.add(DeltaText, quoted)
}

// think shows a piece of reasoning and keeps it for the next request.
func (d *anthropicDecoder) think(b *block, quoted []byte) error {
	if !isText(quoted) {
		return nil
	}
	if b != nil {
		b.thinking.add(quoted)
	}
	return d.a.add(DeltaReasoning, quoted)
}

// note takes over the counters that are present: message_delta overwrites
// message_start.
func (d *anthropicDecoder) note(usage []byte) {
	names := [4]string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"}
	for i, name := range names {
		if n, ok := count(usage, name); ok {
			d.counts[i] = n
			d.noted = true
		}
	}
}

// whole takes a message that came in one piece.
func (d *anthropicDecoder) whole(payload []byte) error {
	c := cursor{b: payload}
	if c.value(); !c.end() {
		return errMalformed
	}
	content := memberOf(payload, "content")
	if len(content) == 0 || content[0] != '[' {
		if e := errorFromPayload(payload, false); e != nil {
			return e
		}
		return newError(KindUnknown, "the JSON reply is neither a message nor an error")
	}
	return d.wholeContent(payload, content)
}

// wholeContent takes the blocks of a message that came in one piece.
func (d *anthropicDecoder) wholeContent(payload, content []byte) error {
	c := cursor{b: content}
	index := 0
	for c.array(); c.element(); index++ {
		d.ev = anthropicEvent{index: index, block: c.value()}
		if err := d.start(); err != nil {
			return err
		}
	}
	d.note(memberOf(payload, "usage"))
	d.a.ended = true
	if stop := memberOf(payload, "stop_reason"); isText(stop) {
		d.a.end(unquote(stop))
	}
	return nil
}

// finish completes the reply. Usage counts only when the reply is complete:
// before that message_start's figures are not what was used.
func (d *anthropicDecoder) finish() {
	if d.a.ended && d.noted {
		prompt := d.counts[0] + d.counts[2] + d.counts[3]
		d.a.usage = &Usage{
			PromptTokens:        prompt,
			CompletionTokens:    d.counts[1],
			TotalTokens:         prompt + d.counts[1],
			CachedPromptTokens:  d.counts[2],
			CacheCreationTokens: d.counts[3],
		}
	}
	d.a.opaque = d.encodeBlocks()
}

// encodeBlocks returns the thinking blocks in the form of Message.Opaque, nil if
// there are none. The API checks their signatures, so they go back as they came.
func (d *anthropicDecoder) encodeBlocks() json.RawMessage {
	var out []byte
	for _, b := range d.blocks {
		switch b.kind {
		case "redacted_thinking":
			out = append(append(out, ','), b.raw...)
		case "thinking":
			b.thinking.flush()
			b.signature.flush()
			out = append(out, `,{"type":"thinking","thinking":`...)
			out = AppendQuoted(out, b.thinking.b)
			if len(b.signature.b) > 0 { // some gateways sign nothing
				out = append(out, `,"signature":`...)
				out = AppendQuoted(out, b.signature.b)
			}
			out = append(out, '}')
		}
	}
	if len(out) == 0 {
		return nil
	}
	out[0] = '['
	out = append([]byte(`{"`+opaqueAnthropic+`":`), out...)
	return oneLine(append(out, ']', '}'))
}
