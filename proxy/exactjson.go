package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// checkKeys refuses what encoding/json would let through in objects: a key that
// stands twice, of which the last would count, and, if known is not nil, a key
// that is not in known as it is spelled, since case is folded there. data has
// been decoded before, so that its syntax is right.
func checkKeys(data []byte, known []string) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	var open []map[string]bool // keys seen, one set for each object that is open; nil for arrays
	key := false               // the next string is a key
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read keys: %w", err)
		}
		switch v := tok.(type) {
		case json.Delim:
			switch v {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			key = len(open) > 0 && open[len(open)-1] != nil
			continue
		case string:
			if !key {
				break
			}
			seen := open[len(open)-1]
			if seen[v] {
				return fmt.Errorf("key %q stands twice", v)
			}
			if known != nil && !slices.Contains(known, v) {
				return fmt.Errorf("unknown key %q", v)
			}
			seen[v] = true
			key = false
			continue
		}
		key = len(open) > 0 && open[len(open)-1] != nil
	}
}
