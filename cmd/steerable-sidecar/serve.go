package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/executors"
	"github.com/steerable-go/sidecar/llm"
	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/policy"
	"github.com/steerable-go/sidecar/sidecar"
)

// exitHostGone ends a process whose host stopped reading; EX_SOFTWARE.
const exitHostGone = 70

// logPatience is how long the end waits for who reads the log.
const logPatience = 200 * time.Millisecond

// serveFlags are the flags of the service, the reference's and ours.
type serveFlags struct {
	logLevel string
	quiet    bool
	storage  string // accepted; persistence is not built yet
	maxFrame int
	rules    string // file of safety rules
	hasRules bool
	bash     bool   // offer the in-process shell tool
	backend  string // what confines commands
}

func parseServe(args []string) (serveFlags, error) {
	var f serveFlags
	set := flags("serve")
	set.StringVar(&f.logLevel, "log-level", "INFO", "")
	set.BoolVar(&f.quiet, "quiet-ready", false, "")
	set.StringVar(&f.storage, "storage-path", "", "")
	set.IntVar(&f.maxFrame, "max-frame-bytes", protocol.DefaultMaxFrame, "")
	set.Func("safety-rules", "", func(name string) error {
		f.rules, f.hasRules = name, true
		return nil
	})
	set.BoolVar(&f.bash, "with-bash", false, "")
	set.StringVar(&f.backend, "sandbox-backend", policy.BackendAuto, "")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if _, _, ok := sidecar.ParseLevel(f.logLevel); !ok {
		return f, fmt.Errorf("--log-level must be one of %v, not %q", sidecar.Levels(), f.logLevel)
	}
	if !slices.Contains(sidecar.SandboxBackends(), f.backend) {
		return f, fmt.Errorf("--sandbox-backend must be one of %v, not %q", sidecar.SandboxBackends(), f.backend)
	}
	if f.maxFrame < 4096 || f.maxFrame > 1<<30 {
		return f, fmt.Errorf("--max-frame-bytes must be between 4096 and %d", 1<<30)
	}
	return f, nil
}

// serve runs the service until the host ends it.
func serve(env environment, args []string) int {
	f, err := parseServe(args)
	if err != nil {
		return usage(env, "%s", err)
	}
	opts, err := serveOptions(env)
	if err == nil {
		err = tools(env, f, &opts)
	}
	if err != nil {
		fmt.Fprintf(env.stderr, "steerable-sidecar: %s\n", err)
		return exitConfig
	}
	level, canonical, _ := sidecar.ParseLevel(f.logLevel)
	zerolog.SetGlobalLevel(level)
	logs := sidecar.NewLogWriter(env.stderr)
	defer logs.Close(logPatience)
	opts.Log = zerolog.New(logs).With().Timestamp().Logger()
	opts.SetLevel, opts.LogLevel = zerolog.SetGlobalLevel, canonical
	opts.QuietReady, opts.MaxFrame, opts.ErrOut = f.quiet, f.maxFrame, env.stderr
	if opts.In, opts.Out, err = streams(env); err != nil {
		fmt.Fprintf(env.stderr, "steerable-sidecar: %s\n", err)
		return exitFailed
	}
	// Go ends a process on SIGPIPE from fd 1 or 2 unless the signal is caught;
	// caught, the write fails with EPIPE, which is an orderly stop. Ignoring
	// it instead would be inherited by every tool.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := sidecar.New(opts).Run(ctx); err != nil {
		opts.Log.Error().Err(err).Msg("stopped")
		if errors.Is(err, sidecar.ErrHostGone) {
			return exitHostGone
		}
		return exitFailed
	}
	return exitOK
}

// maxRulesBytes bounds a file of safety rules.
const maxRulesBytes = 4 << 20

// readRules reads a file of safety rules: a regular one of bounded size, so that
// a pipe or a device does not hold the start up.
func readRules(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("the name of the file is empty")
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > maxRulesBytes:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxRulesBytes)
	}
	return os.ReadFile(name)
}

// tools sets up what tool calls need: the operator's safety rules, the sandbox,
// and the shell tool of this process if it was asked for.
func tools(env environment, f serveFlags, opts *sidecar.Options) error {
	if f.hasRules {
		data, err := readRules(f.rules)
		if err != nil {
			return fmt.Errorf("--safety-rules: %w", err)
		}
		if opts.SafetyRules, err = safety.DecodePatterns(data); err != nil {
			return fmt.Errorf("--safety-rules %s: %w", f.rules, err)
		}
		if base, err := safety.New(safety.SetDefault); err != nil {
			return err
		} else if _, err := base.With(opts.SafetyRules...); err != nil {
			return fmt.Errorf("--safety-rules %s: %w", f.rules, err)
		}
	}
	opts.Home = env.getenv("HOME")
	if err := authorization(env, opts); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	clean := policy.Scrub(os.Environ(), policy.Policy{})
	host := sandbox.Options{Executable: exe, Env: clean}
	if filepath.IsAbs(opts.Home) {
		host.RunDir = filepath.Join(opts.Home, ".steerable", "run")
	}
	opts.Sandbox, opts.SandboxBackend = sandbox.NewHost(host), f.backend
	if f.bash {
		opts.Tools = append(opts.Tools, executors.BashTool(executors.BashOptions{Env: clean}))
	}
	return nil
}

// streams takes standard input and output for the protocol.
func streams(env environment) (io.Reader, io.Writer, error) {
	in, okIn := env.stdin.(*os.File)
	out, okOut := env.stdout.(*os.File)
	errOut, okErr := env.stderr.(*os.File)
	if !okIn || !okOut || !okErr {
		return env.stdin, env.stdout, nil
	}
	return protocol.Claim(in, out, errOut)
}

// serveOptions reads the operator's settings from the environment. A value that
// cannot be used is an error, not a default.
func serveOptions(env environment) (sidecar.Options, error) {
	var opts sidecar.Options
	r := envReader{getenv: env.getenv}
	opts.CoreLoop = r.flag("STEERABLE_SIDECAR_CORELOOP")
	opts.Retry = llm.RetryPolicy{
		MaxAttempts: r.number("STEERABLE_RETRY_MAX_ATTEMPTS", 100),
		Base:        time.Duration(r.number("STEERABLE_RETRY_BASE_DELAY_MS", 3600_000)) * time.Millisecond,
		Max:         time.Duration(r.number("STEERABLE_RETRY_MAX_DELAY_MS", 3600_000)) * time.Millisecond,
	}
	opts.IdleTimeout = time.Duration(r.number("STEERABLE_LLM_STREAM_READ_TIMEOUT_SEC", 86400)) * time.Second
	connect := time.Duration(r.number("STEERABLE_LLM_CONNECT_TIMEOUT_SEC", 3600)) * time.Second
	opts.Client = func() *http.Client {
		return llm.NewHTTPClient(llm.HTTPOptions{ConnectTimeout: connect, Proxy: llm.EnvironmentProxy(env.getenv)})
	}
	opts.SpillDir = spillDir(env)
	return opts, r.err
}

// spillDir is where large results are kept: below the folder that belongs to
// the sidecar, which no sandbox makes writable.
func spillDir(env environment) string {
	if env.getenv("STEERABLE_SIDECAR_SPILL") == "0" {
		return ""
	}
	if dir := env.getenv("STEERABLE_SPILL_DIR"); dir != "" {
		return dir
	}
	home := env.getenv("HOME")
	if home == "" || !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".steerable", "spill")
}

// envReader reads variables and keeps the first error.
type envReader struct {
	getenv func(string) string
	err    error
}

// number returns a whole number in [1, high], or 0 if the variable is unset.
func (r *envReader) number(name string, high int) int {
	text := r.getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if (err != nil || n < 1 || n > high) && r.err == nil {
		r.err = fmt.Errorf("%s must be a whole number between 1 and %d, not %q", name, high, text)
	}
	return n
}

// flag returns whether a switch is on, in the reference's spellings.
func (r *envReader) flag(name string) bool {
	switch text := r.getenv(name); text {
	case "1", "true", "yes", "TRUE", "True":
		return true
	case "", "0", "false", "no", "FALSE", "False":
		return false
	default:
		if r.err == nil {
			r.err = fmt.Errorf("%s must be 1 or 0, not %q", name, text)
		}
		return false
	}
}
