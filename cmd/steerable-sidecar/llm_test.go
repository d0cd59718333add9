package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runProbe returns the exit code and what was printed.
func runProbe(key string, args ...string) (code int, stdout, stderr string) {
	return runProbeOn("", key, args...)
}

// runProbeOn is runProbe with something on standard input.
func runProbeOn(stdin, key string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := environment{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, getenv: func(name string) string {
		if name == "STEERABLE_API_KEY" {
			return key
		}
		return ""
	}}
	code = runLLM(env, args)
	return code, out.String(), errs.String()
}

// modelServer answers the n-th request with the n-th body, the last from then on.
func modelServer(t *testing.T, status int, bodies ...string) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1)) - 1
		_, _ = io.Copy(io.Discard, r.Body)
		kind := "text/event-stream"
		if status != http.StatusOK {
			kind = "application/json"
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, bodies[min(n, len(bodies)-1)])
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

const (
	greeting = `data: {"choices":[{"index":0,"delta":{"content":"Hi <b>\u001b[31m"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"n\":12345678901234567890}"}}]},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}

data: [DONE]

`
	truncated = `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}

`
)

func TestProbeJSON(t *testing.T) {
	s, _ := modelServer(t, http.StatusOK, greeting)
	code, stdout, stderr := runProbe("sk-x", "probe", "--provider", "openai", "--base-url="+s.URL, "--model", "m", "--json")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, stderr %q", code, stderr)
	}
	want := `{"text":"Hi <b>\u001b[31m","reasoning":"","toolCalls":[{"id":"c1","name":"f","arguments":{"n":12345678901234567890}}],` +
		`"finishReason":"tool_calls","usage":{"promptTokens":3,"completionTokens":2,"totalTokens":5,"cachedPromptTokens":0,"reasoningTokens":0,"cacheCreationTokens":0},"error":null}` + "\n"
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProbeJSONError(t *testing.T) {
	s, asked := modelServer(t, http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided: sk-secret-1234567"}}`)
	code, stdout, stderr := runProbe("sk-secret-1234567", "probe", "--base-url", s.URL, "--model=m", "--json", "--max-attempts", "3")
	if code != exitOK || stderr != "" || asked.Load() != 1 {
		t.Fatalf("exit %d, stderr %q, %d requests", code, stderr, asked.Load())
	}
	var d map[string]any
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"kind": "auth", "retryable": false, "status": 401.0, "message": "Incorrect API key provided: [redacted]"}
	if diff := cmp.Diff(want, d["error"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestProbeLargeText holds the form of texts that are too long to print.
func TestProbeLargeText(t *testing.T) {
	for _, n := range []int{4096, 4097} {
		body := fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\n", strings.Repeat("y", n))
		s, _ := modelServer(t, http.StatusOK, body)
		_, stdout, _ := runProbe("", "probe", "--base-url", s.URL, "--model", "m", "--json")
		large := strings.Contains(stdout, `"text":null,"textLen":4097,"textSha256":"`)
		if large != (n > 4096) {
			t.Errorf("%d bytes: %.200s", n, stdout)
		}
	}
}

func TestProbeForPeople(t *testing.T) {
	s, asked := modelServer(t, http.StatusOK, truncated, greeting)
	code, stdout, stderr := runProbe("", "probe", "--base-url", s.URL, "--model", "m", "--max-attempts", "2")
	if code != exitOK || asked.Load() != 2 {
		t.Errorf("exit %d, %d requests", code, asked.Load())
	}
	for _, part := range []string{"Hi <b>\ufffd[31m\n", "tool call: c1 f {\"n\":12345678901234567890}\n", "finish: tool_calls\n", "tokens: 3 prompt"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("stdout lacks %q:\n%s", part, stdout)
		}
	}
	if strings.ContainsRune(stdout, '\x1b') || !strings.Contains(stderr, "attempt 1:") {
		t.Errorf("stdout %q\nstderr %q", stdout, stderr)
	}
	code, _, stderr = runProbe("", "probe", "--base-url", "http://127.0.0.1:1", "--model", "m")
	if code != exitFailed || !strings.Contains(stderr, "transport") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

func TestProbeScripted(t *testing.T) {
	const script = `[{"text":["a","b"],"error":{"kind":"server","message":"no"}},{"text":"c"}]`
	code, stdout, _ := runProbeOn(script, "", "probe", "--provider", "scripted", "--model", "m", "--json", "--max-attempts", "2")
	if code != exitOK || !strings.HasPrefix(stdout, `{"text":"c",`) {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

// TestProbeMisuse holds that every wrong call gives one clear line and 2.
func TestProbeMisuse(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "the only subcommand is probe"},
		{[]string{"prob"}, "the only subcommand is probe"},
		{[]string{"probe"}, "--model is required"},
		{[]string{"probe", "--model"}, "flag needs an argument"},
		{[]string{"probe", "--mode1", "x"}, "not defined: -mode1"},
		{[]string{"probe", "--model", "m", "extra"}, `unexpected argument "extra"`},
		{[]string{"probe", "--model", "m", "--idle-timeout-ms", "0"}, "between 1 and 86400000"},
		{[]string{"probe", "--model", "m", "--idle-timeout-ms=soon"}, "invalid value"},
		{[]string{"probe", "--model", "m", "--max-attempts", "0"}, "between 1 and 100"},
		{[]string{"probe", "--model", "m", "--provider", "nope"}, "unknown provider: 'nope'"},
		{[]string{"probe", "--model", "m", "--provider", "gemini"}, "'gemini' is not supported"},
		{[]string{"probe", "--model", "m", "--base-url", "ftp://u:secret@h"}, "not an http or https address"},
		{[]string{"probe", "--model", "m", "--provider", "scripted"}, "not a JSON array"},
	} {
		code, stdout, stderr := runProbe("", tc.args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "secret") {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", tc.args, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"--help"}, {"probe", "--help"}} {
		if code, stdout, _ := runProbe("", args...); code != exitOK || !strings.HasPrefix(stdout, "usage: ") {
			t.Errorf("%v: exit %d, %q", args, code, stdout)
		}
	}
}
