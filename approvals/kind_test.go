package approvals_test

import (
	"encoding/json"
	"testing"

	"github.com/steerable-go/sidecar/approvals"
)

func TestParseKind(t *testing.T) {
	for _, tt := range []struct {
		name   string
		want   approvals.Kind
		allows bool
	}{
		{"allow_once", approvals.AllowOnce, true},
		{"allow_for_session", approvals.AllowForSession, true},
		{"allow_always", approvals.AllowAlways, true},
		{"deny_once", approvals.DenyOnce, false},
		{"deny_for_session", approvals.DenyForSession, false},
		{"deny_always", approvals.DenyAlways, false},
		{"abort", approvals.Abort, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := approvals.ParseKind(tt.name)
			if err != nil || got != tt.want || got.Allows() != tt.allows || got.String() != tt.name {
				t.Errorf("ParseKind = %v (%v), allows %v; want %v, allows %v", got, err, got.Allows(), tt.want, tt.allows)
			}
			if text, err := json.Marshal(got); err != nil || string(text) != `"`+tt.name+`"` {
				t.Errorf("marshals as %s (%v)", text, err)
			}
		})
	}
}

func TestUnknownKindsDeny(t *testing.T) {
	for _, name := range []string{"", "none", "timed_out", "ALLOW_ONCE", "allow", "allow_once ", "kind(9)", "yes"} {
		if got, err := approvals.ParseKind(name); err == nil || got.Allows() {
			t.Errorf("ParseKind(%q) = %v, %v; want an error and a denial", name, got, err)
		}
	}
	for _, k := range []approvals.Kind{0, approvals.TimedOut, approvals.Abort, 9, 255} {
		if k.Allows() {
			t.Errorf("%v allows", k)
		}
	}
	if got := approvals.Kind(9).String(); got != "kind(9)" {
		t.Errorf("a kind outside the algebra is called %q", got)
	}
}

func TestZeroValuesDeny(t *testing.T) {
	if (approvals.Decision{}).Kind.Allows() {
		t.Error("the zero Decision allows")
	}
	if (approvals.Resolution{}).Allowed() {
		t.Error("the zero Resolution allows")
	}
	if (approvals.Rule{}).Effect == approvals.EffectAllow {
		t.Error("the zero Rule allows")
	}
	gate := approvals.NewGate(approvals.Options{})
	if v := gate.Check(approvals.Request{}); v.Outcome != approvals.OutcomeDeny {
		t.Errorf("the zero Gate answers the zero Request with %v", v.Outcome)
	}
}

func TestEffects(t *testing.T) {
	for _, name := range []string{"allow", "deny"} {
		e, err := approvals.ParseEffect(name)
		if err != nil || e.String() != name {
			t.Errorf("ParseEffect(%q) = %v, %v", name, e, err)
		}
		if text, err := json.Marshal(e); err != nil || string(text) != `"`+name+`"` {
			t.Errorf("%v marshals as %s (%v)", e, text, err)
		}
	}
	for _, name := range []string{"", "Allow", "ask", "allow_once"} {
		if e, err := approvals.ParseEffect(name); err == nil || e != approvals.EffectDeny {
			t.Errorf("ParseEffect(%q) = %v, %v; want an error and deny", name, e, err)
		}
	}
	if got := approvals.Effect(7).String(); got != "deny" {
		t.Errorf("an unknown effect is called %q, want deny", got)
	}
}

func TestModeOf(t *testing.T) {
	for tool, want := range map[string]approvals.Mode{
		"web_search": approvals.ModeRead, "web_fetch": approvals.ModeRead, "get_x": approvals.ModeRead,
		"list_files": approvals.ModeRead, "read_file": approvals.ModeRead,
		"create_x": approvals.ModeSafeWrite, "update_x": approvals.ModeSafeWrite, "set_x": approvals.ModeSafeWrite,
		"write_x": approvals.ModeSafeWrite, "apply_patch": approvals.ModeSafeWrite,
		"delete_x": approvals.ModeDestructive, "drop_x": approvals.ModeDestructive,
		"remove_x": approvals.ModeDestructive, "destroy_x": approvals.ModeDestructive,
		"bash": approvals.ModeOther, "shell": approvals.ModeOther, "local_exec_shell": approvals.ModeOther,
		"web_fetch_all": approvals.ModeOther, "get": approvals.ModeOther, "Get_x": approvals.ModeOther,
		"local_read_file": approvals.ModeOther, "": approvals.ModeOther,
	} {
		if got := approvals.ModeOf(tool); got != want {
			t.Errorf("ModeOf(%q) = %s, want %s", tool, got, want)
		}
	}
}

func TestParseGateMode(t *testing.T) {
	for name, want := range map[string]approvals.GateMode{"": approvals.GateHost, "host": approvals.GateHost, "auto": approvals.GateAuto} {
		if got, err := approvals.ParseGateMode(name); err != nil || got != want {
			t.Errorf("ParseGateMode(%q) = %v, %v; want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"off", "Host", "none", "ask"} {
		if _, err := approvals.ParseGateMode(name); err == nil {
			t.Errorf("ParseGateMode(%q) succeeds; an unknown mode must not switch the layer off", name)
		}
	}
}
