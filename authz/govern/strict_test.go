package govern

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/steerable-go/sidecar/authz"
	"github.com/steerable-go/sidecar/authz/audit"
	"github.com/steerable-go/sidecar/authz/capabilities"
	"github.com/steerable-go/sidecar/authz/chain"
	"github.com/steerable-go/sidecar/authz/risk"
)

// Everything that an authz object can say, one by one.
func TestParseConfigMembers(t *testing.T) {
	for text, ok := range map[string]func(Config) bool{
		`{"mode":"off","replies":"off"}`:                          func(c Config) bool { return c.Mode == Off && c.Replies == IgnoreReplies },
		`{"mode":"off","replies":"block"}`:                        func(c Config) bool { return c.Replies == BlockReplies },
		`{"mode":"off","limits":{"calls":0}}`:                     func(c Config) bool { return c.Limits == chain.Limits{Calls: 0, Bytes: chain.MaxBytes} },
		`{"mode":"off","limits":{"bytes":7}}`:                     func(c Config) bool { return c.Limits == chain.Limits{Calls: chain.MaxCalls, Bytes: 7} },
		`{"mode":"off","limits":{}}`:                              func(c Config) bool { return c.Limits == chain.DefaultLimits() },
		`{"mode":"off","limits":null,"tools":null,"groups":null}`: func(c Config) bool { return c.Limits == chain.DefaultLimits() && c.Groups == nil },
		`{"mode":"off","tools":{"bash":{"required":"x.y","kind":"delete","outbound":false}}}`: func(c Config) bool {
			s, known := c.Tools.Lookup("bash")
			return known && s == ToolSpec{Required: "x.y", Kind: authz.KindDelete}
		},
	} {
		if c, err := ParseConfig([]byte(text)); err != nil || !ok(c) {
			t.Errorf("%s: %+v, %v", text, c, err)
		}
	}
}

// A member that comes twice could be the one that counts, wherever it stands.
func TestParseConfigRefusesRepetition(t *testing.T) {
	for _, text := range []string{
		`{"mode":"enforce","limits":{"calls":1,"calls":99}}`,
		`{"mode":"enforce","limits":{"calls":1},"limits":{"calls":99}}`,
		`{"mode":"enforce","tools":{"a":{"required":"x","kind":"read"},"a":{"required":"x","kind":"read","outbound":false}}}`,
		`{"mode":"enforce","tools":{"a":{"required":"x","kind":"read","kind":"send"}}}`,
		`{"mode":"enforce","limits":{"CALLS":99}}`,
		`{"mode":"enforce","tools":{"a":{"required":"x","kind":"read","Outbound":false}}}`,
	} {
		if c, err := ParseConfig([]byte(text)); err == nil {
			t.Errorf("%s is taken as %+v", text, c)
		}
	}
}

// Zero values and values nobody knows are the strict ones.
func TestZeroValuesAreStrict(t *testing.T) {
	var o Outcome
	if o.Decision() != authz.Deny || o.Reasons()[0] != authz.ReasonInternalError || len(o.Categories()) != 0 {
		t.Errorf("%v %v", o.Decision(), o.Reasons())
	}
	if !o.Acts() {
		t.Error("an unknown outcome needs no record")
	}
	if Mode(99).String() != "enforce" || Mode(0) != Enforce {
		t.Errorf("mode %v, zero %v", Mode(99), Mode(0))
	}
	var none Governor
	if got := none.Govern(Tools{}.Envelope(call("read_file", `{"path":"a"}`)), admin()); got.Decision() != authz.Deny || got.Reasons()[0] != authz.ReasonInternalError {
		t.Errorf("a governor without stages: %v %v", got.Decision(), got.Reasons())
	}
	if got := New(Options{}).Govern(Envelope{}, State{}); got.Decision() != authz.Deny || got.Reasons()[0] != authz.ReasonOwnerMismatch {
		t.Errorf("nobody's call of nothing: %v %v", got.Decision(), got.Reasons())
	}
}

// The families of tools, and names that only look like a member of one.
func TestFamilies(t *testing.T) {
	for name, want := range map[string]ToolSpec{
		"goal_read":       {"chat.converse", authz.KindRead, false},
		"loop_start":      {"chat.converse", authz.KindWrite, false},
		"todo_list":       {"chat.converse", authz.KindRead, false},
		"memory_forget":   {"memory.write", authz.KindWrite, false},
		"memory_search":   {"memory.read", authz.KindRead, false},
		"email_label":     {"email.draft", authz.KindWrite, false},
		"email_forward":   {Outbound: true},
		"browser_":        {Outbound: true},
		"browser":         {Outbound: true},
		"BROWSER_open":    {Outbound: true},
		"emails_send":     {Outbound: true},
		"":                {Outbound: true},
		ReplyTool:         {Outbound: true},
		"read_file ":      {Outbound: true},
		"mcp__email_send": {Outbound: true},
	} {
		got, known := Tools{}.Lookup(name)
		if got != want || known != (want.Required != "") {
			t.Errorf("%q: %+v %v, want %+v", name, got, known, want)
		}
	}
}

// What a record takes from outside is short and valid, whatever was sent.
func TestRecordNamesAreBounded(t *testing.T) {
	for _, name := range []string{strings.Repeat("é", 500), "x" + strings.Repeat("\xff", 500), strings.Repeat("a", 127) + "日本"} {
		rec := New(Options{}).Govern(Tools{}.Envelope(call(name, `{}`)), admin()).Record()
		if len(rec.Action) > len("tool:")+maxName || strings.ToValidUTF8(rec.Action, "") != rec.Action {
			t.Errorf("%q", rec.Action)
		}
	}
}

// A result is recorded with its own word and nothing of the decision's detail.
func TestResultRecord(t *testing.T) {
	o := New(Options{}).Govern(Tools{}.Envelope(call("read_file", `{"path":"a"}`)), admin())
	rec := o.Result("ok", "2026-11-30T00:00:00Z", 12)
	if want := `{"phase":"outcome","time":"2026-11-30T00:00:00Z","argsDigest":"` + o.Envelope().ArgsDigest().String() + `","result":"ok","bytes":12}`; string(rec.Meta) != want {
		t.Errorf("%s, want %s", rec.Meta, want)
	}
	if rec.Action != "tool:read_file" || rec.Capability != "file.read" || rec.Decision != "ALLOW" || rec.Risk != "low" || rec.Owner != "u1" {
		t.Errorf("%+v", rec)
	}
}

// Budgets that are used up, or that a host made small, do not end the pipeline
// before assistant text was looked at. Counters that make no sense still do.
func TestRepliesHaveNoBudget(t *testing.T) {
	g := New(Options{})
	for _, used := range []chain.Counters{{Calls: 20}, {Bytes: chain.MaxBytes}, {Calls: 1 << 40, Bytes: 1 << 50}} {
		for _, limits := range []chain.Limits{{}, {Calls: 1}, {Bytes: 1}, chain.DefaultLimits()} {
			st := admin()
			st.Used, st.Limits = used, limits
			o := g.Govern(Reply(Call{Owner: "u1"}, "the key is "+token), st)
			if _, hit := o.Redacted(); !hit || o.Reasons()[0] != authz.ReasonDLPBlocked || o.State().Used != used {
				t.Errorf("used %+v of %+v: %v, looked at %v", used, limits, o.Reasons(), hit)
			}
			if o := g.Govern(Reply(Call{Owner: "u1"}, "all done"), st); o.Decision() != authz.Allow {
				t.Errorf("used %+v of %+v: %v", used, limits, o.Reasons())
			}
		}
	}
	for _, used := range []chain.Counters{{Calls: -1}, {Bytes: -1}} {
		st := admin()
		st.Used = used
		if o := g.Govern(Reply(Call{Owner: "u1"}, "x"), st); o.Reasons()[0] != authz.ReasonInvalidCounters {
			t.Errorf("used %+v: %v", used, o.Reasons())
		}
	}
}

// Two owners never share a chain, however long their names are or whatever
// bytes they have.
func TestOwnersStayApart(t *testing.T) {
	g := New(Options{})
	long := strings.Repeat("o", 300)
	huge := strings.Repeat("o", 3000)
	seen := map[string]string{}
	for _, owner := range []string{"u1", "u\xff", "u\xfe", "u\ufffd", long + "1", long + "2", huge + "1", huge + "2", strings.Repeat("é", 256)} {
		c := call("read_file", `{}`)
		c.Owner = owner
		o := g.Govern(Tools{}.Envelope(c), NewState(capabilities.NewPrincipal(owner)))
		name := o.Record().Owner
		if other, taken := seen[name]; taken {
			t.Errorf("%.20q… and %.20q… share the chain of %.40q…", owner, other, name)
		}
		seen[name] = owner
		if len(owner) <= 512 && utf8.ValidString(owner) && name != owner {
			t.Errorf("%q is recorded as %q", owner, name)
		}
		if _, _, err := (audit.Head{}).Next(o.Record()); err != nil || o.Decision() != authz.Allow {
			t.Errorf("%.20q…: %v, %v", owner, o.Decision(), err)
		}
	}
}

// A decision that did not hold is recorded as such: an ESCALATE after which the
// call ran must not look like one that a person answered.
func TestObservedRecord(t *testing.T) {
	g := New(Options{})
	for _, observed := range []bool{false, true} {
		c := call("bash", `{"command":"rm -rf build"}`)
		c.Observed = observed
		calls := g.Govern(Tools{}.Envelope(c), admin())
		text := g.Govern(Reply(Call{Owner: "u1", Observed: observed}, token), admin())
		for _, rec := range []audit.Fields{calls.Record(), calls.Result("ok", "", 1), text.Record()} {
			if got := strings.Contains(string(rec.Meta), `"mode":"observe"`); got != observed {
				t.Errorf("observed %v: %s", observed, rec.Meta)
			}
		}
	}
}

// The conductor hands the risk stage decoded text: what JSON escapes is no
// disguise.
func TestRiskSeesDecodedText(t *testing.T) {
	g := New(Options{})
	var seen risk.Input
	score := g.stages.score
	g.stages.score = func(in risk.Input) risk.Assessment {
		seen = in
		return score(in)
	}
	o := g.Govern(Tools{}.Envelope(call("bash", `{"command":"\u0072m -\u0072f\tbuild"}`)), admin())
	if !strings.Contains(seen.Content, "rm -rf\tbuild") || o.Decision() != authz.Escalate {
		t.Errorf("content %q, %v %v", seen.Content, o.Decision(), o.Reasons())
	}
}
