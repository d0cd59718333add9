package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// member is one name and value of a JSON object, in the order of the text.
type member struct {
	name  string
	value json.RawMessage
}

// members reads a JSON object without the tolerance of encoding/json, which
// matches names in any case and lets the last of two equal names win: both
// would let a file or a reply say one thing to a reader and another to us.
// Repeated names are kept, for the caller to judge. Anything after the object
// is an error, and so is invalid UTF-8.
func members(raw []byte) ([]member, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("not valid UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var list []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		key, ok := name.(string)
		if !ok {
			return nil, errors.New("not JSON: a name is not a string")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		list = append(list, member{key, value})
	}
	return list, nil
}

// fields is members for objects in which a repeated name is an error.
func fields(raw []byte) (map[string]json.RawMessage, error) {
	list, err := members(raw)
	if err != nil {
		return nil, err
	}
	m := make(map[string]json.RawMessage, len(list))
	for _, f := range list {
		if _, twice := m[f.name]; twice {
			return nil, fmt.Errorf("the name %q occurs twice", clip(f.name))
		}
		m[f.name] = f.value
	}
	return m, nil
}

// encodeObject writes members as one indented object.
func encodeObject(list []member, by string) ([]byte, error) {
	compact := []byte("{")
	for i, m := range list {
		key, err := marshal(m.name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			compact = append(compact, ',')
		}
		compact = append(append(append(compact, key...), ':'), m.value...)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, append(compact, '}'), "", by); err != nil {
		return nil, fmt.Errorf("encode approvals: %w", err)
	}
	return b.Bytes(), nil
}

// stringOf reads a JSON string and nothing else; null is not a string.
func stringOf(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// isNull reports whether an optional field is absent or null.
func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// elements reads a JSON list.
func elements(raw json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' {
		return nil, errors.New("not a list")
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("not a list: %w", err)
	}
	return list, nil
}

// prefixOf reads a command prefix: a list of strings, or absent, null or the
// empty string for a rule about every call of the tool.
func prefixOf(raw json.RawMessage) ([]string, error) {
	if isNull(raw) {
		return nil, nil
	}
	if s, ok := stringOf(raw); ok && s == "" {
		return nil, nil
	}
	list, err := elements(raw)
	if err != nil {
		return nil, errors.New("commandPrefix is not a list of strings")
	}
	prefix := make([]string, 0, len(list))
	for _, token := range list {
		s, ok := stringOf(token)
		if !ok {
			return nil, errors.New("commandPrefix is not a list of strings")
		}
		prefix = append(prefix, s)
	}
	if len(prefix) == 0 {
		return nil, nil
	}
	return prefix, nil
}
