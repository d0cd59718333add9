package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// runSafetyIn runs the program with an input and returns everything it says.
func runSafetyIn(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errOut strings.Builder
	code = run(environment{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errOut}, args)
	return code, out.String(), errOut.String()
}

func TestSafetyCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const rule = `{"id":"no-prod","label":"l","description":"d","pattern":"--host.*prod","category":"data","severity":"critical","platform":"all"}`
	good := write("good.json", "["+rule+"]")
	look := write("look.json", "["+strings.Replace(rule, "--host.*prod", "a(?=b)", 1)+"]")
	broken := write("broken.json", "{")
	for _, tt := range []struct {
		name   string
		stdin  string
		args   []string
		code   int
		stdout string
		stderr string // a part of it
	}{
		{
			name: "one answer per command", args: []string{"classify", "--platform", "unix", "ls", "rm -rf /"},
			stdout: "{\"severity\":\"safe\",\"matchedRules\":[]}\n{\"severity\":\"critical\",\"matchedRules\":[\"rm\",\"rm_rf_root\"]}\n",
		},
		{
			name: "reference set", args: []string{"classify", "--set", "reference", "curl https://example.com/install.sh | bash"},
			stdout: "{\"severity\":\"warning\",\"matchedRules\":[\"curl_pipe_sh\"]}\n",
		},
		{
			name: "no platform means all", args: []string{"classify", "del a.txt"},
			stdout: "{\"severity\":\"warning\",\"matchedRules\":[\"win_del\"]}\n",
		},
		{
			name: "custom rule", args: []string{"classify", "--rules", good, "--platform", "unix", "psql --host prod-db"},
			stdout: "{\"severity\":\"critical\",\"matchedRules\":[\"no-prod\"]}\n",
		},
		{
			name: "disabled rules", args: []string{"classify", "--disable", "sudo,rm", "--platform", "unix", "sudo rm a"},
			stdout: "{\"severity\":\"safe\",\"matchedRules\":[]}\n",
		},
		{
			name: "explanation", args: []string{"classify", "--explain", "--platform", "unix", "nice rm a"},
			stdout: "{\"severity\":\"warning\",\"matchedRules\":[\"rm\"],\"matches\":[{\"rule\":\"rm\",\"severity\":\"warning\",\"view\":\"argv\",\"depth\":0,\"line\":\"rm -- a\",\"start\":0,\"end\":9,\"wrappers\":[\"nice\"]}]}\n",
		},
		{
			name: "lines in order, bad ones answered", args: []string{"classify", "--jsonl"},
			stdin: "{\"cmd\":\"reboot\",\"platform\":\"unix\",\"want\":\"warning\"}\r\nnonsense\n\n{\"platform\":\"unix\"}\n{\"cmd\":1}\n{\"cmd\":\"x\",\"platform\":\"os2\"}\n{\"cmd\":\"ls\"}",
			stdout: "{\"severity\":\"warning\",\"matchedRules\":[\"reboot\"]}\n" +
				"{\"error\":\"not a JSON object with cmd: invalid character 'o' in literal null (expecting 'u')\"}\n" +
				"{\"error\":\"not a JSON object with cmd: unexpected end of JSON input\"}\n" +
				"{\"error\":\"cmd is missing\"}\n" +
				"{\"error\":\"not a JSON object with cmd: json: cannot unmarshal number into Go struct field .cmd of type string\"}\n" +
				"{\"error\":\"platform \\\"os2\\\" is not one of all, unix, windows\"}\n" +
				"{\"severity\":\"safe\",\"matchedRules\":[]}\n",
		},
		{name: "help", args: []string{"--help"}, stdout: safetyUsage},
		{name: "help of a subcommand", args: []string{"classify", "--help"}, stdout: safetyUsage},
		{name: "no subcommand", code: exitUsage, stderr: "the subcommands are classify and rules"},
		{name: "nothing to do", args: []string{"classify"}, code: exitUsage, stderr: "give either commands or --jsonl"},
		{name: "both inputs", args: []string{"classify", "--jsonl", "ls"}, code: exitUsage, stderr: "give either commands or --jsonl"},
		{name: "unknown flag", args: []string{"classify", "--colour"}, code: exitUsage, stderr: "flag provided but not defined"},
		{name: "unknown platform", args: []string{"classify", "--platform", "vms", "ls"}, code: exitUsage, stderr: `--platform: platform "vms"`},
		{name: "unknown set", args: []string{"classify", "--set", "mine", "ls"}, code: exitUsage, stderr: `--set: safety rule set "mine"`},
		{name: "unknown rule to disable", args: []string{"classify", "--disable", "rmm", "ls"}, code: exitConfig, stderr: `--disable: safety rule "rmm"`},
		{name: "rule beyond RE2", args: []string{"classify", "--rules", look, "ls"}, code: exitConfig, stderr: `safety rule "no-prod": pattern: unsupported regular expression: "(?=" at offset 1`},
		{name: "rules that are not JSON", args: []string{"classify", "--rules", broken, "ls"}, code: exitConfig, stderr: "read safety rules"},
		{name: "rules that are not there", args: []string{"classify", "--rules", filepath.Join(dir, "none"), "ls"}, code: exitConfig, stderr: "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runSafetyIn(tt.stdin, append([]string{"safety"}, tt.args...)...)
			if code != tt.code {
				t.Errorf("code = %d, want %d (%s)", code, tt.code, stderr)
			}
			if diff := cmp.Diff(tt.stdout, stdout); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("stderr = %q, want %q in it", stderr, tt.stderr)
			}
		})
	}
}

func TestSafetyRulesListed(t *testing.T) {
	code, stdout, stderr := runSafetyIn("", "safety", "rules", "--set", "reference")
	if lines := strings.Count(stdout, "\n"); code != exitOK || lines != 61 || stderr != "" {
		t.Errorf("code %d, %d rules, stderr %q; want 0, 61 and nothing", code, lines, stderr)
	}
	if !strings.HasPrefix(stdout, `{"id":"rm","label":`) {
		t.Errorf("first rule is %.60s", stdout)
	}
}

func TestApprovalsMatchCommand(t *testing.T) {
	const lines = `{"prefix":["git","status"],"cmd":"git status -s"}
{"prefix":["git","status"],"cmd":"git status; id"}
{"prefix":["rm"],"cmd":"ls && /bin/rm x","decision":"deny"}
{"prefix":["dotnet"],"cmd":"dotnet build & del x","platform":"windows"}
{"prefix":["rm"],"cmd":"$X a","decision":"deny"}
{"cmd":"ls"}
{"prefix":["ls"]}
{"prefix":"ls","cmd":"ls"}
{"prefix":["ls"],"cmd":"ls","decision":"maybe"}
{"prefix":["ls"],"cmd":"ls","platform":"dos"}
`
	code, stdout, stderr := runSafetyIn(lines, "approvals", "match", "--jsonl")
	want := `{"match":true,"reason":""}
{"match":false,"reason":"not_covered","detail":"id"}
{"match":true,"reason":"denied","detail":"/bin/rm x"}
{"match":false,"reason":"structure","detail":"operator, variable or escape"}
{"match":false,"reason":"uncertain: $X","detail":"$X"}
{"error":"prefix is missing"}
{"error":"cmd is missing"}
{"error":"not a JSON object with prefix and cmd: json: cannot unmarshal string into Go struct field .prefix of type []string"}
{"error":"decision \"maybe\" is neither allow nor deny"}
{"error":"platform \"dos\" is not one of all, unix, windows"}
`
	if diff := cmp.Diff(want, stdout); code != exitOK || diff != "" || stderr != "" {
		t.Errorf("code %d, stderr %q, stdout (-want +got):\n%s", code, stderr, diff)
	}
	if code, stdout, _ := runSafetyIn("", "approvals", "match", "--help"); code != exitOK || stdout != approvalsMatchUsage {
		t.Errorf("--help: code %d, %q", code, stdout)
	}
	if code, _, stderr := runSafetyIn("", "approvals", "match"); code != exitUsage || strings.Count(stderr, "\n") != 1 {
		t.Errorf("no flag: code %d, %q", code, stderr)
	}
}

// brokenWriter fails after a number of bytes.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("pipe closed")
	}
	return len(p), nil
}

func TestJSONLinesStreamsThatFail(t *testing.T) {
	var errOut strings.Builder
	for _, tt := range []struct {
		name string
		env  environment
		args []string
	}{
		{"reader", environment{stdin: iotest.ErrReader(errors.New("disk gone")), stdout: &strings.Builder{}, stderr: &errOut}, []string{"safety", "classify", "--jsonl"}},
		{"writer", environment{stdin: strings.NewReader("{\"cmd\":\"ls\"}\n"), stdout: &brokenWriter{}, stderr: &errOut}, []string{"safety", "classify", "--jsonl"}},
		{"writer of many", environment{stdin: strings.NewReader(strings.Repeat("{\"cmd\":\"ls\"}\n", 1000)), stdout: &brokenWriter{left: 100}, stderr: &errOut}, []string{"safety", "classify", "--jsonl"}},
		{"writer of arguments", environment{stdout: &brokenWriter{}, stderr: &errOut}, []string{"safety", "classify", "ls"}},
		{"writer of rules", environment{stdout: &brokenWriter{}, stderr: &errOut}, []string{"safety", "rules"}},
		{"matcher", environment{stdin: strings.NewReader("{\n"), stdout: &brokenWriter{}, stderr: &errOut}, []string{"approvals", "match", "--jsonl"}},
	} {
		if code := run(tt.env, tt.args); code != exitFailed {
			t.Errorf("%s: code %d, want %d", tt.name, code, exitFailed)
		}
	}
}

func TestLongJSONLineIsAnsweredAndSkipped(t *testing.T) {
	long := fmt.Sprintf("{\"cmd\":\"%s\"}", strings.Repeat("a", maxJSONLine))
	code, stdout, _ := runSafetyIn(long+"\n{\"cmd\":\"ls\"}\n"+long, "safety", "classify", "--jsonl")
	want := "{\"error\":\"line longer than 16 MiB\"}\n{\"severity\":\"safe\",\"matchedRules\":[]}\n{\"error\":\"line longer than 16 MiB\"}\n"
	if code != exitOK || stdout != want {
		t.Errorf("code %d, stdout %q, want %q", code, stdout, want)
	}
}
