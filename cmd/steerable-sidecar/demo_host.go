package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/steerable-go/sidecar/protocol"
)

// demoHost is a desktop host in miniature: it sends the request, answers the
// sidecar's reverse calls and shows the notifications.
type demoHost struct {
	env     environment
	flags   demoFlags
	home    string // what the sidecar keeps
	work    string // the project
	in      io.Writer
	view    *demoView
	answers *bufio.Reader // a person's
}

// demoFrame is a frame from the sidecar.
type demoFrame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Error  *protocol.Error `json:"error"`
}

// demoChunk is the params of the notifications of a stream.
type demoChunk struct {
	Delta      string                `json:"delta"`
	ToolCall   *protocol.ToolCall    `json:"toolCall"`
	ToolResult *protocol.ChunkResult `json:"toolResult"`
	Message    string                `json:"message"`
	protocol.Done
}

var errDemoCut = errors.New("the sidecar ended before the turn did")

// run plays the turn until stream.done.
func (h *demoHost) run(ctx context.Context, from io.Reader) error {
	lines := bufio.NewReader(from)
	if !h.flags.frames {
		h.view.question(demoQuestion)
	}
	if err := h.send(h.start()); err != nil {
		return err
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("stopped: %w", context.Cause(ctx))
			}
			return errDemoCut
		}
		h.show('<', line)
		var f demoFrame
		if err := json.Unmarshal(line, &f); err != nil {
			return fmt.Errorf("the sidecar sent what is no frame: %w", err)
		}
		done, err := h.frame(ctx, &f)
		if err == nil {
			err = h.view.err
		}
		if err != nil || done {
			return err
		}
	}
}

// frame handles one frame and reports whether the turn is over.
func (h *demoHost) frame(ctx context.Context, f *demoFrame) (done bool, err error) {
	switch {
	case f.Error != nil:
		return true, fmt.Errorf("the sidecar refused the turn: %w", f.Error)
	case f.Method == protocol.ReverseToolInvoke:
		return false, h.invoke(ctx, f)
	case f.Method == protocol.ReverseApproval:
		return false, h.approve(f)
	case f.Method != protocol.NotifyChunk && f.Method != protocol.NotifyError && f.Method != protocol.NotifyDone:
		return false, nil
	}
	var c demoChunk
	if err := json.Unmarshal(f.Params, &c); err != nil {
		return true, fmt.Errorf("read %s: %w", f.Method, err)
	}
	if h.flags.frames {
		return f.Method == protocol.NotifyDone, nil
	}
	switch {
	case f.Method == protocol.NotifyError:
		h.view.failure(c.Message)
	case f.Method == protocol.NotifyDone:
		h.view.summary(&c.Done)
	case c.ToolCall != nil:
		h.view.call(c.ToolCall)
	case c.ToolResult != nil:
		h.view.result(c.ToolResult)
	default:
		h.view.text(c.Delta)
	}
	return f.Method == protocol.NotifyDone, nil
}

// invoke answers a tool.invoke reverse call.
func (h *demoHost) invoke(ctx context.Context, f *demoFrame) error {
	var call protocol.ToolCall
	if err := json.Unmarshal(f.Params, &call); err != nil {
		return fmt.Errorf("read tool.invoke: %w", err)
	}
	var result any
	switch call.Name {
	case "list_tasks":
		result = map[string]any{"success": true, "data": map[string]any{
			"tasks": []string{"write the changelog", "check the signatures", "tag the release"},
		}}
	case "web_fetch": // nothing leaves this machine
		result = map[string]any{"success": true, "data": map[string]any{"status": 200, "content": "all systems work"}}
	case "bash":
		result = h.shell(ctx, call.Arguments)
	default:
		result = map[string]any{"success": false, "error": "no such tool"}
	}
	return h.send(compactJSON(map[string]any{"jsonrpc": "2.0", "id": f.ID, "result": result}))
}

// shell runs a command as a host's shell tool does: it gets the command from
// the sidecar, after every layer has seen and maybe rewritten it.
func (h *demoHost) shell(ctx context.Context, arguments json.RawMessage) any {
	var a struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(arguments, &a); err != nil || a.Command == "" {
		return map[string]any{"success": false, "error": "no command"}
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", a.Command)
	cmd.Dir = h.work
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		return map[string]any{"success": false, "error": err.Error()}
	}
	return map[string]any{"success": code == 0, "data": map[string]any{
		"exitCode": code, "stdout": stdout.String(), "stderr": stderr.String(),
	}}
}

// send writes one frame to the sidecar.
func (h *demoHost) send(frame []byte) error {
	h.show('>', frame)
	if _, err := h.in.Write(append(bytes.Clone(frame), '\n')); err != nil {
		return fmt.Errorf("write to the sidecar: %w", err)
	}
	return nil
}

// show prints a raw frame when asked to.
func (h *demoHost) show(direction byte, frame []byte) {
	if h.flags.frames {
		h.view.printf("%c %s\n", direction, bytes.TrimSpace(frame))
	}
}
