package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// Report is [policy.Report], named here so that callers of this package need
// no second import to read one.
type Report = policy.Report

// ErrNoBackend says that no rung of the ladder works on this machine. It is
// the one error of [Host.Select] that a caller may answer by running a command
// unconfined, marked backend "none" (decision 33).
var ErrNoBackend = errors.New("no sandbox backend works on this machine")

// Backend rewrites commands for one policy. Implementations are immutable and
// safe for concurrent use.
type Backend interface {
	// Name is the backend's name on the wire.
	Name() string
	// Report is what the kernel enforces of the policy, as things stand now.
	Report() Report
	// WrapCommand returns the command line that runs command confined with
	// shell's -c; an empty shell means sh. The result is single-quoted words
	// only, so every POSIX shell reads it alike.
	WrapCommand(command, shell string) (string, error)
	// Argv returns the argument vector that runs argv confined.
	Argv(argv []string) ([]string, error)
}

// ErrNoCommand is returned for a command that is empty or blank: a wrapper
// around nothing would succeed and look like an executed command.
var ErrNoCommand = errors.New("no command to wrap")

// maxInline is the longest command passed as an argument. The kernel allows
// 128 KiB for one argument (MAX_ARG_STRLEN); a host's shell may quote the line
// once more, so we stop well before that.
const maxInline = 100 << 10

// wrapped is a backend that goes through the launcher.
type wrapped struct {
	launcher []string // argv prefix up to and including the exec verb
	name     string
	verdict  verdict
	policy   policy.Policy
	runDir   string
}

var _ Backend = (*wrapped)(nil)

func (w *wrapped) Name() string { return w.name }

// Report is computed anew each time: a repository that appears in a root adds
// paths to protect, which the landlock rung cannot do.
func (w *wrapped) Report() Report {
	return policy.Assess(w.name, w.verdict.abi, w.verdict.enforced, w.policy)
}

func (w *wrapped) WrapCommand(command, shell string) (string, error) {
	if strings.TrimSpace(command) == "" {
		return "", ErrNoCommand
	}
	if shell == "" {
		shell = "sh"
	}
	if strings.Contains(command, "\x00") || strings.Contains(shell, "\x00") {
		return "", fmt.Errorf("wrap command: %w", errNUL)
	}
	if len(command) <= maxInline {
		// "--" keeps a command that starts with "-" from being an option.
		argv, err := w.Argv([]string{shell, "-c", "--", command})
		if err != nil {
			return "", err
		}
		return Quote(argv), nil
	}
	path, err := writeScript(w.runDir, command)
	if err != nil {
		return "", err
	}
	return Quote(append(w.prefix(), "--script", path, "--unlink", "--shell", shell)), nil
}

func (w *wrapped) Argv(argv []string) ([]string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, ErrNoCommand
	}
	return append(append(w.prefix(), "--"), argv...), nil
}

// prefix returns a fresh slice: launcher, backend and policy.
func (w *wrapped) prefix() []string {
	p := slices.Clone(w.launcher)
	p = append(p, "--backend", w.name)
	// The launcher refuses to run below what is promised at this moment, so
	// nothing that changes in between can weaken a call silently.
	p = append(p, "--require", w.Report().Enforcement.String())
	return append(p, policy.Args(w.policy)...)
}
