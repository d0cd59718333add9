package safety

import (
	_ "embed" // the rule sets and program tables
	"encoding/json"
	"fmt"
)

//go:embed rules/reference.json
var referenceJSON []byte

//go:embed rules/default.json
var defaultJSON []byte

// Builtins returns the rules of a built-in set in evaluation order.
func Builtins(set Set) ([]Pattern, error) {
	var data []byte
	switch set {
	case SetReference:
		data = referenceJSON
	case SetDefault:
		data = defaultJSON
	default:
		return nil, fmt.Errorf("safety rule set %q is neither %s nor %s", set, SetDefault, SetReference)
	}
	// The embedded sets are decoded without the strict checks, which compile
	// every expression; the tests run those.
	type plain Pattern
	var rows []plain
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("read the %s rule set: %w", set, err)
	}
	patterns := make([]Pattern, len(rows))
	for i, row := range rows {
		patterns[i] = Pattern(row)
	}
	return patterns, nil
}
