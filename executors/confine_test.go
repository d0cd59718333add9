package executors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/protocol"
	"github.com/steerable-go/sidecar/safety"
	"github.com/steerable-go/sidecar/sandbox"
	"github.com/steerable-go/sidecar/sandbox/policy"
)

// fakeBackend wraps a command in brackets.
type fakeBackend struct{ report sandbox.Report }

func (b fakeBackend) Name() string           { return b.report.Backend }
func (b fakeBackend) Report() sandbox.Report { return b.report }
func (b fakeBackend) WrapCommand(command, shell string) (string, error) {
	if strings.Contains(command, "\x00") {
		return "", errors.New("the command holds a NUL byte")
	}
	return shell + "<" + command + ">", nil
}
func (b fakeBackend) Argv(argv []string) ([]string, error) { return argv, nil }

// confiner returns a Confiner whose selection is given.
func confiner(opts ConfineOptions, backend sandbox.Backend, err error) *Confiner {
	if opts.Shell == nil {
		opts.Shell = &Shell{Tools: opts.Tools}
	}
	if opts.HostReport == nil {
		opts.HostReport = func() *sandbox.Report { return nil }
	}
	c := NewConfiner(context.Background(), opts)
	c.choose = func() (sandbox.Backend, error) { return backend, err }
	return c
}

func confined(c *Confiner, host protocol.Caller) ToolExecutor {
	return Chain(NewHostToolExecutor(host),
		Inspect(&Inspector{Shell: c.opts.Shell, Confiner: c}), Sandboxed(c, host, &SpawnReports{}))
}

// spawnChain is the chain of a machine without a backend.
func spawnChain(t *testing.T, host protocol.Caller, opts ConfineOptions) ToolExecutor {
	t.Helper()
	return confined(confiner(opts, nil, sandbox.ErrNoBackend), host)
}

// echoHost returns the arguments it was called with.
func echoHost() hostFunc {
	return func(_ context.Context, _ string, params json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"success":true,"data":{"got":` + string(member(params, "arguments")) + `}}`), nil
	}
}

func TestSandboxed(t *testing.T) {
	full := fakeBackend{sandbox.Report{Backend: "bwrap", Enforcement: policy.Full}}
	partial := fakeBackend{sandbox.Report{Backend: "landlock", Enforcement: policy.Partial, NotEnforced: []string{"unix"}}}
	const wrapped = `{"success":true,"data":{"got":{"command":"/bin/sh<ls>","x":1},"_sandbox":{"backend":"bwrap","enforcement":"full"}}}`
	for _, test := range []struct {
		name, tool, args string
		opts             ConfineOptions
		backend          sandbox.Backend
		err              error
		want             string // the whole result, or a part of it after "~"
	}{
		{"rewritten", "bash", `{"command":"ls","x":1}`, ConfineOptions{}, full, nil, wrapped},
		{"another tool", "read", `{"command":"ls"}`, ConfineOptions{}, full, nil, `{"success":true,"data":{"got":{"command":"ls"}}}`},
		{"named tools", "run", `{"command":"ls","x":1}`, ConfineOptions{Tools: []string{"run"}}, full, nil, wrapped},
		{"named tools leave others alone", "bash", `{"command":"ls"}`, ConfineOptions{Tools: []string{"run"}}, full, nil, `{"success":true,"data":{"got":{"command":"ls"}}}`},
		{"no tools", "bash", `{"command":"ls"}`, ConfineOptions{Tools: []string{}}, full, nil, `{"success":true,"data":{"got":{"command":"ls"}}}`},
		{"list", "bash", `{"command":["ls"]}`, ConfineOptions{}, full, nil, `~sandbox_unavailable`},
		{"blank", "bash", `{"command":" \t"}`, ConfineOptions{}, full, nil, `~sandbox_unavailable`},
		{"other name", "bash", `{"cmd":"ls"}`, ConfineOptions{}, full, nil, `~sandbox_unavailable`},
		{"cannot be wrapped", "bash", `{"command":"a\u0000b"}`, ConfineOptions{}, full, nil, `~sandbox_unavailable`},
		{"partial", "bash", `{"command":"ls"}`, ConfineOptions{RequireBackend: true}, partial, nil, `~"_sandbox":{"backend":"landlock","enforcement":"partial","notEnforced":["unix"]}`},
		{"partial where full is required", "bash", `{"command":"ls"}`, ConfineOptions{RequireFull: true}, partial, nil, `~Refused to run 'bash': this deployment requires full sandbox enforcement, got 'partial'.`},
		{"no backend", "bash", `{"command":"ls"}`, ConfineOptions{}, nil, sandbox.ErrNoBackend, `{"success":true,"data":{"got":{"command":"ls"},"_sandbox":{"backend":"none","enforcement":"none"}}}`},
		{"no backend where one is required", "bash", `{"command":"ls"}`, ConfineOptions{RequireBackend: true}, nil, sandbox.ErrNoBackend, `~requires a sandbox backend, got 'none'`},
		{"no backend where full is required", "bash", `{"command":"ls"}`, ConfineOptions{RequireFull: true}, nil, sandbox.ErrNoBackend, `~requires full sandbox enforcement, got 'none'`},
		{"selection fails", "bash", `{"command":"ls"}`, ConfineOptions{}, nil, errors.New("probe broke"), `~sandbox_unavailable`},
		{"selection says nothing", "bash", `{"command":"ls"}`, ConfineOptions{}, nil, nil, `~sandbox_unavailable`},
		{"a list without a backend", "bash", `{"command":["ls"]}`, ConfineOptions{}, nil, sandbox.ErrNoBackend, `~sandbox_unavailable`},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := confined(confiner(test.opts, test.backend, test.err), echoHost())
			got := string(run(t, e, callOf(test.tool, test.args)).AppendJSON(nil))
			if part, ok := strings.CutPrefix(test.want, "~"); ok {
				if !strings.Contains(got, part) || part == ErrorSandboxUnavailable && strings.Contains(got, `"got"`) {
					t.Errorf("got %s, want a part %s", got, part)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostSpawn(t *testing.T) {
	marker := func(backend, enforcement string) string {
		return `"_sandbox":{"backend":"` + backend + `","enforcement":"` + enforcement + `"}`
	}
	for _, test := range []struct {
		name, reply string
		opts        ConfineOptions
		success     bool
		want        string // part of the result
	}{
		{"full", `{"exitCode":0,"stdout":"hi","stderr":"","truncated":false,"sandbox":{"backend":"windows-restricted-token","enforcement":"full"}}`, ConfineOptions{RequireFull: true}, true, marker("windows-restricted-token", "full")},
		{"exit code", `{"exitCode":3,"sandbox":{"backend":"w","enforcement":"partial"}}`, ConfineOptions{}, false, marker("w", "partial")},
		{"success that the host declares", `{"exitCode":1,"success":true}`, ConfineOptions{}, true, `"exitCode":1`},
		{"failure that the host declares", `{"exitCode":0,"success":false,"error":"killed"}`, ConfineOptions{}, false, `"error":"killed"`},
		{"declared success where full is required", `{"exitCode":1,"success":true}`, ConfineOptions{RequireFull: true}, false, ErrorSandboxUnavailable},
		{"no report", `{"exitCode":0}`, ConfineOptions{}, true, marker("host-spawn", "none")},
		{"null report", `{"exitCode":0,"sandbox":null}`, ConfineOptions{}, true, marker("host-spawn", "none")},
		{"no report where full is required", `{"exitCode":0}`, ConfineOptions{RequireFull: true}, false, ErrorSandboxUnavailable},
		{"none where a backend is required", `{"exitCode":0,"sandbox":{"backend":"w","enforcement":"none"}}`, ConfineOptions{RequireBackend: true}, false, ErrorSandboxUnavailable},
		{"partial where full is required", `{"exitCode":0,"sandbox":{"backend":"w","enforcement":"partial"}}`, ConfineOptions{RequireFull: true}, false, marker("w", "partial")},
		{"a lie", `{"exitCode":0,"sandbox":{"backend":"w","enforcement":"super"}}`, ConfineOptions{}, false, marker("host-spawn", "none")},
		{"full but for something", `{"exitCode":0,"sandbox":{"backend":"w","enforcement":"full","notEnforced":["network"]}}`, ConfineOptions{}, true, `"enforcement":"partial"`},
		{"sandbox is text", `{"exitCode":0,"sandbox":"full"}`, ConfineOptions{}, false, marker("host-spawn", "none")},
		{"no enforcement", `{"exitCode":0,"sandbox":{"backend":"w"}}`, ConfineOptions{}, false, marker("host-spawn", "none")},
		{"null", `null`, ConfineOptions{}, false, marker("none", "none")},
		{"text", `"done"`, ConfineOptions{}, false, marker("none", "none")},
		{"list", `[]`, ConfineOptions{}, false, marker("none", "none")},
		{"empty", `{}`, ConfineOptions{}, false, "exitCode is missing"},
		{"null exit code", `{"exitCode":null,"success":true}`, ConfineOptions{}, false, "exitCode is missing"},
		{"fraction", `{"exitCode":0.5}`, ConfineOptions{}, false, "must be an integer"},
		{"text exit code", `{"exitCode":"0"}`, ConfineOptions{}, false, "must be an integer"},
		{"boolean exit code", `{"exitCode":false}`, ConfineOptions{}, false, "wrong types"},
		{"a marker in the answer is not ours", `{"exitCode":0,"_sandbox":{"backend":"x","enforcement":"full"}}`, ConfineOptions{}, true, marker("host-spawn", "none")},
		{"long output", `{"exitCode":0,"stdout":"` + strings.Repeat("x", 300<<10) + `"}`, ConfineOptions{}, true, `"truncated":true`},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.opts.HostSpawn = true
			result := run(t, spawnChain(t, answering(test.reply), test.opts), callOf("bash", `{"command":"ls"}`))
			got := string(result.AppendJSON(nil))
			if result.Success != test.success || !strings.Contains(got, test.want) || !result.NeedsFollowup {
				t.Errorf("got %.400s, want success %v and %s", got, test.success, test.want)
			}
			if len(got) > 600<<10 {
				t.Errorf("result of %d bytes", len(got))
			}
		})
	}
}

func TestHostSpawnRefusals(t *testing.T) {
	none := &sandbox.Report{Backend: "w"}
	asked := 0
	host := hostFunc(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		asked++
		return nil, errors.New("unsupported reverse method host.process.spawn")
	})
	known := ConfineOptions{HostSpawn: true, RequireFull: true, HostReport: func() *sandbox.Report { return none }}
	if result := run(t, spawnChain(t, host, known), callOf("bash", `{"command":"ls"}`)); result.Error != ErrorSandboxUnavailable || asked != 0 {
		t.Errorf("a host that cannot reach full: %s after %d requests", result.AppendJSON(nil), asked)
	}
	result := run(t, spawnChain(t, host, known), callOf("bash", `{"command":"ls"}`))
	if !strings.Contains(string(result.Data), `"_sandbox":{"backend":"w","enforcement":"none"}`) {
		t.Errorf("the refusal reports what the host reaches, got %s", result.AppendJSON(nil))
	}
	for _, args := range []string{`{"command":["ls"]}`, `{"command":""}`, `{}`, `{"command":7}`} {
		if result := run(t, spawnChain(t, host, ConfineOptions{HostSpawn: true}), callOf("bash", args)); result.Success || asked != 0 {
			t.Errorf("%s: %s after %d requests", args, result.AppendJSON(nil), asked)
		}
	}
	result = run(t, spawnChain(t, host, ConfineOptions{HostSpawn: true}), callOf("bash", `{"command":"ls"}`))
	if result.Success || !result.NeedsFollowup || !strings.Contains(result.Error, "command was NOT run") || asked != 1 {
		t.Errorf("a rejection: %s after %d requests", result.AppendJSON(nil), asked)
	}
}

// TestSpawnReportIsRemembered: the next call is refused up front once the host
// has shown what it can do.
func TestSpawnReportIsRemembered(t *testing.T) {
	reports := &SpawnReports{}
	opts := ConfineOptions{HostSpawn: true, RequireFull: true, HostReport: reports.Last}
	c := confiner(opts, nil, sandbox.ErrNoBackend)
	asked := 0
	host := hostFunc(func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		asked++
		return json.RawMessage(`{"exitCode":0,"sandbox":{"backend":"w","enforcement":"partial"}}`), nil
	})
	e := Chain(NewHostToolExecutor(host), Inspect(&Inspector{Shell: c.opts.Shell, Confiner: c}), Sandboxed(c, host, reports))
	for range 2 {
		if result := run(t, e, callOf("bash", `{"command":"ls"}`)); result.Error != ErrorSandboxUnavailable {
			t.Errorf("got %s", result.AppendJSON(nil))
		}
	}
	if asked != 1 {
		t.Errorf("the host was asked %d times, want 1", asked)
	}
}

func TestSafetyGate(t *testing.T) {
	classifier, err := safety.New(safety.SetReference)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, tool, args string
		mode             GateMode
		ask              bool
		runs             bool
		marker           string
		events           int
	}{
		{"critical", "bash", `{"command":"sudo ls"}`, GateEnforce, false, false, `"safety":{"severity":"critical","matchedRules":["sudo"],"gate":"enforce"}`, 1},
		{"critical, asked", "bash", `{"command":"sudo ls"}`, GateEnforce, true, true, `"severity":"critical"`, 1},
		{"critical, observed", "bash", `{"command":"sudo ls"}`, GateObserve, false, true, `"gate":"observe"`, 1},
		{"off", "bash", `{"command":"sudo ls"}`, GateOff, false, true, `"safety":{"matchedRules":[],"gate":"off"}`, 0},
		{"unknown mode enforces", "bash", `{"command":"sudo ls"}`, GateMode(9), false, false, `"gate":"enforce"`, 1},
		{"warning", "bash", `{"command":"rm -r x"}`, GateEnforce, false, true, `"severity":"warning"`, 1},
		{"safe", "bash", `{"command":"ls"}`, GateEnforce, false, true, ``, 0},
		{"no command", "bash", `{"cmd":"sudo ls"}`, GateEnforce, false, false, ``, 0},
		{"list", "shell", `{"command":["sudo","ls"]}`, GateOff, false, false, ``, 0},
		{"not a shell tool", "note", `{"command":"sudo ls"}`, GateEnforce, false, true, ``, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := &Inspector{Shell: &Shell{}, Classifier: classifier, Platform: safety.PlatformUnix}
			if test.mode == GateOff {
				in.Classifier = nil
			}
			var log bytes.Buffer
			e := Chain(NewHostToolExecutor(echoHost()), Inspect(in), SafetyGate(test.mode, test.ask, zerolog.New(&log)))
			result := run(t, e, callOf(test.tool, test.args))
			got := string(result.AppendJSON(nil))
			if result.Success != test.runs || !strings.Contains(got, test.marker) {
				t.Errorf("got %s", got)
			}
			if !test.runs && result.Error != ErrorPolicyDenied {
				t.Errorf("refused with %q", result.Error)
			}
			if test.marker == "" && strings.Contains(got, `"severity"`) {
				t.Errorf("marked without need: %s", got)
			}
			if logged := log.String(); strings.Count(logged, "\n") != test.events || strings.Contains(logged, "sudo ls") {
				t.Errorf("logged %q, want %d events without the command", logged, test.events)
			}
		})
	}
}

// TestUngradedIsRefused: a gate that is up and has no grade lets nothing pass.
func TestUngradedIsRefused(t *testing.T) {
	e := Chain(NewHostToolExecutor(echoHost()), Inspect(&Inspector{Shell: &Shell{}}), SafetyGate(GateEnforce, false, zerolog.Nop()))
	if result := run(t, e, callOf("bash", `{"command":"ls"}`)); result.Success || result.Error != ErrorPolicyDenied {
		t.Errorf("got %s", result.AppendJSON(nil))
	}
}
