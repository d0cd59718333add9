package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/chain"
	"github.com/steerable-go/sidecar/authz/govern"
)

// authzUsage is printed for --help.
const authzUsage = `usage:
  steerable-sidecar authz eval --jsonl     run stages on the inputs on standard input
  steerable-sidecar authz explain --json   run the pipeline on one input, with every stage

eval reads one {"module": …, "input": …} per line and prints one result per
line, in the same order; what cannot be run gives {"error": …}.
`

// runAuthz runs the authorization pipeline on inputs that it is given, without
// a model or tools. It returns 0 if everything was read and answered, 1 if not,
// and 2 for wrong usage.
func runAuthz(env environment, args []string) int {
	misuse := func(message string) int {
		_, _ = fmt.Fprintf(env.stderr, "steerable-sidecar authz: %s; authz --help explains it\n", message)
		return exitUsage
	}
	if len(args) == 0 {
		return misuse("no subcommand given")
	}
	verb := args[0]
	set := flag.NewFlagSet(verb, flag.ContinueOnError)
	set.SetOutput(io.Discard) // the error is printed once, below
	lines, one := set.Bool("jsonl", false, ""), set.Bool("json", false, "")
	if err := set.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(env.stdout, authzUsage)
		return exitOK
	} else if err != nil {
		return misuse(err.Error())
	}
	var err error
	switch {
	case set.NArg() > 0:
		return misuse(fmt.Sprintf("unexpected argument %q", set.Arg(0)))
	case verb == "eval" && *lines && !*one:
		err = authzEval(env.stdin, env.stdout)
	case verb == "explain" && *one && !*lines:
		err = authzExplain(env.stdin, env.stdout)
	default:
		return misuse("expected eval --jsonl or explain --json")
	}
	if err != nil {
		_, _ = fmt.Fprintf(env.stderr, "steerable-sidecar authz %s: %v\n", verb, err)
		return exitFailed
	}
	return exitOK
}

// authzEval answers every line. A line that makes no sense is an answer too, so
// that answers and lines stay in step.
func authzEval(in io.Reader, out io.Writer) error {
	e := newEvaluator()
	r, w := bufio.NewReaderSize(in, 1<<20), bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := enc.Encode(e.answer(line)); err != nil {
				return fmt.Errorf("write answer: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return fmt.Errorf("read input: %w", err)
		}
	}
}

// result is an answer; its keys are the names on the wire.
type result map[string]any

// errSession is the answer to inputs about what happens around a decision, such
// as the reply to a question or a disk that is full.
var errSession = errors.New("needs a session")

// decodeInput reads an input and refuses members that it does not know, because
// an answer that ignored one would be about something else.
func decodeInput(data json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("malformed input: %w", err)
	}
	return nil
}

// governInput is a call in a request, as "authz eval" and "authz explain" take
// it.
type governInput struct {
	Owner           string                   `json:"owner"`
	RequestOwner    *string                  `json:"requestOwner"`
	Groups          []string                 `json:"groups"`
	Calls           int64                    `json:"calls"`
	Bytes           int64                    `json:"bytes"`
	Tool            string                   `json:"tool"`
	Args            json.RawMessage          `json:"args"`
	Description     string                   `json:"description"`
	Reply           *string                  `json:"reply"`
	Network         *bool                    `json:"network"`
	Tainted         bool                     `json:"tainted"`
	CommandCritical bool                     `json:"commandCritical"`
	CommandWarning  bool                     `json:"commandWarning"`
	Tools           map[string]toolSpecInput `json:"tools"`
	Limits          *struct {
		Calls int64 `json:"calls"`
		Bytes int64 `json:"bytes"`
	} `json:"limits"`
}

// toolSpecInput is a host's word on one of its tools.
type toolSpecInput struct {
	Required authz.Capability `json:"required"`
	Kind     string           `json:"kind"`
	Outbound *bool            `json:"outbound"`
}

// parseGovern reads the input of the whole pipeline.
func parseGovern(data json.RawMessage) (governInput, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return governInput{}, fmt.Errorf("malformed input: %w", err)
	}
	for _, name := range []string{"fault", "error", "approval", "approvalCache", "then", "parallel"} {
		if _, ok := members[name]; ok {
			return governInput{}, errSession
		}
	}
	var in governInput
	err := decodeInput(data, &in)
	return in, err
}

// prepare turns the input into what govern takes.
func (in governInput) prepare() (govern.Envelope, govern.State, error) {
	specs := map[string]govern.ToolSpec{}
	for name, t := range in.Tools {
		kind, err := authz.ParseKind(t.Kind)
		if err != nil {
			return govern.Envelope{}, govern.State{}, err
		}
		specs[name] = govern.ToolSpec{Required: t.Required, Kind: kind, Outbound: t.Outbound == nil || *t.Outbound}
	}
	tools, err := govern.NewTools(specs)
	if err != nil {
		return govern.Envelope{}, govern.State{}, err
	}
	requestOwner := in.Owner
	if in.RequestOwner != nil {
		requestOwner = *in.RequestOwner
	}
	state := govern.State{
		Principal: capabilities.NewPrincipal(requestOwner, in.Groups...),
		Limits:    chain.DefaultLimits(),
		Used:      chain.Counters{Calls: in.Calls, Bytes: in.Bytes},
		Tainted:   in.Tainted,
	}
	if in.Limits != nil {
		state.Limits = chain.Limits{Calls: in.Limits.Calls, Bytes: in.Limits.Bytes}
	}
	call := govern.Call{
		Owner: in.Owner, Tool: in.Tool, Description: in.Description, Arguments: in.Args,
		Offline: in.Network != nil && !*in.Network, CommandCritical: in.CommandCritical, CommandWarning: in.CommandWarning,
	}
	if in.Reply != nil && in.Tool == govern.ReplyTool {
		return govern.Reply(call, *in.Reply), state, nil
	}
	return tools.Envelope(call), state, nil
}

// describe prints an outcome.
func describe(o govern.Outcome) result {
	rec := o.Record()
	out := result{
		"decision":     o.Decision().String(),
		"firstReason":  o.Reasons()[0],
		"reasons":      o.Reasons(),
		"required":     o.Envelope().Spec().Required,
		"kind":         o.Envelope().Spec().Kind.String(),
		"outbound":     o.Envelope().Spec().Outbound,
		"band":         o.Assessment().Band().String(),
		"sideEffect":   o.Assessment().SideEffect().String(),
		"signals":      append([]string{}, o.Assessment().Signals()...),
		"categories":   o.Categories(),
		"asks":         o.Decision() == authz.Escalate,
		"audited":      rec.Action != "", // govern always returns a record to write first
		"callsCounted": o.State().Used.Calls,
		"bytesCounted": o.State().Used.Bytes,
		// What the classification alone puts into the record, and all of it.
		"record": result{"capability": rec.Capability},
		"auditRecord": result{
			"owner": rec.Owner, "action": rec.Action, "capability": rec.Capability,
			"decision": rec.Decision, "risk": rec.Risk, "meta": json.RawMessage(rec.Meta),
		},
	}
	if clean, ok := o.Redacted(); ok {
		out["redacted"] = clean
	}
	return out
}

// authzExplain runs the pipeline once and prints every stage.
func authzExplain(in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	parsed, err := parseGovern(data)
	if err != nil {
		return err
	}
	envelope, state, err := parsed.prepare()
	if err != nil {
		return err
	}
	o := govern.New(govern.Options{}).Govern(envelope, state)
	explained := describe(o)
	stages := []result{}
	for _, s := range o.Steps() {
		stages = append(stages, result{"stage": s.Stage, "decision": s.Decision().String(), "reasons": append([]authz.Reason{}, s.Reasons()...)})
	}
	explained["stages"] = stages
	explained["tool"] = envelope.Tool()
	text, err := json.MarshalIndent(explained, "", "  ")
	if err != nil {
		return fmt.Errorf("encode outcome: %w", err)
	}
	// Arguments may hold any text; only here do they meet a terminal.
	_, err = fmt.Fprintln(out, strings.ToValidUTF8(string(text), "\ufffd"))
	return err
}
