package llm

import (
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestRetryPolicy(t *testing.T) {
	const ms = time.Millisecond
	server := newError(KindServer, "x")
	asked := func(d time.Duration) *Error {
		e := newError(KindRateLimit, "x")
		e.RetryAfter, e.HasRetryAfter = d, true
		return e
	}
	quota := newError(KindRateLimit, "x")
	quota.Retryable = false
	lowest := func() float64 { return 0 }
	highest := func() float64 { return math.Nextafter(1, 0) }
	for _, tc := range []struct {
		name    string
		policy  RetryPolicy
		attempt int
		err     *Error
		rand    func() float64
		delay   time.Duration
		retry   bool
	}{
		{"first", RetryPolicy{}, 1, server, nil, 200 * ms, true},
		{"second", RetryPolicy{}, 2, server, nil, 400 * ms, true},
		{"third is the last", RetryPolicy{}, 3, server, nil, 0, false},
		{"bounded", RetryPolicy{MaxAttempts: 1000}, 900, server, nil, 5 * time.Second, true},
		{"less", RetryPolicy{}, 1, server, lowest, 160 * ms, true},
		{"more", RetryPolicy{}, 1, server, highest, 240 * ms, true},
		{"no jitter", RetryPolicy{Jitter: -1}, 1, server, highest, 200 * ms, true},
		{"server asks for more", RetryPolicy{}, 1, asked(7 * time.Second), lowest, 7 * time.Second, true},
		{"server asks for less", RetryPolicy{}, 2, asked(ms), nil, 400 * ms, true},
		{"server asks for too much", RetryPolicy{}, 1, asked(time.Hour), nil, 180 * time.Second, true},
		{"own bound", RetryPolicy{MaxRetryAfter: time.Second}, 1, asked(time.Hour), nil, time.Second, true},
		{"one attempt", RetryPolicy{MaxAttempts: 1}, 1, server, nil, 0, false},
		{"no error", RetryPolicy{}, 1, nil, nil, 0, false},
		{"quota", RetryPolicy{}, 1, quota, nil, 0, false},
		{"transport", RetryPolicy{}, 1, newError(KindTransport, ""), nil, 200 * ms, true},
		{"unknown", RetryPolicy{}, 1, newError(KindUnknown, ""), nil, 200 * ms, true},
		{"auth", RetryPolicy{}, 1, newError(KindAuth, ""), nil, 0, false},
		{"invalid request", RetryPolicy{}, 1, newError(KindInvalidRequest, ""), nil, 0, false},
		{"overflow", RetryPolicy{}, 1, newError(KindContextOverflow, ""), nil, 0, false},
		{"auth is never retried, whatever it says", RetryPolicy{}, 1, &Error{Kind: KindAuth, Retryable: true}, nil, 0, false},
		{"zero error", RetryPolicy{}, 1, &Error{}, nil, 0, false},
		{"kind of the future", RetryPolicy{}, 1, &Error{Kind: "x", Retryable: true}, nil, 0, false},
	} {
		delay, retry := tc.policy.Next(tc.attempt, tc.err, tc.rand)
		if retry != tc.retry || (delay-tc.delay).Abs() > time.Microsecond {
			t.Errorf("%s: %v %v, want %v %v", tc.name, delay, retry, tc.delay, tc.retry)
		}
	}
}

func TestRedaction(t *testing.T) {
	r := redactor{secrets: []string{"sk-proj-abcdefgh", "ollama", ""}}
	for in, want := range map[string]string{
		"plain":                       "plain",
		"key sk-proj-abcdefgh is bad": "key [redacted] is bad",
		"sk-proj-abcdefgh":            "[redacted]",
		"Incorrect API key provided: sk-proj-********efgh.": "Incorrect API key provided: [redacted]",
		"sk-proj-abc… no":                               "[redacted] no",
		"sk-other-1 stays, ollama too":                  "sk-other-1 stays, ollama too",
		"Authorization: Bearer abcdef.ghi-jkl= refused": "Authorization: Bearer [redacted] refused",
		"the bearer is late":                            "the bearer is late",
		"line\nbreak\tand\x1b[0m\u2028":                 "line break and [0m",
		"  bad \xff bytes ":                             "bad \ufffd bytes",
	} {
		if got := r.clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestNoWorkAtStart holds that the package costs a program nothing before its
// first use: the start of the sidecar is a budget.
func TestNoWorkAtStart(t *testing.T) {
	if testing.CoverMode() != "" {
		t.Skip("the coverage counters register themselves at start")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "init net/http @") {
		t.Fatalf("no trace:\n%s", out)
	}
	// A package whose variables the linker can fill in has no line at all.
	if line := regexp.MustCompile(`(?m)^init \S*/llm @.*`).Find(out); line != nil {
		t.Errorf("work at start: %s", line)
	}
}

// TestNewIsCheap holds that a provider can be made for every turn.
func TestNewIsCheap(t *testing.T) {
	client := NewHTTPClient(HTTPOptions{})
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := New(Config{Provider: "openai", BaseURL: "http://127.0.0.1:1/v1", APIKey: "k", Client: client}); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 40 {
		t.Errorf("%v allocations", allocs)
	}
}

// TestAllocationsPerChunk holds that passing text through costs nothing per
// chunk.
func TestAllocationsPerChunk(t *testing.T) {
	count := func(n int) float64 {
		f := &fixture{API: "openai-chat", body: streamOf(n)}
		f.HTTP.Status, f.HTTP.End = 200, "close"
		f.HTTP.Headers = map[string]string{"Content-Type": "text/event-stream"}
		p := f.provider(t, "http://in.memory", f.inMemory(func() int { return 4096 }))
		sink := SinkFunc(func(DeltaKind, []byte, bool) error { return nil })
		return testing.AllocsPerRun(5, func() {
			if _, err := p.Stream(t.Context(), question(), sink); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := count(100), count(5100)
	if per := (many - few) / 5000; per > 0.02 {
		t.Errorf("%.3f allocations per chunk (%v for 100 chunks, %v for 5100)", per, few, many)
	}
}
