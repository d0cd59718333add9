// Command steerable-conformance plays a directory of transcripts against any
// program that claims to be a sidecar, and reports where they differ:
//
//	steerable-conformance [-baseline FILE] [-run RE] [-update] [-v] [-timeout D] DIR -- COMMAND…
//
// It exits with 0 when every transcript went as written or is a known failure,
// with 1 when one did not, and with 2 when it could not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/steerable-go/sidecar/conformance"
)

// Exit codes.
const (
	exitOK       = 0
	exitMismatch = 1
	exitUsage    = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, streams{os.Stdout, os.Stderr}, os.Environ(), os.Args[1:])
	stop()
	os.Exit(code)
}

// streams is where a run writes.
type streams struct {
	stdout io.Writer
	stderr io.Writer
}

func run(ctx context.Context, to streams, environ, args []string) int {
	suite, err := parse(to.stdout, args)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return fail(to.stderr, err)
	}
	suite.Player.Env = peerEnv(environ)
	sum, err := suite.Play(ctx, to.stdout)
	if err != nil {
		return fail(to.stderr, err)
	}
	if sum.Failed > 0 {
		return exitMismatch
	}
	return exitOK
}

// fail says why nothing could be played.
func fail(stderr io.Writer, err error) int {
	_, _ = fmt.Fprintln(stderr, "steerable-conformance:", err)
	return exitUsage
}

// parse reads the command line: flags, the directory, "--" and the command.
func parse(usage io.Writer, args []string) (*conformance.Suite, error) {
	var s conformance.Suite
	flags := flag.NewFlagSet("steerable-conformance", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	baseline := flags.String("baseline", "", "`file` with a name and a reason a line: failures that are known")
	only := flags.String("run", "", "play the transcripts whose name matches this `regexp`")
	flags.BoolVar(&s.Update, "update", false, "rewrite the expected frames of transcripts that fail")
	flags.BoolVar(&s.Verbose, "v", false, "report every transcript")
	flags.DurationVar(&s.Player.Timeout, "timeout", conformance.DefaultTimeout, "how long one step waits")
	command := []string(nil)
	if i := slices.Index(args, "--"); i >= 0 {
		args, command = args[:i], args[i+1:]
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, _ = fmt.Fprintln(usage, "usage: steerable-conformance [flags] DIR -- COMMAND…")
			flags.SetOutput(usage)
			flags.PrintDefaults()
		}
		return nil, err
	}
	if flags.NArg() != 1 || len(command) == 0 {
		return nil, errors.New("want one directory, then -- and the command; see -h")
	}
	if s.Player.Timeout <= 0 || s.Player.Timeout > time.Hour {
		return nil, fmt.Errorf("-timeout %v is not between 0 and 1h", s.Player.Timeout)
	}
	s.Dir, s.Player.Command = flags.Arg(0), command
	return &s, configure(&s, *only, *baseline)
}

func configure(s *conformance.Suite, only, baseline string) (err error) {
	if only != "" {
		if s.Run, err = regexp.Compile(only); err != nil {
			return fmt.Errorf("-run: %w", err)
		}
	}
	if baseline != "" {
		s.Baseline, err = conformance.ReadBaseline(baseline)
	}
	return err
}

// peerEnv is the environment without what would change the peer's behaviour:
// its own settings and proxies, which would catch requests for the loopback
// model.
func peerEnv(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		return strings.HasPrefix(name, "STEERABLE_") || strings.HasSuffix(name, "_PROXY")
	})
}
