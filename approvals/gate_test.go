package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/steerable-go/sidecar/approvals"
)

// host is a person who answers every question in the same way.
type host struct {
	decision approvals.Decision
	err      error
	asked    []approvals.Request
}

func (h *host) Ask(_ context.Context, req approvals.Request) (approvals.Decision, error) {
	h.asked = append(h.asked, req)
	return h.decision, h.err
}

// fixture is a gate with files in a directory of its own.
type fixture struct {
	dir, store, policy string
	host               *host
	opts               approvals.Options
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{dir: dir, store: filepath.Join(dir, "approvals.json"), policy: filepath.Join(dir, "policy.json"), host: &host{}}
	f.opts = approvals.Options{
		Mode: approvals.GateHost, Host: f.host, StorePath: f.store, PolicyPath: f.policy,
		Sessions: &approvals.SessionCache{}, Matcher: words{}, Now: at,
	}
	return f
}

func (f *fixture) gate() *approvals.Gate { return approvals.NewGate(f.opts) }

// says has the person answer the next questions.
func (f *fixture) says(k approvals.Kind) { f.host.decision = approvals.Decision{Kind: k} }

// shell is a call of a shell tool.
func shell(command string) approvals.Request {
	raw, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return approvals.Request{ChatID: "chat", Tool: "bash", Shell: true, Arguments: raw}
}

func rules(list ...string) string { return `{"version":1,"rules":[` + strings.Join(list, ",") + `]}` }

const (
	allowGit    = `{"tool":"bash","decision":"allow","commandPrefix":["git"]}`
	allowStatus = `{"tool":"bash","decision":"allow","commandPrefix":["git","status"]}`
	denyPush    = `{"tool":"bash","decision":"deny","commandPrefix":["git","push"]}`
	denyRM      = `{"tool":"bash","decision":"deny","commandPrefix":["rm"]}`
	allowBash   = `{"tool":"bash","decision":"allow"}`
	denyBash    = `{"tool":"bash","decision":"deny"}`
	badBash     = `{"tool":"bash","decision":"maybe"}`
	badAny      = `7`
)

func TestOrderOfChecks(t *testing.T) {
	type want struct {
		outcome approvals.Outcome
		kind    approvals.Kind
		reason  approvals.Reason
		message string
	}
	ask := want{approvals.OutcomeAsk, approvals.KindNone, approvals.ReasonAsk, ""}
	for _, tt := range []struct {
		name          string
		store, policy string
		session       approvals.Kind // an earlier answer about `git log` in this chat
		req           approvals.Request
		want          want
	}{
		{name: "nothing stored", req: shell("git status"), want: ask},
		{
			name: "store allows", store: `{"bash":"allow_always"}`, req: shell("git status"),
			want: want{approvals.OutcomeAllow, approvals.AllowAlways, approvals.ReasonStore, "persisted decision for category 'bash'"},
		},
		{
			name: "store denies", store: `{"bash":"deny_always"}`, req: shell("git status"),
			want: want{approvals.OutcomeDeny, approvals.DenyAlways, approvals.ReasonStore, "persisted decision for category 'bash'"},
		},
		{
			name: "session allows", session: approvals.AllowForSession, req: shell("git log -3"),
			want: want{approvals.OutcomeAllow, approvals.AllowForSession, approvals.ReasonSession, "session decision for category 'bash'"},
		},
		{
			name: "session denies", session: approvals.DenyForSession, req: shell("ls; env git log"),
			want: want{approvals.OutcomeDeny, approvals.DenyForSession, approvals.ReasonSession, "session decision for category 'bash'"},
		},
		{name: "session of another command", session: approvals.AllowForSession, req: shell("rm x"), want: ask},
		{
			name: "rule allows", policy: rules(allowStatus), req: shell("git status --short"),
			want: want{approvals.OutcomeAllow, approvals.AllowOnce, approvals.ReasonPolicy, "policy rule: bash git status → allow"},
		},
		{
			name: "rule denies", policy: rules(denyRM), req: shell("cd x && rm y"),
			want: want{approvals.OutcomeDeny, approvals.DenyOnce, approvals.ReasonPolicy, "policy rule: bash rm → deny"},
		},
		{
			name: "rule for the whole tool", policy: rules(allowBash), req: shell("anything"),
			want: want{approvals.OutcomeAllow, approvals.AllowOnce, approvals.ReasonPolicy, "policy rule: bash * → allow"},
		},
		{name: "rule covers a part of the line", policy: rules(allowStatus), req: shell("git status; rm -rf x"), want: ask},
		{name: "rule of another tool", policy: rules(`{"tool":"Bash","decision":"allow"}`), req: shell("ls"), want: ask},
		{
			name: "first of two allows is named", policy: rules(allowGit, allowStatus), req: shell("git status"),
			want: want{approvals.OutcomeAllow, approvals.AllowOnce, approvals.ReasonPolicy, "policy rule: bash git → allow"},
		},
		{
			name: "a later deny wins over an earlier allow", policy: rules(allowGit, denyPush), req: shell("git push"),
			want: want{approvals.OutcomeDeny, approvals.DenyOnce, approvals.ReasonPolicy, "policy rule: bash git push → deny"},
		},
		{
			name: "rule denies what the store allows", store: `{"bash":"allow_always"}`, policy: rules(denyRM), req: shell("rm x"),
			want: want{approvals.OutcomeDeny, approvals.DenyOnce, approvals.ReasonPolicy, "policy rule: bash rm → deny"},
		},
		{
			name: "store denies what a rule allows", store: `{"bash":"deny_always"}`, policy: rules(allowBash), req: shell("ls"),
			want: want{approvals.OutcomeDeny, approvals.DenyAlways, approvals.ReasonStore, "persisted decision for category 'bash'"},
		},
		{
			name: "session denies what the store allows", store: `{"bash":"allow_always"}`, session: approvals.DenyForSession, req: shell("git log"),
			want: want{approvals.OutcomeDeny, approvals.DenyForSession, approvals.ReasonSession, "session decision for category 'bash'"},
		},
		{
			name: "store is looked at before the session and the rules", store: `{"bash":"allow_always"}`, policy: rules(allowBash),
			session: approvals.AllowForSession, req: shell("git log"),
			want: want{approvals.OutcomeAllow, approvals.AllowAlways, approvals.ReasonStore, "persisted decision for category 'bash'"},
		},
		{
			name: "session is looked at before the rules", policy: rules(allowBash), session: approvals.AllowForSession, req: shell("git log"),
			want: want{approvals.OutcomeAllow, approvals.AllowForSession, approvals.ReasonSession, "session decision for category 'bash'"},
		},
		{
			name: "two entries of one category", store: `{"bash":"deny_always","bash":"allow_always"}`, req: shell("ls"),
			want: want{approvals.OutcomeDeny, approvals.DenyAlways, approvals.ReasonStore, "persisted decision for category 'bash'"},
		},
		{
			name: "category of its own", store: `{"network_egress":"deny_always"}`, req: approvals.Request{Tool: "web_fetch", Category: "network_egress"},
			want: want{approvals.OutcomeDeny, approvals.DenyAlways, approvals.ReasonStore, "persisted decision for category 'network_egress'"},
		},
		{
			name: "rule with a prefix for a tool that is no shell", policy: rules(`{"tool":"task","decision":"deny","commandPrefix":["rm"]}`),
			req:  approvals.Request{Tool: "task", Arguments: []byte(`{"command":"rm x"}`)},
			want: want{approvals.OutcomeDeny, approvals.DenyOnce, approvals.ReasonPolicy, "policy rule: task rm → deny"},
		},
		{
			name: "rule with a prefix for a tool without a command", policy: rules(`{"tool":"task","decision":"allow","commandPrefix":["rm"]}`),
			req: approvals.Request{Tool: "task", Arguments: []byte(`{"cmd":"rm x"}`)}, want: ask,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			if tt.store != "" {
				write(t, f.store, tt.store)
			}
			if tt.policy != "" {
				write(t, f.policy, tt.policy)
			}
			gate := f.gate()
			if tt.session != approvals.KindNone {
				req := shell("git log")
				req.SuggestedPrefix = []string{"git", "log"}
				gate.Record(t.Context(), req, approvals.Decision{Kind: tt.session})
			}
			v := gate.Check(tt.req)
			got := want{v.Outcome, v.Kind, v.Reason, v.Message}
			if got != tt.want {
				t.Errorf("Check = %+v, want %+v", got, tt.want)
			}
			if err := v.Fingerprint.Verify(tt.req.Arguments); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestShellCallsNeedACommand(t *testing.T) {
	for _, raw := range []string{
		``, `{}`, `{"command":null}`, `{"command":""}`, `{"command":" \n\t"}`, `{"command":["ls"]}`, `{"command":7}`,
		`{"cmd":"ls"}`, `{"Command":"ls"}`, `{"command":"ls","command":"rm"}`, `["ls"]`, `{`,
	} {
		f := newFixture(t)
		write(t, f.store, `{"bash":"allow_always"}`)
		f.says(approvals.AllowOnce)
		req := approvals.Request{Tool: "bash", Shell: true, Arguments: []byte(raw)}
		res, err := f.gate().Resolve(t.Context(), req)
		if err != nil || res.Allowed() || res.Reason != approvals.ReasonCommand || len(f.host.asked) > 0 {
			t.Errorf("%s: %+v, %v, asked %d times; want a refusal without a question", raw, res.Verdict, err, len(f.host.asked))
		}
	}
	req := approvals.Request{Tool: "run", Shell: true, CommandParam: "script", Arguments: []byte(`{"script":"ls","command":7}`)}
	if v := newFixture(t).gate().Check(req); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("a command under its own name: %+v", v)
	}
}

func TestCriticalCommands(t *testing.T) {
	for _, tt := range []struct {
		name    string
		mode    approvals.CriticalMode
		gate    approvals.GateMode
		outcome approvals.Outcome
		reason  approvals.Reason
	}{
		{"denied whatever is stored", approvals.CriticalDeny, approvals.GateHost, approvals.OutcomeDeny, approvals.ReasonCritical},
		{"an unknown mode denies", approvals.CriticalMode(9), approvals.GateHost, approvals.OutcomeDeny, approvals.ReasonCritical},
		{"denied without approvals", approvals.CriticalDeny, approvals.GateOff, approvals.OutcomeDeny, approvals.ReasonCritical},
		{"asked whatever is stored", approvals.CriticalAsk, approvals.GateHost, approvals.OutcomeAsk, approvals.ReasonAsk},
		{"nobody to ask when headless", approvals.CriticalAsk, approvals.GateAuto, approvals.OutcomeDeny, approvals.ReasonNoApprover},
		{"nobody to ask without approvals", approvals.CriticalAsk, approvals.GateOff, approvals.OutcomeDeny, approvals.ReasonNoApprover},
		{"observed only", approvals.CriticalObserve, approvals.GateHost, approvals.OutcomeAllow, approvals.ReasonStore},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			write(t, f.store, `{"bash":"allow_always"}`)
			write(t, f.policy, rules(allowBash))
			f.opts.Mode = tt.gate
			req := shell("rm -rf /")
			req.Severity, req.Critical = approvals.SeverityCritical, tt.mode
			if v := f.gate().Check(req); v.Outcome != tt.outcome || v.Reason != tt.reason {
				t.Errorf("Check = %+v, want %v %s", v, tt.outcome, tt.reason)
			}
		})
	}
}

func TestMustAskIsAskedEachTime(t *testing.T) {
	f := newFixture(t)
	write(t, f.store, `{"edit":"allow_always"}`)
	f.says(approvals.AllowAlways)
	gate := f.gate()
	req := approvals.Request{ChatID: "c", Tool: "edit", MustAsk: true}
	for n := 1; n <= 2; n++ {
		res, err := gate.Resolve(t.Context(), req)
		if err != nil || !res.Allowed() || len(f.host.asked) != n {
			t.Fatalf("call %d: %+v, %v, asked %d times", n, res, err, len(f.host.asked))
		}
		want := approvals.Stored{Scope: approvals.ScopeOnce, Where: approvals.WhereNowhere, Reason: "this call must be asked about each time"}
		if diff := cmp.Diff(want, res.Stored); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
	}
	for _, mode := range []approvals.GateMode{approvals.GateAuto, approvals.GateOff} {
		f.opts.Mode = mode
		if v := f.gate().Check(req); v.Outcome != approvals.OutcomeDeny || v.Message != "no interactive approver" {
			t.Errorf("mode %v: %+v, want a denial", mode, v)
		}
	}
}

func TestAutoMode(t *testing.T) {
	for tool, want := range map[string]approvals.Outcome{
		"read_file": approvals.OutcomeAllow, "write_file": approvals.OutcomeAllow, "web_fetch": approvals.OutcomeAllow,
		"delete_file": approvals.OutcomeDeny, "edit": approvals.OutcomeDeny,
	} {
		f := newFixture(t)
		f.opts.Mode = approvals.GateAuto
		v := f.gate().Check(approvals.Request{Tool: tool})
		if v.Outcome != want || v.Reason != approvals.ReasonHeadless {
			t.Errorf("%s: %+v, want %v", tool, v, want)
		}
		if v.Kind.Allows() != (want == approvals.OutcomeAllow) {
			t.Errorf("%s: kind %v", tool, v.Kind)
		}
		if want == approvals.OutcomeDeny && v.Message != "no interactive approver is attached (headless run)" {
			t.Errorf("message %q", v.Message)
		}
	}
	f := newFixture(t)
	f.opts.Mode = approvals.GateAuto
	write(t, f.policy, rules(allowStatus))
	if v := f.gate().Check(shell("git status")); v.Outcome != approvals.OutcomeAllow {
		t.Errorf("a rule in auto mode: %+v", v)
	}
}

func TestHostModeWithoutAHostDenies(t *testing.T) {
	f := newFixture(t)
	f.opts.Host = nil
	for _, mustAsk := range []bool{false, true} {
		v := f.gate().Check(approvals.Request{Tool: "read_file", MustAsk: mustAsk})
		if v.Outcome != approvals.OutcomeDeny || v.Reason != approvals.ReasonNoApprover {
			t.Errorf("must ask %v: %+v, want a denial", mustAsk, v)
		}
	}
}

func TestOffModeIgnoresWhatIsStored(t *testing.T) {
	f := newFixture(t)
	write(t, f.store, `{"bash":"deny_always"}`)
	write(t, f.policy, `damaged`)
	f.opts.Mode = approvals.GateOff
	if v := f.gate().Check(shell("it's")); v.Outcome != approvals.OutcomeAllow || v.Reason != approvals.ReasonOff {
		t.Errorf("Check = %+v, want it to run", v)
	}
}

func TestUnparseableCommands(t *testing.T) {
	const line = "git status '"
	for _, tt := range []struct {
		name, store, policy string
		mode                approvals.GateMode
		tool                string
		outcome             approvals.Outcome
		message             string
	}{
		{"no allow covers it", `{"bash":"allow_always"}`, rules(allowBash), approvals.GateHost, "bash", approvals.OutcomeAsk, ""},
		{"deny rules forbid an automatic allow", ``, rules(denyRM), approvals.GateHost, "bash", approvals.OutcomeAsk, "the command cannot be parsed and the tool has deny rules"},
		{"headless with deny rules", ``, rules(`{"tool":"read_shell","decision":"deny","commandPrefix":["rm"]}`), approvals.GateAuto, "read_shell", approvals.OutcomeDeny, "the command cannot be parsed and the tool has deny rules"},
		{"headless without", ``, rules(denyRM), approvals.GateAuto, "read_shell", approvals.OutcomeAllow, ""},
		{"a denial of the tool holds", ``, rules(denyBash), approvals.GateHost, "bash", approvals.OutcomeDeny, "policy rule: bash * → deny"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			if tt.store != "" {
				write(t, f.store, tt.store)
			}
			write(t, f.policy, tt.policy)
			f.opts.Mode = tt.mode
			req := shell(line)
			req.Tool = tt.tool
			v := f.gate().Check(req)
			if v.Outcome != tt.outcome || v.Message != tt.message || v.SuggestedPrefix != nil {
				t.Errorf("Check = %+v, want %v %q and no prefix", v, tt.outcome, tt.message)
			}
		})
	}
}

func TestDamageSuspendsAutomaticAllows(t *testing.T) {
	const allStored = `{"bash":"allow_always","edit":"allow_always"}`
	for _, tt := range []struct {
		name, store, policy, aside string
		bash, edit                 approvals.Outcome
	}{
		{name: "nothing wrong", store: allStored, policy: rules(), bash: approvals.OutcomeAllow, edit: approvals.OutcomeAllow},
		{name: "policy damaged", store: allStored, policy: "{", bash: approvals.OutcomeAsk, edit: approvals.OutcomeAsk},
		{name: "policy empty", store: allStored, policy: "", bash: approvals.OutcomeAsk, edit: approvals.OutcomeAsk},
		{name: "store damaged", store: "{", policy: rules(allowBash, `{"tool":"edit","decision":"allow"}`), bash: approvals.OutcomeAsk, edit: approvals.OutcomeAsk},
		{name: "store set aside", store: allStored, policy: rules(), aside: "approvals.json.corrupt-x", bash: approvals.OutcomeAsk, edit: approvals.OutcomeAsk},
		{name: "policy set aside", store: allStored, policy: rules(), aside: "policy.json.corrupt-20260101T000000Z", bash: approvals.OutcomeAsk, edit: approvals.OutcomeAsk},
		{name: "another file set aside", store: allStored, policy: rules(), aside: "other.json.corrupt-x", bash: approvals.OutcomeAllow, edit: approvals.OutcomeAllow},
		{name: "one bad rule", store: allStored, policy: rules(badBash), bash: approvals.OutcomeAsk, edit: approvals.OutcomeAllow},
		{name: "a bad rule that names no tool", store: allStored, policy: rules(badAny), bash: approvals.OutcomeAsk, edit: approvals.OutcomeAsk},
		{name: "one bad entry", store: `{"bash":"allow_always","edit":"allow_always","bash":1}`, policy: rules(), bash: approvals.OutcomeAsk, edit: approvals.OutcomeAllow},
		{name: "denials hold beside a bad rule", store: allStored, policy: rules(badAny, denyBash), bash: approvals.OutcomeDeny, edit: approvals.OutcomeAsk},
		{name: "denials hold beside a damaged file", store: `{"bash":"deny_always"}`, policy: "{", bash: approvals.OutcomeDeny, edit: approvals.OutcomeAsk},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			write(t, f.store, tt.store)
			write(t, f.policy, tt.policy)
			if tt.aside != "" {
				write(t, filepath.Join(f.dir, tt.aside), "lost denials")
			}
			gate := f.gate()
			if v := gate.Check(shell("ls")); v.Outcome != tt.bash {
				t.Errorf("bash: %+v, want %v", v, tt.bash)
			}
			if v := gate.Check(approvals.Request{Tool: "edit"}); v.Outcome != tt.edit {
				t.Errorf("edit: %+v, want %v", v, tt.edit)
			}
			f.opts.Mode = approvals.GateAuto
			v := f.gate().Check(approvals.Request{Tool: "read_x"})
			if suspended := tt.edit == approvals.OutcomeAsk; (v.Outcome == approvals.OutcomeDeny) != suspended || suspended && v.Reason != approvals.ReasonSuspended {
				t.Errorf("headless: %+v, suspended %v", v, suspended)
			}
		})
	}
}

func TestSuspensionOutlivesTheProcessAndEndsWithAccept(t *testing.T) {
	f := newFixture(t)
	write(t, f.policy, "damaged")
	f.says(approvals.DenyAlways)
	req := shell("git push")
	if _, err := f.gate().Resolve(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	// The write moved the damaged file aside; a new gate is a restart.
	write(t, f.store, `{"edit":"allow_always"}`)
	edit := approvals.Request{Tool: "edit"}
	if v := f.gate().Check(edit); v.Outcome != approvals.OutcomeAsk {
		t.Errorf("after a restart: %+v, want a question", v)
	}
	if v := f.gate().Check(req); v.Outcome != approvals.OutcomeDeny {
		t.Errorf("the new denial: %+v", v)
	}
	if _, err := approvals.OpenPolicy(f.policy, at).Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := f.gate().Check(edit); v.Outcome != approvals.OutcomeAllow {
		t.Errorf("after Accept: %+v, want it allowed", v)
	}
}

func TestRevokeWorksWithinATurn(t *testing.T) {
	f := newFixture(t)
	write(t, f.store, `{"edit":"allow_always"}`)
	write(t, f.policy, rules(allowStatus))
	gate := f.gate()
	edit := approvals.Request{Tool: "edit"}
	if gate.Check(edit).Outcome != approvals.OutcomeAllow || gate.Check(shell("git status")).Outcome != approvals.OutcomeAllow {
		t.Fatal("not allowed to begin with")
	}
	if _, err := approvals.OpenStore(f.store, at).Revoke(t.Context(), "edit"); err != nil {
		t.Fatal(err)
	}
	if _, err := approvals.OpenPolicy(f.policy, at).Revoke(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if gate.Check(edit).Outcome != approvals.OutcomeAsk || gate.Check(shell("git status")).Outcome != approvals.OutcomeAsk {
		t.Error("still allowed after a revoke")
	}
	// A change in place, of the same size and within one clock tick.
	write(t, f.store, `{"edit":"allow_always"}`)
	gate.Check(edit)
	info, err := os.Stat(f.store)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.store, `{"edit":"deny_always" }`)
	if err := os.Chtimes(f.store, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if v := gate.Check(edit); v.Outcome != approvals.OutcomeDeny {
		t.Errorf("a denial written in place is not seen: %+v", v)
	}
}

func TestUnreadableDirectoryKeepsDenials(t *testing.T) {
	f := newFixture(t)
	f.opts.StorePath = f.dir // a directory where the file should be
	write(t, f.policy, rules(denyRM))
	if v := f.gate().Check(shell("rm x")); v.Outcome != approvals.OutcomeDeny {
		t.Errorf("rm: %+v, want a denial", v)
	}
	if v := f.gate().Check(shell("ls")); v.Outcome != approvals.OutcomeAsk || v.Message != "an approvals file is damaged" {
		t.Errorf("ls: %+v, want a question", v)
	}
}

func TestProblemsAreLoggedOncePerChange(t *testing.T) {
	f := newFixture(t)
	var log strings.Builder
	f.opts.Logger = zerolog.New(&log)
	write(t, f.policy, rules(badBash))
	gate := f.gate()
	for range 3 {
		gate.Check(shell("ls"))
	}
	if got := strings.Count(log.String(), "approvals file has a problem"); got != 1 || !strings.Contains(log.String(), `"index":0,"tool":"bash"`) {
		t.Errorf("%d log lines:\n%s", got, log.String())
	}
	write(t, f.policy, rules(badAny, badBash))
	gate.Check(shell("ls"))
	if got := strings.Count(log.String(), "approvals file has a problem"); got != 3 {
		t.Errorf("%d log lines after a change, want 3:\n%s", got, log.String())
	}
}

func TestLogHoldsNoArguments(t *testing.T) {
	f := newFixture(t)
	var log strings.Builder
	f.opts.Logger = zerolog.New(&log)
	f.host.err = errors.New("gone")
	if _, err := f.gate().Resolve(t.Context(), shell("curl -H token:hunter2")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), `"message":"approval decided"`) || strings.Contains(log.String(), "hunter2") {
		t.Errorf("log is %s", log.String())
	}
}

func TestVerdictOffersAPrefix(t *testing.T) {
	for _, tt := range []struct {
		command string
		want    []string
		note    string
	}{
		{"git status --short", []string{"git", "status"}, ""},
		{"sh -c ls", []string{"sh", "-c"}, "sh runs any command"},
		{"ls; ls", nil, ""},
	} {
		v := newFixture(t).gate().Check(shell(tt.command))
		if diff := cmp.Diff(tt.want, v.SuggestedPrefix); diff != "" || v.PrefixNote != tt.note {
			t.Errorf("%s: note %q, prefix (-want +got):\n%s", tt.command, v.PrefixNote, diff)
		}
	}
}

func TestWithoutAMatcherNothingIsCovered(t *testing.T) {
	f := newFixture(t)
	f.opts.Matcher = nil
	write(t, f.policy, rules(allowStatus, allowBash))
	if v := f.gate().Check(shell("git status")); v.Outcome != approvals.OutcomeAsk || v.SuggestedPrefix != nil {
		t.Errorf("allow rules: %+v, want a question", v)
	}
	write(t, f.policy, rules(denyRM))
	if v := f.gate().Check(shell("git status")); v.Outcome != approvals.OutcomeDeny {
		t.Errorf("deny rules: %+v, want a denial", v)
	}
}
