package llm

import (
	"context"
	"encoding/json"
)

// Provider talks to one model server.
//
// Implementations are safe for concurrent use, except that the order in which
// concurrent calls take the replies of a scripted provider is undefined.
type Provider interface {
	// Name is the canonical provider name: "openai_compat", "anthropic" or
	// "scripted".
	Name() string

	// Stream sends req and reports the reply to sink while it arrives. It
	// returns when the reply is complete, when ctx ends, or when sink fails.
	//
	// The reply is never nil. The error, if any, is an *Error; then the reply
	// holds the text and reasoning received so far and no tool calls. After the
	// end of ctx the error also matches context.Cause(ctx) under errors.Is;
	// after a failing sink, the sink's error. sink may be nil. req and the
	// memory it refers to must not change during the call.
	Stream(ctx context.Context, req *Request, sink Sink) (*Reply, error)
}

// DeltaKind says which part of a reply a delta belongs to.
type DeltaKind uint8

// The parts of a reply that are shown while they arrive.
const (
	DeltaText      DeltaKind = iota + 1 // the answer
	DeltaReasoning                      // the model's reasoning, where the server shows it
)

// String returns "text" or "reasoning".
func (k DeltaKind) String() string {
	switch k {
	case DeltaText:
		return "text"
	case DeltaReasoning:
		return "reasoning"
	}
	return "unknown"
}

// Sink receives a reply while it arrives. All calls come from the goroutine
// that called Stream.
type Sink interface {
	// Delta takes the next piece of text or reasoning.
	//
	// quoted is one complete JSON string literal with its quotes, safe to paste
	// into a frame: valid UTF-8, no escape of half a surrogate pair, U+2028 and
	// U+2029 escaped, no line break. It is borrowed: it may change after Delta
	// has returned. The contents of all literals of one kind, decoded and
	// joined, are the reply's text.
	//
	// more says that further input is already in memory, so an output buffer
	// need not be flushed yet: another Delta, or the return of Stream, follows
	// without waiting for the network. To keep that promise the provider may
	// send the empty literal "" with more false when the further input held
	// nothing to show. That is the only empty literal a sink ever sees.
	//
	// An error ends the stream.
	Delta(kind DeltaKind, quoted []byte, more bool) error
}

// SinkFunc makes a Sink of a function.
type SinkFunc func(kind DeltaKind, quoted []byte, more bool) error

// Delta calls f.
func (f SinkFunc) Delta(kind DeltaKind, quoted []byte, more bool) error {
	return f(kind, quoted, more)
}

// FinishReason is why a reply ended, in one vocabulary for all servers.
type FinishReason string

// The finish reasons. FinishNone means that the stream never ended properly,
// and always comes with an error.
const (
	FinishNone          FinishReason = ""
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
	FinishError         FinishReason = "error"
)

// Usage counts the tokens of one reply as the server reported them. PromptTokens
// includes CachedPromptTokens and CacheCreationTokens, for every provider.
type Usage struct {
	PromptTokens        int64 `json:"promptTokens"`
	CompletionTokens    int64 `json:"completionTokens"`
	TotalTokens         int64 `json:"totalTokens"`
	CachedPromptTokens  int64 `json:"cachedPromptTokens"`
	ReasoningTokens     int64 `json:"reasoningTokens"`
	CacheCreationTokens int64 `json:"cacheCreationTokens"`
}

// Reply is what a model answered.
type Reply struct {
	// Content and Reasoning are JSON string literals with the properties that
	// Sink.Delta names; nil when nothing arrived.
	Content   json.RawMessage
	Reasoning json.RawMessage

	// ToolCalls is in the order in which the calls were opened. It is empty
	// whenever Stream returned an error.
	ToolCalls []ToolCall

	FinishReason FinishReason

	// Usage is nil if the server reported none, or not all of it.
	Usage *Usage

	// Opaque belongs into the Message that stands for this reply; see there.
	Opaque json.RawMessage

	// Warnings names, without quoting any of it, input that was ignored. At
	// most eight are kept.
	Warnings []string
}

// Text returns the decoded answer.
func (r *Reply) Text() string { return unquote(r.Content) }

// ReasoningText returns the decoded reasoning.
func (r *Reply) ReasoningText() string { return unquote(r.Reasoning) }

// Message returns the assistant message that stands for this reply in the next
// request. It shares memory with r.
func (r *Reply) Message() Message {
	return Message{
		Role:      RoleAssistant,
		Content:   r.Content,
		Reasoning: r.Reasoning,
		ToolCalls: r.ToolCalls,
		Opaque:    r.Opaque,
	}
}
