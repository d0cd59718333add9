package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"

	"github.com/steerable-go/sidecar/llm"
)

// llmUsage is printed for --help.
const llmUsage = `usage: steerable-sidecar llm probe --model M [flags]

Asks a model server one question and shows what came back, through the code
that a turn uses. The key is read from STEERABLE_API_KEY.

  --provider P           openai_compat (default), ollama, anthropic; scripted
                         plays the script that it reads from standard input
  --base-url URL         address of the API; default: the vendor's
  --model M              name of the model
  --prompt TEXT          the question; default: a greeting
  --idle-timeout-ms N    end a stream that is silent for so long; default 300000
  --max-attempts N       attempts in all, for errors that may pass; default 1
  --json                 print one JSON object and exit with 0, error or not
`

// probe is one run of "llm probe".
type probe struct {
	env         environment
	provider    string
	baseURL     string
	model       string
	prompt      string
	idleMs      int64
	maxAttempts int
	asJSON      bool
}

// runLLM asks a model server. It returns 0, or 1 if the server failed and the
// output is for people, or 2 for wrong usage.
func runLLM(env environment, args []string) int {
	if asksHelp(args) || len(args) > 1 && isHelp(args[1]) {
		_, _ = io.WriteString(env.stdout, llmUsage)
		return exitOK
	}
	if len(args) == 0 || args[0] != "probe" {
		return usage(env, "llm: the only subcommand is probe; llm --help explains it")
	}
	p, err := parseProbe(env, args[1:])
	if err != nil {
		return usage(env, "llm probe: %s", err)
	}
	provider, err := p.connect()
	if err != nil {
		return usage(env, "llm probe: %s", err)
	}
	return p.run(context.Background(), provider)
}

// parseProbe reads the flags.
func parseProbe(env environment, args []string) (*probe, error) {
	p := &probe{env: env}
	set := flags("llm probe")
	set.StringVar(&p.provider, "provider", "openai_compat", "")
	set.StringVar(&p.baseURL, "base-url", "", "")
	set.StringVar(&p.model, "model", "", "")
	set.StringVar(&p.prompt, "prompt", "Say hello in one short sentence.", "")
	set.Int64Var(&p.idleMs, "idle-timeout-ms", 0, "")
	set.IntVar(&p.maxAttempts, "max-attempts", 1, "")
	set.BoolVar(&p.asJSON, "json", false, "")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	case p.model == "":
		return nil, errors.New("--model is required")
	case given["idle-timeout-ms"] && (p.idleMs < 1 || p.idleMs > 86_400_000):
		return nil, errors.New("--idle-timeout-ms must be between 1 and 86400000")
	case p.maxAttempts < 1 || p.maxAttempts > 100:
		return nil, errors.New("--max-attempts must be between 1 and 100")
	}
	return p, nil
}

// connect makes the provider.
func (p *probe) connect() (llm.Provider, error) {
	cfg := llm.Config{
		Provider:    p.provider,
		BaseURL:     p.baseURL,
		APIKey:      p.env.getenv("STEERABLE_API_KEY"),
		IdleTimeout: time.Duration(p.idleMs) * time.Millisecond,
		Client:      llm.NewHTTPClient(llm.HTTPOptions{Proxy: llm.EnvironmentProxy(p.env.getenv)}),
	}
	if p.provider == "scripted" {
		script, err := io.ReadAll(p.env.stdin)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		cfg.Script = script
	}
	return llm.New(cfg)
}

// run asks, as often as it may, and prints.
func (p *probe) run(ctx context.Context, provider llm.Provider) int {
	req := &llm.Request{
		Model:    p.model,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: llm.Quote(p.prompt)}},
	}
	policy := llm.RetryPolicy{MaxAttempts: p.maxAttempts}
	for attempt := 1; ; attempt++ {
		reply, err := provider.Stream(ctx, req, p.sink())
		failure, _ := errors.AsType[*llm.Error](err)
		delay, retry := policy.Next(attempt, failure, rand.Float64)
		if !retry {
			return p.print(reply, err)
		}
		if !p.asJSON {
			say(p.env.stderr, "attempt %d: %s; again in %v\n", attempt, printable(failure.Message), delay.Round(time.Millisecond))
		}
		<-time.After(delay)
	}
}

// sink shows the answer as it comes, for people.
func (p *probe) sink() llm.Sink {
	if p.asJSON {
		return nil
	}
	return llm.SinkFunc(func(kind llm.DeltaKind, quoted []byte, _ bool) error {
		var text string
		if err := json.Unmarshal(quoted, &text); err != nil {
			return err
		}
		w := p.env.stdout
		if kind == llm.DeltaReasoning {
			w = p.env.stderr
		}
		_, err := io.WriteString(w, printable(text))
		return err
	})
}

// print shows the outcome.
func (p *probe) print(reply *llm.Reply, err error) int {
	if p.asJSON {
		encoder := json.NewEncoder(p.env.stdout)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(llm.NewDigest(reply, err)); err != nil {
			return exitFailed
		}
		return exitOK
	}
	out := p.env.stdout
	if len(reply.Content) > 0 {
		say(out, "\n")
	}
	for i := range reply.ToolCalls {
		c := &reply.ToolCalls[i]
		arguments := string(c.Arguments)
		if c.ArgumentsError != "" {
			arguments = c.ArgumentsError + ": " + c.RawArguments
		}
		say(out, "tool call: %s %s %s\n", printable(c.ID), printable(c.Name), printable(arguments))
	}
	if reply.FinishReason != llm.FinishNone {
		say(out, "finish: %s\n", reply.FinishReason)
	}
	if u := reply.Usage; u != nil {
		say(out, "tokens: %d prompt (%d cached), %d completion, %d in all\n",
			u.PromptTokens, u.CachedPromptTokens, u.CompletionTokens, u.TotalTokens)
	}
	for _, warning := range reply.Warnings {
		say(p.env.stderr, "warning: %s\n", warning)
	}
	if err != nil {
		say(p.env.stderr, "steerable-sidecar: %s\n", printable(err.Error()))
		return exitFailed
	}
	return exitOK
}

// say prints for people; where nobody listens there is nothing to do about it.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...)
}

// printable takes the control characters out of a text that a model or a server
// wrote: a terminal would obey them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, text)
}
