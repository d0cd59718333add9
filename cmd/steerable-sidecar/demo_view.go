package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
)

// demoView shows a turn to a person: colours on a terminal, plain text in a
// pipe or with NO_COLOR.
type demoView struct {
	out    io.Writer
	colour bool
	start  time.Time
	midway bool // text stands on the current line
	calls  int
	err    error // the first write that failed; nobody watches any more
}

func newDemoView(env environment) *demoView {
	return &demoView{
		out: env.stdout, start: time.Now(),
		colour: device(env.stdout) && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb",
	}
}

// device reports whether a stream is a character device, as a terminal is.
func device(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Terminal attributes (ECMA-48 SGR).
const (
	sgrBold = "1"
	sgrDim  = "2"
	sgrRed  = "31"
	sgrCyan = "36"
)

func (v *demoView) paint(sgr, text string) string {
	if !v.colour {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

func (v *demoView) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(v.out, format, args...); err != nil && v.err == nil {
		v.err = fmt.Errorf("show the turn: %w", err)
	}
}

// newline ends a line of streamed text.
func (v *demoView) newline() {
	if v.midway {
		v.printf("\n")
		v.midway = false
	}
}

func (v *demoView) question(text string) {
	v.printf("%s %s\n", v.paint(sgrBold, "you:"), text)
}

func (v *demoView) text(delta string) {
	if delta == "" {
		return
	}
	if !v.midway {
		v.printf("%s ", v.paint(sgrBold, "model:"))
		v.midway = true
	}
	v.printf("%s", delta)
}

func (v *demoView) call(call *protocol.ToolCall) {
	v.newline()
	v.calls++
	v.printf("  %s %s\n", v.paint(sgrCyan, "→ "+call.Name), call.Arguments)
}

// result shows what a call came to: the decision, and how it was confined.
func (v *demoView) result(r *protocol.ChunkResult) {
	decision := v.paint(sgrCyan, "allowed")
	switch {
	case executors.RefusalCode(r.Error):
		decision = v.paint(sgrRed, "denied: "+r.Error)
	case !r.Success:
		decision = v.paint(sgrRed, "failed: "+r.Error)
	}
	v.printf("  %s %s  sandbox %s  %s\n", v.paint(sgrCyan, "←"), decision, sandboxMarker(r.Sandbox), v.paint(sgrDim, oneLine(r.ResultPreview)))
}

// sandboxMarker is backend/enforcement; a call that carries no marker was not
// confined.
func sandboxMarker(raw json.RawMessage) string {
	m := protocol.SandboxReport{Backend: "none", Enforcement: "none"}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &m); err != nil {
			return "unreadable"
		}
	}
	return m.Backend + "/" + m.Enforcement
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func (v *demoView) failure(message string) {
	v.newline()
	v.printf("%s %s\n", v.paint(sgrRed, "error:"), message)
}

func (v *demoView) summary(done *protocol.Done) {
	v.newline()
	tokens := int64(0)
	if done.Usage != nil {
		tokens = done.Usage.TotalTokens
	}
	v.printf("%s %d tool calls, %d tokens, %.1f s: %s\n", v.paint(sgrBold, done.Status+":"), v.calls, tokens,
		time.Since(v.start).Seconds(), done.Reason)
}
