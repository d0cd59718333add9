package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/steerable-go/sidecar/approvals"
)

// approvalsUsage is printed for --help.
const approvalsUsage = `usage:
  steerable-sidecar approvals list   --store FILE --policy FILE
  steerable-sidecar approvals revoke --store FILE --category NAME
  steerable-sidecar approvals revoke --policy FILE --rule INDEX
  steerable-sidecar approvals check  --store FILE --policy FILE
  steerable-sidecar approvals accept --store FILE --policy FILE
  steerable-sidecar approvals match  --jsonl

With --store alone, approval-policy.json beside it is looked at too.
`

// approvalsRun is what one approvals subcommand works on. A file that was not
// named is nil.
type approvalsRun struct {
	env        environment
	storePath  string
	policyPath string
	store      *approvals.Store
	policy     *approvals.Policy
	category   string
	rule       int
	hasRule    bool
}

// runApprovals lists, revokes and repairs stored answers. It returns 0 if all
// is well, 1 if something is wrong with the files or nothing was there to
// revoke, and 2 for wrong usage.
func runApprovals(env environment, args []string) int {
	if len(args) == 0 {
		return approvalsMisuse(env, "no subcommand given; approvals --help lists them")
	}
	if args[0] == "match" {
		return runApprovalsMatch(env, args[1:])
	}
	verbs := map[string]func(*approvalsRun) int{
		"list":   (*approvalsRun).list,
		"revoke": (*approvalsRun).revoke,
		"check":  (*approvalsRun).check,
		"accept": (*approvalsRun).accept,
	}
	verb, ok := verbs[args[0]]
	if !ok {
		return approvalsMisuse(env, fmt.Sprintf("unknown subcommand %q; approvals --help lists them", args[0]))
	}
	r, err := parseApprovals(env, args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(env.stdout, approvalsUsage)
		return exitOK
	}
	if err != nil {
		return approvalsMisuse(env, err.Error())
	}
	return verb(r)
}

func approvalsMisuse(env environment, message string) int {
	_, _ = fmt.Fprintf(env.stderr, "steerable-sidecar approvals: %s\n", message)
	return exitUsage
}

func parseApprovals(env environment, args []string) (*approvalsRun, error) {
	r := &approvalsRun{env: env}
	set := flag.NewFlagSet(args[0], flag.ContinueOnError)
	set.SetOutput(new(strings.Builder)) // the error is printed once, by the caller
	set.StringVar(&r.storePath, "store", "", "")
	set.StringVar(&r.policyPath, "policy", "", "")
	if args[0] == "revoke" {
		set.StringVar(&r.category, "category", "", "")
		set.IntVar(&r.rule, "rule", -1, "")
	}
	if err := set.Parse(args[1:]); err != nil {
		return nil, err
	}
	set.Visit(func(f *flag.Flag) { r.hasRule = r.hasRule || f.Name == "rule" })
	switch {
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	case r.storePath == "" && r.policyPath == "":
		return nil, errors.New("name a file with --store or --policy")
	}
	r.policyPath = approvals.PolicyPath(r.policyPath, r.storePath)
	if r.storePath != "" {
		r.store = approvals.OpenStore(r.storePath, nil)
	}
	r.policy = approvals.OpenPolicy(r.policyPath, nil)
	return r, nil
}

// printf writes to the person who called; if that fails there is nobody to tell.
func (r *approvalsRun) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.env.stdout, format, args...)
}

func (r *approvalsRun) fail(format string, args ...any) int {
	_, _ = fmt.Fprintf(r.env.stderr, "steerable-sidecar approvals: "+format+"\n", args...)
	return exitFailed
}

// list prints every usable answer, and warns if there is more.
func (r *approvalsRun) list() int {
	if r.store != nil {
		r.printf("store %s%s\n", r.storePath, missing(r.store.Missing()))
		table := tabwriter.NewWriter(r.env.stdout, 0, 0, 2, ' ', 0)
		for _, a := range r.store.List() {
			_, _ = fmt.Fprintf(table, "  %s\t%s_always\n", approvals.Visible(a.Category), a.Effect)
		}
		_ = table.Flush()
	}
	r.printf("policy %s%s\n", r.policyPath, missing(r.policy.Missing()))
	for _, rule := range r.policy.List() {
		r.printf("  %d: %s\n", rule.Index, rule.Rule)
	}
	if n := len(r.problems()); n > 0 {
		return r.fail("automatic allows are suspended, problems: %d; see approvals check", n)
	}
	return exitOK
}

func missing(file bool) string {
	if file {
		return " (no such file)"
	}
	return ""
}

// problems returns one line for each problem of the files.
func (r *approvalsRun) problems() []string {
	var lines []string
	add := func(kind, path, part string, problems []approvals.Problem) {
		for _, p := range problems {
			line := fmt.Sprintf("%s %s: ", kind, path)
			if p.Index >= 0 {
				line += fmt.Sprintf("%s %d ", part, p.Index)
			}
			if p.Tool != "" {
				line += fmt.Sprintf("(%s) ", approvals.Visible(p.Tool))
			}
			lines = append(lines, line+p.Text)
		}
	}
	if r.store != nil {
		add("store", r.storePath, "entry", r.store.Check())
	}
	add("policy", r.policyPath, "rule", r.policy.Check())
	return lines
}

// check prints every problem of the files and fails if there is one.
func (r *approvalsRun) check() int {
	lines := r.problems()
	for _, line := range lines {
		r.printf("%s\n", line)
	}
	if len(lines) > 0 {
		return r.fail("automatic allows are suspended, problems: %d; repair the files, or use approvals accept for damaged ones", len(lines))
	}
	r.printf("ok\n")
	return exitOK
}

// accept ends the suspension that damaged files cause.
func (r *approvalsRun) accept() int {
	kept, err := r.policy.Accept(context.Background())
	if err == nil && r.store != nil {
		var more []string
		more, err = r.store.Accept(context.Background())
		kept = append(kept, more...)
	}
	for _, name := range kept {
		r.printf("kept as %s; its decisions no longer apply\n", name)
	}
	if err != nil {
		return r.fail("%v", err)
	}
	if len(kept) == 0 {
		r.printf("nothing to accept\n")
	}
	return exitOK
}

// revoke removes one stored answer, whatever it says.
func (r *approvalsRun) revoke() int {
	switch {
	case (r.category == "") == !r.hasRule:
		return approvalsMisuse(r.env, "revoke needs either --category or --rule")
	case r.category != "" && r.store == nil:
		return approvalsMisuse(r.env, "--category needs --store")
	case r.hasRule:
		return r.revokeRule()
	}
	found, err := r.store.Revoke(context.Background(), r.category)
	if err != nil {
		return r.fail("%v", err)
	}
	if !found {
		return r.fail("store %s holds nothing for category %q", r.storePath, r.category)
	}
	r.printf("revoked category %s\n", approvals.Visible(r.category))
	return exitOK
}

func (r *approvalsRun) revokeRule() int {
	removed, err := r.policy.Revoke(context.Background(), r.rule)
	if err != nil {
		return r.fail("policy %s: %v", r.policyPath, err)
	}
	r.printf("revoked rule %d: %s\n", r.rule, removed)
	return exitOK
}
