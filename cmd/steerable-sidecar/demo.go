package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/steerable-go/sidecar/authz/govern"
	"github.com/steerable-go/sidecar/protocol"
)

// demoDeadline bounds the whole demo.
const demoDeadline = 5 * time.Minute

// demoFlags are the flags of the demo.
type demoFlags struct {
	frames  bool
	approve bool
	authz   string
}

// runDemo plays one turn through the real protocol: it starts this program a
// second time as the sidecar and is its host.
func runDemo(env environment, args []string) int {
	var f demoFlags
	set := flags("demo")
	set.BoolVar(&f.frames, "frames", false, "")
	set.BoolVar(&f.approve, "approve", false, "")
	set.StringVar(&f.authz, "authz", "off", "")
	if err := set.Parse(args); err != nil {
		return usage(env, "demo: %s", err)
	}
	if set.NArg() > 0 {
		return usage(env, "demo: unexpected argument %q", set.Arg(0))
	}
	if _, err := govern.ParseMode(f.authz); err != nil {
		return usage(env, "demo: --authz must be off, observe or enforce, not %q", f.authz)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a closed pipe is a write error, not a death
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, demoDeadline)
	defer cancel()
	if err := demo(ctx, env, f); err != nil {
		fmt.Fprintf(env.stderr, "steerable-sidecar: demo: %s\n", err)
		return exitFailed
	}
	return exitOK
}

// demo plays a turn in a folder of its own. What the sidecar keeps (answers,
// audit records) stands beside the project, where no confined command can write.
func demo(ctx context.Context, env environment, f demoFlags) error {
	base, err := os.MkdirTemp("", "steerable-demo-")
	if err != nil {
		return fmt.Errorf("make a folder to work in: %w", err)
	}
	defer func() { _ = os.RemoveAll(base) }() // a folder that stays costs only space
	h := &demoHost{
		env: env, flags: f, home: filepath.Join(base, "home"), work: filepath.Join(base, "project"),
		view: newDemoView(env), answers: bufio.NewReader(env.stdin),
	}
	dirs := []string{h.home, h.work}
	if f.authz != "off" {
		dirs = append(dirs, filepath.Join(h.work, "build")) // what the script removes
	}
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("make a folder to work in: %w", err)
		}
	}
	if err := h.play(ctx); err != nil {
		return err
	}
	if f.authz == "off" || f.frames {
		return nil
	}
	fmt.Fprintln(env.stdout, "\n$ steerable-sidecar audit verify")
	if code := runAudit(env, []string{"verify", "--dir", h.auditDir()}); code != exitOK {
		return fmt.Errorf("audit verify exited with %d", code)
	}
	return nil
}

// play starts the sidecar, runs the turn and ends the sidecar.
func (h *demoHost) play(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe, "--quiet-ready", "--log-level", "ERROR")
	cmd.Dir = h.work
	cmd.Env = append(os.Environ(), "HOME="+h.home, envAuthz+"=", envAuditDir+"="+h.auditDir())
	cmd.Stderr = h.env.stderr
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
	h.in = in
	err = h.run(ctx, out)
	_ = in.Close() // the end of input ends the sidecar
	_, _ = io.Copy(io.Discard, out)
	if waitErr := cmd.Wait(); err == nil && waitErr != nil {
		err = fmt.Errorf("the sidecar ended: %w", waitErr)
	}
	return err
}

func (h *demoHost) auditDir() string { return filepath.Join(h.home, ".steerable", "audit") }

// demoScript is what the scripted model says.
const demoScript = `[
{"text":["I will look ","at the project's ","open tasks first."],"delayMs":150,
 "toolCalls":[{"id":"call_tasks","name":"list_tasks","arguments":{"status":"open"}}]},
{"text":["Three are open. ","Let me count the files ","in the workspace."],"delayMs":150,
 "toolCalls":[{"id":"call_shell","name":"bash","arguments":{"command":"echo hello > note.txt && ls -1 | wc -l"}}]},
{"text":["There is one file, ","and three tasks are open: ","the release can go ahead ","once they are done."],"delayMs":150}
]`

// demoAuthzScript shows authorization at work: a secret on its way out, the same
// request without it, and a command that cannot be undone.
const demoAuthzScript = `[
{"text":["I will ask the status page ","with the token from the notes."],"delayMs":150,
 "toolCalls":[{"id":"call_leak","name":"web_fetch","arguments":{"url":"https://status.example.com/?token=sk-testAAAA1111BBBB2222CCCC3333"}}]},
{"text":["That would have sent a secret. ","I ask again with the masked address."],"delayMs":150,
 "toolCalls":[{"id":"call_clean","name":"web_fetch","arguments":{"url":"https://status.example.com/?token=sk-t…33"}}]},
{"text":["Now I clean up the old build."],"delayMs":150,
 "toolCalls":[{"id":"call_rm","name":"bash","arguments":{"command":"rm -rf build"}}]},
{"text":["That is all for today."],"delayMs":150}
]`

// demoTools are the tools the host offers.
const demoTools = `[
{"type":"function","function":{"name":"list_tasks","description":"List the project's tasks.",
 "parameters":{"type":"object","properties":{"status":{"type":"string","enum":["open","done"]}},"required":["status"],"additionalProperties":false}}},
{"type":"function","function":{"name":"web_fetch","description":"Read a web page.",
 "parameters":{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}}},
{"type":"function","function":{"name":"bash","description":"Run a shell command in the workspace.",
 "parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}
]`

// start is the request that begins the turn.
func (h *demoHost) start() json.RawMessage {
	script := demoScript
	params := map[string]any{
		"streamId": "demo", "chatId": "demo-chat", "projectRoot": h.work,
		"provider": "scripted", "model": "scripted",
		"messages": []map[string]string{{"role": "user", "content": demoQuestion}},
		"tools":    json.RawMessage(demoTools), "toolsViaHost": true,
		"execSandbox": map[string]any{"enabled": true, "writableRoots": []string{h.work}},
	}
	if h.flags.authz != "off" {
		script = demoAuthzScript
		// Reads of the task list are this host's own tool: it says what they need.
		params["authz"] = map[string]any{"mode": h.flags.authz, "tools": map[string]any{
			"list_tasks": map[string]any{"required": "file.read", "kind": "read", "outbound": false},
		}}
	}
	if h.flags.approve || h.flags.authz == "enforce" {
		params["approval"] = map[string]any{
			"mode": "host", "storePath": filepath.Join(h.home, "approvals.json"), "timeoutMs": demoDeadline.Milliseconds(),
		}
	}
	params["providerOptions"] = map[string]any{"script": json.RawMessage(script)}
	return compactJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": protocol.MethodChatStream, "params": params})
}

const demoQuestion = "What is left to do before the release?"

// compactJSON encodes a value of the demo's own on one line.
func compactJSON(v any) json.RawMessage {
	raw, err := protocol.Marshal(v)
	if err != nil {
		panic("bug: encode " + err.Error())
	}
	return raw
}
