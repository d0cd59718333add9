package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Errors of a request that cannot be encoded. They end in an *Error of kind
// invalid_request.
var (
	errNoModel   = errors.New("the request names no model")
	errBadExtra  = errors.New("the request's extra members are no JSON object")
	errBadTools  = errors.New("the request's tools are no JSON array")
	errBadParts  = errors.New("a message's parts are no array of text and image parts")
	errBadString = errors.New("a message's content is no JSON string")
)

// bodySize estimates the size of an encoded request, so that one allocation
// does.
func bodySize(req *Request) int {
	n := 1024 + len(req.Tools) + len(req.Extra)
	for i := range req.Messages {
		m := &req.Messages[i]
		n += 64 + len(m.Content) + len(m.Parts) + len(m.ToolCallID) + len(m.Reasoning) + len(m.Opaque)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			// Arguments go into a string, where every quote takes two bytes.
			n += 96 + len(c.ID) + len(c.Name) + len(c.Arguments)*5/4 + len(c.Extra)
		}
	}
	return n
}

// appendName appends ,"name": to an object that already has a member.
func appendName(dst []byte, name string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendExtra appends the members of an object, except that it refuses those in
// reserved.
func appendExtra(dst []byte, extra json.RawMessage, reserved []string) ([]byte, error) {
	if isNull(bytes.TrimSpace(extra)) {
		return dst, nil
	}
	c := cursor{b: extra}
	for c.object(); c.member(); {
		key := string(c.key)
		value := c.value()
		if slices.Contains(reserved, key) {
			return nil, fmt.Errorf("the request's extra members may not set %q", key)
		}
		dst = append(dst, ',')
		dst = AppendQuoted(dst, []byte(key))
		dst = append(append(dst, ':'), value...)
	}
	if !c.end() {
		return nil, errBadExtra
	}
	return dst, nil
}

// hasTools says whether an array of tools offers any. Servers refuse an empty
// one.
func hasTools(tools []byte) (bool, error) {
	if isNull(tools) {
		return false, nil
	}
	if tools[0] != '[' {
		return false, errBadTools
	}
	c := cursor{b: tools}
	c.array()
	return c.element(), nil
}

// appendTemperature appends a number.
func appendTemperature(dst []byte, t float64) []byte {
	return strconv.AppendFloat(dst, t, 'g', -1, 64)
}

// stringOrEmpty returns a message's content, or "" if there is none.
func stringOrEmpty(content json.RawMessage) ([]byte, error) {
	switch {
	case isNull(content):
		return []byte(`""`), nil
	case content[0] != '"':
		return nil, errBadString
	}
	return content, nil
}

// part is one entry of Message.Parts.
type part struct {
	text  []byte // literal of a text part
	url   []byte // literal of an image's address
	data  []byte // literal of an image's base64 text
	media []byte // literal of its media type
}

// parseParts reads Message.Parts. Besides its own form an image may have the
// OpenAI form, and "source" with either an address or base64 text, as the
// reference has.
func parseParts(raw json.RawMessage) ([]part, error) {
	var out []part
	c := cursor{b: raw}
	for c.array(); c.element(); {
		p, ok := parsePart(c.value())
		if !ok {
			return nil, errBadParts
		}
		out = append(out, p)
	}
	if !c.end() {
		return nil, errBadParts
	}
	return out, nil
}

// parsePart reads one part.
func parsePart(raw []byte) (part, bool) {
	kind := scalar(memberOf(raw, "type"))
	if kind == "text" {
		text := memberOf(raw, "text")
		return part{text: text}, len(text) > 0 && text[0] == '"'
	}
	if kind != "image" && kind != "image_url" {
		return part{}, false
	}
	p := part{url: memberOf(raw, "url"), data: memberOf(raw, "data")}
	for _, name := range []string{"mediaType", "media_type", "mimeType"} {
		if p.media == nil {
			p.media = memberOf(raw, name)
		}
	}
	if image := memberOf(raw, "image_url"); image != nil {
		p.url = image
		if image[0] == '{' {
			p.url = memberOf(image, "url")
		}
	}
	if source := memberOf(raw, "source"); isText(source) {
		if bytes.Contains(source[:min(len(source), 10)], []byte(":")) {
			p.url = source
		} else {
			p.data = source
		}
	}
	if !isText(p.media) {
		p.media = []byte(`"image/png"`)
	}
	return p, isText(p.url) || isText(p.data)
}

// inside returns the inside of a literal.
func inside(quoted []byte) []byte { return quoted[1 : len(quoted)-1] }
