package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// judge is the engine that knows the whole of JSON Schema. It decodes the text
// and takes some twenty times as long as a table; it serves rare methods, tools
// with unusual schemas, and the tests as the reference for the tables.
type judge struct {
	schema *jsonschema.Schema
}

// newJudge compiles an embedded schema, with the ones it refers to and no other.
func newJudge(name string) (*judge, error) {
	c := newCompiler()
	c.LoadURL = func(uri string) (io.ReadCloser, error) {
		name, ok := strings.CutPrefix(uri, prefix)
		if !ok {
			return nil, fmt.Errorf("schema %q: outside of the set", uri)
		}
		text, err := Source(name)
		return io.NopCloser(bytes.NewReader(text)), err
	}
	schema, err := c.Compile(prefix + name)
	if err != nil {
		return nil, fmt.Errorf("compile schema %q: %w", name, err)
	}
	return &judge{schema: schema}, nil
}

// newCompiler returns a compiler for draft 2020-12. There formats are
// annotations; the library checks them all the same unless it is told not to.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	for format := range jsonschema.Formats {
		c.Formats[format] = func(any) bool { return true }
	}
	return c
}

func (j *judge) check(raw []byte) error {
	if err := Valid(raw); err != nil {
		return err
	}
	instance, err := decodeNumbers(raw)
	if err != nil {
		return &SyntaxError{Offset: len(raw), Reason: ReasonSyntax}
	}
	if err := j.schema.Validate(tame(instance)); err != nil {
		return explain(err)
	}
	return nil
}

// tame replaces numbers that would take exact arithmetic too long; see
// [rational].
func tame(value any) any {
	switch v := value.(type) {
	case json.Number:
		return json.Number(bounded(v.String()))
	case []any:
		for i := range v {
			v[i] = tame(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = tame(v[name])
		}
	}
	return value
}

// explain shortens the error tree of the library to its first leaf, in words
// that contain no value of the instance.
func explain(err error) error {
	e, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return &ValidationError{Keyword: "$ref", Message: "cannot be checked against its schema"}
	}
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	keyword := e.KeywordLocation[strings.LastIndexByte(e.KeywordLocation, '/')+1:]
	v := &ValidationError{Pointer: clipPointer(e.InstanceLocation), Keyword: keyword, Message: clip(e.Message)}
	switch keyword {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format":
		v.Message = "does not satisfy " + keyword // the library quotes the value
	case "additionalProperties", "unevaluatedProperties":
		v.Message = "has an unknown member"
	}
	return v
}

// clipPointer turns the library's location, whose names are encoded as in a URL,
// into a plain JSON pointer of short names.
func clipPointer(location string) string {
	names := strings.Split(location, "/")
	for i, name := range names {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		names[i] = clip(name)
	}
	return strings.Join(names, "/")
}
