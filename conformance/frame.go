package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
)

// frame is one line of the peer's stdout.
type frame struct {
	line  string
	value object
	id    json.RawMessage // as it was written; nil when absent
}

// maxFrame is the protocol's limit for a frame to the host: an unmodified host
// searches its whole buffer again with every read, and 16 MiB block it for two
// seconds.
const maxFrame = 1 << 20

// maxMessage is the limit of error.message in the protocol's SidecarError.
const maxMessage = 1024

// errorKinds lists the values of error.kind in the protocol's SidecarError.
func errorKinds() []string {
	return []string{
		"parse", "invalid_request", "method_not_found", "invalid_params", "internal", "budget_exhausted",
		"policy_denied", "tool_failed", "transport_closed", "timeout", "cancelled",
	}
}

// parseFrame decodes a line and checks what holds for every frame.
func parseFrame(line string) (*frame, error) {
	if len(line) > maxFrame {
		return nil, fmt.Errorf("%d bytes are over the limit of 1 MiB", len(line))
	}
	v, err := parseValue([]byte(line))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	o, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("a frame is an object, this is %s", kindOf(v))
	}
	var ids struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal([]byte(line), &ids); err != nil {
		return nil, fmt.Errorf("read id: %w", err)
	}
	return &frame{line: line, value: o, id: ids.ID}, checkFrame(o)
}

func checkFrame(o object) error {
	for _, m := range o {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, m.key) {
			return fmt.Errorf("member %q has no place in a frame", m.key)
		}
	}
	if version, _ := o.get("jsonrpc"); version != "2.0" {
		return fmt.Errorf(`jsonrpc is %s, want "2.0"`, format(version))
	}
	if _, ok := o.get("method"); ok {
		return checkCall(o)
	}
	return checkResponse(o)
}

// checkCall checks a request or a notification.
func checkCall(o object) error {
	if method, _ := o.get("method"); kindOf(method) != "string" || method == "" {
		return fmt.Errorf("method is %s, want a name", format(method))
	}
	if id, ok := o.get("id"); ok && kindOf(id) != "string" && kindOf(id) != "number" {
		return fmt.Errorf("id of a request is %s", format(id))
	}
	if params, ok := o.get("params"); ok && kindOf(params) != "object" {
		return fmt.Errorf("params are %s, want an object", kindOf(params))
	}
	for _, key := range []string{"result", "error"} {
		if _, ok := o.get(key); ok {
			return fmt.Errorf("method and %s in one frame", key)
		}
	}
	return nil
}

func checkResponse(o object) error {
	id, ok := o.get("id")
	if !ok {
		return fmt.Errorf("neither method nor id")
	}
	if !slices.Contains([]string{"string", "number", "null"}, kindOf(id)) {
		return fmt.Errorf("id of a response is %s", kindOf(id))
	}
	if _, ok := o.get("params"); ok {
		return fmt.Errorf("params in a response")
	}
	_, hasResult := o.get("result")
	failure, hasError := o.get("error")
	if hasResult == hasError {
		return fmt.Errorf("a response has either result or error")
	}
	if !hasError {
		return nil
	}
	return checkError(failure)
}

func checkError(v any) error {
	o, ok := v.(object)
	if !ok {
		return fmt.Errorf("error is %s, want an object", kindOf(v))
	}
	for _, m := range o {
		if !slices.Contains([]string{"code", "message", "kind", "data"}, m.key) {
			return fmt.Errorf("member %q has no place in an error", m.key)
		}
	}
	code, _ := o.get("code")
	if !isInteger(code) {
		return fmt.Errorf("error.code is %s, want an integer", format(code))
	}
	message, _ := o.get("message")
	text, ok := message.(string)
	if !ok || text == "" || len([]rune(text)) > maxMessage {
		return fmt.Errorf("error.message is not a text of 1 to %d characters", maxMessage)
	}
	if kind, ok := o.get("kind"); ok {
		if name, ok := kind.(string); !ok || !slices.Contains(errorKinds(), name) {
			return fmt.Errorf("error.kind is %s", format(kind))
		}
	}
	return nil
}
