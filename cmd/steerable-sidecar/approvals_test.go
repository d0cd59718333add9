package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runApprovalsIn runs the command as a person would, in a directory of files,
// and returns both streams with the directory and the time left out.
func runApprovalsIn(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut strings.Builder
	full := []string{"approvals"}
	for _, arg := range args {
		full = append(full, strings.ReplaceAll(arg, "DIR", dir))
	}
	code = run(environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut}, full)
	stamp := regexp.MustCompile(`\d{8}T\d{6}Z`)
	clean := func(s string) string {
		return stamp.ReplaceAllString(strings.ReplaceAll(s, dir, "DIR"), "TIME")
	}
	return code, clean(out.String()), clean(errOut.String())
}

func TestApprovalsCommand(t *testing.T) {
	const (
		store  = `{"bash":"deny_always","edit":"allow_always"}`
		policy = `{"version":1,"rules":[{"tool":"bash","decision":"allow","commandPrefix":["git","status"]},{"tool":"bash","decision":"deny"}]}`
		bad    = `{"version":1,"rules":[{"tool":"bash","decision":"maybe"},{"tool":"bash","decision":"deny","commandPrefix":["rm"]},7]}`
		prefix = "steerable-sidecar approvals: "
		repair = "automatic allows are suspended, problems: %d; repair the files, or use approvals accept for damaged ones\n"
	)
	for _, tt := range []struct {
		name          string
		store, policy string // contents, "" for no file
		args          []string
		code          int
		stdout        string
		stderr        string
	}{
		{
			name: "list", store: store, policy: policy, args: []string{"list", "--store", "DIR/s.json", "--policy", "DIR/p.json"},
			stdout: "store DIR/s.json\n  bash  deny_always\n  edit  allow_always\npolicy DIR/p.json\n  0: bash git status → allow\n  1: bash * → deny\n",
		},
		{
			name: "list of nothing", args: []string{"list", "--store", "DIR/s.json"},
			stdout: "store DIR/s.json (no such file)\npolicy DIR/approval-policy.json (no such file)\n",
		},
		{
			name: "list with a bad rule", policy: bad, args: []string{"list", "--policy", "DIR/p.json"}, code: exitFailed,
			stdout: "policy DIR/p.json\n  1: bash rm → deny\n",
			stderr: prefix + "automatic allows are suspended, problems: 2; see approvals check\n",
		},
		{name: "check", store: store, policy: policy, args: []string{"check", "--store", "DIR/s.json", "--policy", "DIR/p.json"}, stdout: "ok\n"},
		{
			name: "check with bad rules", policy: bad, args: []string{"check", "--policy", "DIR/p.json"}, code: exitFailed,
			stdout: "policy DIR/p.json: rule 0 (bash) unknown decision \"maybe\", want allow or deny\npolicy DIR/p.json: rule 2 not a JSON object\n",
			stderr: prefix + strings.Replace(repair, "%d", "2", 1),
		},
		{
			name: "check with a damaged store", store: "{", args: []string{"check", "--store", "DIR/s.json"}, code: exitFailed,
			stdout: "store DIR/s.json: damaged: not JSON: unexpected end of JSON input\n",
			stderr: prefix + strings.Replace(repair, "%d", "1", 1),
		},
		{
			name: "accept", store: "{", args: []string{"accept", "--store", "DIR/s.json"},
			stdout: "kept as DIR/s.json.accepted-TIME; its decisions no longer apply\n",
		},
		{name: "accept of nothing", store: store, args: []string{"accept", "--store", "DIR/s.json"}, stdout: "nothing to accept\n"},
		{name: "revoke a category", store: store, args: []string{"revoke", "--store", "DIR/s.json", "--category", "bash"}, stdout: "revoked category bash\n"},
		{
			name: "revoke what is not there", store: store, args: []string{"revoke", "--store", "DIR/s.json", "--category", "x"}, code: exitFailed,
			stderr: prefix + "store DIR/s.json holds nothing for category \"x\"\n",
		},
		{
			name: "revoke in a damaged store", store: "{", args: []string{"revoke", "--store", "DIR/s.json", "--category", "x"}, code: exitFailed,
			stderr: prefix + "not JSON: unexpected end of JSON input\n",
		},
		{
			name: "revoke a rule", policy: policy, args: []string{"revoke", "--policy", "DIR/p.json", "--rule", "1"},
			stdout: "revoked rule 1: {\"tool\":\"bash\",\"decision\":\"deny\"}\n",
		},
		{
			name: "revoke a rule that is not there", policy: policy, args: []string{"revoke", "--policy", "DIR/p.json", "--rule", "2"}, code: exitFailed,
			stderr: prefix + "policy DIR/p.json: rule 2 of 2: no such rule\n",
		},
		{name: "no verb", code: exitUsage, stderr: prefix + "no subcommand given; approvals --help lists them\n"},
		{name: "unknown verb", args: []string{"forget"}, code: exitUsage, stderr: prefix + "unknown subcommand \"forget\"; approvals --help lists them\n"},
		{name: "no file", args: []string{"list"}, code: exitUsage, stderr: prefix + "name a file with --store or --policy\n"},
		{name: "unknown flag", args: []string{"list", "--file", "x"}, code: exitUsage, stderr: prefix + "flag provided but not defined: -file\n"},
		{name: "stray argument", args: []string{"list", "--store", "DIR/s.json", "bash"}, code: exitUsage, stderr: prefix + "unexpected argument \"bash\"\n"},
		{name: "revoke of nothing", args: []string{"revoke", "--store", "DIR/s.json"}, code: exitUsage, stderr: prefix + "revoke needs either --category or --rule\n"},
		{name: "revoke of both", args: []string{"revoke", "--store", "DIR/s.json", "--category", "x", "--rule", "0"}, code: exitUsage, stderr: prefix + "revoke needs either --category or --rule\n"},
		{name: "category without a store", args: []string{"revoke", "--policy", "DIR/p.json", "--category", "x"}, code: exitUsage, stderr: prefix + "--category needs --store\n"},
		{name: "rule that is no number", args: []string{"revoke", "--policy", "DIR/p.json", "--rule", "x"}, code: exitUsage, stderr: prefix + "invalid value \"x\" for flag -rule: parse error\n"},
		{name: "help", args: []string{"list", "--help"}, stdout: approvalsUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"s.json": tt.store, "p.json": tt.policy} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			code, stdout, stderr := runApprovalsIn(t, dir, tt.args...)
			if diff := cmp.Diff([]any{tt.code, tt.stdout, tt.stderr}, []any{code, stdout, stderr}); diff != "" {
				t.Errorf("code, stdout, stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// The whole way of a damaged file: reported, accepted, usable again.
func TestApprovalsRepair(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "approval-policy.json")
	if err := os.WriteFile(path, []byte("oops"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		verb string
		code int
	}{{"check", exitFailed}, {"list", exitFailed}, {"accept", exitOK}, {"check", exitOK}, {"list", exitOK}, {"accept", exitOK}} {
		if code, stdout, stderr := runApprovalsIn(t, dir, step.verb, "--store", "DIR/approvals.json"); code != step.code {
			t.Errorf("%s exits %d, want %d\n%s%s", step.verb, code, step.code, stdout, stderr)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	kept := ""
	for _, e := range entries {
		if strings.Contains(e.Name(), ".accepted-") {
			raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			kept += string(raw)
		}
	}
	if kept != "oops" {
		t.Errorf("the accepted file holds %q, want what was damaged", kept)
	}
}
