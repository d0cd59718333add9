// Package llm streams chat completions from a language model.
//
// A [Provider] turns one [Request] into one [Reply]. While the reply arrives,
// its text and reasoning go to a [Sink] piece by piece as JSON string literals
// that can be pasted into a frame unchanged: for ordinary input they are the
// very bytes the model server sent.
//
//	p, err := llm.New(llm.Config{Provider: "openai", BaseURL: base, APIKey: key})
//	if err != nil { … }
//	reply, err := p.Stream(ctx, &llm.Request{Model: "m", Messages: msgs}, sink)
//
// Two rules hold for every provider and every kind of damage on the way:
//
//   - A tool call is only reported when the stream carried an end mark. On any
//     error [Reply.ToolCalls] is empty.
//   - Arguments that do not parse are flagged ([ToolCall.ArgumentsError]) and
//     never replaced by an empty object.
//
// Failures are an [*Error] with a kind, and [RetryPolicy] says what to do about
// them. Nothing in this package retries by itself: after text has been shown,
// only the caller can tell whether a second attempt makes sense.
//
// The package does no work at program start and, apart from the connections of
// its HTTP transport, keeps no goroutine between calls.
package llm
