package llm

import "encoding/json"

// Role is who speaks in a Message.
type Role string

// The roles of a transcript.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Request is one question to a model. Raw members must be valid JSON; they are
// copied into the request body as they are.
type Request struct {
	// Model is the server's name for the model.
	Model string

	// Messages is the transcript, oldest first. Every tool call of an assistant
	// message should be answered by the tool messages right after it.
	Messages []Message

	// Tools is an array of OpenAI tool descriptors
	// ({"type":"function","function":{"name","description","parameters"}}); nil
	// or an empty array offers none. Other providers' forms are derived from it.
	Tools json.RawMessage

	// ToolChoice is the OpenAI form ("auto", "none", "required", or an object
	// naming a function); nil leaves the choice to the server.
	ToolChoice json.RawMessage

	// Temperature is left to the server if nil.
	Temperature *float64

	// MaxTokens bounds the reply. nil leaves it to the server, except where the
	// API demands a value.
	MaxTokens *int

	// ReasoningEffort is passed on where the API knows it; empty leaves it out.
	ReasoningEffort string

	// Extra is a JSON object of further members of the request body. It may not
	// name a member that another field stands for.
	Extra json.RawMessage
}

// Message is one entry of a transcript. Its memory may be shared between
// requests and must not change once it has been sent.
type Message struct {
	Role Role

	// Content is a JSON string literal; nil means none.
	Content json.RawMessage

	// Parts is an array of {"type":"text","text"} and {"type":"image",…} objects
	// and replaces Content. An image has "url", or base64 "data" with
	// "mediaType"; the OpenAI form ("image_url") passes too.
	Parts json.RawMessage

	// Name is the optional name of the speaker, or of the tool of a tool message.
	Name string

	// ToolCallID names the call that a tool message answers.
	ToolCallID string

	// ToolCalls are the calls of an assistant message.
	ToolCalls []ToolCall

	// Reasoning is a JSON string literal. It is sent only to servers that want
	// their reasoning back.
	Reasoning json.RawMessage

	// Opaque holds what a provider wants back unchanged: signed thinking blocks,
	// encrypted reasoning. It is an object whose one member names the format, so
	// another provider can tell that it is not its own and leave it out.
	Opaque json.RawMessage
}

// The values of ToolCall.ArgumentsError.
const (
	ArgumentsInvalidJSON = "invalid_json" // the text does not parse
	ArgumentsNotObject   = "not_object"   // it parses, but is not an object
)

// ToolCall is one call that a model asks for.
type ToolCall struct {
	// ID identifies the call within the transcript. It is unique within a reply
	// and, given the request's messages, within the transcript.
	ID string

	// Name is empty if the model gave none.
	Name string

	// Arguments is a JSON object on one line, with numbers exactly as sent. It is
	// nil if ArgumentsError is set: such a call must not be carried out.
	Arguments json.RawMessage

	// ArgumentsError is empty, ArgumentsInvalidJSON or ArgumentsNotObject.
	ArgumentsError string

	// RawArguments is the text as received, kept if it is not the same as
	// Arguments.
	RawArguments string

	// NoArguments says that no argument text arrived and that Arguments is the
	// empty object that stands for it. In a reply cut by FinishLength the model
	// may have been about to write some.
	NoArguments bool

	// IDSynthesized says that ID is not the server's.
	IDSynthesized bool

	// Extra is an object of unknown members the server put on the call, to be
	// sent back unchanged; unknown members of "function" stay below that name.
	Extra json.RawMessage
}
