package schemas

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestCheckSyntaxComesFirst(t *testing.T) {
	set := New()
	for _, name := range []string{"events/StreamDone", "runtime/TraceFetchResult"} { // a table and v5
		for _, text := range []string{``, `{"status":5,}`, `{"unknown":1} x`, `{"streamId":5,"a":1,"a":2}`, "{\"streamId\":[\"\xff\"]}", `nope`} {
			var s *SyntaxError
			if err := set.Check(name, []byte(text)); !errors.As(err, &s) {
				t.Errorf("%s: %q: %v, want a syntax error", name, text, err)
			}
		}
	}
}

func TestCheckCompilesOnce(t *testing.T) {
	set := New()
	for _, name := range []string{"events/StreamDone", "runtime/TraceFetchResult"} {
		first, err := set.compile(name)
		if err != nil {
			t.Fatal(err)
		}
		_ = set.Check(name, []byte(`{}`))
		if again, err := set.compile(name); err != nil || again != first {
			t.Errorf("%s was compiled again: %v", name, err)
		}
	}
	_ = set.Check("chat/Nothing", []byte(`{}`))
	if n := len(*set.engines.Load()); n != 2 {
		t.Errorf("%d engines, want the two that exist", n)
	}
}

func TestCheckUnknownName(t *testing.T) {
	set := New()
	for _, name := range []string{"", "chat/Nothing", "../schemas", "chat", "chat/ChatStreamParams.schema.json", strings.Repeat("x", 1000)} {
		var v *ValidationError
		if err := set.Check(name, []byte(`{}`)); !errors.As(err, &v) || v.Keyword != "$ref" || len(v.Message) > 200 {
			t.Errorf("%.40q: %v, want it refused", name, err)
		}
	}
}

func TestCheckWordsItsErrors(t *testing.T) {
	set := New()
	for _, tt := range []struct{ name, schema, instance, want string }{
		{"missing member", "chat/ChatStreamParams", `{"provider":"openai"}`, "model is required"},
		{"type", "chat/ChatStreamParams", `{"provider":"p","model":"m","maxRounds":"many"}`, "/maxRounds: must be of type integer or null"},
		{"enum", "chat/ApprovalOptions", `{"mode":"secret"}`, `/mode: must be "auto" or "host"`},
		{"bound", "chat/ChatStreamParams", `{"provider":"p","model":"m","toolTimeoutMs":0}`, "/toolTimeoutMs: must be at least 1"},
		{"alternatives", FrameResponse, `{"jsonrpc":"2.0","id":1}`, "must have exactly one of result or error"},
		{"unknown member", "events/StreamDone", `{"streamId":"s","secret~/x":1}`, "/secret~0~1x: unknown member"},
		{"long name", "events/StreamDone", `{"` + strings.Repeat("é", 100) + `":1}`, "/" + strings.Repeat("é", 32) + "…: unknown member"},
		{"index", "runtime/SessionListResult", `[{}]`, "/0: chatId is required"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := set.Check(tt.schema, []byte(tt.instance))
			if err == nil || err.Error() != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// TestErrorsHideValues puts a secret into every example and looks for it in the
// errors of both engines.
func TestErrorsHideValues(t *testing.T) {
	const secret = "sk-swordfish"
	set, seen := New(), 0
	for _, name := range allNames(t) {
		j := reference(t, name)
		for _, instance := range loadExamples(t, name).Valid {
			for k, c := range instance {
				if c != ':' {
					continue
				}
				bad := append(append(bytes.Clone(instance[:k+1]), `["`+secret+`",-0.5712,`...), instance[k+1:]...)
				for _, e := range []error{set.Check(name, bad), j.check(bad)} {
					if e != nil && (strings.Contains(e.Error(), secret) || strings.Contains(e.Error(), "5712")) {
						t.Fatalf("%s: %v", name, e)
					}
				}
				for _, value := range []string{`"` + secret + `"`, `-5712.25`} {
					other := append(append(bytes.Clone(instance[:k+1]), value...), tail(instance[k+1:])...)
					for _, e := range []error{set.Check(name, other), j.check(other)} {
						if e != nil {
							seen++
						}
						if e != nil && (strings.Contains(e.Error(), secret) || strings.Contains(e.Error(), "5712")) {
							t.Fatalf("%s: %s: %v", name, other, e)
						}
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d errors were looked at", seen)
	}
}

// tail returns what follows the value at the beginning of b.
func tail(b []byte) []byte {
	s := scanner{raw: b}
	if i := s.value(0); i >= 0 {
		return b[i:]
	}
	return nil
}

// TestSetConcurrently uses every schema for the first time from many goroutines.
func TestSetConcurrently(t *testing.T) {
	set := New()
	names := allNames(t)
	all := map[string][]byte{}
	for _, name := range names {
		all[name] = loadExamples(t, name).Valid[0]
	}
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := range names {
				name := names[(i*(2*k+1))%len(names)]
				if err := set.Check(name, all[name]); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestHotFramesDoNotAllocate(t *testing.T) {
	set := New()
	big := toolReply(1 << 20)
	request := []byte(sandboxRequest)
	type hot struct {
		name string
		run  func() error
	}
	frames := []hot{
		{"request", func() error { return splitAndCheck(set, request) }},
		{"valid", func() error { return Valid(big) }},
		{"split", func() error { return Scan(big, func(_, _ []byte) bool { return true }) }},
	}
	for _, frame := range []struct{ name, schema, text string }{
		{"chunk", Notification("stream.chunk"), `{"streamId":"str_1","delta":"a\n\"b\" é"}`},
		{"chunk with a result", Notification("stream.chunk"), `{"streamId":"str_1","toolResult":{"id":"a","name":"b","success":true,"sandbox":{"backend":"bwrap","enforcement":"full"}}}`},
		{"reverse call", ReverseParams("tool.invoke"), `{"id":"a","name":"b","arguments":{"command":"ls -l"},"context":{"chatId":"c"}}`},
		{"ping", Result("system.ping"), `{"status":"ok","version":"1","uptimeMs":5,"checks":{"sandbox":{"status":"ok"}}}`},
		{"tool result", HostResponse, string(big)},
	} {
		raw := []byte(frame.text)
		frames = append(frames, hot{frame.name, func() error { return set.Check(frame.schema, raw) }})
	}
	for _, tt := range frames {
		t.Run(tt.name, func(t *testing.T) {
			allocations := testing.AllocsPerRun(10, func() {
				if err := tt.run(); err != nil {
					t.Fatal(err)
				}
			})
			if allocations != 0 {
				t.Errorf("%v allocations", allocations)
			}
		})
	}
}

func TestNewIsFree(t *testing.T) {
	var set *Set
	if n := testing.AllocsPerRun(100, func() { set = New() }); n > 1 {
		t.Errorf("New allocates %v times", n)
	}
	if set.engines.Load() != nil {
		t.Error("New compiled something")
	}
}

// TestStartIsFree reads what the runtime says about the initialisation of this
// package, in a process of its own. Anything done before main delays every
// start.
func TestStartIsFree(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !bytes.Contains(out, []byte("init ")) {
		t.Fatalf("no trace: %s", out)
	}
	line := regexp.MustCompile(`init github\.com/steerable-go/sidecar/schemas @.*, ([0-9.]+) ms clock, (\d+) bytes`)
	if m := line.FindSubmatch(out); m != nil {
		ms, _ := strconv.ParseFloat(string(m[1]), 64)
		if bytes, _ := strconv.Atoi(string(m[2])); ms > 1 || bytes > 4096 {
			t.Errorf("the package is initialised at a cost: %s", m[0])
		}
	}
}
