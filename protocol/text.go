package protocol

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Truncate shortens a text that somebody else chose to at most limit bytes, at
// the boundary of a rune. What was cut is replaced by an ellipsis, which counts.
func Truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const ellipsis = "…"
	cut := max(limit-len(ellipsis), 0)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + ellipsis
}

// Marshal encodes v without the HTML escapes of encoding/json, so that a command
// reads in a frame or file as it was written.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
