package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/steerable-go/sidecar/auditlog"
	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/signing"
)

// auditUsage is printed for --help.
const auditUsage = `usage:
  steerable-sidecar audit verify [--owner O] [--pubkey FILE] [--head FILE]
                                 [--expect-count N --expect-head HASH] [--json]
  steerable-sidecar audit head   [--owner O] [--key FILE] [--json]
  steerable-sidecar audit show   --owner O [--from N] [--limit N]
  steerable-sidecar audit prune  --owner O --before N [--key FILE]

All take --dir DIR, by default ~/.steerable/audit. Without --owner, verify and
head look at every chain in it. verify --head takes what head --json printed.

verify exits with 0 if all is well, 1 if a chain was tampered with or cannot be
read, 2 if records are missing at its end, 3 if its last line is torn, 4 if a
signature is wrong or, with --pubkey, none stands at its end, and 64 for wrong
usage.
`

// Exit codes of "audit verify", which scripts tell apart.
const (
	exitTampered   = 1
	exitTruncated  = 2
	exitTorn       = 3
	exitSignature  = 4
	exitAuditUsage = 64 // EX_USAGE: 2 is taken
)

// Environment variables with which the writer is configured too.
const (
	envAuditKey    = "STEERABLE_AUDIT_KEY_FILE"
	envAuditPubkey = "STEERABLE_AUDIT_PUBKEY_FILE"
)

// auditRun is what one audit subcommand works on.
type auditRun struct {
	env        environment
	dir        string
	owner      string
	hasOwner   bool
	pubkey     string
	key        string
	headPath   string
	asJSON     bool
	from       uint64
	limit      uint64
	before     uint64
	wantCount  uint64
	wantHead   string
	checkpoint *auditlog.Checkpoint
	verifier   *signing.Verifier
	signer     *signing.Signer
}

// runAudit verifies, shows and prunes audit chains, and prints where they end.
func runAudit(env environment, args []string) int {
	verbs := map[string]func(*auditRun) (int, error){
		"verify": (*auditRun).verify,
		"head":   (*auditRun).head,
		"show":   (*auditRun).show,
		"prune":  (*auditRun).prune,
	}
	misuse := func(message string) int {
		_, _ = fmt.Fprintf(env.stderr, "steerable-sidecar audit: %s; audit --help explains it\n", message)
		return exitAuditUsage
	}
	if len(args) == 0 {
		return misuse("no subcommand given")
	}
	verb, ok := verbs[args[0]]
	if !ok {
		return misuse(fmt.Sprintf("unknown subcommand %q", args[0]))
	}
	r, err := parseAudit(env, args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(env.stdout, auditUsage)
		return exitOK
	}
	if err != nil {
		return misuse(err.Error())
	}
	if err := r.load(); err != nil {
		return r.fail(args[0], err)
	}
	code, err := verb(r)
	if err != nil {
		return r.fail(args[0], err)
	}
	return code
}

func (r *auditRun) fail(verb string, err error) int {
	_, _ = fmt.Fprintf(r.env.stderr, "steerable-sidecar audit %s: %v\n", verb, err)
	return exitFailed
}

func parseAudit(env environment, args []string) (*auditRun, error) {
	r := &auditRun{env: env}
	verb := args[0]
	set := flag.NewFlagSet(verb, flag.ContinueOnError)
	set.SetOutput(io.Discard) // the error is printed once, by the caller
	r.flags(set, verb)
	if err := set.Parse(args[1:]); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	r.hasOwner = given["owner"]
	for _, rule := range []struct {
		broken  bool
		message string
	}{
		{set.NArg() > 0, fmt.Sprintf("unexpected argument %q", set.Arg(0))},
		{(verb == "show" || verb == "prune") && !r.hasOwner, "--owner is missing"},
		{verb == "prune" && !given["before"], "--before is missing"},
		{given["expect-count"] != given["expect-head"], "--expect-count and --expect-head come together"},
		{given["expect-head"] && (given["head"] || !r.hasOwner), "--expect-head goes with --owner and without --head"},
	} {
		if rule.broken {
			return nil, errors.New(rule.message)
		}
	}
	return r, nil
}

// flags declares the flags of a subcommand.
func (r *auditRun) flags(set *flag.FlagSet, verb string) {
	set.StringVar(&r.dir, "dir", "", "")
	set.StringVar(&r.owner, "owner", "", "")
	switch verb {
	case "verify":
		set.StringVar(&r.pubkey, "pubkey", r.env.getenv(envAuditPubkey), "")
		set.StringVar(&r.headPath, "head", "", "")
		set.Uint64Var(&r.wantCount, "expect-count", 0, "")
		set.StringVar(&r.wantHead, "expect-head", "", "")
		set.BoolVar(&r.asJSON, "json", false, "")
	case "head":
		set.StringVar(&r.key, "key", r.env.getenv(envAuditKey), "")
		set.BoolVar(&r.asJSON, "json", false, "")
	case "show":
		set.Uint64Var(&r.from, "from", 0, "")
		set.Uint64Var(&r.limit, "limit", 0, "")
	case "prune":
		set.StringVar(&r.key, "key", r.env.getenv(envAuditKey), "")
		set.Uint64Var(&r.before, "before", 0, "")
	}
}

// load reads what the flags name.
func (r *auditRun) load() error {
	if r.dir == "" {
		home := r.env.getenv("HOME")
		if home == "" {
			return errors.New("no --dir, and HOME is not set")
		}
		r.dir = filepath.Join(home, ".steerable", "audit")
	}
	if _, err := os.ReadDir(r.dir); err != nil {
		return fmt.Errorf("no audit log: %w", err)
	}
	var err error
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return err
	}
	if r.pubkey != "" {
		if r.verifier, err = auditlog.LoadVerifier(r.pubkey); err != nil {
			return err
		}
	}
	if r.key != "" {
		if r.signer, err = auditlog.LoadSigner(r.key); err != nil {
			return err
		}
	}
	return r.loadHead()
}

// loadHead reads the head that a chain must pass through.
func (r *auditRun) loadHead() error {
	if r.wantHead != "" {
		h, err := audit.ParseHash(r.wantHead)
		if err != nil {
			return err
		}
		r.checkpoint = &auditlog.Checkpoint{Owner: r.owner, Count: r.wantCount, Head: h, Version: audit.Version}
	}
	if r.headPath == "" {
		return nil
	}
	c, err := auditlog.LoadCheckpoint(r.headPath)
	if err != nil {
		return fmt.Errorf("read head: %w", err)
	}
	if r.hasOwner && r.owner != c.Owner {
		return fmt.Errorf("the head is of owner %q", c.Owner)
	}
	r.owner, r.hasOwner, r.checkpoint = c.Owner, true, &c
	return nil
}

// owners returns the owners to look at, and beside them an error about chains
// that cannot be looked at.
func (r *auditRun) owners() ([]string, error) {
	if r.hasOwner {
		return []string{r.owner}, nil
	}
	return auditlog.Owners(r.dir)
}

// hasChain returns an error if an owner has none.
func (r *auditRun) hasChain(owner string) error {
	if !auditlog.HasChain(r.dir, owner) {
		return fmt.Errorf("owner %q has no chain", owner)
	}
	return nil
}

func (r *auditRun) options(owner string) auditlog.VerifyOptions {
	return auditlog.VerifyOptions{Dir: r.dir, Owner: owner, Verifier: r.verifier, Head: r.checkpoint}
}

// verify checks the chains and returns the exit code of the first that is not
// whole.
func (r *auditRun) verify() (int, error) {
	owners, strays := r.owners()
	code := exitOK
	for _, owner := range owners {
		rep, err := auditlog.Verify(r.options(owner))
		if err != nil {
			return 0, fmt.Errorf("owner %q: %w", owner, err)
		}
		if err := r.hasChain(owner); err != nil && r.checkpoint == nil {
			return 0, err
		}
		if err := r.printReport(owner, rep); err != nil {
			return 0, err
		}
		if code == exitOK {
			code = reportCode(rep)
		}
	}
	if len(owners) == 0 && strays == nil && !r.asJSON {
		_, _ = fmt.Fprintln(r.env.stdout, "no chains")
	}
	return code, strays
}

// reportCode maps a report to an exit code.
func reportCode(rep auditlog.Report) int {
	switch rep.Code {
	case "":
		return exitOK
	case audit.CodeTruncated:
		return exitTruncated
	case audit.CodeTornTail, audit.CodeNoFinalNewline:
		return exitTorn
	case audit.CodeSignature:
		return exitSignature
	case audit.CodeShape, audit.CodeOwner, audit.CodeSequence, audit.CodePrevHash, audit.CodeHashMismatch, audit.CodeAnchorMismatch:
		return exitTampered
	default:
		return exitTampered
	}
}

func (r *auditRun) printReport(owner string, rep auditlog.Report) error {
	if r.asJSON {
		out := result{
			"owner": owner, "ok": rep.OK, "records": rep.Records, "code": rep.Code, "count": rep.Head.Count, "head": rep.Head.Hash,
			"tailPinned": rep.TailPinned, "external": rep.External, "signed": rep.Signed > 0 || rep.HeadSigned,
			"signedRecords": rep.Signed, "headSigned": rep.HeadSigned, "pruned": rep.Pruned, "recoveries": rep.Recoveries,
		}
		if !rep.OK {
			out["at"] = rep.At
		}
		return json.NewEncoder(r.env.stdout).Encode(out)
	}
	if !rep.OK {
		_, err := fmt.Fprintf(r.env.stdout, "%q: NOT verified: %s at record %d; the %d before it stand\n", owner, rep.Code, rep.Pruned+rep.At, rep.Records)
		return err
	}
	line := fmt.Sprintf("%q: verified %d records, %s, %s", owner, rep.Records, tailText(rep), r.signedText(rep))
	if rep.Pruned > 0 {
		line += fmt.Sprintf(", %d older ones pruned", rep.Pruned)
	}
	if rep.Recoveries > 0 {
		line += fmt.Sprintf(", %d torn lines recovered", rep.Recoveries)
	}
	_, err := fmt.Fprintln(r.env.stdout, line)
	return err
}

// tailText says what shows that nothing is missing at the end.
func tailText(rep auditlog.Report) string {
	switch {
	case rep.External:
		return "tail pinned by the given head"
	case rep.TailPinned:
		return "tail pinned by head.json"
	default:
		return "tail not pinned"
	}
}

func (r *auditRun) signedText(rep auditlog.Report) string {
	switch {
	case rep.HeadSigned:
		return "head signature valid"
	case rep.Signed > 0 && r.verifier == nil:
		return fmt.Sprintf("%d signatures not checked without --pubkey", rep.Signed)
	case rep.Signed > 0:
		return fmt.Sprintf("%d signatures valid", rep.Signed)
	default:
		return "unsigned"
	}
}

// head prints where the chains end, as checkpoints to be stored elsewhere.
func (r *auditRun) head() (int, error) {
	owners, strays := r.owners()
	for _, owner := range owners {
		if err := r.hasChain(owner); err != nil {
			return 0, err
		}
		c, err := auditlog.CurrentHead(r.options(owner), r.signer)
		if err != nil {
			return 0, fmt.Errorf("owner %q: %w", owner, err)
		}
		if r.asJSON {
			err = json.NewEncoder(r.env.stdout).Encode(c)
		} else {
			_, err = fmt.Fprintf(r.env.stdout, "%q: %d records, %s, signed %v\n", owner, c.Count, c.Head, c.Signed)
		}
		if err != nil {
			return 0, err
		}
	}
	return exitOK, strays
}

// show prints the lines of one chain as they stand in the files. It verifies
// nothing.
func (r *auditRun) show() (int, error) {
	if err := r.hasChain(r.owner); err != nil {
		return 0, err
	}
	shown := uint64(0)
	for e, err := range auditlog.Entries(r.dir, r.owner) {
		if err != nil {
			return 0, err
		}
		if e.Record().Sequence() < r.from {
			continue
		}
		if r.limit > 0 && shown == r.limit {
			break
		}
		if _, err := r.env.stdout.Write(e.AppendLine(nil)); err != nil {
			return 0, err
		}
		shown++
	}
	return exitOK, nil
}

// prune removes old segments and leaves a record of it.
func (r *auditRun) prune() (int, error) {
	l, err := auditlog.Open(auditlog.Options{Dir: r.dir, Signer: r.signer})
	if err != nil {
		return 0, err
	}
	gone, err := l.Prune(context.Background(), r.owner, r.before)
	if err := errors.Join(err, l.Close()); err != nil {
		return 0, err
	}
	_, err = fmt.Fprintf(r.env.stdout, "%q: %d records are pruned\n", r.owner, gone)
	return exitOK, err
}
