package executors

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/schemas"
)

// eachMember calls visit for every member of a JSON object in order. nil and
// null have none.
func eachMember(object json.RawMessage, visit func(key string, value json.RawMessage)) error {
	if len(object) == 0 || string(object) == "null" {
		return nil
	}
	return schemas.Scan(object, func(key, value []byte) bool {
		visit(string(key), value)
		return true
	})
}

// member returns one member of a JSON object, or nil.
func member(object json.RawMessage, name string) json.RawMessage {
	var found json.RawMessage
	err := eachMember(object, func(key string, value json.RawMessage) {
		if key == name {
			found = value
		}
	})
	if err != nil {
		return nil
	}
	return found
}

// stringMember returns a member that is a JSON string.
func stringMember(object json.RawMessage, name string) (string, bool) {
	raw := member(object, name)
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// appendKey appends a comma if one is due, then the key and a colon.
func appendKey(dst []byte, key string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(protocol.AppendString(dst, key), ':')
}

// setMember returns the object with one member set; an existing one is replaced
// where it stands. A nil object is empty.
func setMember(object json.RawMessage, name string, value []byte) (json.RawMessage, error) {
	out := append(make([]byte, 0, len(object)+len(name)+len(value)+8), '{')
	found := false
	err := eachMember(object, func(key string, old json.RawMessage) {
		if key == name {
			old, found = value, true
		}
		out = append(appendKey(out, key), old...)
	})
	if err != nil {
		return nil, fmt.Errorf("set member %q: %w", name, err)
	}
	if !found {
		out = append(appendKey(out, name), value...)
	}
	return append(out, '}'), nil
}

// mark sets a member of a result's data. A result whose data is not an object
// loses it: a marker must never be missing.
func mark(result *protocol.ToolResult, name string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		raw = []byte("null")
	}
	data, err := setMember(result.Data, name, raw)
	if err != nil {
		data, _ = setMember(nil, name, raw)
	}
	result.Data = data
}

// blank reports whether s is empty or only white space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
