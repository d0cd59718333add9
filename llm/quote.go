package llm

import (
	"encoding/json"
)

// unquote decodes a JSON string literal; anything else gives "".
func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
