package conformance

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/schemas"
)

const (
	stressLines  = 10_000
	stressWindow = 24 // requests in flight; a polite host
)

// stressLine is one line of the session and what it must lead to.
type stressLine struct {
	data   []byte
	id     string // the request that must be answered, or empty
	method string // of a request that must succeed, to check its result
	broken bool   // answered with an error that has id null
}

// stressKinds makes lines of every kind that a confused host may send.
func stressKinds(r *rand.Rand, llm string) []func(id int) stressLine {
	request := func(id int, method, params string) stressLine {
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
		return stressLine{data: []byte(text), id: strconv.Itoa(id), method: method}
	}
	broken := func(text string) func(int) stressLine {
		return func(int) stressLine { return stressLine{data: []byte(text), broken: true} }
	}
	silent := func(text string) func(int) stressLine {
		return func(int) stressLine { return stressLine{data: []byte(text)} }
	}
	refused := func(format string) func(int) stressLine {
		return func(id int) stressLine {
			return stressLine{data: fmt.Appendf(nil, format, id), id: strconv.Itoa(id)}
		}
	}
	good := func(method, params string) func(int) stressLine {
		return func(id int) stressLine { return request(id, method, params) }
	}
	return []func(id int) stressLine{
		good("system.ping", "{}"), good("system.ping", "null"), good("config.get", "{}"), good("tool.list", "{}"),
		good("agent.session.list", `{"userId":"nobody"}`), good("sandbox.describe", "{}"),
		good("agent.chat.cancel", `{"streamId":"never"}`), good("agent.chat.steer", `{"streamId":"never","content":"x"}`),
		func(id int) stressLine {
			return request(id, "system.ping", fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", r.IntN(20_000))))
		},
		func(id int) stressLine { // shuffled members, white space and a carriage return
			return stressLine{data: fmt.Appendf(nil, " { \"params\" : {} , \"method\":\"system.ping\",\t\"id\": %d }\r", id), id: strconv.Itoa(id), method: "system.ping"}
		},
		func(id int) stressLine {
			return request(id, "agent.chat.stream", fmt.Sprintf(`{"streamId":"s%d","provider":"openai_compat","baseUrl":%q,"apiKey":"k","model":"m","toolsViaHost":true,"tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"go"}]}`, id, llm))
		},
		refused(`{"jsonrpc":"2.0","id":%d,"method":"no.such"}`), refused(`{"jsonrpc":"2.0","id":%d}`),
		refused(`{"jsonrpc":"1.0","id":%d,"method":"system.ping"}`), refused(`{"jsonrpc":"2.0","id":%d,"method":"system.ping","params":[]}`),
		refused(`{"jsonrpc":"2.0","id":%d,"method":"trace.fetch","params":{"traceId":"none"}}`),
		refused(`{"jsonrpc":"2.0","id":%d,"method":"config.set","params":{"logLevel":"LOUD"}}`),
		refused(`{"jsonrpc":"2.0","id":%d,"method":"agent.chat.stream","params":{"model":7}}`),
		broken("]"), broken(`{"jsonrpc":"2.0","id":1,"method":"system.pi`), broken("Traceback (most recent call last):"),
		broken("[]"), broken(`[{"jsonrpc":"2.0","id":1,"method":"system.ping"}]`), broken("42"), broken("null"), broken(`"x"`),
		broken("\xef\xbb\xbf{}"), broken("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), broken(`{"id":{},"method":"system.ping"}`),
		broken(`{"id":1,"id":2,"method":"system.ping"}`), broken("\x00"), broken(strings.Repeat("[", 5000)), broken("{}"),
		silent(""), silent("  \t"), silent(`{"jsonrpc":"2.0","method":"system.ping"}`), silent(`{"jsonrpc":"2.0","method":"no.such","params":[]}`),
		silent(`{"jsonrpc":"2.0","id":"srv_5","result":{"success":true}}`), silent(`{"jsonrpc":"2.0","id":"srv_5","error":{"code":1,"message":"x"}}`),
	}
}

// stressSession is what the host knows while it runs.
type stressSession struct {
	set     *schemas.Set
	pending map[string]string // method by id
	broken  int               // errors with id null still to come
	streams map[string]bool   // streams that were started and have not ended
	calls   []string          // ids of reverse calls that wait for the host
	failure string
}

// take looks at one frame of the sidecar.
func (s *stressSession) take(line string) {
	f, err := parseFrame(line)
	if err == nil {
		err = checkSchemas(s.set, []byte(line))
	}
	if err != nil {
		s.failure = fmt.Sprintf("%s: %v", clip(line), err)
		return
	}
	if method, ok := f.value.get("method"); ok {
		switch method {
		case "stream.done":
			s.endStream(f)
		case "tool.invoke":
			s.calls = append(s.calls, string(f.id))
		}
		return
	}
	id := string(f.id)
	if id == "null" {
		s.broken--
		return
	}
	method, known := s.pending[id]
	if !known {
		s.failure = "an answer to nothing, or the second one: " + clip(line)
		return
	}
	delete(s.pending, id)
	s.checkResult(method, f)
}

func (s *stressSession) endStream(f *frame) {
	params, _ := f.value.get("params")
	name, _ := params.(object).get("streamId")
	if id, _ := name.(string); !s.streams[id] {
		s.failure = "a stream that is not open has ended: " + f.line
	} else {
		delete(s.streams, id)
	}
}

// checkResult holds the result of a request that must succeed against its
// schema; the rest must have failed.
func (s *stressSession) checkResult(method string, f *frame) {
	result, ok := f.value.get("result")
	switch {
	case ok != (method != ""):
		s.failure = fmt.Sprintf("%q: %s", method, clip(f.line))
	case ok:
		if method == "agent.chat.stream" {
			name, _ := result.(object).get("streamId")
			s.streams[name.(string)] = true
		}
		if err := s.set.Check(schemas.Result(method), []byte(format(result))); err != nil {
			s.failure = fmt.Sprintf("result of %s: %v: %s", method, err, clip(f.line))
		}
	}
}

// stressHost drives the session.
type stressHost struct {
	*stressSession
	t    *testing.T
	peer *peer
	next int // the next line of stdout
	r    *rand.Rand
}

// read takes frames until the condition holds.
func (h *stressHost) read(ctx context.Context, enough func() bool) {
	h.t.Helper()
	for !enough() && h.failure == "" {
		line, err := h.peer.stdout.at(ctx, h.next)
		if err != nil {
			stderr, _, _ := h.peer.stderr.snapshot()
			h.t.Fatalf("%v with %d answers to come and %d streams open; stderr: %v", err, len(h.pending)+h.broken, len(h.streams), tail(stderr, 5))
		}
		h.next++
		h.take(line)
	}
	if h.failure != "" {
		h.t.Fatal(h.failure)
	}
}

func (h *stressHost) write(line []byte) {
	h.t.Helper()
	if err := h.peer.write(append(line, '\n'), time.Now().Add(30*time.Second)); err != nil {
		h.t.Fatal(err)
	}
}

// answerCall answers one of the reverse calls that wait, in no order.
func (h *stressHost) answerCall() {
	i := h.r.IntN(len(h.calls))
	h.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"success":true,"terminal":true}}`, h.calls[i]))
	h.calls = append(h.calls[:i], h.calls[i+1:]...)
}

// stressLineAt chooses the line with number i.
func stressLineAt(i int, kinds []func(int) stressLine, r *rand.Rand) stressLine {
	switch {
	case i%2000 == 1500: // over the limit of 16 MiB
		return stressLine{data: bytes.Repeat([]byte("x"), 17<<20), broken: true}
	case i%200 == 100: // large, below the limit
		pad := strings.Repeat("y", 1<<20)
		return stressLine{data: fmt.Appendf(nil, `{"id":%d,"method":"system.ping","params":{"pad":"%s"}}`, i, pad), id: strconv.Itoa(i), method: "system.ping"}
	}
	return kinds[r.IntN(len(kinds))](i)
}

// TestStress is a long session with a host that makes every mistake: each
// request is answered once, each broken line once, nothing else, and the memory
// does not grow.
func TestStress(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	llm, err := startModel(ctx, []Reply{{ToolCalls: []ReplyCall{{ID: "c1", Name: "t"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer llm.close()
	p, err := startPeer(ctx, []string{buildSidecar(t), "--log-level", "ERROR"}, []string{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop(ctx)
	r := rand.New(rand.NewPCG(2, stressLines))
	h := &stressHost{
		stressSession: &stressSession{set: schemas.New(), pending: map[string]string{}, streams: map[string]bool{}},
		t:             t, peer: p, r: r,
		next: 1, // the first line is lifecycle.ready
	}
	kinds := stressKinds(r, llm.url)
	var memory []int
	for i := 1; i <= stressLines; i++ {
		line := stressLineAt(i, kinds, r)
		if line.id != "" {
			h.pending[line.id] = line.method
		} else if line.broken {
			h.broken++
		}
		h.write(line.data)
		h.read(ctx, func() bool { return len(h.pending)+h.broken <= stressWindow })
		if len(h.calls) > 4 {
			h.answerCall()
		}
		if i%1000 == 0 {
			memory = append(memory, residentKiB(t, p.cmd.Process.Pid))
		}
	}
	for len(h.streams)+len(h.pending)+h.broken > 0 {
		h.read(ctx, func() bool { return len(h.calls) > 0 || len(h.streams)+len(h.pending)+h.broken == 0 })
		if len(h.calls) > 0 {
			h.answerCall()
		}
	}
	p.closeStdin()
	line, err := p.stdout.at(ctx, h.next)
	if err != nil || !strings.Contains(line, `"lifecycle.shutdown"`) {
		t.Errorf("want nothing but lifecycle.shutdown, got %s, %v", clip(line), err)
	}
	if !p.wait(ctx, 5*time.Second) || p.code != 0 {
		t.Errorf("want exit code 0, got %d", p.code)
	}
	t.Logf("%d tool calls; resident memory at every 1,000th line, KiB: %v", len(llm.received()), memory)
	checkFlat(t, memory)
}

// checkFlat compares the middle of the session with its end. Both have met the
// same number of large and oversized lines.
func checkFlat(t *testing.T, memory []int) {
	t.Helper()
	half := len(memory) / 2
	before, after := 0, 0
	for i, kib := range memory {
		if i < half {
			before = max(before, kib)
		} else {
			after = max(after, kib)
		}
	}
	if limit := before + before/4 + 4<<10; after > limit {
		t.Errorf("resident memory grew from %d KiB in the first half to %d KiB in the second", before, after)
	}
}

// residentKiB reads VmRSS, and returns 0 where there is no /proc.
func residentKiB(t *testing.T, pid int) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
