package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/steerable-go/sidecar/sandbox/launcher" // makes this test binary a launcher
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// testHost uses this test binary as the launcher.
func testHost(t *testing.T) *Host {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return NewHost(Options{Executable: exe, RunDir: filepath.Join(t.TempDir(), "run"), Env: os.Environ()})
}

func rootPolicy(t *testing.T, change func(*policy.Config)) policy.Policy {
	t.Helper()
	c := policy.Config{Roots: []string{t.TempDir()}}
	if change != nil {
		change(&c)
	}
	p, err := policy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run executes a wrapped line with the plain shell a host would use.
func run(t *testing.T, dir, line string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", line)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func backends(t *testing.T) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("rewriting backends are tested on Linux")
	}
	return []string{policy.BackendBwrap, policy.BackendNative, policy.BackendLandlock}
}

// pick selects a backend or skips where it does not work.
func pick(t *testing.T, h *Host, p policy.Policy, name string) Backend {
	t.Helper()
	b, err := h.Select(t.Context(), p, name)
	if errors.Is(err, ErrNoBackend) {
		t.Skipf("%s does not work here", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWrapCommand(t *testing.T) {
	h := testHost(t)
	for _, name := range backends(t) {
		t.Run(name, func(t *testing.T) {
			p := rootPolicy(t, nil)
			b := pick(t, h, p, name)
			if b.Name() != name || b.Report().Backend != name {
				t.Errorf("selected %s, reports %+v", b.Name(), b.Report())
			}
			outside := filepath.Join(t.TempDir(), "outside")
			command := "echo it\\'s \"$0\" > f && cat f; echo no > " + outside + "; exit 5"
			line, err := b.WrapCommand(command, "bash")
			if err != nil {
				t.Fatal(err)
			}
			out, code := run(t, p.Roots[0], line)
			if code != 5 || !strings.HasPrefix(out, "it's bash\n") {
				t.Errorf("exit %d, output %q", code, out)
			}
			if _, err := os.Stat(outside); err == nil {
				t.Error("the command wrote outside its root")
			}
		})
	}
}

func TestLongCommand(t *testing.T) {
	h := testHost(t)
	p := rootPolicy(t, nil)
	b := pick(t, h, p, policy.BackendAuto)
	long := ": " + strings.Repeat("x", 1<<20) + "\nread line; echo \"got $line\"; exit 6"
	line, err := b.WrapCommand(long, "")
	if err != nil {
		t.Fatal(err)
	}
	out, code := run(t, p.Roots[0], "echo input | "+line)
	if out != "got input\n" || code != 6 {
		t.Errorf("exit %d, output %.200q", code, out)
	}
	left, err := os.ReadDir(h.opts.RunDir)
	if err != nil || len(left) != 0 {
		t.Errorf("scripts left behind: %v, %v", left, err)
	}
}

func TestLongCommandNeedsADirectory(t *testing.T) {
	w := &wrapped{launcher: []string{"/l"}, name: "bwrap"}
	if _, err := w.WrapCommand(strings.Repeat("x", maxInline+1), ""); !errors.Is(err, ErrNoRunDir) {
		t.Errorf("error %v, want ErrNoRunDir", err)
	}
}

func TestWrapRefuses(t *testing.T) {
	w := &wrapped{launcher: []string{"/l"}, name: "bwrap"}
	for _, command := range []string{"", " ", "\n\t"} {
		if _, err := w.WrapCommand(command, ""); !errors.Is(err, ErrNoCommand) {
			t.Errorf("WrapCommand(%q) = %v, want ErrNoCommand", command, err)
		}
	}
	if _, err := w.WrapCommand("a\x00b", ""); !errors.Is(err, errNUL) {
		t.Errorf("NUL: %v", err)
	}
	for _, argv := range [][]string{nil, {}, {""}} {
		if _, err := w.Argv(argv); !errors.Is(err, ErrNoCommand) {
			t.Errorf("Argv(%q) = %v, want ErrNoCommand", argv, err)
		}
	}
}

// TestDescribeAgrees compares what describe says with what the launcher itself
// reports for a call, for every combination of network and allowed hosts.
func TestDescribeAgrees(t *testing.T) {
	h := testHost(t)
	backends(t)
	lists := map[string][]string{
		"absent": nil, "empty": {}, "pinned": {"localhost:49200"}, "two": {"localhost:1", "localhost:2"}, "remote": {"example.invalid"},
	}
	for name, hosts := range lists {
		for _, network := range []bool{false, true} {
			p := rootPolicy(t, func(c *policy.Config) { c.Network, c.AllowedHosts, c.HostsGiven = network, hosts, hosts != nil })
			described, err := h.Describe(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			b := pick(t, h, p, policy.BackendAuto)
			argv, err := b.Argv([]string{"true"})
			if err != nil {
				t.Fatal(err)
			}
			l := h.mustLauncher(t)
			argv = append(append(append([]string{}, l.argv...), "--json"), argv[len(l.argv):]...)
			out, code := run(t, p.Roots[0], Quote(argv))
			want := string(described.AppendJSON(nil)) + "\n"
			if out != want || code != 0 {
				t.Errorf("%s, network %v: described %s, the call reports %s (exit %d)", name, network, want, out, code)
			}
			full := !network || name == "empty" || name == "pinned"
			if (described.Enforcement == policy.Full) != full {
				t.Errorf("%s, network %v: %v", name, network, described.Enforcement)
			}
		}
	}
}

func (h *Host) mustLauncher(t *testing.T) launcher {
	t.Helper()
	l, err := h.launcher()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestReportFollowsTheRepository: the landlock rung cannot protect paths, and
// says so from the moment there are any.
func TestReportFollowsTheRepository(t *testing.T) {
	h := testHost(t)
	backends(t)
	p := rootPolicy(t, nil)
	b := pick(t, h, p, policy.BackendLandlock)
	if got := b.Report(); got.Enforcement != policy.Full {
		t.Skipf("the rung is %+v here", got)
	}
	if err := os.WriteFile(filepath.Join(p.Roots[0], ".envrc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := Report{Backend: "landlock", Enforcement: policy.Partial, NotEnforced: []string{"protect"}, ABI: b.Report().ABI}
	if diff := cmp.Diff(want, b.Report()); diff != "" {
		t.Error(diff)
	}
}

func TestNoLauncherIsNoBackend(t *testing.T) {
	for name, opts := range map[string]Options{
		"zero":      {},
		"missing":   {Launcher: "/nonexistent/steerable-sandbox"},
		"relative":  {Launcher: "steerable-sandbox"},
		"directory": {Launcher: "/"},
	} {
		h := NewHost(opts)
		if _, err := h.Select(t.Context(), policy.Policy{}, policy.BackendAuto); !errors.Is(err, ErrNoBackend) {
			t.Errorf("%s: %v, want ErrNoBackend", name, err)
		}
		if r, err := h.Describe(t.Context(), policy.Policy{}); err != nil || !cmp.Equal(r, policy.NoBackend()) {
			t.Errorf("%s: described as %+v, %v", name, r, err)
		}
	}
}

// TestLauncherThatLies: a program that is no launcher never counts as one.
func TestLauncherThatLies(t *testing.T) {
	backends(t)
	for name, script := range map[string]string{
		"silent":        "exit 0",
		"fails":         "exit 1",
		"no JSON":       "echo hello >&2",
		"another name":  `echo '{"backend":"docker","enforcement":"full"}' >&2`,
		"super":         `echo '{"backend":"bwrap","enforcement":"super"}' >&2`,
		"odd dimension": `echo '{"backend":"bwrap","enforcement":"partial","notEnforced":["x"]}' >&2`,
	} {
		path := filepath.Join(t.TempDir(), "steerable-sandbox")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		h := NewHost(Options{Launcher: path})
		if _, err := h.Select(t.Context(), policy.Policy{}, policy.BackendAuto); !errors.Is(err, ErrNoBackend) {
			t.Errorf("%s: %v, want ErrNoBackend", name, err)
		}
	}
}

func TestCancelledProbeIsAnError(t *testing.T) {
	h := testHost(t)
	backends(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Select(ctx, policy.Policy{}, policy.BackendAuto); err == nil || errors.Is(err, ErrNoBackend) {
		t.Errorf("error %v; a cancelled probe says nothing about the machine", err)
	}
}

func TestLadder(t *testing.T) {
	for goos, want := range map[string]int{"linux": 3, "darwin": 1, "windows": 0, "freebsd": 0} {
		if got := ladder(goos); len(got) != want {
			t.Errorf("ladder(%s) = %v", goos, got)
		}
	}
}
