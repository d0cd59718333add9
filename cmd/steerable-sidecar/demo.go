package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/steerable-go/sidecar/protocol"
)

// demoDeadline bounds the whole demo.
const demoDeadline = 5 * time.Minute

// demoFlags are the flags of the demo.
type demoFlags struct {
	frames bool
}

// runDemo plays one turn through the real protocol: it starts this program a
// second time as the sidecar and is its host.
func runDemo(env environment, args []string) int {
	var f demoFlags
	set := flags("demo")
	set.BoolVar(&f.frames, "frames", false, "")
	if err := set.Parse(args); err != nil {
		return usage(env, "demo: %s", err)
	}
	if set.NArg() > 0 {
		return usage(env, "demo: unexpected argument %q", set.Arg(0))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, demoDeadline)
	defer cancel()
	if err := demo(ctx, env, f); err != nil {
		fmt.Fprintf(env.stderr, "steerable-sidecar: demo: %s\n", err)
		return exitFailed
	}
	return exitOK
}

// demo runs the turn.
func demo(ctx context.Context, env environment, f demoFlags) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	work, err := os.MkdirTemp("", "steerable-demo-")
	if err != nil {
		return fmt.Errorf("make a folder to work in: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()                                       // a folder that stays costs only space
	cmd := exec.CommandContext(ctx, exe, "--quiet-ready", "--log-level", "WARNING") //nolint:gosec // this very program
	cmd.Dir = work
	cmd.Stderr = env.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("connect to the sidecar: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect to the sidecar: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the sidecar: %w", err)
	}
	host := &demoHost{env: env, flags: f, work: work, in: in, view: newDemoView(env)}
	err = host.run(ctx, out)
	_ = in.Close() // the end of input ends the sidecar
	_, _ = io.Copy(io.Discard, out)
	if waitErr := cmd.Wait(); err == nil && waitErr != nil {
		err = fmt.Errorf("the sidecar ended: %w", waitErr)
	}
	return err
}

// demoScript is what the scripted model says.
const demoScript = `[
{"text":["I will look ","at the project's ","open tasks first."],"delayMs":150,
 "toolCalls":[{"id":"call_tasks","name":"list_tasks","arguments":{"status":"open"}}]},
{"text":["Three are open. ","Let me count the files ","in the workspace."],"delayMs":150,
 "toolCalls":[{"id":"call_shell","name":"bash","arguments":{"command":"echo hello > note.txt && ls -1 | wc -l"}}]},
{"text":["There is one file, ","and three tasks are open: ","the release can go ahead ","once they are done."],"delayMs":150}
]`

// demoTools are the tools the host offers.
const demoTools = `[
{"type":"function","function":{"name":"list_tasks","description":"List the project's tasks.",
 "parameters":{"type":"object","properties":{"status":{"type":"string","enum":["open","done"]}},"required":["status"],"additionalProperties":false}}},
{"type":"function","function":{"name":"bash","description":"Run a shell command in the workspace.",
 "parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}
]`

// start is the request that begins the turn.
func (h *demoHost) start() json.RawMessage {
	params := map[string]any{
		"streamId": "demo", "chatId": "demo-chat", "projectRoot": h.work,
		"provider": "scripted", "model": "scripted",
		"providerOptions": map[string]any{"script": json.RawMessage(demoScript)},
		"messages":        []map[string]string{{"role": "user", "content": demoQuestion}},
		"tools":           json.RawMessage(demoTools), "toolsViaHost": true,
	}
	return compactJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": protocol.MethodChatStream, "params": params})
}

const demoQuestion = "What is left to do before the release?"

// compactJSON encodes a value of the demo's own on one line.
func compactJSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}
