package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/protocol"
)

// Colours are for terminals alone, and not for people who declined them.
func TestDemoColour(t *testing.T) {
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a device, as a terminal is
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "out"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, tt := range []struct {
		name string
		env  environment
		want bool
	}{
		{"device", environment{stdout: device, getenv: variables(map[string]string{"TERM": "xterm"})}, true},
		{"NO_COLOR", environment{stdout: device, getenv: variables(map[string]string{"NO_COLOR": "1"})}, false},
		{"empty NO_COLOR", environment{stdout: device, getenv: variables(map[string]string{"NO_COLOR": ""})}, true},
		{"dumb terminal", environment{stdout: device, getenv: variables(map[string]string{"TERM": "dumb"})}, false},
		{"file", environment{stdout: file, getenv: variables(nil)}, false},
		{"no file", environment{stdout: &strings.Builder{}, getenv: variables(nil)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := newDemoView(tt.env).colour; got != tt.want {
				t.Errorf("colours: %v, want %v", got, tt.want)
			}
		})
	}
}

// Every element of the view, without colours and with them.
func TestDemoView(t *testing.T) {
	show := func(colour bool) string {
		var out strings.Builder
		v := newDemoView(environment{stdout: &out, getenv: variables(nil)})
		v.colour = colour
		v.question("Ready?")
		v.text("")
		v.text("I will ")
		v.text("look.")
		v.call(&protocol.ToolCall{ID: "1", Name: "look", Arguments: json.RawMessage(`{"n":1}`)})
		v.result(&protocol.ChunkResult{ID: "1", Name: "look", Success: true, ResultPreview: "a\n b"})
		v.result(&protocol.ChunkResult{Error: "approval_denied", Sandbox: json.RawMessage(`{"backend":"bwrap","enforcement":"full"}`)})
		v.result(&protocol.ChunkResult{Error: "timeout", Sandbox: json.RawMessage(`{`)})
		v.text("Hm.")
		v.failure("no model")
		v.summary(&protocol.Done{Status: "failed", Reason: "no model"})
		return out.String()
	}
	plain := show(false)
	for _, want := range []string{
		"you: Ready?\n",
		"model: I will look.\n",
		"  → look {\"n\":1}\n",
		"  ← allowed  sandbox none/none  a b\n",
		"  ← denied: approval_denied  sandbox bwrap/full  \n",
		"  ← failed: timeout  sandbox unreadable  \n",
		"model: Hm.\nerror: no model\n",
		"failed: 1 tool calls, 0 tokens, ",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("%q is missing in\n%s", want, plain)
		}
	}
	if strings.Contains(plain, "\x1b") {
		t.Errorf("escape bytes without colours: %q", plain)
	}
	coloured := show(true)
	if strings.Count(coloured, "\x1b[0m") < 8 || strings.Count(coloured, "\x1b[")%2 != 0 {
		t.Errorf("colours are not on, or not off again: %q", coloured)
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(" a\n\tb  c "); got != "a b c" {
		t.Errorf("got %q", got)
	}
	if got := oneLine(strings.Repeat("ü", 101)); got != strings.Repeat("ü", 100)+"…" {
		t.Errorf("got %q", got)
	}
}

// A person answers with a number or a name; everything else is asked again, and
// the end of input denies.
func TestDemoAsk(t *testing.T) {
	for _, tt := range []struct {
		input string
		want  approvals.Kind
	}{
		{"1\n", approvals.AllowOnce},
		{"2\n", approvals.AllowForSession},
		{"3\n", approvals.AllowAlways},
		{"4\n", approvals.DenyOnce},
		{"5\n", approvals.DenyForSession},
		{"6\n", approvals.DenyAlways},
		{"7\n", approvals.Abort},
		{" deny_always \n", approvals.DenyAlways},
		{"0\n8\nyes\n-1\n\n2\n", approvals.AllowForSession},
		{"3", approvals.AllowAlways},
		{"", approvals.DenyOnce},
		{"yes\n", approvals.DenyOnce},
		{"timed_out\n", approvals.DenyOnce},
	} {
		var out strings.Builder
		env := environment{stdout: &out, getenv: variables(nil)}
		h := &demoHost{env: env, view: newDemoView(env), answers: bufio.NewReader(strings.NewReader(tt.input))}
		got := h.ask(&demoQuestionFrame{ToolName: "bash", Arguments: json.RawMessage(`{}`), Category: "bash"})
		if got != tt.want {
			t.Errorf("%q is %v, want %v", tt.input, got, tt.want)
		}
	}
}
