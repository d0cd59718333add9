package loop

import (
	"context"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/protocol"
)

// Status is how a turn ended, in the words of the reference's goldens.
type Status string

// The statuses of a finished turn.
const (
	StatusCompleted       Status = "completed"
	StatusFailed          Status = "failed"
	StatusCancelled       Status = "cancelled"
	StatusBudgetExhausted Status = "budget_exhausted"
	StatusWaitingUser     Status = "waiting_user"
)

// Reasons of the reference's goldens. Hosts show them and tests compare them.
const (
	ReasonAnswered   = "assistant produced final response with no pending tools"
	ReasonToolErrors = "too many consecutive tool errors"
	ReasonEmpty      = "no tool calls and no final response"
	ReasonCancelled  = "cancelled by host request"
	ReasonTokens     = "token budget exceeded"
	ReasonToolCalls  = "tool call budget exceeded"
	ReasonDoomLoop   = "the model repeats the same tool call"
	ReasonDeadline   = "turn time limit reached"
	ReasonNoTools    = "the model called a tool, but this stream runs none"
)

// Defaults of decisions and reference.
const (
	DefaultMaxRounds     = 80
	DefaultMaxToolErrors = 16
	defaultParallel      = 4 // calls of one batch that run at once
)

// Options configures a turn. Provider, Request, Turn and Events are required;
// Executor is required unless Plain is set.
type Options struct {
	Provider llm.Provider
	// Request is the template of every request of the turn. Its messages are
	// the transcript so far.
	Request  llm.Request
	Executor executors.ToolExecutor
	Turn     *executors.Turn
	Events   Events

	// Plain asks for one reply without tools.
	Plain bool
	// FinalOnly holds text back until it is known to be the final answer.
	FinalOnly bool
	// MaxRounds bounds requests to the model; 0 stops at once.
	MaxRounds int
	// MaxToolErrors bounds failed calls in a row; 0 stops at once.
	MaxToolErrors int
	// MaxToolCalls bounds the calls of the turn; 0 means no bound.
	MaxToolCalls int
	// Budget bounds tokens, cached ones counted a tenth; 0 means no bound.
	Budget int64
	// Window is the model's context size in tokens, for hints; 0 is unknown.
	Window int64
	// Dedup refuses a call that equals an earlier one of the turn.
	Dedup bool
	// DoomWarn and DoomHalt act on equal calls in a row; 0 turns them off.
	DoomWarn, DoomHalt int
	// SoftTimeout sends one notice; HardTimeout ends the turn. 0 means none.
	SoftTimeout, HardTimeout time.Duration
	// Retry says how often a failed request is tried again.
	Retry llm.RetryPolicy
	// Steer holds messages a person sent while the turn runs; may be nil.
	Steer *Steer
	// Spill cuts large results; nil sends them whole.
	Spill *Spill
	// OnPanic is told of a panic in a tool or a layer, which becomes a failed
	// result. May be nil.
	OnPanic func(tool string, value any, stack []byte)
	// Now is the clock and Rand the source of jitter. Required.
	Now  func() time.Time
	Rand func() float64
}

// Outcome is what a turn came to. The zero value is no outcome.
type Outcome struct {
	Status  Status
	Reason  string
	Aborted bool // by a person, through an approval
	Usage   protocol.Usage
	// Failure is set when the turn failed for a reason of its own, not of the
	// model's or a limit's making. It becomes stream.error.
	Failure *Failure
}

// Failure is an error that a host should show.
type Failure struct {
	Kind    string // "LoopError", as the reference says
	Message string
}

// failureKind is what the reference sends as the kind of every turn failure.
const failureKind = "LoopError"

// Events receives what happens, in order, from the turn's goroutine. A slow
// receiver slows the turn.
type Events interface {
	// Delta is a piece of text or reasoning; see [llm.Sink].
	Delta(ctx context.Context, kind llm.DeltaKind, quoted []byte, more bool) error
	// Reset says that the text of this round shown so far is void: attempt n
	// of the same request follows.
	Reset(attempt int)
	// ToolCall announces a call before any layer sees it.
	ToolCall(call *executors.Call)
	// ToolResult gives a call's one result.
	ToolResult(call *executors.Call, result *protocol.ToolResult, took time.Duration)
	// Notice tells the host something by the way.
	Notice(notice any)
	// Round begins round n, counted from 0, and returns what ends it.
	Round(n int) (end func())
	// Reply gives a plain stream's finish reason and usage.
	Reply(finish string, usage *protocol.Usage)
}
