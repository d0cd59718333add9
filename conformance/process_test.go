package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/schemas"
)

// TestStdoutIsAFile shows that the sidecar does not care what its stdout is.
// The reference crashes at boot when it is a regular file.
func TestStdoutIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frames")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), buildSidecar(t))
	cmd.Env = []string{}
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"system.ping"}` + "\n")
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for line := range strings.Lines(string(data)) {
		f, err := parseFrame(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		method, _ := f.value.get("method")
		kinds = append(kinds, format(method))
	}
	if want := []string{`"lifecycle.ready"`, "null", `"lifecycle.shutdown"`}; !slices.Equal(kinds, want) {
		t.Errorf("want the frames %v, got %v", want, kinds)
	}
}

// TestStderrIsNotRead shows that a host that never reads stderr is served all
// the same, however much is logged.
func TestStderrIsNotRead(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := startPeer(ctx, []string{buildSidecar(t), "--log-level", "DEBUG"}, []string{})
	if err != nil {
		t.Fatal(err)
	}
	p.stderr.gate.Lock() // at most one more buffer is read
	defer p.stop(ctx)
	defer p.stderr.gate.Unlock()
	const requests = 5000 // each of them malformed, which is worth a log line
	go func() {           // ends when everything is written or the peer is stopped
		for range requests {
			if p.write([]byte(strings.Repeat("not json ", 20)+"\n"), time.Now().Add(30*time.Second)) != nil {
				return
			}
		}
	}()
	for i := range requests {
		if _, err := p.stdout.at(ctx, i+1); err != nil {
			t.Fatalf("after %d answers: %v", i, err)
		}
	}
	p.closeStdin()
	if !p.wait(ctx, 5*time.Second) || p.code != 0 {
		t.Errorf("want exit code 0, got %d", p.code)
	}
}

// TestOverload starts more turns than the sidecar takes on: each request is
// answered at once, with a stream or with "overloaded", the fast methods still
// work, and a turn that ends makes room.
func TestOverload(t *testing.T) {
	const turns = 200
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	llm, err := startModel(ctx, []Reply{{Hold: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer llm.close()
	p, err := startPeer(ctx, []string{buildSidecar(t)}, []string{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop(ctx)
	o := &overload{t: t, peer: p, set: schemas.New(), next: 1}
	start := func(i int) {
		o.send(`{"jsonrpc":"2.0","id":%d,"method":"agent.chat.stream","params":{"streamId":"s%d","provider":"openai_compat","baseUrl":%q,"apiKey":"k","model":"m","messages":[{"role":"user","content":"go"}]}}`, i, i, llm.url)
	}
	for i := range turns {
		start(i)
	}
	answers := o.answers(ctx, turns)
	var started []string
	for id, f := range answers {
		if _, ok := f.value.get("result"); ok {
			started = append(started, id)
			continue
		}
		want := object{{"code", json.Number("-32001")}, {"message", "<string>"}, {"kind", "internal"}, {"data", object{{"reason", "overloaded"}, {"retryAfterMs", "<int>"}}}}
		got, _ := f.value.get("error")
		if problems := (&scope{}).match("error", want, got); len(problems) > 0 {
			t.Fatalf("a turn too many: %v", problems)
		}
	}
	if len(started) < 32 || len(started) == turns {
		t.Fatalf("want at least 32 turns at once and some limit, got %d of %d", len(started), turns)
	}
	o.send(`{"jsonrpc":"2.0","id":%d,"method":"system.ping"}`, turns)
	o.send(`{"jsonrpc":"2.0","id":%d,"method":"agent.chat.cancel","params":{"streamId":"s%s"}}`, turns+1, started[0])
	o.answers(ctx, 2)
	o.until(ctx, func(f *frame) bool {
		method, _ := f.value.get("method")
		return method == "stream.done"
	})
	start(turns + 2)
	if _, ok := o.answers(ctx, 1)[fmt.Sprint(turns+2)].value.get("result"); !ok {
		t.Error("a turn that has ended must make room for another")
	}
	p.closeStdin()
	if !p.wait(ctx, 2*time.Second) || p.code != 0 {
		t.Errorf("want exit code 0 with %d open turns, got %d", len(started), p.code)
	}
}

// overload is the host of TestOverload.
type overload struct {
	t    *testing.T
	peer *peer
	set  *schemas.Set
	next int // the next line of stdout
}

func (o *overload) send(text string, args ...any) {
	o.t.Helper()
	if err := o.peer.write(fmt.Appendf(nil, text+"\n", args...), time.Now().Add(20*time.Second)); err != nil {
		o.t.Fatal(err)
	}
}

// until reads frames up to and including the first one that is wanted.
func (o *overload) until(ctx context.Context, wanted func(*frame) bool) {
	o.t.Helper()
	for {
		line, err := o.peer.stdout.at(ctx, o.next)
		if err != nil {
			o.t.Fatal(err)
		}
		o.next++
		f, err := parseFrame(line)
		if err == nil {
			err = checkSchemas(o.set, []byte(line))
		}
		if err != nil {
			o.t.Fatalf("%s: %v", line, err)
		}
		if wanted(f) {
			return
		}
	}
}

// answers reads until n requests have been answered, once each.
func (o *overload) answers(ctx context.Context, n int) map[string]*frame {
	o.t.Helper()
	got := map[string]*frame{}
	o.until(ctx, func(f *frame) bool {
		if _, ok := f.value.get("method"); ok {
			return false
		}
		if got[string(f.id)] != nil {
			o.t.Fatalf("a second answer: %s", f.line)
		}
		got[string(f.id)] = f
		return len(got) == n
	})
	return got
}
