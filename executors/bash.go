package executors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/steerable-go/sidecar/protocol"
)

const (
	bashOutput  = 256 << 10       // of each stream, kept as head and tail
	bashTimeout = 2 * time.Minute // unless the call names a shorter or longer one
	bashMost    = 10 * time.Minute
	bashGrace   = 2 * time.Second // between SIGTERM and SIGKILL of the process group
)

// BashOptions configures [BashTool].
type BashOptions struct {
	// Env is the environment of commands; it must not hold secrets.
	Env []string
	// Dir is where commands run unless the turn has a project root.
	Dir string
}

// bashArguments are the arguments of the bash tool.
type bashArguments struct {
	Command   string `json:"command"`
	Cwd       string `json:"cwd"`
	TimeoutMs int64  `json:"timeoutMs"`
}

// BashTool is the shell tool that runs inside this process, for headless use:
// /bin/sh -c in a process group of its own, which is killed as a whole when the
// call ends. Confinement is not its business: under execSandbox the command
// arrives rewritten. It works on Unix; elsewhere it reports that it does not.
func BashTool(opts BashOptions) Tool {
	return Tool{
		Name:        "bash",
		Description: "Run a command with /bin/sh and return its exit code and output.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","minLength":1},"cwd":{"type":"string"},` +
			`"timeoutMs":{"type":"integer","minimum":1,"maximum":600000}},"required":["command"]}`),
		ShellParam:  "command",
		Destructive: true,
		Run: func(ctx context.Context, call *Call) (*protocol.ToolResult, error) {
			return runBash(ctx, opts, call)
		},
	}
}

func runBash(ctx context.Context, opts BashOptions, call *Call) (*protocol.ToolResult, error) {
	var a bashArguments
	if err := json.Unmarshal(call.Arguments, &a); err != nil || blank(a.Command) {
		return fail(ErrorInvalidArguments, "command must be a command line"), nil
	}
	limit := bashTimeout
	if a.TimeoutMs > 0 {
		limit = min(time.Duration(a.TimeoutMs)*time.Millisecond, bashMost)
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stdout, stderr := &endsBuffer{limit: bashOutput}, &endsBuffer{limit: bashOutput}
	cmd := exec.CommandContext(bounded, "/bin/sh", "-c", a.Command)
	cmd.Env, cmd.Dir = opts.Env, bashDir(opts, call, a.Cwd)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ownGroup(cmd)
	cmd.WaitDelay = bashGrace
	err := cmd.Run()
	killGroup(cmd)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exitCode(exit)
	} else if err != nil && !errors.Is(err, exec.ErrWaitDelay) && bounded.Err() == nil {
		return fail(ErrorToolError, "The command could not be started: %s", err), nil
	}
	return bashResult(code, stdout, stderr, bounded.Err() != nil, limit)
}

// bashDir is where a command runs: what it asks for, else the project.
func bashDir(opts BashOptions, call *Call, cwd string) string {
	base := call.Turn.ProjectRoot
	if base == "" {
		base = opts.Dir
	}
	if cwd == "" || filepath.IsAbs(cwd) || base == "" {
		if cwd != "" {
			return cwd
		}
		return base
	}
	return filepath.Join(base, cwd)
}

func bashResult(code int, stdout, stderr *endsBuffer, timedOut bool, limit time.Duration) (*protocol.ToolResult, error) {
	data, err := json.Marshal(struct {
		ExitCode  int    `json:"exitCode"`
		Stdout    string `json:"stdout"`
		Stderr    string `json:"stderr"`
		Truncated bool   `json:"truncated"`
	}{code, stdout.String(), stderr.String(), stdout.cut() || stderr.cut()})
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	result := &protocol.ToolResult{Success: code == 0, Data: data, NeedsFollowup: true}
	if timedOut {
		result.Success, result.Error = false, ErrorToolTimeout
		result.Message = fmt.Sprintf("The command was killed after %s.", limit)
	}
	return result, nil
}

// endsBuffer keeps the first and the last bytes of a stream: shells print
// their errors last.
type endsBuffer struct {
	limit int
	head  []byte
	tail  []byte // at most limit bytes, the newest last
	total int64
}

// Write implements [io.Writer]; it never fails.
func (b *endsBuffer) Write(p []byte) (int, error) {
	n := len(p)
	b.total += int64(n)
	if room := b.limit/2 - len(b.head); room > 0 {
		take := min(room, len(p))
		b.head = append(b.head, p[:take]...)
		p = p[take:]
	}
	b.tail = append(b.tail, p...)
	if keep := b.limit / 2; len(b.tail) > 2*keep {
		b.tail = append(b.tail[:0], b.tail[len(b.tail)-keep:]...)
	}
	return n, nil
}

func (b *endsBuffer) cut() bool { return b.total > int64(b.limit) }

// String is the stream, with a notice where its middle is missing.
func (b *endsBuffer) String() string {
	tail := b.tail
	if keep := b.limit / 2; len(tail) > keep {
		tail = tail[len(tail)-keep:]
	}
	missing := b.total - int64(len(b.head)) - int64(len(tail))
	if missing <= 0 {
		return string(bytes.ToValidUTF8(append(bytes.Clone(b.head), tail...), []byte("\ufffd")))
	}
	notice := fmt.Sprintf("\n… %d bytes left out …\n", missing)
	whole := append(append(bytes.Clone(b.head), notice...), tail...)
	return string(bytes.ToValidUTF8(whole, []byte("\ufffd")))
}
