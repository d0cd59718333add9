package approvals_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/approvals"
)

func TestParseReply(t *testing.T) {
	prefix := []string{"git", "status"}
	for _, tt := range []struct {
		name, raw string
		want      approvals.Decision
	}{
		{"kind alone", `{"kind":"allow_once"}`, approvals.Decision{Kind: approvals.AllowOnce}},
		{"reason", `{"kind":"deny_once","reason":"no"}`, approvals.Decision{Kind: approvals.DenyOnce, Reason: "no"}},
		{"optional fields null", `{"kind":"abort","reason":null,"scope":null,"amendment":null}`, approvals.Decision{Kind: approvals.Abort}},
		{"unknown fields", `{"kind":"allow_once","ui":{"x":[1]}}`, approvals.Decision{Kind: approvals.AllowOnce}},
		{"scope tool", `{"kind":"allow_always","scope":"tool"}`, approvals.Decision{Kind: approvals.AllowAlways, WholeTool: true}},
		{"scope prefix", `{"kind":"allow_always","scope":"prefix"}`, approvals.Decision{Kind: approvals.AllowAlways}},
		{
			"amendment", `{"kind":"allow_once","amendment":{"decision":"allow","commandPrefix":["git","status"]}}`,
			approvals.Decision{Kind: approvals.AllowOnce, Amendment: &approvals.Amendment{Effect: approvals.EffectAllow, CommandPrefix: prefix}},
		},
		{
			"amendment for the tool", `{"kind":"deny_once","amendment":{"decision":"deny"}}`,
			approvals.Decision{Kind: approvals.DenyOnce, Amendment: &approvals.Amendment{Effect: approvals.EffectDeny}},
		},
		{
			"amendment with an empty prefix", `{"kind":"deny_once","amendment":{"decision":"deny","commandPrefix":""}}`,
			approvals.Decision{Kind: approvals.DenyOnce, Amendment: &approvals.Amendment{Effect: approvals.EffectDeny}},
		},
		{
			"amendment of a wrong decision", `{"kind":"allow_once","amendment":{"decision":"maybe"}}`,
			approvals.Decision{Kind: approvals.AllowOnce, Ignored: `amendment ignored: unknown decision "maybe", want allow or deny`},
		},
		{
			"amendment that is a string", `{"kind":"allow_once","amendment":"allow"}`,
			approvals.Decision{Kind: approvals.AllowOnce, Ignored: "amendment ignored: not a JSON object"},
		},
		{
			"amendment with a number in the prefix", `{"kind":"allow_once","amendment":{"decision":"allow","commandPrefix":["git",1]}}`,
			approvals.Decision{Kind: approvals.AllowOnce, Ignored: "amendment ignored: commandPrefix is not a list of strings"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := approvals.ParseReply(json.RawMessage(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseReply(%s) (-want +got):\n%s", tt.raw, diff)
			}
		})
	}
}

func TestMalformedRepliesDeny(t *testing.T) {
	for _, tt := range []struct{ name, raw, given string }{
		{"unknown kind", `{"kind":"sure"}`, "sure"},
		{"timed_out from a host", `{"kind":"timed_out"}`, "timed_out"},
		{"none from a host", `{"kind":"none"}`, "none"},
		{"kind of another case", `{"Kind":"allow_once"}`, "no kind"},
		{"no kind", `{}`, "no kind"},
		{"kind null", `{"kind":null}`, "no kind"},
		{"kind a list", `{"kind":["allow_once"]}`, "no kind"},
		{"two kinds", `{"kind":"deny_once","kind":"allow_once"}`, `the name "kind" occurs twice`},
		{"a string", `"allow_once"`, "not a JSON object"},
		{"true", `true`, "not a JSON object"},
		{"null", `null`, "not a JSON object"},
		{"a list", `[{"kind":"allow_once"}]`, "not a JSON object"},
		{"nothing", ``, "not JSON: unexpected end of JSON input"},
		{"text after it", `{"kind":"allow_once"} x`, "not JSON: invalid character 'x' after top-level value"},
		{"bad UTF-8", "{\"kind\":\"allow_once\",\"a\":\"\xff\"}", "not valid UTF-8"},
		{"reason a number", `{"kind":"allow_once","reason":7}`, "reason is not a string"},
		{"unknown scope", `{"kind":"allow_always","scope":"everything"}`, "scope is neither tool nor prefix"},
		{"scope a boolean", `{"kind":"allow_always","scope":true}`, "scope is neither tool nor prefix"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := approvals.ParseReply(json.RawMessage(tt.raw))
			var reply *approvals.ReplyError
			if !errors.As(err, &reply) || reply.Given != tt.given || d.Kind.Allows() {
				t.Fatalf("ParseReply = %+v, %v; want a ReplyError about %q", d, err, tt.given)
			}
			denied := approvals.Denied(err)
			want := approvals.Decision{Kind: approvals.DenyOnce, Reason: "host returned an invalid approval decision: " + tt.given}
			if diff := cmp.Diff(want, denied); diff != "" {
				t.Errorf("Denied (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReplyErrorsAreShort(t *testing.T) {
	_, err := approvals.ParseReply(json.RawMessage(`{"kind":"` + strings.Repeat("x", 1<<16) + `"}`))
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("an answer of 64 KiB makes an error of %d bytes", len(err.Error()))
	}
}

func TestHostErrorDenies(t *testing.T) {
	got := approvals.Denied(errors.New("boom"))
	want := approvals.Decision{Kind: approvals.DenyOnce, Reason: "host approval unavailable: boom"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Denied (-want +got):\n%s", diff)
	}
}

func FuzzParseReply(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"allow_once"}`, `{"kind":"deny_always","reason":"x","scope":"tool"}`, `{"kind":"timed_out"}`,
		`{"kind":"allow_once","amendment":{"decision":"allow","commandPrefix":["a"]}}`, `null`, `[`, `{"kind":"abort","kind":"abort"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := approvals.ParseReply(raw)
		if err != nil {
			if d.Kind.Allows() || d.Amendment != nil {
				t.Errorf("an error comes with %+v", d)
			}
			return
		}
		// An accepted reply says the same to the standard decoder, which sees
		// the last of equal names.
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatalf("accepted %q, which is no JSON: %v", raw, err)
		}
		if m["kind"] != d.Kind.String() || d.Kind == approvals.TimedOut || d.Kind == approvals.KindNone {
			t.Errorf("kind %v of %q", d.Kind, raw)
		}
		if d.WholeTool != (m["scope"] == "tool") {
			t.Errorf("scope of %q: whole tool %v", raw, d.WholeTool)
		}
	})
}
