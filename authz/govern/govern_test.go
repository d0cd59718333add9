package govern

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/chain"
	"github.com/steerable-go/sidecar/authz/dlp"
	"github.com/steerable-go/sidecar/authz/policy"
)

// Made-up token, in halves so that no scanner of this repository takes it for a
// real one.
const token = "ghp_" + "abcd1234abcd1234abcd1234abcd1234abcd"

func admin() State { return NewState(capabilities.NewPrincipal("u1", "prt-admins")) }

func call(tool, args string) Call { return Call{Owner: "u1", Tool: tool, Arguments: []byte(args)} }

func TestOutcomes(t *testing.T) {
	g := New(Options{})
	plain := NewState(capabilities.NewPrincipal("u1"))
	for _, tt := range []struct {
		name  string
		call  Call
		state State
		want  authz.Decision
		why   []authz.Reason
	}{
		{"plain read", call("read_file", `{"path":"a.txt"}`), plain, authz.Allow, []authz.Reason{authz.ReasonCapabilityHeld}},
		{"read without arguments", call("list", ``), plain, authz.Allow, []authz.Reason{authz.ReasonCapabilityHeld}},
		{"unknown tool", call("frobnicate", `{"required":"file.read"}`), admin(), authz.Deny, []authz.Reason{authz.ReasonUnclassifiedAction}},
		{"no name", call("", `{}`), admin(), authz.Deny, []authz.Reason{authz.ReasonUnclassifiedAction}},
		{"name in another case", call("READ_FILE", `{}`), admin(), authz.Deny, []authz.Reason{authz.ReasonUnclassifiedAction}},
		{"the reply stage is no tool", call(ReplyTool, `{}`), admin(), authz.Deny, []authz.Reason{authz.ReasonUnclassifiedAction}},
		{"not held", call("delete_file", `{"path":"a"}`), plain, authz.Deny, []authz.Reason{authz.ReasonCapabilityNotHeld}},
		{
			"not held, and irreversible", call("delete_file", `{"path":"a","note":"purge"}`), plain, authz.Deny,
			[]authz.Reason{authz.ReasonCapabilityNotHeld, authz.ReasonHighRisk, authz.ReasonIrreversible},
		},
		{
			"irreversible command", call("bash", `{"command":"rm -rf build"}`), plain, authz.Escalate,
			[]authz.Reason{authz.ReasonHighRisk, authz.ReasonIrreversible},
		},
		{
			"secret in a file", call("write_file", `{"path":".env","content":"password=hunter2hunter2"}`), plain, authz.Escalate,
			[]authz.Reason{authz.ReasonSecretsPresent, authz.ReasonCriticalRisk},
		},
		{
			"secret in a command", call("bash", `{"command":"export T=`+token+`"}`), plain, authz.Deny,
			[]authz.Reason{authz.ReasonDLPBlocked, authz.ReasonSecretsPresent, authz.ReasonCriticalRisk},
		},
		{
			"secret in a command without network",
			Call{Owner: "u1", Tool: "bash", Arguments: []byte(`{"command":"export T=` + token + `"}`), Offline: true},
			plain,
			authz.Escalate,
			[]authz.Reason{authz.ReasonSecretsPresent, authz.ReasonCriticalRisk},
		},
		{
			"offline does not keep a request inside",
			Call{Owner: "u1", Tool: "web_search", Arguments: []byte(`{"q":"` + token + `"}`), Offline: true},
			plain,
			authz.Deny,
			[]authz.Reason{authz.ReasonDLPBlocked, authz.ReasonSecretsPresent, authz.ReasonCriticalRisk},
		},
		{
			"private address", call("web_fetch", `{"url":"http://169.254.169.254/"}`), plain, authz.Deny,
			[]authz.Reason{authz.ReasonLinkLocal, authz.ReasonHighRisk, authz.ReasonDLPBlocked},
		},
		{
			"address under another name", call("http_post", `{"to":"http://localhost/","body":"x"}`), admin(), authz.Deny,
			[]authz.Reason{authz.ReasonBlockedHostname},
		},
		{
			"several addresses", call("web_fetch", `{"urls":["https://example.com/","ftp://example.com/"]}`), plain, authz.Deny,
			[]authz.Reason{authz.ReasonSchemeNotAllowed},
		},
		{
			"address before leak", call("web_fetch", `{"url":"http://10.0.0.1/?k=`+token+`"}`), plain, authz.Deny,
			[]authz.Reason{authz.ReasonPrivateIPv4, authz.ReasonSecretsPresent, authz.ReasonCriticalRisk, authz.ReasonDLPBlocked},
		},
		{"search that quotes an address", call("web_search", `{"query":"http://localhost:3000 refused"}`), plain, authz.Allow, []authz.Reason{authz.ReasonCapabilityHeld}},
		{"local file that names an address", call("write_file", `{"content":"http://localhost/"}`), plain, authz.Allow, []authz.Reason{authz.ReasonCapabilityHeld}},
		{
			"broken arguments", call("read_file", `{"path":`), plain, authz.Deny,
			[]authz.Reason{authz.ReasonMalformedArguments},
		},
		{
			"two values", call("read_file", `{"path":"a"}{"path":"b"}`), plain, authz.Deny,
			[]authz.Reason{authz.ReasonMalformedArguments},
		},
		{
			"other owner, before everything",
			Call{Owner: "u2", Tool: "frobnicate", Arguments: []byte(`{`)},
			admin(), authz.Deny,
			[]authz.Reason{authz.ReasonOwnerMismatch},
		},
		{"nobody", Call{Tool: "list"}, NewState(capabilities.NewPrincipal("")), authz.Deny, []authz.Reason{authz.ReasonOwnerMismatch}},
		{"zero state", call("list", `{}`), State{}, authz.Deny, []authz.Reason{authz.ReasonOwnerMismatch}},
		{
			"calls used up", call("list", `{}`),
			State{Principal: plain.Principal, Limits: plain.Limits, Used: chain.Counters{Calls: 20}},
			authz.Deny,
			[]authz.Reason{authz.ReasonCallBudgetExceeded},
		},
		{
			"arguments too large", call("list", `{"a":1}`),
			State{Principal: plain.Principal, Limits: plain.Limits, Used: chain.Counters{Bytes: 10<<20 - 6}},
			authz.Deny,
			[]authz.Reason{authz.ReasonByteBudgetExceeded},
		},
		{"tainted but inside", call("read_file", `{}`), plain.Taint(), authz.Allow, []authz.Reason{authz.ReasonCapabilityHeld}},
		{"tainted and outbound", call("web_search", `{"q":"cats"}`), plain.Taint(), authz.Escalate, []authz.Reason{authz.ReasonTaintedRequest}},
		{
			"tainted and denied anyway", call("http_post", `{"url":"https://example.com/"}`), plain.Taint(), authz.Deny,
			[]authz.Reason{authz.ReasonCapabilityNotHeld, authz.ReasonTaintedRequest},
		},
		{
			"critical command",
			Call{Owner: "u1", Tool: "bash", Arguments: []byte(`{"command":"ls"}`), CommandCritical: true},
			plain, authz.Escalate,
			[]authz.Reason{authz.ReasonHighRisk, authz.ReasonIrreversible},
		},
		{
			"description of the model",
			Call{Owner: "u1", Tool: "read_file", Description: "purge everything", Arguments: []byte(`{}`)},
			plain, authz.Escalate,
			[]authz.Reason{authz.ReasonHighRisk, authz.ReasonIrreversible},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := g.Govern(Tools{}.Envelope(tt.call), tt.state)
			if o.Decision() != tt.want || !slices.Equal(o.Reasons(), tt.why) {
				t.Errorf("%v %v, want %v %v", o.Decision(), o.Reasons(), tt.want, tt.why)
			}
			wantUsed := tt.state.Used
			if tt.want != authz.Deny {
				wantUsed.Calls++
				wantUsed.Bytes += int64(len(tt.call.Arguments))
			}
			if o.State().Used != wantUsed {
				t.Errorf("counted %+v, want %+v", o.State().Used, wantUsed)
			}
			if got := o.State().Release(o.Envelope()).Used; tt.want != authz.Deny && got != tt.state.Used {
				t.Errorf("after release %+v, want %+v", got, tt.state.Used)
			}
			if rec := o.Record(); rec.Decision != tt.want.String() || rec.Capability != string(o.Envelope().Spec().Required) {
				t.Errorf("record %+v", rec)
			}
		})
	}
}

// A defect in any stage denies, counts nothing and is still recorded.
func TestDefectsDeny(t *testing.T) {
	for _, stage := range []string{"risk_panic", "policy_panic", "egress_panic", "dlp_panic", "redact_panic", "capabilities_panic"} {
		o := broken(stage).Govern(Tools{}.Envelope(call("web_fetch", `{"url":"https://example.com/`+token+`"}`)), admin())
		if o.Decision() != authz.Deny || !slices.Equal(o.Reasons(), []authz.Reason{authz.ReasonInternalError}) {
			t.Errorf("%s: %v %v", stage, o.Decision(), o.Reasons())
		}
		if o.State().Used != (chain.Counters{}) || o.Record().Decision != "DENY" || o.Record().Owner != "u1" {
			t.Errorf("%s: counted %+v, record %+v", stage, o.State().Used, o.Record())
		}
	}
	var zero Outcome
	if zero.Decision() != authz.Deny || !slices.Equal(zero.Reasons(), []authz.Reason{authz.ReasonInternalError}) {
		t.Errorf("zero outcome: %v %v", zero.Decision(), zero.Reasons())
	}
}

// No record, no action.
func TestUnrecorded(t *testing.T) {
	g := New(Options{})
	before := admin()
	for _, tool := range []string{"list", "bash", "frobnicate"} {
		o := g.Govern(Tools{}.Envelope(call(tool, `{}`)), before).Unrecorded()
		if o.Decision() != authz.Deny || o.Reasons()[0] != authz.ReasonAuditUnavailable || len(o.Reasons()) < 2 {
			t.Errorf("%s: %v %v", tool, o.Decision(), o.Reasons())
		}
		if o.State().Used != before.Used {
			t.Errorf("%s: counted %+v", tool, o.State().Used)
		}
	}
}

// Adding a finding after policy never makes the decision milder: over every
// band, side effect, capability, secret, and combination of findings.
func TestFindingsOnlyTighten(t *testing.T) {
	for _, required := range []authz.Capability{"", "x.y"} {
		for bits := range 4 {
			for band := authz.BandUnknown; band <= authz.Critical+1; band++ {
				for side := authz.SideEffectUnknown; side <= authz.Irreversible+1; side++ {
					verdict := policy.Decide(policy.Input{Required: required, Held: bits&1 != 0, Secrets: bits&2 != 0, Band: band, SideEffect: side})
					tightens(t, verdict)
				}
			}
		}
	}
}

func tightens(t *testing.T, verdict policy.Verdict) {
	t.Helper()
	later := []finding{
		{authz.Deny, authz.ReasonMalformedArguments},
		{authz.Deny, authz.ReasonLoopback},
		{authz.Deny, authz.ReasonDLPBlocked},
		{authz.Escalate, authz.ReasonTaintedRequest},
	}
	decide := func(mask int) (authz.Decision, []authz.Reason) {
		var all findings
		all.add("policy", verdict.Decision(), verdict.Reasons()...)
		for i, f := range later {
			if mask&(1<<i) != 0 {
				all.add("later", f.decision, f.reason)
			}
		}
		return all.conclude()
	}
	for mask := range 1 << len(later) {
		with, reasons := decide(mask)
		if with > verdict.Decision() {
			t.Fatalf("policy says %v, with findings %b it is %v", verdict.Decision(), mask, with)
		}
		if len(reasons) == 0 || with != authz.Allow && slices.Contains(reasons, authz.ReasonCapabilityHeld) {
			t.Fatalf("%v for %v", with, reasons)
		}
		for i := range later {
			if without, _ := decide(mask &^ (1 << i)); with > without {
				t.Fatalf("finding %d makes %v of %v", i, with, without)
			}
		}
	}
}

// The same, through the whole pipeline: stages that find more, never less.
func TestStagesOnlyTighten(t *testing.T) {
	calm := New(Options{})
	calm.stages.check = func(string) authz.Verdict { return authz.Pass() }
	calm.stages.scan = func(dlp.Payload, authz.Band) dlp.Report { return dlp.Report{} }
	full := New(Options{})
	args := []string{`{}`, `{"url":"http://10.0.0.1/"}`, `{"q":"` + token + `"}`, `{"q":"purge jane@example.com"}`, `{"q":"draft"}`, `{`}
	for _, tool := range []string{"read_file", "bash", "web_fetch", "http_post", "email_send", "delete_file", "nothing"} {
		for _, a := range args {
			for _, s := range []State{admin(), NewState(capabilities.NewPrincipal("u1")), {}} {
				e := Tools{}.Envelope(call(tool, a))
				quiet := calm.Govern(e, s).Decision()
				for _, g := range []*Governor{full, broken("dlp_panic"), broken("egress_panic")} {
					for _, st := range []State{s, s.Taint()} {
						if got := g.Govern(e, st).Decision(); got > quiet {
							t.Fatalf("%s %s: %v with findings, %v without", tool, a, got, quiet)
						}
					}
				}
			}
		}
	}
}

// Every stage that ran shows up, in order, and the strictest is the outcome.
func TestSteps(t *testing.T) {
	g := New(Options{})
	for args, want := range map[string]string{
		`{"url":"https://example.com/"}`:                     "chain risk policy egress dlp taint",
		`{"urls":["https://a.example/","http://10.0.0.1/"]}`: "chain risk policy egress egress dlp taint",
		`{`: "chain risk policy arguments dlp taint",
	} {
		o := g.Govern(Tools{}.Envelope(call("web_fetch", args)), admin().Taint())
		var names []string
		strictest := authz.Allow
		for _, s := range o.Steps() {
			names = append(names, s.Stage)
			strictest = strictest.Tighten(s.Decision())
			if s.Decision() != authz.Allow && len(s.Reasons()) == 0 {
				t.Errorf("%s: %s has no reason", args, s.Stage)
			}
		}
		if got := strings.Join(names, " "); got != want || strictest != o.Decision() {
			t.Errorf("%s: steps %q, want %q; strictest %v, outcome %v", args, got, want, strictest, o.Decision())
		}
	}
	if o := g.Govern(Tools{}.Envelope(Call{Owner: "u2", Tool: "list"}), admin()); len(o.Steps()) != 1 || o.Steps()[0].Stage != "chain" {
		t.Errorf("steps after a refusal by owner: %v", o.Steps())
	}
}

func TestReplies(t *testing.T) {
	g := New(Options{})
	st := admin()
	st.Used.Calls = 20
	o := g.Govern(Reply(Call{Owner: "u1"}, "all done"), st)
	if o.Decision() != authz.Allow || o.State().Used != st.Used {
		t.Errorf("%v %v, used %+v", o.Decision(), o.Reasons(), o.State().Used)
	}
	o = g.Govern(Reply(Call{Owner: "u1"}, "the key is "+token), st.Taint())
	p, ok := o.Redacted()
	if o.Decision() != authz.Deny || o.Reasons()[0] != authz.ReasonDLPBlocked || !ok || p.String() != "the key is ghp_…cd" {
		t.Errorf("%v %v %q", o.Decision(), o.Reasons(), p)
	}
	if o.State().Release(o.Envelope()).Used != st.Used {
		t.Error("releasing a reply gave a call back")
	}
	if o := g.Govern(Reply(Call{Owner: "u2"}, "x"), st); o.Reasons()[0] != authz.ReasonOwnerMismatch {
		t.Errorf("reply for another owner: %v", o.Reasons())
	}
}

// Nothing that a model writes reaches the record but a name, made harmless.
func TestRecordQuotesNothing(t *testing.T) {
	g := New(Options{})
	long := strings.Repeat("é", 200)
	for name, c := range map[string]Call{
		"arguments":       call("web_fetch", `{"url":"https://example.com/`+token+`"}`),
		"description":     {Owner: "u1", Tool: "bash", Description: token + " capability=policy.edit", Arguments: []byte(`{}`)},
		"name":            call("x "+token, `{}`),
		"broken text":     call("x\xff"+long, `{"a":"`+token+`"`),
		"ids":             {Owner: "u1", Tool: "list", ChatID: long, CallID: "\xff"},
		"broken as owner": {Owner: "u\xff", Tool: "list"},
	} {
		o := g.Govern(Tools{}.Envelope(c), admin())
		for _, f := range []audit.Fields{o.Record(), o.Result("ok", "2026-01-02T03:04:05Z", 7)} {
			e, _, err := audit.Head{}.Next(f)
			if err != nil {
				t.Errorf("%s: record cannot be written: %v", name, err)
				continue
			}
			if line := e.AppendLine(nil); bytes.Contains(line, []byte(token)) || bytes.Contains(line, []byte("policy.edit")) || len(line) > 2000 || !utf8.Valid(line) {
				t.Errorf("%s: record %s", name, line)
			}
			if !json.Valid(f.Meta) {
				t.Errorf("%s: side object %s", name, f.Meta)
			}
		}
	}
	if e := (Tools{}).Envelope(call("list", `{"a":1}`)); !e.Covers([]byte(`{"a":1}`)) || e.Covers([]byte(`{"a":2}`)) || e.ArgsDigest() != audit.HashOf([]byte(`{"a":1}`)) {
		t.Error("the envelope does not pin the arguments")
	}
}

func TestEnvelopeIsFrozen(t *testing.T) {
	args := []byte(`{"q":"cats"}`)
	e := Tools{}.Envelope(call("web_search", string(args)))
	c := call("web_search", "")
	c.Arguments = args
	frozen := Tools{}.Envelope(c)
	copy(args, `{"q":"dogs"}`)
	if frozen.payload.Text() != "q: cats" || !frozen.Covers(e.call.Arguments) {
		t.Errorf("changing the caller's bytes changed the envelope: %s", frozen.payload)
	}
	var zero Envelope
	if o := New(Options{}).Govern(zero, admin()); o.Decision() != authz.Deny {
		t.Errorf("zero envelope: %v", o.Decision())
	}
}

func TestStateBudgets(t *testing.T) {
	s := admin()
	s.Limits.Bytes = 100
	s, v := s.Moved(100)
	if !v.Allowed() || s.Used.Bytes != 100 {
		t.Fatalf("%v, %+v", v.Reason(), s.Used)
	}
	for _, size := range []int64{1, -1, math.MaxInt64} {
		next, v := s.Moved(size)
		if v.Allowed() || next.Used.Bytes != 100 {
			t.Errorf("Moved(%d): %v, %+v", size, v.Reason(), next.Used)
		}
	}
	s = admin()
	s.Limits.Bytes = 100
	if s, v = s.Moved(101); v.Reason() != authz.ReasonByteBudgetExceeded || s.Used.Bytes != 100 {
		t.Errorf("too large a result: %v, %+v", v.Reason(), s.Used)
	}
	if o := New(Options{}).Govern(Tools{}.Envelope(call("list", `{}`)), s); o.Reasons()[0] != authz.ReasonByteBudgetExceeded {
		t.Errorf("after it: %v", o.Reasons())
	}
}

func TestToolTable(t *testing.T) {
	var tools Tools
	for name, want := range map[string]ToolSpec{
		"bash":          {"process.execute", authz.KindCommand, true},
		"shell_session": {"process.execute", authz.KindCommand, true},
		"run_js":        {"process.execute", authz.KindCommand, true},
		"grep":          {"file.read", authz.KindRead, false},
		"view_image":    {"file.read", authz.KindRead, false},
		"edit_file":     {"file.write", authz.KindWrite, false},
		"present_files": {"file.write", authz.KindWrite, false},
		"delete_file":   {"file.delete", authz.KindDelete, false},
		"web_fetch":     {"web.read", authz.KindRead, true},
		"upload":        {"network.write", authz.KindSend, true},
		"browser_open":  {"browser.open", authz.KindRead, true},
		"browser_click": {"browser.act", authz.KindWrite, true},
		"email_search":  {"email.read", authz.KindRead, false},
		"email_archive": {"email.draft", authz.KindWrite, false},
		"email_send":    {"email.send", authz.KindSend, true},
		"email_delete":  {"email.delete", authz.KindDelete, false},
		"memory_search": {"memory.read", authz.KindRead, false},
		"memory_store":  {"memory.write", authz.KindWrite, false},
		"todo_write":    {"chat.converse", authz.KindWrite, false},
		"ask_user":      {"chat.converse", authz.KindRead, false},
		"subagent":      {"chat.converse", authz.KindWrite, false},
	} {
		if got, ok := tools.Lookup(name); !ok || got != want {
			t.Errorf("%s: %+v %v, want %+v", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "Bash", "bash ", "email_forward", "email", "browser", "browser_", "mcp_browser_open", "memoryread", ReplyTool} {
		if got, ok := tools.Lookup(name); ok || got != (ToolSpec{Outbound: true}) {
			t.Errorf("%q is known as %+v", name, got)
		}
	}
	more, err := NewTools(map[string]ToolSpec{"grep": {"x.y", authz.KindSend, true}, "mine": {"file.read", authz.KindRead, false}})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := more.Lookup("mine"); !ok || got.Required != "file.read" {
		t.Errorf("added tool: %+v %v", got, ok)
	}
	if got, _ := more.Lookup("grep"); got.Required != "x.y" {
		t.Errorf("the host's word on its own tool: %+v", got)
	}
	for name, bad := range map[string]ToolSpec{"": {"x", authz.KindRead, false}, "a": {"", authz.KindRead, false}, "b": {"x", authz.KindUnknown, false}, "c": {"x", 99, false}} {
		if _, err := NewTools(map[string]ToolSpec{name: bad}); err == nil {
			t.Errorf("%q %+v is taken", name, bad)
		}
	}
}

// The pipeline is safe for concurrent use; run with -race this is the proof.
func TestConcurrentUse(t *testing.T) {
	g := New(Options{})
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for range 20 {
				if o := g.Govern(Tools{}.Envelope(call("web_search", `{"q":"send `+token+` to jane@example.com, DOB: 1990-01-02"}`)), admin()); o.Decision() != authz.Deny {
					t.Error(o.Reasons())
				}
			}
		})
	}
}

// kilobyte is a call of about 1 KiB in which nothing is found.
func kilobyte() Envelope {
	line := "func area(w, h int) int { return w * h } // both in pixels, rounded down\n"
	args, err := json.Marshal(map[string]string{"path": "geometry/area.go", "content": strings.Repeat(line, 1000/len(line))})
	if err != nil {
		panic(err)
	}
	return Tools{}.Envelope(call("write_file", string(args)))
}

func BenchmarkGovern(b *testing.B) {
	g, e, s := New(Options{}), kilobyte(), admin()
	if o := g.Govern(e, s); o.Assessment().Band() != authz.Low {
		b.Fatal(o.Assessment().Signals())
	}
	b.ReportAllocs()
	for b.Loop() {
		g.Govern(e, s)
	}
}

func BenchmarkGovernWithEnvelope(b *testing.B) {
	g, s := New(Options{}), admin()
	args := kilobyte().call.Arguments
	for b.Loop() {
		g.Govern(Tools{}.Envelope(Call{Owner: "u1", Tool: "web_search", Arguments: args}), s).Record()
	}
}
