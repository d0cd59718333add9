package sidecar

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/loop"
	"github.com/steerable-go/sidecar/protocol"
)

// guardedReplies has authorization judge the assistant's text once a round's
// text is complete: a secret can be split over any number of deltas, so nothing
// shorter can be judged. Until then it holds the text back and then shows what
// authorization lets through; where that only observes, it passes text on at
// once and keeps a copy.
type guardedReplies struct {
	loop.Events
	ctx  context.Context // the guard lives for one turn, whose context it is
	auth *executors.Authorization
	held [2]strings.Builder // text and reasoning
}

// index is where a kind's text is held.
func (g *guardedReplies) index(kind llm.DeltaKind) int {
	if kind == llm.DeltaReasoning {
		return 1
	}
	return 0
}

// Delta implements [loop.Events].
func (g *guardedReplies) Delta(ctx context.Context, kind llm.DeltaKind, quoted []byte, more bool) error {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return err
	}
	_, _ = g.held[g.index(kind)].WriteString(text) // a Builder never fails
	if g.auth.HoldsReplies() {
		return nil
	}
	return g.Events.Delta(ctx, kind, quoted, more)
}

// release judges what is held, and shows it unless it has been shown: reasoning
// first, as it came first.
func (g *guardedReplies) release() {
	for _, kind := range []llm.DeltaKind{llm.DeltaReasoning, llm.DeltaText} {
		held := &g.held[g.index(kind)]
		text := held.String()
		held.Reset()
		if text == "" {
			continue
		}
		shown := g.auth.Reply(g.ctx, text)
		if g.auth.HoldsReplies() {
			// A host that is gone is noticed by the writer.
			_ = g.Events.Delta(g.ctx, kind, protocol.AppendString(nil, shown), false)
		}
	}
}

// Reset implements [loop.Events]: what was held was never shown.
func (g *guardedReplies) Reset(attempt int) {
	for i := range g.held {
		g.held[i].Reset()
	}
	g.Events.Reset(attempt)
}

// ToolCall implements [loop.Events].
func (g *guardedReplies) ToolCall(call *executors.Call) {
	g.release()
	g.Events.ToolCall(call)
}

// Reply implements [loop.Events].
func (g *guardedReplies) Reply(finish string, usage *protocol.Usage) {
	g.release()
	g.Events.Reply(finish, usage)
}

// Round implements [loop.Events].
func (g *guardedReplies) Round(n int) func() {
	end := g.Events.Round(n)
	return func() {
		g.release()
		end()
	}
}
