package schemas

import (
	"encoding/json"
	"errors"
	"testing"
)

// frame is one line on the wire, with what its payload must satisfy.
type frame struct {
	name    string
	whole   string // schema of the frame
	payload string // schema of the member below
	member  string // params, result or error
	line    string
}

// turn is a whole session as it crosses the wire: start, a confined tool call
// that a person allows, an abort, the end.
func turn() []frame {
	return []frame{
		{"ready", FrameNotification, Notification("lifecycle.ready"), "params", `{"jsonrpc":"2.0","method":"lifecycle.ready","params":{"version":"1.0.0","protocolVersion":"0.1.0","pid":4711,"listenInfo":{"transport":"stdio"}}}`},
		{"ping without parameters", HostRequest, "", "", `{"jsonrpc":"2.0","id":1,"method":"system.ping"}`},
		{"ping", HostRequest, Params("system.ping"), "params", `{"jsonrpc":"2.0","id":2,"method":"system.ping","params":null}`},
		{"health", FrameResponse, Result("system.ping"), "result", `{"jsonrpc":"2.0","id":2,"result":{"status":"ok","version":"1.0.0","protocolVersion":"0.1.0","uptimeMs":41,"pid":4711,"platform":"linux-x86_64","loadedTools":1,"activeTraces":0}}`},
		{"session", HostRequest, Params("agent.session.create"), "params", `{"jsonrpc":"2.0","id":3,"method":"agent.session.create","params":{"chatId":"chat-1","userId":"local"}}`},
		{"stream", HostRequest, Params("agent.chat.stream"), "params", `{"jsonrpc":"2.0","id":4,"method":"agent.chat.stream","params":{"provider":"openai-compatible","model":"m","baseUrl":"http://127.0.0.1:9/v1","apiKey":"k","messages":[{"role":"user","content":"go"}],"toolsViaHost":true,"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}],"execSandbox":{"enabled":true,"writableRoots":["/p"],"network":false},"approval":{"mode":"host","storePath":"/h/approvals.json"},"useCoreLoop":true}}`},
		{"stream by its short name", HostRequest, Params("chat.stream"), "params", `{"id":"a-1","method":"chat.stream","params":{"provider":"scripted","model":"m","providerOptions":{"script":[{"text":"done"}]},"somethingNew":{"x":1}}}`},
		{"stream id", FrameResponse, Result("agent.chat.stream"), "result", `{"jsonrpc":"2.0","id":4,"result":{"streamId":"str_1"}}`},
		{"empty chunk", FrameNotification, Notification("stream.chunk"), "params", `{"jsonrpc":"2.0","method":"stream.chunk","params":{"streamId":"str_1"}}`},
		{"delta", FrameNotification, Notification("stream.chunk"), "params", `{"jsonrpc":"2.0","method":"stream.chunk","params":{"streamId":"str_1","delta":"Let me \"look\".\n"}}`},
		{"reset", FrameNotification, Notification("stream.chunk"), "params", `{"jsonrpc":"2.0","method":"stream.chunk","params":{"streamId":"str_1","reset":true,"attempt":2}}`},
		{"tool call", FrameNotification, Notification("stream.chunk"), "params", `{"jsonrpc":"2.0","method":"stream.chunk","params":{"streamId":"str_1","toolCall":{"id":"call_1","name":"bash","arguments":{"command":"ls"}}}}`},
		{"question", FrameRequest, ReverseParams("approval.request"), "params", `{"jsonrpc":"2.0","id":"srv_1","method":"approval.request","params":{"toolName":"bash","arguments":{"command":"ls"},"mode":"other","category":"bash","round":1,"requestId":"srv_1","streamId":"str_1","chatId":"chat-1","callId":"call_1","suggestedPrefix":["ls"]}}`},
		{"answer", HostResponse, ReverseResult("approval.request"), "result", `{"jsonrpc":"2.0","id":"srv_1","result":{"kind":"allow_for_session","amendment":{"decision":"allow","commandPrefix":["ls"]}}}`},
		{"no answer", HostResponse, "", "", `{"jsonrpc":"2.0","id":"srv_1","error":{"code":-32000,"message":"unsupported reverse method approval.request"}}`},
		{"question closed", FrameNotification, Notification("approval.resolved"), "params", `{"jsonrpc":"2.0","method":"approval.resolved","params":{"streamId":"str_1","requestId":"srv_1","outcome":"answered"}}`},
		{"call of a host tool", FrameRequest, ReverseParams("tool.invoke"), "params", `{"jsonrpc":"2.0","id":"srv_2","method":"tool.invoke","params":{"id":"call_1","name":"bash","arguments":{"command":"bwrap … -- /bin/sh -c ls"},"context":{"chatId":"chat-1"}}}`},
		{"its result", HostResponse, ReverseResult("tool.invoke"), "result", `{"jsonrpc":"2.0","id":"srv_2","result":{"success":true,"result":"a.txt"}}`},
		{"confined spawn", FrameRequest, ReverseParams("host.process.spawn"), "params", `{"jsonrpc":"2.0","id":"srv_3","method":"host.process.spawn","params":{"command":"dir","cwd":"C:\\work","policy":{"writableRoots":["C:\\work"],"network":true,"allowedHosts":["api.deepseek.com"]},"context":{"chatId":"chat-1"}}}`},
		{"its outcome", HostResponse, ReverseResult("host.process.spawn"), "result", `{"jsonrpc":"2.0","id":"srv_3","result":{"exitCode":0,"stdout":"…","stderr":"","truncated":false,"sandbox":{"backend":"windows-restricted-token","enforcement":"full"}}}`},
		{"tool result", FrameNotification, Notification("stream.chunk"), "params", `{"jsonrpc":"2.0","method":"stream.chunk","params":{"streamId":"str_1","toolResult":{"id":"call_1","name":"bash","success":true,"durationMs":12,"resultPreview":"a.txt","sandbox":{"backend":"bwrap","enforcement":"full"}}}}`},
		{"end of a round", FrameNotification, Notification("stream.chunk"), "params", `{"jsonrpc":"2.0","method":"stream.chunk","params":{"streamId":"str_1","notice":{"kind":"round_end","status":"executing","round":1}}}`},
		{"steer", HostRequest, Params("agent.chat.steer"), "params", `{"jsonrpc":"2.0","id":5,"method":"agent.chat.steer","params":{"streamId":"str_1","content":"faster"}}`},
		{"steered", FrameResponse, Result("agent.chat.steer"), "result", `{"jsonrpc":"2.0","id":5,"result":{"ok":true,"accepted":true}}`},
		{"cancel of nothing", FrameResponse, Result("agent.chat.cancel"), "result", `{"jsonrpc":"2.0","id":6,"result":null}`},
		{"failure", FrameNotification, Notification("stream.error"), "params", `{"jsonrpc":"2.0","method":"stream.error","params":{"streamId":"str_1","kind":"LoopError","message":"provider failed","traceId":"tr_1"}}`},
		{"abort", FrameNotification, Notification("stream.done"), "params", `{"jsonrpc":"2.0","method":"stream.done","params":{"streamId":"str_1","ok":false,"status":"failed","reason":"approval aborted: stop","traceId":"tr_1","aborted":true,"usage":{"promptTokens":5,"completionTokens":1,"totalTokens":6}}}`},
		{"bad parameters", FrameResponse, FrameError, "error", `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"model is required","kind":"invalid_params","data":{"pointer":"","keyword":"required"}}}`},
		{"broken line", FrameResponse, FrameError, "error", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"invalid JSON at byte 3","kind":"parse"}}`},
		{"overload", FrameResponse, FrameError, "error", `{"jsonrpc":"2.0","id":8,"error":{"code":-32001,"message":"overloaded","kind":"internal","data":{"reason":"overloaded","retryAfterMs":100}}}`},
		{"shutdown", FrameNotification, Notification("lifecycle.shutdown"), "params", `{"jsonrpc":"2.0","method":"lifecycle.shutdown","params":{"reason":"normal"}}`},
	}
}

// payloadOf returns the named member of a frame.
func payloadOf(t *testing.T, f frame) []byte {
	t.Helper()
	var found []byte
	err := Scan([]byte(f.line), func(key, value []byte) bool {
		if string(key) == f.member {
			found = value
		}
		return true
	})
	if err != nil || found == nil {
		t.Fatalf("no %s: %v", f.member, err)
	}
	return found
}

func TestTurn(t *testing.T) {
	set := New()
	for _, f := range turn() {
		t.Run(f.name, func(t *testing.T) {
			if err := set.Check(f.whole, []byte(f.line)); err != nil {
				t.Errorf("frame: %v", err)
			}
			if f.payload == "" {
				return
			}
			if err := set.Check(f.payload, payloadOf(t, f)); err != nil {
				t.Errorf("%s: %v", f.member, err)
			}
		})
	}
}

// TestTurnWithUnknownMembers adds a member to every payload: what hosts send is
// still accepted, what the sidecar sends no longer.
func TestTurnWithUnknownMembers(t *testing.T) {
	set := New()
	for _, f := range turn() {
		if f.payload == "" {
			continue
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(payloadOf(t, f), &object); err != nil || object == nil {
			continue // null
		}
		object["zzUnknown"] = json.RawMessage(`1`)
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		err = set.Check(f.payload, raw)
		if received := f.whole == HostRequest || f.whole == HostResponse; received != (err == nil) {
			t.Errorf("%s with an unknown member: %v", f.name, err)
		}
		var v *ValidationError
		if err != nil && (!errors.As(err, &v) || v.Pointer != "/zzUnknown") {
			t.Errorf("%s: %v, want the unknown member named", f.name, err)
		}
	}
}
