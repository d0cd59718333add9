package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/steerable-go/sidecar/safety"
)

// safetyUsage is printed for --help.
const safetyUsage = `usage: steerable-sidecar safety classify [flags] COMMAND...
       steerable-sidecar safety classify [flags] --jsonl
       steerable-sidecar safety rules [--set S]

Grades shell commands and prints one JSON object a line. With --jsonl commands
are read from standard input, one object {"cmd", "platform"?} a line, and
answered in the same order; a line that cannot be used is answered with
{"error"} and the rest goes on. The exit code does not depend on the grades.

  --set S        default (default) or reference
  --platform P   all (default), unix or windows, where a line names none
  --rules FILE   also evaluate the rules in a JSON array of CommandSafetyPattern
  --disable IDS  switch off these rules, separated by commas
  --explain      also print what matched, and where
`

// safetyRun is one run of "safety classify".
type safetyRun struct {
	env        environment
	classifier *safety.Classifier
	platform   safety.Platform
	rules      string
	disable    string
	explain    bool
	jsonl      bool
	commands   []string
}

// runSafety grades commands. It returns 0, 2 for wrong usage, 78 for rules that
// cannot be used, and 1 if a stream fails.
func runSafety(env environment, args []string) int {
	if len(args) == 0 || args[0] != "classify" && args[0] != "rules" {
		return usage(env, "safety: the subcommands are classify and rules; safety --help explains them")
	}
	r, err := parseSafety(env, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(env.stdout, safetyUsage)
		return exitOK
	case err != nil:
		return usage(env, "safety %s: %s", args[0], err)
	}
	if err := r.configure(); err != nil {
		_, _ = fmt.Fprintf(env.stderr, "steerable-sidecar safety: %v\n", err)
		return exitConfig
	}
	switch {
	case args[0] == "rules":
		err = r.printRules()
	case r.jsonl:
		err = eachLine(env.stdin, env.stdout, r.line)
	default:
		err = r.classify()
	}
	if err != nil {
		_, _ = fmt.Fprintf(env.stderr, "steerable-sidecar safety: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// parseSafety reads the flags and builds the classifier.
func parseSafety(env environment, args []string) (*safetyRun, error) {
	r := &safetyRun{env: env}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	set.SetOutput(io.Discard) // the error is printed once, by the caller
	name := set.String("set", string(safety.SetDefault), "")
	platform := set.String("platform", "", "")
	set.StringVar(&r.rules, "rules", "", "")
	set.StringVar(&r.disable, "disable", "", "")
	set.BoolVar(&r.explain, "explain", false, "")
	set.BoolVar(&r.jsonl, "jsonl", false, "")
	if err := set.Parse(args[1:]); err != nil {
		return nil, err //nolint:wrapcheck // named by the caller
	}
	r.commands = set.Args()
	if i := slices.IndexFunc(r.commands, func(c string) bool { return strings.HasPrefix(c, "--") }); i >= 0 && !slices.Contains(args, "--") {
		return nil, fmt.Errorf("%s after a command: flags come first, and a command that starts with dashes after --", r.commands[i])
	}
	if args[0] == "classify" && r.jsonl == (len(r.commands) > 0) {
		return nil, errors.New("give either commands or --jsonl")
	}
	var err error
	if r.platform, err = safety.ParsePlatform(*platform); err != nil {
		return nil, fmt.Errorf("--platform: %w", err)
	}
	if r.classifier, err = safety.New(safety.Set(*name)); err != nil {
		return nil, fmt.Errorf("--set: %w", err)
	}
	return r, nil
}

// configure switches rules off and adds those of a file. A file or a rule that
// cannot be used refuses them all, as it does for --safety-rules.
func (r *safetyRun) configure() (err error) {
	if r.disable != "" {
		if r.classifier, err = r.classifier.Without(strings.Split(r.disable, ",")...); err != nil {
			return fmt.Errorf("--disable: %w", err)
		}
	}
	if r.rules == "" {
		return nil
	}
	data, err := readRules(r.rules)
	if err != nil {
		return fmt.Errorf("--rules: %w", err)
	}
	patterns, err := safety.DecodePatterns(data)
	if err != nil {
		return fmt.Errorf("--rules %s: %w", r.rules, err)
	}
	if r.classifier, err = r.classifier.With(patterns...); err != nil {
		return fmt.Errorf("--rules %s: %w", r.rules, err)
	}
	return nil
}

// grade is the answer for one command.
func (r *safetyRun) grade(command string, platform safety.Platform) any {
	if r.explain {
		return r.classifier.Explain(command, platform)
	}
	return r.classifier.Classify(command, platform)
}

// classify answers for every command of the arguments.
func (r *safetyRun) classify() error {
	out := json.NewEncoder(r.env.stdout)
	out.SetEscapeHTML(false)
	for _, command := range r.commands {
		if err := out.Encode(r.grade(command, r.platform)); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	return nil
}

// line answers for one line of --jsonl. Members other than the two it needs are
// ignored, so that test corpora can be piped in as they are.
func (r *safetyRun) line(data []byte) (any, error) {
	var in struct {
		Cmd      *string `json:"cmd"`
		Platform string  `json:"platform"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("not a JSON object with cmd: %w", err)
	}
	if in.Cmd == nil {
		return nil, errors.New("cmd is missing")
	}
	platform := r.platform
	if in.Platform != "" {
		var err error
		if platform, err = safety.ParsePlatform(in.Platform); err != nil {
			return nil, err
		}
	}
	return r.grade(*in.Cmd, platform), nil
}

// printRules lists the rules of the set.
func (r *safetyRun) printRules() error {
	out := json.NewEncoder(r.env.stdout)
	out.SetEscapeHTML(false)
	for _, p := range r.classifier.Patterns() {
		if err := out.Encode(p); err != nil {
			return fmt.Errorf("write the rules: %w", err)
		}
	}
	return nil
}
