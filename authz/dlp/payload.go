package dlp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Payload is something that is about to leave: a text, or a JSON value whose
// strings, names and numbers are texts. It is immutable. The zero value is an
// empty text.
type Payload struct {
	root *node
}

// node is a value of JSON in the order of its source. A text is a string node.
type node struct {
	kind  kind
	name  string // of the member that holds the value, "" outside objects
	text  string // of a string; the literal of a number, true, false or null
	nodes []*node
}

type kind uint8

const (
	aString kind = iota
	aLiteral
	anArray
	anObject
)

// maxDepth bounds nesting, because payloads come from outside. Arguments of
// tools have a handful of levels.
const maxDepth = 256

// ErrPayload is wrapped by errors about JSON that cannot be searched.
var ErrPayload = errors.New("payload is not one JSON value")

// Text returns a payload that is s itself.
func Text(s string) Payload { return Payload{root: &node{text: s}} }

// JSON returns the payload of one JSON value. Members are kept in order, and
// repeated ones too, since a receiver may read either. What does not parse
// gives an error that is [ErrPayload]: it has not been searched, so it must not
// leave.
func JSON(data []byte) (Payload, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	root, err := readNode(dec, maxDepth)
	if err != nil {
		return Payload{}, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Payload{}, fmt.Errorf("%w: something follows it", ErrPayload)
	}
	return Payload{root: root}, nil
}

var errDepth = errors.New("nested too deeply")

func readNode(dec *json.Decoder, depth int) (*node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case string:
		return &node{text: t}, nil
	case json.Number:
		return &node{kind: aLiteral, text: t.String()}, nil
	case bool, nil:
		return &node{kind: aLiteral, text: strings.Replace(fmt.Sprint(t), "<nil>", "null", 1)}, nil
	}
	if depth == 0 {
		return nil, errDepth
	}
	n := &node{kind: anArray}
	if token == json.Delim('{') {
		n.kind = anObject
	}
	for dec.More() {
		var name string
		if n.kind == anObject {
			if token, err = dec.Token(); err != nil {
				return nil, err
			}
			name, _ = token.(string) // the decoder lets nothing else through
		}
		child, err := readNode(dec, depth-1)
		if err != nil {
			return nil, err
		}
		child.name = name
		n.nodes = append(n.nodes, child)
	}
	_, err = dec.Token()
	return n, err
}

// Text returns what a person would read: a text as it is, a JSON value as one
// line for each of its values, with their names.
func (p Payload) Text() string {
	if p.root == nil || p.root.kind == aString && p.root.name == "" {
		return p.String()
	}
	var lines []string
	p.root.leaves("", func(name string, leaf *node) {
		lines = append(lines, label(name)+leaf.text)
	})
	return strings.Join(lines, "\n")
}

// label is what stands before a value when it is read with its name, so that
// {"password": "…"} looks like the assignment it is.
func label(name string) string {
	if name == "" {
		return ""
	}
	return name + ": "
}

// leaves visits the values that hold text, in order, with the name under which
// each stands: its own or that of the array it is in. An empty object or array
// shows its name.
func (n *node) leaves(name string, visit func(name string, leaf *node)) {
	if n.name != "" {
		name = n.name
	}
	if n.kind == aString || n.kind == aLiteral {
		visit(name, n)
		return
	}
	if len(n.nodes) == 0 {
		visit(name, &node{})
	}
	for _, child := range n.nodes {
		child.leaves(name, visit)
	}
}

// String returns the payload as it would be sent: a text as it is, a JSON value
// in compact form.
func (p Payload) String() string {
	if p.root == nil {
		return ""
	}
	if p.root.kind == aString {
		return p.root.text
	}
	return string(p.root.append(nil))
}

// MarshalJSON returns the payload as JSON, a text as a string.
func (p Payload) MarshalJSON() ([]byte, error) {
	if p.root == nil {
		return []byte(`""`), nil
	}
	return p.root.append(nil), nil
}

func (n *node) append(dst []byte) []byte {
	switch n.kind {
	case aLiteral:
		return append(dst, n.text...)
	case anArray, anObject:
		open, shut := byte('['), byte(']')
		if n.kind == anObject {
			open, shut = '{', '}'
		}
		dst = append(dst, open)
		for i, child := range n.nodes {
			if i > 0 {
				dst = append(dst, ',')
			}
			if n.kind == anObject {
				dst = append(appendString(dst, child.name), ':')
			}
			dst = child.append(dst)
		}
		return append(dst, shut)
	case aString:
		return appendString(dst, n.text)
	default:
		panic("bug: unknown kind of JSON value")
	}
}

func appendString(dst []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("bug: a string always encodes")
	}
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// clone copies the tree, so that a redacted payload shares nothing with its
// source.
func (n *node) clone() *node {
	c := *n
	c.nodes = slices.Clone(n.nodes)
	for i, child := range c.nodes {
		c.nodes[i] = child.clone()
	}
	return &c
}

// Strings visits every string value with the name under which it stands, in
// order; a text is one string without a name.
func (p Payload) Strings() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		if p.root == nil {
			return
		}
		stopped := false
		p.root.leaves("", func(name string, leaf *node) {
			if leaf.kind == aString && !stopped {
				stopped = !yield(name, leaf.text)
			}
		})
	}
}
