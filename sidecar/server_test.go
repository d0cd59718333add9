package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session is a server under test with its host's end.
type session struct {
	t      *testing.T
	in     *os.File
	out    *os.File
	lines  *bufio.Reader
	done   chan error
	logs   *syncBuffer
	cancel context.CancelFunc
	ended  bool
}

// syncBuffer is a buffer that several goroutines may write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs a server over real pipes.
func start(t *testing.T, change func(*Options)) *session {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		t: t, in: inW, out: outR, lines: bufio.NewReaderSize(outR, 1<<16), done: make(chan error, 1),
		logs: &syncBuffer{}, cancel: cancel,
	}
	opts := Options{In: inR, Out: outW, ErrOut: io.Discard, Log: zerolog.New(s.logs)}
	if change != nil {
		change(&opts)
	}
	server := New(opts)
	go func() { s.done <- server.Run(ctx) }()
	t.Cleanup(func() {
		inW.Close()
		go io.Copy(io.Discard, outR)
		if err := s.wait(); err != nil {
			t.Errorf("Run: %v", err)
		}
		cancel()
		inR.Close()
		outW.Close()
		outR.Close()
		if strings.Contains(s.logs.String(), "bug:") {
			t.Errorf("the server logged a bug of its own: %s", s.logs)
		}
	})
	s.want(`"method":"lifecycle.ready"`)
	return s
}

// wait returns when Run has returned.
func (s *session) wait() error {
	if s.ended {
		return nil
	}
	select {
	case err := <-s.done:
		s.ended = true
		return err
	case <-time.After(10 * time.Second):
		s.t.Fatal("Run does not return")
		return nil
	}
}

func (s *session) send(format string, args ...any) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, format+"\n", args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) recv() string {
	s.t.Helper()
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("read: %v", err)
	}
	return line
}

// want reads one frame, which must hold every part.
func (s *session) want(parts ...string) string {
	s.t.Helper()
	line := s.recv()
	for _, part := range parts {
		if !strings.Contains(line, part) {
			s.t.Fatalf("got %.400s, want %s", line, part)
		}
	}
	return line
}

// until reads frames up to one that holds part.
func (s *session) until(part string) string {
	s.t.Helper()
	for {
		if line := s.recv(); strings.Contains(line, part) {
			return line
		}
	}
}

// turn starts a turn of the scripted model.
func (s *session) turn(id, script, more string) {
	s.send(`{"id":%q,"method":"agent.chat.stream","params":{"streamId":%q,"provider":"scripted","model":"m",`+
		`"messages":[{"role":"user","content":"go"}],"providerOptions":{"script":%s}%s}}`, id, id, script, more)
}

const hostTool = `,"toolsViaHost":true,"tools":[{"type":"function","function":{"name":"t"}}]`

func TestTurnOrder(t *testing.T) {
	s := start(t, nil)
	s.turn("a", `[{"text":["x","y"]}]`, "")
	s.want(`"id":"a"`, `"result":{"streamId":"a"}`)
	if got := s.recv(); got != `{"jsonrpc":"2.0","method":"stream.chunk","params":{"streamId":"a"}}`+"\n" {
		t.Errorf("second frame: %s", got)
	}
	s.want(`"delta":"x"`)
	s.want(`"delta":"y"`)
	s.want(`"finishReason":"stop"`, `"usage"`)
	s.want(`"method":"stream.done"`, `"ok":true`, `"status":"completed"`)
}

func TestEndOfInput(t *testing.T) {
	for _, test := range []struct{ name, script, more string }{
		{"idle", "", ""},
		{"while the model talks", `[{"text":["x","y"],"delayMs":60000}]`, ""},
		{"while a tool runs", `[{"toolCalls":[{"id":"c","name":"t"}]}]`, hostTool},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, nil)
			if test.script != "" {
				s.turn("a", test.script, test.more)
				s.until(`"params":{"streamId":"a"}`)
			}
			if test.more != "" {
				s.until(`"method":"tool.invoke"`)
			}
			began := time.Now()
			s.in.Close()
			if test.script != "" {
				s.until(`"status":"cancelled"`)
			}
			s.until(`"method":"lifecycle.shutdown","params":{"reason":"eof"}`)
			if err := s.wait(); err != nil {
				t.Errorf("Run: %v", err)
			}
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestStubbornTool: a tool that ignores its cancellation cannot hold the process.
func TestStubbornTool(t *testing.T) {
	release := make(chan struct{})
	s := start(t, func(o *Options) {
		o.Tools = []executors.Tool{{Name: "stuck", Run: func(context.Context, *executors.Call) (*protocol.ToolResult, error) {
			<-release
			return &protocol.ToolResult{Success: true}, nil
		}}}
	})
	defer close(release)
	s.turn("a", `[{"toolCalls":[{"id":"c","name":"stuck"}]}]`, `,"useCoreLoop":true`)
	s.until(`"toolCall"`)
	began := time.Now()
	s.in.Close()
	s.until(`"status":"cancelled"`)
	s.until(`"lifecycle.shutdown"`)
	if err := s.wait(); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("Run: %v after %v", err, time.Since(began))
	}
}

func TestShutdown(t *testing.T) {
	for _, method := range []string{"system.shutdown", "system.shutdown_now"} {
		s := start(t, nil)
		s.send(`{"id":1,"method":%q}`, method)
		s.want(`"id":1`, `"result"`)
		s.want(`"method":"lifecycle.shutdown","params":{"reason":"normal"}`)
		if err := s.wait(); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestSignal(t *testing.T) {
	s := start(t, nil)
	s.cancel()
	s.want(`"method":"lifecycle.shutdown","params":{"reason":"normal"}`)
}

// TestConfigIsStoredWhole: a setting that is refused changes nothing.
func TestConfigIsStoredWhole(t *testing.T) {
	var levels []zerolog.Level
	s := start(t, func(o *Options) { o.SetLevel = func(l zerolog.Level) { levels = append(levels, l) } })
	s.send(`{"id":1,"method":"config.set","params":{"logLevel":"LOUD","gracePeriodSeconds":9}}`)
	s.want(`-32602`)
	s.send(`{"id":2,"method":"config.set","params":{"logLevel":"debug","gracePeriodSeconds":-1}}`)
	s.want(`-32602`)
	s.send(`{"id":3,"method":"config.get","params":{"merged":true}}`)
	s.want(`"logLevel":"INFO"`, `"gracePeriodSeconds":5`, `"layer":"default"`)
	s.send(`{"id":4,"method":"config.set","params":{"logLevel":"debug"}}`)
	s.want(`"logLevel":"DEBUG"`)
	if len(levels) != 1 || levels[0] != zerolog.DebugLevel {
		t.Errorf("levels set: %v", levels)
	}
}

func TestLayersAreRefusedAtTheDoor(t *testing.T) {
	s := start(t, nil)
	for i, more := range []string{
		`,"execSandbox":{"enabled":true,"writableRoots":["/no/such/folder"]}`,
		`,"execSandbox":{"enabled":true,"writableRoots":["/"]}`,
		`,"execSandbox":{"enabled":true,"network":true,"allowedHosts":["*.x.example"]}`,
		`,"execSandbox":{"enabled":true,"tools":"bash"}`,
		`,"execSandbox":[]`, `,"execSandbox":"on"`,
		`,"approval":true`, `,"approval":{"mode":"trust"}`, `,"approval":{"mode":"host","timeoutMs":-1}`,
		`,"safety":{"gate":"open"}`, `,"safety":{"critical":"allow"}`, `,"safety":{"set":"none"}`,
		`,"safety":{"disabledPatternIds":["no_such_rule"]}`,
		`,"safety":{"patterns":[{"id":"x"}]}`,
		`,"safety":{"patterns":[{"id":"x","label":"l","description":"d","pattern":"(?=a)","category":"c","severity":"critical","platform":"all"}]}`,
		`,"authz":{"mode":"maybe"}`, `,"authz":{}`,
		`,"maxRounds":-1`, `,"maxRounds":1.5`, `,"toolTimeoutMs":0`, `,"contentMode":"final"`,
		`,"systemPrompt":"x","messages":[{"role":"system","content":"y"}]`,
		`,"provider":"nobody"`, `,"messages":[]`,
	} {
		s.turn(fmt.Sprint("r", i), `[{"text":"x"}]`, more)
		if got := s.recv(); !strings.Contains(got, `"code":-32602`) && !strings.Contains(got, `"code":-32600`) {
			t.Errorf("%s: %.200s", more, got)
		}
	}
}

// TestCaseCannotOverride: a member that differs from a checked one only in case
// has no effect.
func TestCaseCannotOverride(t *testing.T) {
	s := start(t, nil)
	s.turn("a", `[{"toolCalls":[{"id":"c","name":"bash","arguments":{"command":"ls"}}]},{"text":"x"}]`,
		`,"toolsViaHost":true,"tools":[{"function":{"name":"bash"}}],"execSandbox":{"enabled":true,"Enabled":false,"requireFull":true,"RequireFull":false}`)
	s.until(`"error":"sandbox_unavailable"`)
	s.until(`"stream.done"`)
}

func TestTrace(t *testing.T) {
	s := start(t, nil)
	s.turn("a", `[{"toolCalls":[{"id":"c","name":"t"}]},{"text":"x"}]`, hostTool)
	s.until(`"tool.invoke"`)
	s.send(`{"id":"srv_1","result":{"success":true}}`)
	var done struct{ Params protocol.Done }
	if err := json.Unmarshal([]byte(s.until(`"stream.done"`)), &done); err != nil {
		t.Fatal(err)
	}
	s.send(`{"id":2,"method":"trace.fetch","params":{"traceId":%q}}`, done.Params.TraceID)
	var reply struct{ Result protocol.Trace }
	if err := json.Unmarshal([]byte(s.recv()), &reply); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, span := range reply.Result.Spans {
		names = append(names, span.ParentID+"/"+span.Name)
	}
	if got := strings.Join(names, " "); got != "round_0/t /round_0 /round_1" || reply.Result.Trace.Status != "completed" {
		t.Errorf("spans %s, status %s", got, reply.Result.Trace.Status)
	}
	s.send(`{"id":3,"method":"trace.fetch","params":{"traceId":"none"}}`)
	s.want(`-32004`)
}

// TestFramesDoNotAccumulate: memory is flat over many frames.
func TestFramesDoNotAccumulate(t *testing.T) {
	s := start(t, nil)
	const n = 100_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	play := func() {
		go func() {
			w := bufio.NewWriter(s.in)
			for i := range n {
				fmt.Fprintf(w, `{"id":%d,"method":"system.ping","params":{}}`+"\n", i)
			}
			w.Flush()
		}()
		for range n {
			s.recv()
		}
	}
	play()
	play() // buffers have their size now
	before := heap()
	play()
	if after := heap(); after > before+4<<20 { // buffers may hold 2 MiB; a leak of 50 bytes a frame would show
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

func TestManyStreams(t *testing.T) {
	s := start(t, nil)
	const n = 32
	go func() {
		for i := range n {
			s.turn(fmt.Sprint("s", i), `[{"text":["a","b","c","d"]}]`, "")
		}
	}()
	text, done := map[string]string{}, 0
	for done < n {
		var f struct {
			Method string
			Params struct {
				StreamID, Delta, Status string
			}
		}
		if err := json.Unmarshal([]byte(s.recv()), &f); err != nil {
			t.Fatal(err)
		}
		text[f.Params.StreamID] += f.Params.Delta
		if f.Method == "stream.done" {
			done++
			if f.Params.Status != "completed" || text[f.Params.StreamID] != "abcd" {
				t.Errorf("%s: %s, %q", f.Params.StreamID, f.Params.Status, text[f.Params.StreamID])
			}
		}
	}
}

func TestLogWriterNeverWaits(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	logs := NewLogWriter(w)
	line := []byte(strings.Repeat("x", 999) + "\n")
	began := time.Now()
	for range 2000 { // far more than the pipe and the buffer hold
		if n, err := logs.Write(line); n != len(line) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	logs.Close(50 * time.Millisecond)
	if took := time.Since(began); took > time.Second {
		t.Errorf("took %v", took)
	}
	go func() { logs.Close(5 * time.Second); w.Close() }()
	got, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(got), `"log lines dropped"`) {
		t.Errorf("no word of dropped lines in %d bytes: %v", len(got), err)
	}
}

// TestStreamIDIsFreeOnlyAfterItsEnd reuses an id at the moment its stream is
// cancelled: the new stream must never begin before the old one's stream.done.
func TestStreamIDIsFreeOnlyAfterItsEnd(t *testing.T) {
	s := start(t, nil)
	for range 200 {
		s.turn("x", `[{"text":["a"],"delayMs":60000}]`, "")
		s.until(`"params":{"streamId":"x"}`)
		s.send(`{"id":"c","method":"agent.chat.cancel","params":{"streamId":"x"}}` +
			strings.Repeat("\n"+`{"id":"n","method":"agent.chat.stream","params":{"streamId":"x","provider":"scripted","model":"m",`+
				`"messages":[{"role":"user","content":"go"}],"providerOptions":{"script":[{"text":"b"}]}}}`, 3))
		open, answers, begun := true, 0, 0
		for answers < 3 || open {
			line := s.recv()
			switch {
			case strings.Contains(line, `"id":"n"`):
				answers++
				if strings.Contains(line, `"result"`) {
					begun++
					if open {
						t.Fatal("a stream began before the one with its id had ended")
					}
					open = true
				}
			case strings.Contains(line, `"stream.done"`):
				open = false
			}
		}
	}
}

// TestNothingAfterTheLastFrame: lifecycle.shutdown stays last whatever comes in.
func TestNothingAfterTheLastFrame(t *testing.T) {
	for range 20 {
		s := start(t, nil)
		s.send(`{"id":1,"method":"system.shutdown_now"}` + strings.Repeat("\n"+`{"id":2,"method":"system.ping"}`, 300))
		s.until(`"lifecycle.shutdown"`)
		if err := s.wait(); err != nil {
			t.Fatal(err)
		}
		if n := s.lines.Buffered(); n > 0 {
			rest, _ := s.lines.Peek(n)
			t.Fatalf("after the last frame: %.200s", rest)
		}
	}
}

func TestShutdownUnderLoad(t *testing.T) {
	s := start(t, func(o *Options) {
		o.Tools = []executors.Tool{{Name: "t", Run: func(context.Context, *executors.Call) (*protocol.ToolResult, error) {
			return &protocol.ToolResult{Success: true}, nil
		}}}
	})
	s.send(`{"id":1,"method":"system.shutdown"}` + strings.Repeat("\n"+`{"id":2,"method":"tool.invoke","params":{"name":"t"}}`, 3000))
	s.until(`"lifecycle.shutdown"`)
}

func TestWholeNumbersInAnySpelling(t *testing.T) {
	s := start(t, nil)
	s.turn("a", `[{"text":"x"}]`, `,"maxRounds":2.0,"toolTimeoutMs":1e3`)
	s.want(`"result"`)
	s.until(`"stream.done"`)
}

func TestPlainStreamRefusesSteering(t *testing.T) {
	s := start(t, nil)
	s.turn("a", `[{"text":["a"],"delayMs":60000}]`, "")
	s.until(`"params":{"streamId":"a"}`)
	s.send(`{"id":1,"method":"agent.chat.steer","params":{"streamId":"a","content":"x"}}`)
	s.want(`"ok":false`, `"reason":"stream_not_active"`)
}

func TestSessionDataIsBounded(t *testing.T) {
	s := start(t, nil)
	s.send(`{"id":1,"method":"agent.session.create","params":{"chatId":"c","stageData":{"x":%q}}}`, strings.Repeat("y", 300<<10))
	s.want(`-32602`)
	for i := range 8 {
		s.send(`{"id":%d,"method":"agent.session.create","params":{"chatId":"c","stageData":{"x":%q}}}`, i, strings.Repeat("y", 200<<10))
		s.want(`"result"`)
	}
	s.send(`{"id":9,"method":"agent.session.list"}`)
	if got := s.want(`"id":9`, `"result":[`); strings.Count(got, `"sessionId"`) != 8 {
		t.Errorf("%d sessions are listed", strings.Count(got, `"sessionId"`))
	}
}

func TestUnusableToolSchemaIsTold(t *testing.T) {
	s := start(t, nil)
	s.turn("a", `[{"text":"x"}]`, `,"toolsViaHost":true,"tools":[{"function":{"name":"odd","parameters":{"type":"nonsense"}}}]`)
	s.until(`"notice":{"kind":"tool_schema","tool":"odd"`)
	s.until(`"stream.done"`)
}
