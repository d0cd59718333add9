package llm

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector is a sink that checks every promise of Sink and joins the pieces.
type collector struct {
	tb              testing.TB
	text, reasoning literals
	last            bool
	deltas          int
}

func (c *collector) Delta(kind DeltaKind, quoted []byte, more bool) error {
	c.tb.Helper()
	c.deltas++
	if string(quoted) == `""` && (more || !c.last) {
		c.tb.Errorf("an empty literal that settles nothing")
	}
	c.last = more
	cur := cursor{b: quoted}
	if text := cur.text(); text == nil || !cur.end() {
		c.tb.Errorf("not one literal: %q", quoted)
		return nil
	}
	if !isClean(quoted) {
		var l literals
		if again := l.rewrite(nil, inside(quoted)); !bytes.Equal(again, inside(quoted)) || l.high != 0 {
			c.tb.Errorf("unsafe literal %q", quoted)
		}
	}
	if strings.ContainsAny(string(quoted), "\u2028\u2029\n\r") {
		c.tb.Errorf("line separator in %q", quoted)
	}
	switch kind {
	case DeltaText:
		c.text.keep(quoted)
	case DeltaReasoning:
		c.reasoning.keep(quoted)
	default:
		c.tb.Errorf("kind %d", kind)
	}
	return nil
}

// check compares what was shown with the reply.
func (c *collector) check(d *Digest) {
	c.tb.Helper()
	if c.last {
		// Allowed: the return of Stream flushes as well.
		c.last = false
	}
	text := unquote(c.text.literal())
	if d.Text != nil && *d.Text != text || d.Text == nil && d.TextSha256 != hash(text) {
		c.tb.Errorf("shown text %.200q is not the reply's", text)
	}
	if got := unquote(c.reasoning.literal()); got != d.Reasoning {
		c.tb.Errorf("shown reasoning %q, reply's %q", got, d.Reasoning)
	}
}

// match compares a digest with what a fixture expects.
func match(t *testing.T, f *fixture, d *Digest) {
	t.Helper()
	got := tree(t, d)
	want := maps.Clone(f.Expect)
	if e, ok := got["error"].(map[string]any); ok {
		message := e["message"].(string)
		delete(e, "message")
		if w, ok := want["error"].(map[string]any); ok {
			part, _ := w["messageContains"].(string)
			if !strings.Contains(message, part) {
				t.Errorf("message %q does not contain %q", message, part)
			}
			w = maps.Clone(w)
			delete(w, "messageContains")
			want["error"] = w
		}
		if message == "" || strings.Contains(message, "sk-fixture") {
			t.Errorf("message %q", message)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("digest (-want +got):\n%s", diff)
	}
}

// dirs are the folders of fixtures: the shared ones, and our own of the same
// kinds.
var dirs = []string{"fixtures"}

func TestFixtures(t *testing.T) {
	client := NewHTTPClient(HTTPOptions{})
	t.Cleanup(client.CloseIdleConnections)
	total := 0
	for _, dir := range dirs {
		for _, f := range loadFixtures(t, dir) {
			total++
			t.Run(dir+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				s := serveFixture(t, f)
				sink := &collector{tb: t}
				d := ask(t, f.provider(t, s.url(), client), sink)
				match(t, f, d)
				sink.check(d)
			})
		}
	}
	if total < 92 {
		t.Errorf("only %d fixtures", total)
	}
}

// splitBody returns a body in pieces.
type splitBody struct {
	rest []byte
	next func() int
	end  error
}

func (b *splitBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		return 0, b.end
	}
	n := min(b.next(), len(b.rest), len(p))
	copy(p, b.rest[:n])
	b.rest = b.rest[n:]
	return n, nil
}

func (b *splitBody) Close() error { return nil }

// roundTrip is an http.RoundTripper that answers in memory.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// inMemory returns a client that answers with the fixture, cut by next.
func (f *fixture) inMemory(next func() int) *http.Client {
	return &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		end := io.EOF
		if f.HTTP.End != "close" {
			end = io.ErrUnexpectedEOF
		}
		h := http.Header{}
		for name, value := range f.HTTP.Headers {
			h.Set(name, value)
		}
		return &http.Response{
			StatusCode: f.HTTP.Status,
			Header:     h,
			Body:       &splitBody{rest: f.body, next: next, end: end},
		}, nil
	})}
}

// TestSplits holds that the reply does not depend on how the network cuts the
// bytes.
func TestSplits(t *testing.T) {
	for _, dir := range dirs {
		for _, f := range loadFixtures(t, dir) {
			whole := ask(t, f.provider(t, "http://in.memory", f.inMemory(func() int { return 1 << 30 })), nil)
			want := tree(t, whole)
			for seed := range 16 {
				rng := rand.New(rand.NewPCG(uint64(seed), 7))
				next := func() int { return 1 + rng.IntN(1<<(seed%8)) }
				if seed == 0 && len(f.body) < 10000 {
					next = func() int { return 1 }
				}
				sink := &collector{tb: t}
				d := ask(t, f.provider(t, "http://in.memory", f.inMemory(next)), sink)
				sink.check(d)
				if diff := cmp.Diff(want, tree(t, d)); diff != "" {
					t.Fatalf("%s, split %d (-whole +split):\n%s", f.Name, seed, diff)
				}
			}
		}
	}
}

// TestConcurrentStreams runs many streams over one provider and one client.
func TestConcurrentStreams(t *testing.T) {
	fixtures := loadFixtures(t, "fixtures")
	var f *fixture
	for _, candidate := range fixtures {
		if candidate.Name == "oa_tool_fragments" {
			f = candidate
		}
	}
	client := NewHTTPClient(HTTPOptions{})
	t.Cleanup(client.CloseIdleConnections)
	s := serveFixture(t, f)
	p := f.provider(t, s.url(), client)
	var group sync.WaitGroup
	digests := make([]*Digest, 32)
	for i := range digests {
		group.Go(func() { digests[i] = ask(t, p, nil) })
	}
	group.Wait()
	for i, d := range digests {
		t.Run(fmt.Sprint(i), func(t *testing.T) { match(t, f, d) })
	}
}
