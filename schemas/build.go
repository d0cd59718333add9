package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// unsupportedError says why a schema cannot be turned into a node. It is no
// fault of the schema; the other engine decides about it.
type unsupportedError struct {
	where string // JSON pointer, or $ref
	what  string
}

func (e *unsupportedError) Error() string {
	return e.where + ": unsupported " + e.what
}

// schemaURI is the only value of $schema that a builder understands. Older
// drafts give some keywords another meaning.
const schemaURI = "https://json-schema.org/draft/2020-12/schema"

// builder turns schema documents into nodes. It takes the common keywords in
// their common forms and refuses everything else, wrong forms included: what it
// refuses is left to an engine that knows the whole of JSON Schema.
type builder struct {
	load  func(name string) ([]byte, error) // of other documents; nil refuses them
	docs  map[string]any                    // by name; "" is one without
	nodes map[string]*node                  // by name and fragment; nil while it is being built
}

// build returns the node of the named embedded document.
func build(name string) (*node, error) {
	b := &builder{load: Source, docs: map[string]any{}, nodes: map[string]*node{}}
	return b.reference(name, "#")
}

// buildAlone returns the node of a document that refers to no other one.
func buildAlone(doc any) (*node, error) {
	b := &builder{docs: map[string]any{"": doc}, nodes: map[string]*node{}}
	return b.reference("", "#")
}

// decodeNumbers decodes one JSON value and keeps numbers as they are written.
func decodeNumbers(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return v, nil
}

// place is where a schema stands.
type place struct {
	name    string // of the document
	pointer string
}

func (p place) at(name string) place {
	return place{name: p.name, pointer: p.pointer + "/" + name}
}

func (p place) unsupported(what string) error {
	return &unsupportedError{where: p.name + "#" + p.pointer, what: what}
}

// reference returns the node of a document or of one of its definitions, and
// builds it at the first use. A cycle has no finite node.
func (b *builder) reference(name, fragment string) (*node, error) {
	key := name + fragment
	if n, ok := b.nodes[key]; ok {
		if n == nil {
			return nil, &unsupportedError{where: key, what: "cycle"}
		}
		return n, nil
	}
	b.nodes[key] = nil
	doc, err := b.document(name)
	if err != nil {
		return nil, err
	}
	at := place{name: name}
	if definition, ok := strings.CutPrefix(fragment, "#/$defs/"); ok {
		defs, err := members(doc, at, "$defs")
		if err != nil {
			return nil, err
		}
		if doc, ok = defs[definition]; !ok || strings.ContainsAny(definition, "/~%") {
			return nil, at.unsupported("$ref")
		}
		at = at.at("$defs").at(definition)
	} else if fragment != "#" {
		return nil, at.unsupported("$ref")
	}
	n, err := b.schema(doc, at)
	b.nodes[key] = n
	return n, err
}

// document returns a document, loading it at the first use.
func (b *builder) document(name string) (any, error) {
	if doc, ok := b.docs[name]; ok {
		return doc, nil
	}
	if b.load == nil {
		return nil, &unsupportedError{where: name, what: "$ref"}
	}
	text, err := b.load(name)
	if err != nil {
		return nil, err
	}
	doc, err := decodeNumbers(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b.docs[name] = doc
	return doc, nil
}

// members returns a member of doc that must be an object, nil if it is absent.
func members(doc any, at place, keyword string) (map[string]any, error) {
	object, _ := doc.(map[string]any)
	value, ok := object[keyword]
	if !ok {
		return nil, nil
	}
	m, ok := value.(map[string]any)
	if !ok {
		return nil, at.unsupported(keyword)
	}
	return m, nil
}

// schema returns the node of a schema.
func (b *builder) schema(doc any, at place) (*node, error) {
	switch doc := doc.(type) {
	case bool:
		if doc {
			return &node{kinds: kindAny}, nil
		}
		return &node{keyword: "false", expected: "is not allowed"}, nil
	case map[string]any:
		if err := b.annotations(doc, at); err != nil {
			return nil, err
		}
		if _, ok := doc["$ref"]; ok {
			return b.ref(doc, at)
		}
		return b.rules(doc, at)
	}
	return nil, at.unsupported("schema")
}

// annotations checks the form of what has no influence on the verdict, and
// builds definitions so that no invalid one goes unnoticed.
func (b *builder) annotations(doc map[string]any, at place) error {
	for keyword, value := range doc {
		if !wellFormed(keyword, value, at) {
			return at.unsupported(keyword)
		}
	}
	defs, err := members(doc, at, "$defs")
	if err != nil || len(defs) > 0 && at.pointer != "" {
		return at.unsupported("$defs")
	}
	for name := range defs {
		if _, err := b.reference(at.name, "#/$defs/"+name); err != nil {
			return err
		}
	}
	return nil
}

// wellFormed reports whether the value of a keyword has its proper type, if the
// keyword is an annotation.
func wellFormed(keyword string, value any, at place) bool {
	ok := true
	switch keyword {
	case "title", "description", "$comment", "format":
		_, ok = value.(string)
	case "$schema":
		ok = value == schemaURI && at.pointer == ""
	case "$id":
		ok = value == prefix+at.name && at.name != "" && at.pointer == ""
	case "examples":
		_, ok = value.([]any)
	case "deprecated", "readOnly", "writeOnly":
		_, ok = value.(bool)
	}
	return ok
}

// annotation reports whether a keyword has no influence on the verdict.
func annotation(keyword string) bool {
	switch keyword {
	case "title", "description", "$comment", "format", "$schema", "$id", "examples", "deprecated", "readOnly", "writeOnly", "default", "$defs":
		return true
	}
	return false
}

// ref returns the node a $ref points to. Beside it only annotations are
// understood.
func (b *builder) ref(doc map[string]any, at place) (*node, error) {
	target, ok := doc["$ref"].(string)
	for keyword := range doc {
		ok = ok && (keyword == "$ref" || annotation(keyword))
	}
	if !ok {
		return nil, at.unsupported("$ref")
	}
	if strings.HasPrefix(target, "#") {
		return b.reference(at.name, target)
	}
	name, ok := strings.CutPrefix(target, prefix)
	if !ok {
		return nil, at.unsupported("$ref")
	}
	name, fragment, _ := strings.Cut(name, "#")
	return b.reference(name, "#"+fragment)
}

// rules returns the node of a schema without $ref.
func (b *builder) rules(doc map[string]any, at place) (*node, error) {
	for keyword := range doc {
		if !annotation(keyword) && !slices.Contains(keywords(), keyword) {
			return nil, at.unsupported(keyword)
		}
	}
	if n, err := b.union(doc, at); n != nil || err != nil {
		return n, err
	}
	n := &node{kinds: kindAny}
	for _, step := range []func(*node, map[string]any, place) error{typeRule, valuesRule, b.objectRule, b.arrayRule, textRuleOf, numberRule} {
		if err := step(n, doc, at); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// keywords lists what a builder understands beside annotations and $ref.
func keywords() []string {
	return []string{
		"type", "enum", "const", "anyOf", "oneOf",
		"properties", "required", "additionalProperties", "minProperties", "maxProperties",
		"items", "minItems", "maxItems", "minLength", "maxLength", "pattern",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	}
}

// union returns the node of anyOf or oneOf if its alternatives concern values
// of different types, such as a string or null: then the type of a value picks
// the alternative, and all of them fit into one node. It returns nil if the
// schema has no alternatives of that kind.
func (b *builder) union(doc map[string]any, at place) (*node, error) {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, ok := doc[keyword].([]any)
		if !ok || len(list) == 0 || onlyRequired(list) {
			continue
		}
		for other := range doc {
			if other != keyword && !annotation(other) {
				return nil, at.unsupported(keyword)
			}
		}
		u := &node{keyword: keyword, expected: "matches none of the alternatives"}
		for _, entry := range list {
			n, err := b.schema(entry, at.at(keyword))
			if err != nil {
				return nil, err
			}
			if err := u.join(n, at); err != nil {
				return nil, err
			}
		}
		return u, nil
	}
	return nil, nil
}

// join adds an alternative that accepts other types than u does.
func (u *node) join(n *node, at place) error {
	if u.kinds&n.kinds != 0 {
		return at.unsupported(u.keyword)
	}
	u.kinds |= n.kinds
	if n.kinds&kindObject != 0 {
		u.object = n.object
	}
	if n.kinds&kindArray != 0 {
		u.array = n.array
	}
	if n.kinds&kindString != 0 {
		u.text = n.text
	}
	if n.kinds&kindNumber != 0 {
		u.number = n.number
	}
	return nil
}
