package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// A value is decoded JSON: nil, bool, string, json.Number, []any or object.
// Objects keep the order and the repetitions of their members, because a
// rewritten transcript should stay readable and a repeated member is an error.
type object []member

type member struct {
	key   string
	value any
}

// get returns the value of a member.
func (o object) get(key string) (value any, ok bool) {
	for _, m := range o {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

var errTrailing = errors.New("more than one JSON value")

// parseValue decodes exactly one JSON value.
func parseValue(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decodeValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return v, nil
}

func decodeValue(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return decodeObject(dec)
	case json.Delim('['):
		return decodeArray(dec)
	default:
		return tok, nil
	}
}

func decodeObject(dec *json.Decoder) (any, error) {
	o := object{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := tok.(string)
		if !ok {
			return nil, fmt.Errorf("member name is %v, want a string", tok)
		}
		if _, repeated := o.get(key); repeated {
			return nil, fmt.Errorf("member %q is repeated", key)
		}
		v, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		o = append(o, member{key, v})
	}
	_, err := dec.Token()
	return o, err
}

func decodeArray(dec *json.Decoder) (any, error) {
	a := []any{}
	for dec.More() {
		v, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
	_, err := dec.Token()
	return a, err
}

// format writes a value as compact JSON.
func format(v any) string { return string(appendValue(nil, v)) }

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	case object:
		dst = append(dst, '{')
		for i, m := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, m.key), ':')
			dst = appendValue(dst, m.value)
		}
		return append(dst, '}')
	default:
		panic(fmt.Sprintf("bug: %T is not a JSON value", v))
	}
}

// appendString quotes s without escaping <, > and &: matchers would be
// unreadable.
func appendString(dst []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("bug: a string cannot be encoded: " + err.Error())
	}
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// kindOf names the JSON type of a value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}
