package llm

import (
	"encoding/json"
	"slices"
)

// maxWarnings bounds Reply.Warnings.
const maxWarnings = 8

// assembly is a reply while it arrives. Decoders feed it; it feeds the sink.
type assembly struct {
	sink      Sink
	more      bool // further input is in memory
	owed      bool // the sink was last told that more follows
	kind      DeltaKind
	text      literals
	reasoning literals
	calls     calls
	finish    FinishReason
	ended     bool // an end mark was seen
	done      bool // nothing more is to be read
	usage     *Usage
	opaque    json.RawMessage
	warnings  []string
	sinkErr   error
}

// add takes a literal of text or reasoning and shows it.
func (a *assembly) add(kind DeltaKind, quoted []byte) error {
	l := &a.text
	if kind == DeltaReasoning {
		l = &a.reasoning
	}
	return a.show(kind, l.add(quoted))
}

// show passes a literal to the sink, unless it is nil.
func (a *assembly) show(kind DeltaKind, quoted []byte) error {
	if quoted == nil || a.sink == nil {
		return nil
	}
	a.owed, a.kind = a.more, kind
	if err := a.sink.Delta(kind, quoted, a.more); err != nil {
		a.sinkErr = err
		return sinkError(err)
	}
	return nil
}

// size is how much of the reply is held in memory.
func (a *assembly) size() int {
	return len(a.text.joined) + len(a.reasoning.joined) + a.calls.size
}

// settle tells the sink that the input has run dry, if it was told otherwise.
func (a *assembly) settle() error {
	a.more = false
	if !a.owed {
		return nil
	}
	return a.show(a.kind, []byte(`""`))
}

// flush shows what stands for halves of surrogate pairs that stayed alone.
func (a *assembly) flush() error {
	if err := a.show(DeltaReasoning, a.reasoning.flush()); err != nil {
		return err
	}
	return a.show(DeltaText, a.text.flush())
}

// end notes a finish reason as the server spelled it. The first one counts,
// because some servers repeat the last chunk; an error outranks it.
func (a *assembly) end(word string) {
	reason := finishReason(word)
	if !a.ended || a.finish == FinishNone || reason == FinishError {
		a.finish = reason
	}
	a.ended = true
}

// warn notes that some input was ignored.
func (a *assembly) warn(message string) {
	if len(a.warnings) < maxWarnings && !slices.Contains(a.warnings, message) {
		a.warnings = append(a.warnings, message)
	}
}

// conclude returns the reply and what became of it. err is what ended the
// stream; nil and transport errors mean that the input is over.
func (a *assembly) conclude(err *Error) (*Reply, *Error) {
	if a.sinkErr == nil {
		if flushErr := a.flush(); flushErr != nil && err == nil {
			err = sinkError(a.sinkErr)
		}
	}
	reply := &Reply{
		Content:      a.text.literal(),
		Reasoning:    a.reasoning.literal(),
		FinishReason: a.finish,
		Usage:        a.usage,
		Opaque:       a.opaque,
		Warnings:     a.warnings,
	}
	if err == nil && !a.ended {
		err = newError(KindTransport, "the stream ended without an end mark")
	}
	if err == nil && a.finish == FinishError {
		err = newError(KindServer, "the server reported that the reply failed")
	}
	if err != nil {
		return reply, err
	}
	reply.ToolCalls = a.calls.finish()
	if reply.FinishReason == FinishNone {
		reply.FinishReason = FinishStop // [DONE] without a reason
	}
	if reply.FinishReason == FinishStop && len(reply.ToolCalls) > 0 {
		reply.FinishReason = FinishToolCalls
	}
	return reply, nil
}

// finishReason translates a server's word. What is not known is a plain end:
// there are dozens of spellings of it.
func finishReason(word string) FinishReason {
	switch lower(word) {
	case "tool_calls", "function_call", "tool_use":
		return FinishToolCalls
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		return FinishLength
	case "content_filter", "sensitive", "refusal":
		return FinishContentFilter
	case "error", "insufficient_system_resource", "network_error", "abort":
		return FinishError
	}
	return FinishStop
}
