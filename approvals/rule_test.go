package approvals_test

import (
	"testing"

	"github.com/steerable-go/sidecar/approvals"
)

// Words of a rule come from a model: none may look like another rule, or act on
// the terminal of whoever reads it.
func TestRulesAreShownPlainly(t *testing.T) {
	for _, tt := range []struct {
		prefix []string
		want   string
	}{
		{nil, "bash * → allow"},
		{[]string{"git", "status"}, "bash git status → allow"},
		{[]string{"grüße", "日本"}, "bash grüße 日本 → allow"},
		{[]string{"git status"}, `bash "git status" → allow`},
		{[]string{""}, `bash "" → allow`},
		{[]string{`a"b`}, `bash "a\"b" → allow`},
		{[]string{"ls\n0: bash * → deny"}, `bash "ls\n0: bash * → deny" → allow`},
		{[]string{"ls\x1b[2K\r"}, `bash "ls\x1b[2K\r" → allow`},
		{[]string{"ls\u009b2K"}, `bash "ls\u009b2K" → allow`},
		{[]string{"ls\u202etxt"}, `bash "ls\u202etxt" → allow`},
		{[]string{"l\u200bs"}, `bash "l\u200bs" → allow`},
		{[]string{"ls\xff"}, `bash "ls\xff" → allow`},
	} {
		r := approvals.Rule{Tool: "bash", Effect: allow, CommandPrefix: tt.prefix}
		if got := r.String(); got != tt.want {
			t.Errorf("%q is shown as %s, want %s", tt.prefix, got, tt.want)
		}
	}
}
