package loop

import (
	"encoding/json"
	"fmt"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/protocol"
)

// transcript is what the model is sent. Its parts stay encoded, so that a round
// costs only what it adds.
type transcript struct {
	messages []llm.Message
	size     int64           // bytes of text, for estimates
	used     map[string]bool // ids of calls
}

// load takes the host's messages and repairs them: every call of an assistant
// message gets exactly one answer right behind it, call ids become unique, and
// answers to nobody are left out. Servers refuse anything else, and then every
// later turn of the chat fails.
func (t *transcript) load(messages []llm.Message) {
	t.used = map[string]bool{}
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == llm.RoleTool {
			continue // behind no call: an orphan
		}
		if len(m.ToolCalls) == 0 {
			t.append(m)
			continue
		}
		end := i + 1
		for end < len(messages) && messages[end].Role == llm.RoleTool {
			end++
		}
		t.exchange(m, messages[i+1:end])
		i = end - 1
	}
}

// exchange appends an assistant message with calls and their answers.
func (t *transcript) exchange(m llm.Message, answers []llm.Message) {
	calls := make([]llm.ToolCall, len(m.ToolCalls))
	copy(calls, m.ToolCalls)
	replies := make([]llm.Message, len(calls))
	taken := make([]bool, len(answers))
	for i := range calls {
		reply := llm.Message{Role: llm.RoleTool, Name: calls[i].Name, Content: json.RawMessage(notExecuted)}
		for j, a := range answers {
			if !taken[j] && a.ToolCallID == calls[i].ID {
				taken[j] = true
				reply = a
				break
			}
		}
		calls[i].ID = unique(calls[i].ID, i, t.used)
		reply.ToolCallID = calls[i].ID
		replies[i] = reply
	}
	m.ToolCalls = calls
	t.append(m)
	for _, reply := range replies {
		t.append(reply)
	}
}

// notExecuted answers a call of an earlier turn that was never answered.
const notExecuted = `"{\"success\":false,\"error\":\"not_executed\",\"message\":\"This call was interrupted and has no result.\"}"`

// unique returns id, or a variation of it that no call before has.
func unique(id string, position int, used map[string]bool) string {
	if id == "" {
		id = fmt.Sprintf("call_%d", position)
	}
	candidate := id
	for n := position; used[candidate]; n++ {
		candidate = fmt.Sprintf("%s_%d", id, n)
	}
	used[candidate] = true
	return candidate
}

func (t *transcript) append(m llm.Message) {
	t.size += int64(len(m.Content) + len(m.Parts))
	t.messages = append(t.messages, m)
}

// user appends what a person said while the turn ran.
func (t *transcript) user(content string) {
	t.append(llm.Message{Role: llm.RoleUser, Content: protocol.AppendString(nil, content)})
}

// interrupted appends what the model had said when it was interrupted.
func (t *transcript) interrupted(reply *llm.Reply) {
	if len(reply.Content) > 2 {
		t.append(llm.Message{Role: llm.RoleAssistant, Content: reply.Content})
	}
}

// assistant appends the model's reply and returns its calls. An id that an
// earlier call of the transcript has is changed in both places.
func (t *transcript) assistant(reply *llm.Reply, turn *executors.Turn, round int) []*executors.Call {
	message := reply.Message()
	message.ToolCalls = append([]llm.ToolCall(nil), message.ToolCalls...)
	calls := make([]*executors.Call, len(reply.ToolCalls))
	for i, c := range reply.ToolCalls {
		c.ID = unique(c.ID, i, t.used)
		message.ToolCalls[i].ID = c.ID
		call := &executors.Call{
			ToolCall: protocol.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments},
			Turn:     turn, Round: round,
			ArgumentsError: c.ArgumentsError, RawArguments: c.RawArguments,
		}
		if c.NoArguments && reply.FinishReason == llm.FinishLength {
			// The reply was cut where the arguments would have begun.
			call.ArgumentsError = llm.ArgumentsInvalidJSON
		}
		if call.ArgumentsError != "" {
			call.Arguments = json.RawMessage("{}")
		}
		calls[i] = call
	}
	t.append(message)
	return calls
}

// result appends a call's answer: the JSON of the whole result, cut if it is
// large.
func (t *transcript) result(call *executors.Call, result *protocol.ToolResult, spill *Spill) {
	encoded := result.AppendJSON(make([]byte, 0, len(result.Data)+64))
	if spill != nil && len(encoded) > spill.limit() {
		encoded = spill.cut(result, encoded)
	}
	content := protocol.AppendString(make([]byte, 0, len(encoded)+len(encoded)/8+2), string(encoded))
	t.append(llm.Message{Role: llm.RoleTool, ToolCallID: call.ID, Name: call.Name, Content: content})
}
