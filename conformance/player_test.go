package conformance

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

const (
	pingStep = `> {"jsonrpc":"2.0","id":1,"method":"system.ping"}` + "\n"
	okStep   = `< {"jsonrpc":"2.0","id":1,"result":{"ok":true}}` + "\n"
)

func parseScript(t *testing.T, script string) *Transcript {
	t.Helper()
	tr, err := Parse("case.txtar", []byte("Proves something.\n-- script --\n"+script))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestPlayer shows that each way of misbehaving is noticed and named.
func TestPlayer(t *testing.T) {
	for _, tt := range []struct {
		mode   string
		script string
		want   string // part of the mismatch; empty when the transcript passes
	}{
		{"good", pingStep + okStep, ""},
		{"good", `< {"jsonrpc":"2.0","method":"lifecycle.ready","params":{}}` + "\n" + pingStep + okStep, ""},
		{"good", `< {"jsonrpc":"2.0","method":"lifecycle.ready","params":{"pid":"<int>"}}` + "\n", "params.pid: missing, want \"<int>\""},
		{"good", pingStep + okStep + "! eof\n< " + goodbye + "\n! exit 0 within 2s\n", ""},
		{"good", pingStep + okStep + "! eof\n! exit 0 within 2s\n", "one frame more than was expected"},
		{"good", pingStep + okStep + "! exit 0 within 50ms\n", "still running after 50ms"},
		{"good", pingStep + "! none 100ms\n", "nothing was expected"},
		{"good", "! none 50ms\n" + pingStep + okStep, ""},
		{"good", "! stall 50ms\n" + pingStep + okStep, ""},
		{"good", "< stderr /peer is ready/\n", ""},
		{"hang at eof", "< stderr /peer is steady/\n", "no such line on stderr"},
		{"good", "< no stderr /panic/\n" + pingStep + okStep, ""},
		{"good", "< stderr /ready/\n< no stderr /fake/\n", "stderr has: fake peer is ready"},
		{"good", ">part {\"jsonrpc\":\"2.0\",\n>part \"id\":1}\n>hex 0d 0a\n" + okStep, ""},
		{"good", "# a comment\n\n" + pingStep + okStep, ""},
		{"polite", "! signal TERM\n< " + goodbye + "\n! exit 0 within 2s\n", ""},
		{"wrong field", pingStep + okStep, "result.ok: want true, got false"},
		{"extra field", pingStep + okStep, "result.more: not expected: 1"},
		{"missing frame", pingStep + okStep, "no frame within 1s"},
		{"extra frame", pingStep + okStep, "one frame more than was expected"},
		{"extra frame", pingStep + okStep + pingStep + okStep + okStep + "< " + `{"jsonrpc":"2.0","id":1,"result":{"ok":1}}` + "\n", "result.ok: want 1, got true"},
		{"print", pingStep + okStep, "invalid frame: not JSON"},
		{"scalar", pingStep + okStep, "a frame is an object, this is number"},
		{"utf8", pingStep + okStep, "not valid UTF-8"},
		{"no id", pingStep + okStep, "neither method nor id"},
		{"null result", pingStep + okStep, "either result or error"},
		{"id form", `> {"jsonrpc":"2.0","id":1.0,"method":"system.ping"}` + "\n" + `< {"jsonrpc":"2.0","id":1.0,"result":{"ok":true}}` + "\n", "id: want exactly 1.0, got 1"},
		{"exit early", pingStep + okStep, "stdout ended before this frame (exit code 3)"},
		{"exit early", pingStep + "! exit 0 within 2s\n", "exit code 3, want 0"},
		{"exit early", pingStep + "! exit 3 within 2s\n", ""},
		{"silent", pingStep + okStep, "no frame within 1s"},
		{"hang at eof", pingStep + okStep, "still running 1s after its stdin was closed"},
		{"torn", pingStep + okStep, "invalid frame: not JSON"},
		{"late frame", pingStep + okStep, "one frame more than was expected"},
		{"after goodbye", pingStep + okStep, "one frame more than was expected"},
		{"exit code", pingStep + okStep, "exit code 7"},
		{"orphan", pingStep + okStep, "outlived the peer"},
		{"deaf", `> {"pad":"@repeat(1000000,x)"}` + "\n", "write to the peer's stdin"},
		{"pieces", pingStep + `<+ {"jsonrpc":"2.0","method":"stream.chunk","params":{"delta":"<join:Hello world>"}}` + "\n" + okStep, ""},
		{"pieces", pingStep + `<+ {"jsonrpc":"2.0","method":"stream.chunk","params":{"delta":"<join:Hello there>"}}` + "\n" + okStep, `want pieces of "Hello there" after "Hello "`},
		{"pieces", pingStep + `<+ {"jsonrpc":"2.0","method":"stream.chunk","params":{"delta":"<join:Hello world!>"}}` + "\n" + okStep, `the pieces so far are "Hello world" of "Hello world!"`},
		{"lanes", pingStep + `<~a {"jsonrpc":"2.0","method":"a","params":{"n":1}}` + "\n" + `<~b {"jsonrpc":"2.0","method":"b","params":{"n":1}}` + "\n" +
			`<~b {"jsonrpc":"2.0","method":"b","params":{"n":2}}` + "\n" + `<~ {"jsonrpc":"2.0","id":1,"result":{"ok":true}}` + "\n", ""},
		{"lanes", pingStep + `<~a {"jsonrpc":"2.0","method":"a","params":{"n":1}}` + "\n" + `<~b {"jsonrpc":"2.0","method":"b","params":{"n":2}}` + "\n" +
			`<~b {"jsonrpc":"2.0","method":"b","params":{"n":1}}` + "\n" + `<~ {"jsonrpc":"2.0","id":1,"result":{"ok":true}}` + "\n", "params.n: want 2, got 1"},
		{"good", pingStep + `<? {"jsonrpc":"2.0","method":"notice","params":{}}` + "\n" + okStep, ""},
		{"lanes", pingStep + `<? {"jsonrpc":"2.0","method":"b","params":{"n":1}}` + "\n" + `<? {"jsonrpc":"2.0","method":"z","params":{}}` + "\n" +
			`< {"jsonrpc":"2.0","method":"a","params":{"n":1}}` + "\n" + `< {"jsonrpc":"2.0","method":"b","params":{"n":2}}` + "\n" + okStep, ""},
		{"echo", `> {"jsonrpc":"2.0","id":1,"method":"x","params":{"n":"@repeat(3,ab)"}}` + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"n":"ababab"}}` + "\n", ""},
		{
			"reverse", pingStep + `< {"jsonrpc":"2.0","id":"<id:call:^srv_[0-9]+$>","method":"tool.invoke","params":{}}` + "\n" +
				`> {"jsonrpc":"2.0","id":"<id:call>","result":null}` + "\n" + `< {"jsonrpc":"2.0","id":"<id:call>","method":"tool.invoke","params":{}}` + "\n", "",
		},
		{"reverse", pingStep + `< {"jsonrpc":"2.0","id":"<id:call:^host_>","method":"tool.invoke","params":{}}` + "\n", `id: want a string like /^host_/`},
	} {
		t.Run(tt.mode+" "+tt.want, func(t *testing.T) {
			t.Parallel()
			p := fakeCommand(t, tt.mode)
			p.CleanExit = true
			m, err := p.Play(t.Context(), parseScript(t, tt.script))
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.want == "" && m != nil:
				t.Fatalf("script\n%s\nwant no mismatch, got %v", tt.script, m)
			case tt.want != "" && (m == nil || !strings.Contains(m.String(), tt.want)):
				t.Fatalf("script\n%s\nwant a mismatch with %q, got %v", tt.script, tt.want, m)
			}
		})
	}
}

// TestPlayerIgnores shows that ignored frames may come anywhere.
func TestPlayerIgnores(t *testing.T) {
	const ignore = "-- ignore --\n" + `{"jsonrpc":"2.0","method":"agent.child","params":"<object>"}` + "\n"
	for _, script := range []string{pingStep + okStep + pingStep + okStep, pingStep + okStep + "! none 50ms\n"} {
		p := fakeCommand(t, "noisy")
		tr, err := Parse("case.txtar", []byte("x\n"+ignore+"-- script --\n"+script))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := p.Play(t.Context(), tr); m != nil || err != nil {
			t.Errorf("ignoring: %v, %v", m, err)
		}
		if m, err := p.Play(t.Context(), parseScript(t, script)); m == nil || err != nil {
			t.Error("without the ignore section the frame must be a mismatch")
		}
	}
}

// TestPlayerCheck shows that a caller's own rule holds for every frame.
func TestPlayerCheck(t *testing.T) {
	p := fakeCommand(t, "good")
	p.Check = func(frame []byte) error {
		if bytes.Contains(frame, []byte("shutdown")) {
			return errors.New("no good-bye")
		}
		return nil
	}
	m, err := p.Play(t.Context(), parseScript(t, pingStep+okStep))
	if err != nil || m == nil || !strings.Contains(m.String(), "invalid frame: no good-bye") {
		t.Errorf("want the caller's reason, got %v, %v", m, err)
	}
}

// TestPlayerReportsTheExchange shows what a reader of a failure gets to see.
func TestPlayerReportsTheExchange(t *testing.T) {
	p := fakeCommand(t, "wrong field")
	m, err := p.Play(t.Context(), parseScript(t, pingStep+okStep))
	if m == nil || err != nil {
		t.Fatalf("want a mismatch, got %v, %v", m, err)
	}
	if m.Transcript != "case" || m.Line != 4 || m.Got != `{"jsonrpc":"2.0","id":1,"result":{"ok":false}}` {
		t.Errorf("want line 4 of case and the frame that came, got %+v", m)
	}
	const want = `case.txtar:4: < {"jsonrpc":"2.0","id":1,"result":{"ok":true}}
    result.ok: want true, got false
  got
    < {"jsonrpc":"2.0","id":1,"result":{"ok":false}}
  before that
    < {"jsonrpc":"2.0","method":"lifecycle.ready","params":{}}
    > {"jsonrpc":"2.0","id":1,"method":"system.ping"}
  stderr
    fake peer is ready`
	if got := m.String(); got != want {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}

func TestPlayerErrors(t *testing.T) {
	tr := parseScript(t, pingStep+okStep)
	p := fakeCommand(t, "good")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name       string
		ctx        context.Context
		player     Player
		transcript *Transcript
		want       string
	}{
		{"no command", t.Context(), Player{}, tr, "no command"},
		{"missing program", t.Context(), Player{Command: []string{"./no-such-program"}}, tr, "no-such-program"},
		{"unknown capture", t.Context(), p, parseScript(t, `> {"id":"<id:nobody>"}`+"\n"+okStep), `captured as "nobody"`},
		{"bad repeat", t.Context(), p, parseScript(t, `> @repeat(many,x)`+"\n"+okStep), "bad @repeat"},
		{"context", cancelled, p, tr, "context canceled"},
	} {
		m, err := tt.player.Play(tt.ctx, tt.transcript)
		if m != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: want an error with %q and no mismatch, got %v, %v", tt.name, tt.want, m, err)
		}
	}
}

// TestPlayerIsBounded shows that no misbehaviour outlasts the timeouts.
func TestPlayerIsBounded(t *testing.T) {
	for _, mode := range []string{"deaf", "silent", "hang at eof", "orphan"} {
		p := fakeCommand(t, mode)
		p.Timeout = 200 * time.Millisecond
		start := time.Now()
		if m, err := p.Play(t.Context(), parseScript(t, pingStep+okStep)); m == nil || err != nil {
			t.Errorf("%s: want a mismatch", mode)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %v", mode, took)
		}
	}
}
