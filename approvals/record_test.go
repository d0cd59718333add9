package approvals_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/approvals"
	"github.com/steerable-go/sidecar/internal/atomicfile"
)

// kept is what became of an answer: the result, the files and what two later
// calls get.
type kept struct {
	stored approvals.Stored
	store  string // contents without blanks, "" for no file
	policy string
}

func amend(e approvals.Effect, prefix ...string) *approvals.Amendment {
	return &approvals.Amendment{Effect: e, CommandPrefix: prefix}
}

func TestRecord(t *testing.T) {
	const (
		gitStatusAllowed = `{"version":1,"rules":[{"tool":"bash","decision":"allow","commandPrefix":["git","status"]}]}`
		gitStatusDenied  = `{"version":1,"rules":[{"tool":"bash","decision":"deny","commandPrefix":["git","status"]}]}`
		npmAllowed       = `{"version":1,"rules":[{"tool":"bash","decision":"allow","commandPrefix":["npm","test"]}]}`
		rmDenied         = `{"version":1,"rules":[{"tool":"bash","decision":"deny","commandPrefix":["rm"]}]}`
		bashDenied       = `{"version":1,"rules":[{"tool":"bash","decision":"deny"}]}`
		contradiction    = "the amendment contradicts the decision, only the denial is kept"
		noPrefix         = "no prefix stands for this command"
	)
	once := approvals.Stored{Scope: approvals.ScopeOnce, Where: approvals.WhereNowhere}
	because := func(s approvals.Stored, reason string) approvals.Stored { s.Reason = reason; return s }
	session := approvals.Stored{Scope: approvals.ScopeSession, Where: approvals.WhereSession}
	prefix := approvals.Stored{Scope: approvals.ScopePrefix, Where: approvals.WherePolicy}
	toolRule := approvals.Stored{Scope: approvals.ScopeTool, Where: approvals.WherePolicy}
	toolStore := approvals.Stored{Scope: approvals.ScopeTool, Where: approvals.WhereStore}
	edit := approvals.Request{ChatID: "chat", Tool: "edit"}
	status := shell("git status")
	compound := shell("git status; ls")
	mustAsk := shell("git status")
	mustAsk.MustAsk = true
	for _, tt := range []struct {
		name string
		req  approvals.Request
		d    approvals.Decision
		want kept
	}{
		{"allow once", edit, approvals.Decision{Kind: approvals.AllowOnce}, kept{stored: once}},
		{"deny once", status, approvals.Decision{Kind: approvals.DenyOnce}, kept{stored: once}},
		{"session", edit, approvals.Decision{Kind: approvals.AllowForSession}, kept{stored: session}},
		{"always", edit, approvals.Decision{Kind: approvals.AllowAlways}, kept{stored: toolStore, store: `{"edit":"allow_always"}`}},
		{"never", edit, approvals.Decision{Kind: approvals.DenyAlways}, kept{stored: toolStore, store: `{"edit":"deny_always"}`}},
		{"session on a shell", status, approvals.Decision{Kind: approvals.AllowForSession}, kept{stored: session}},
		{"always on a shell", status, approvals.Decision{Kind: approvals.AllowAlways}, kept{stored: prefix, policy: gitStatusAllowed}},
		{"never on a shell", status, approvals.Decision{Kind: approvals.DenyAlways}, kept{stored: prefix, policy: gitStatusDenied}},
		{
			"always on a shell for the tool", status,
			approvals.Decision{Kind: approvals.AllowAlways, WholeTool: true},
			kept{stored: toolStore, store: `{"bash":"allow_always"}`},
		},
		{"session on a shell for the tool", status, approvals.Decision{Kind: approvals.DenyForSession, WholeTool: true}, kept{stored: session}},
		{"always on a compound command", compound, approvals.Decision{Kind: approvals.AllowAlways}, kept{stored: because(once, noPrefix)}},
		{"session on a compound command", compound, approvals.Decision{Kind: approvals.AllowForSession}, kept{stored: because(once, noPrefix)}},
		{
			"always on a broad prefix", shell("sh x"),
			approvals.Decision{Kind: approvals.AllowAlways},
			kept{stored: because(once, "an allow for 'sh x' is too broad to keep: sh runs any command")},
		},
		{
			"session on a broad prefix", shell("sh x"),
			approvals.Decision{Kind: approvals.AllowForSession},
			kept{stored: because(once, "an allow for 'sh x' is too broad to keep: sh runs any command")},
		},
		{
			"never on a broad prefix", shell("sh x"),
			approvals.Decision{Kind: approvals.DenyAlways},
			kept{stored: prefix, policy: `{"version":1,"rules":[{"tool":"bash","decision":"deny","commandPrefix":["sh","x"]}]}`},
		},
		{
			"amendment takes the place of the prefix", status,
			approvals.Decision{Kind: approvals.AllowAlways, Amendment: amend(allow, "npm", "test")},
			kept{stored: prefix, policy: npmAllowed},
		},
		{
			"amendment without a prefix means the one shown", status,
			approvals.Decision{Kind: approvals.AllowAlways, Amendment: amend(allow)},
			kept{stored: prefix, policy: gitStatusAllowed},
		},
		{
			"amendment beside once", status,
			approvals.Decision{Kind: approvals.AllowOnce, Amendment: amend(allow, "npm", "test")},
			kept{stored: prefix, policy: npmAllowed},
		},
		{
			"amendment of the opposite beside once", status,
			approvals.Decision{Kind: approvals.AllowOnce, Amendment: amend(deny, "rm")},
			kept{stored: prefix, policy: rmDenied},
		},
		{
			"amendment for a whole shell", status,
			approvals.Decision{Kind: approvals.AllowOnce, Amendment: amend(allow)},
			kept{stored: because(once, "an allow for every command of a shell tool is kept only with scope tool")},
		},
		{
			"amendment against a whole shell", status,
			approvals.Decision{Kind: approvals.DenyOnce, Amendment: amend(deny)},
			kept{stored: toolRule, policy: bashDenied},
		},
		{
			"amendment of an unknown effect denies", status,
			approvals.Decision{Kind: approvals.AllowOnce, Amendment: amend(approvals.Effect(9), "rm")},
			kept{stored: prefix, policy: rmDenied},
		},
		{
			"broad amendment", status,
			approvals.Decision{Kind: approvals.AllowAlways, Amendment: amend(allow, "sh")},
			kept{stored: because(once, "an allow for 'sh' is too broad to keep: sh runs any command")},
		},
		{
			"amendment on another tool", edit,
			approvals.Decision{Kind: approvals.AllowOnce, Amendment: amend(allow)},
			kept{stored: toolRule, policy: `{"version":1,"rules":[{"tool":"edit","decision":"allow"}]}`},
		},
		{
			"always with a contradicting amendment", status,
			approvals.Decision{Kind: approvals.AllowAlways, Amendment: amend(deny, "rm")},
			kept{stored: because(prefix, contradiction), policy: rmDenied},
		},
		{
			"never with a contradicting amendment", status,
			approvals.Decision{Kind: approvals.DenyAlways, Amendment: amend(allow, "npm", "test")},
			kept{stored: because(prefix, contradiction), policy: gitStatusDenied},
		},
		{
			"a call that must be asked about", mustAsk,
			approvals.Decision{Kind: approvals.AllowForSession},
			kept{stored: because(once, "this call must be asked about each time")},
		},
		{
			"a call that must be asked about, amended", mustAsk,
			approvals.Decision{Kind: approvals.AllowOnce, Amendment: amend(allow, "npm", "test")},
			kept{stored: because(once, "this call must be asked about each time")},
		},
		{
			"a call that must be asked about, denied", mustAsk,
			approvals.Decision{Kind: approvals.DenyAlways},
			kept{stored: prefix, policy: gitStatusDenied},
		},
		{"abort keeps nothing", status, approvals.Decision{Kind: approvals.Abort, Amendment: amend(allow, "npm")}, kept{stored: once}},
		{"timeout keeps nothing", status, approvals.Decision{Kind: approvals.TimedOut, Amendment: amend(allow, "npm")}, kept{stored: once}},
		{"no answer keeps nothing", status, approvals.Decision{Amendment: amend(allow, "npm")}, kept{stored: once}},
		{
			"what was ignored is said", edit,
			approvals.Decision{Kind: approvals.AllowOnce, Ignored: "amendment ignored: bad"},
			kept{stored: because(once, "amendment ignored: bad")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			gate := f.gate()
			req := tt.req
			req.SuggestedPrefix = gate.Check(req).SuggestedPrefix
			stored := gate.Record(t.Context(), req, tt.d)
			stored.Rule = nil
			got := kept{stored, squeezed(t, f.store), squeezed(t, f.policy)}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(kept{})); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// squeezed returns the contents of a file without blanks, "" if it is missing.
func squeezed(t *testing.T, path string) string {
	t.Helper()
	if approvals.OpenStore(path, at).Missing() {
		return ""
	}
	return strings.NewReplacer(" ", "", "\n", "").Replace(read(t, path))
}

// An answer about one shell command says nothing about others.
func TestAlwaysOnAShellCoversThePrefixOnly(t *testing.T) {
	for _, kind := range []approvals.Kind{approvals.AllowAlways, approvals.AllowForSession} {
		f := newFixture(t)
		f.says(kind)
		gate := f.gate()
		if res, err := gate.Resolve(t.Context(), shell("git status")); err != nil || !res.Allowed() {
			t.Fatal(res, err)
		}
		for command, want := range map[string]approvals.Outcome{
			"git status --short":       approvals.OutcomeAllow,
			"git status && git status": approvals.OutcomeAllow,
			"git push":                 approvals.OutcomeAsk,
			"git status && rm -rf /":   approvals.OutcomeAsk,
			"git status; sh":           approvals.OutcomeAsk,
			"env git status":           approvals.OutcomeAsk,
			"rm -rf /":                 approvals.OutcomeAsk,
		} {
			if v := gate.Check(shell(command)); v.Outcome != want {
				t.Errorf("%v, then %s: %v, want %v", kind, command, v.Outcome, want)
			}
		}
		other := shell("git status")
		other.Tool = "shell"
		if v := gate.Check(other); v.Outcome != approvals.OutcomeAsk {
			t.Errorf("%v: another shell tool: %v, want ask", kind, v.Outcome)
		}
	}
}

func TestWhereAnAnswerGoesWithoutFiles(t *testing.T) {
	for _, tt := range []struct {
		name          string
		store, policy bool
		session       bool
		req           approvals.Request
		d             approvals.Decision
		want          approvals.Stored
		file          string // that must exist
	}{
		{
			"shell, policy beside the store", true, false, true, shell("git status"),
			approvals.Decision{Kind: approvals.AllowAlways},
			approvals.Stored{Scope: approvals.ScopePrefix, Where: approvals.WherePolicy},
			"approval-policy.json",
		},
		{
			"shell, no files", false, false, true, shell("git status"),
			approvals.Decision{Kind: approvals.AllowAlways},
			approvals.Stored{Scope: approvals.ScopeSession, Where: approvals.WhereSession, Reason: "there is no policy file"},
			"",
		},
		{
			"shell, nothing at all", false, false, false, shell("git status"),
			approvals.Decision{Kind: approvals.AllowAlways},
			approvals.Stored{Scope: approvals.ScopeOnce, Where: approvals.WhereNowhere, Reason: "there is no policy file; there is no session"},
			"",
		},
		{
			"tool, no store", false, true, true,
			approvals.Request{Tool: "edit"},
			approvals.Decision{Kind: approvals.DenyAlways},
			approvals.Stored{Scope: approvals.ScopeSession, Where: approvals.WhereSession, Reason: "there is no store"},
			"",
		},
		{
			"tool, nothing at all", false, false, false,
			approvals.Request{Tool: "edit"},
			approvals.Decision{Kind: approvals.AllowForSession},
			approvals.Stored{Scope: approvals.ScopeOnce, Where: approvals.WhereNowhere, Reason: "there is no session"},
			"",
		},
		{
			"amendment, no policy", false, false, true,
			approvals.Request{Tool: "edit"},
			approvals.Decision{Kind: approvals.AllowOnce, Amendment: amend(allow)},
			approvals.Stored{Scope: approvals.ScopeSession, Where: approvals.WhereSession, Reason: "there is no policy file"},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			if !tt.store {
				f.opts.StorePath = ""
			}
			if !tt.policy {
				f.opts.PolicyPath = ""
			}
			if !tt.session {
				f.opts.Sessions = nil
			}
			gate := f.gate()
			req := tt.req
			req.SuggestedPrefix = gate.Check(req).SuggestedPrefix
			got := gate.Record(t.Context(), req, tt.d)
			got.Rule = nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if tt.file != "" {
				wantFiles(t, f.dir, tt.file, tt.file+".lock")
			} else {
				wantFiles(t, f.dir)
			}
			// What was kept holds for the next turn of the chat.
			v := f.gate().Check(req)
			if kept := got.Scope != approvals.ScopeOnce; kept == (v.Outcome == approvals.OutcomeAsk) {
				t.Errorf("kept %v, and the next call: %+v", kept, v)
			}
		})
	}
}

func TestFailedWrites(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind approvals.Kind
		want approvals.Stored
		next approvals.Outcome
	}{
		{"allow runs once", approvals.AllowAlways, approvals.Stored{Scope: approvals.ScopeOnce, Where: approvals.WhereNowhere, Reason: "not stored: not a directory"}, approvals.OutcomeAsk},
		{"denial holds for the session", approvals.DenyAlways, approvals.Stored{Scope: approvals.ScopeSession, Where: approvals.WhereSession, Reason: "not stored: not a directory"}, approvals.OutcomeDeny},
	} {
		for _, req := range []approvals.Request{shell("git status"), {ChatID: "chat", Tool: "edit"}} {
			t.Run(tt.name+" "+req.Tool, func(t *testing.T) {
				f := newFixture(t)
				write(t, f.dir+"/file", "")
				f.opts.StorePath, f.opts.PolicyPath = f.dir+"/file/a/approvals.json", f.dir+"/file/a/policy.json"
				f.says(tt.kind)
				res, err := f.gate().Resolve(t.Context(), req)
				if err != nil || res.Allowed() != tt.kind.Allows() {
					t.Fatalf("Resolve = %+v, %v", res, err)
				}
				res.Stored.Rule = nil
				if diff := cmp.Diff(tt.want, res.Stored); diff != "" {
					t.Errorf("stored (-want +got):\n%s", diff)
				}
				if v := f.gate().Check(req); v.Outcome != tt.next {
					t.Errorf("the next call: %+v, want %v", v, tt.next)
				}
			})
		}
	}
}

func TestAllowIsNotStoredOverADenial(t *testing.T) {
	f := newFixture(t)
	write(t, f.store, `{"edit":"deny_always"}`)
	got := f.gate().Record(t.Context(), approvals.Request{Tool: "edit"}, approvals.Decision{Kind: approvals.AllowAlways})
	want := approvals.Stored{Scope: approvals.ScopeOnce, Where: approvals.WhereNowhere, Reason: "not stored: a stored denial stands; revoke it first"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestStoredWhileSuspendedSaysSo(t *testing.T) {
	f := newFixture(t)
	write(t, f.policy, "{")
	got := f.gate().Record(t.Context(), approvals.Request{Tool: "edit"}, approvals.Decision{Kind: approvals.AllowAlways})
	if got.Scope != approvals.ScopeTool || got.Reason != "an approvals file is damaged" {
		t.Errorf("stored %+v, want it kept and the suspension named", got)
	}
}

// A file that is whole can still keep an answer from having an effect.
func TestStoredBesideWhatCannotBeReadSaysSo(t *testing.T) {
	for _, tt := range []struct {
		name, store, policy string
		req                 approvals.Request
		want                approvals.Stored
	}{
		{
			"a rule of the tool", `{}`, rules(`{"tool":"bash","decision":"later"}`), shell("git status"),
			approvals.Stored{Scope: approvals.ScopePrefix, Where: approvals.WherePolicy, Reason: "a policy rule cannot be read"},
		},
		{
			"a rule of another tool", `{}`, rules(`{"tool":"edit","decision":"later"}`), shell("git status"),
			approvals.Stored{Scope: approvals.ScopePrefix, Where: approvals.WherePolicy},
		},
		{
			"another version", `{}`, `{"version":2,"rules":[]}`, shell("git status"),
			approvals.Stored{Scope: approvals.ScopePrefix, Where: approvals.WherePolicy, Reason: "a policy rule cannot be read"},
		},
		{
			"the entry itself", `{"edit":"later"}`, rules(),
			approvals.Request{Tool: "edit"},
			approvals.Stored{Scope: approvals.ScopeOnce, Where: approvals.WhereNowhere, Reason: "not stored: the stored entry cannot be read; revoke it first"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			write(t, f.store, tt.store)
			write(t, f.policy, tt.policy)
			f.says(approvals.AllowAlways)
			res, err := f.gate().Resolve(t.Context(), tt.req)
			if err != nil || !res.Allowed() {
				t.Fatalf("%+v, %v", res.Verdict, err)
			}
			res.Stored.Rule = nil
			if diff := cmp.Diff(tt.want, res.Stored); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// Another process that holds the lock for good delays an answer for five
// seconds, and then counts as a write that failed.
func TestLockedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		lock, err := atomicfile.TryLock(f.store + ".lock")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got := f.gate().Record(t.Context(), approvals.Request{Tool: "edit"}, approvals.Decision{Kind: approvals.AllowAlways})
		want := approvals.Stored{Scope: approvals.ScopeOnce, Where: approvals.WhereNowhere, Reason: "not stored: another process holds the lock"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if waited := time.Since(start); waited < 5*time.Second || waited > 6*time.Second {
			t.Errorf("waited %v, want 5s", waited)
		}
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
	})
}

// An answer is kept even if the turn ends at that moment.
func TestAnswerOutlivesItsTurn(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.gate().Record(ctx, approvals.Request{Tool: "edit"}, approvals.Decision{Kind: approvals.DenyAlways})
	if v := f.gate().Check(approvals.Request{Tool: "edit"}); v.Kind != approvals.DenyAlways {
		t.Errorf("the next call: %+v, want the stored denial", v)
	}
}
