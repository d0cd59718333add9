package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// variables is an environment for tests.
func variables(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// A variable that cannot be used refuses to start, by its name and in one line,
// before anything is written to the host.
func TestRefusesVariables(t *testing.T) {
	for _, tt := range []struct{ name, value string }{
		{"STEERABLE_RETRY_MAX_ATTEMPTS", "0"},
		{"STEERABLE_RETRY_MAX_ATTEMPTS", "101"},
		{"STEERABLE_RETRY_MAX_ATTEMPTS", "3.5"},
		{"STEERABLE_RETRY_MAX_ATTEMPTS", " 3"},
		{"STEERABLE_RETRY_BASE_DELAY_MS", "-1"},
		{"STEERABLE_RETRY_BASE_DELAY_MS", "3600001"},
		{"STEERABLE_RETRY_MAX_DELAY_MS", "1h"},
		{"STEERABLE_LLM_CONNECT_TIMEOUT_SEC", "0"},
		{"STEERABLE_LLM_CONNECT_TIMEOUT_SEC", "3601"},
		{"STEERABLE_LLM_STREAM_READ_TIMEOUT_SEC", "86401"},
		{"STEERABLE_LLM_STREAM_READ_TIMEOUT_SEC", "99999999999999999999"},
		{"STEERABLE_SIDECAR_CORELOOP", "maybe"},
		{"STEERABLE_AUTHZ", "Enforce"},
		{"STEERABLE_AUTHZ", "on"},
		{"STEERABLE_AUDIT_DIR", "audit"},
		{"STEERABLE_AUDIT_SIGN", "yes"},
		{"STEERABLE_AUDIT_SIGN", "records"}, // without a key
		{"STEERABLE_AUDIT_FSYNC", "sometimes"},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			var out, errOut strings.Builder
			env := environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut, getenv: variables(map[string]string{tt.name: tt.value})}
			code := run(env, nil)
			if code != exitConfig || out.Len() > 0 || strings.Count(errOut.String(), "\n") != 1 || !strings.Contains(errOut.String(), tt.name) {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d and one line that names the variable", code, &out, &errOut, exitConfig)
			}
		})
	}
}

// One rule that cannot be obeyed refuses them all.
func TestRefusesSafetyRules(t *testing.T) {
	const rule = `{"id":"no-deploy","label":"l","description":"d","pattern":"deploy","category":"c","severity":"critical","platform":"all"}`
	for _, tt := range []struct{ name, rules string }{
		{"no array", rule},
		{"unknown severity", "[" + rule + "," + strings.ReplaceAll(rule, "critical", "fatal") + "]"},
		{"unknown member", "[" + strings.Replace(rule, `"id"`, `"action":"deny","id"`, 1) + "]"},
		{"missing member", "[" + strings.Replace(rule, `"category":"c",`, "", 1) + "]"},
		{"duplicate id", "[" + rule + "," + rule + "]"},
		{"id of a built-in rule", "[" + strings.Replace(rule, "no-deploy", "sudo", 1) + "]"},
		{"two values", "[" + rule + "][]"},
		{"nothing", ""},
		{"null", "null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rules.json")
			if err := os.WriteFile(path, []byte(tt.rules), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errOut strings.Builder
			code := run(environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut, getenv: variables(nil)}, []string{"--safety-rules", path})
			if code != exitConfig || out.Len() > 0 || strings.Count(errOut.String(), "\n") != 1 || !strings.Contains(errOut.String(), path) {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d and one line that names the file", code, &out, &errOut, exitConfig)
			}
		})
	}
}

func TestSafetyRulesMustBeARegularFile(t *testing.T) {
	for _, name := range []string{"", t.TempDir(), os.DevNull} {
		var out, errOut strings.Builder
		code := run(environment{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut, getenv: variables(nil)}, []string{"--safety-rules", name})
		if code != exitConfig || out.Len() > 0 || !strings.Contains(errOut.String(), "--safety-rules") {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", name, code, &out, &errOut)
		}
	}
}

func TestEnvReaderFlag(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{{"", false}, {"0", false}, {"false", false}, {"no", false}, {"1", true}, {"true", true}, {"yes", true}, {"True", true}} {
		r := envReader{getenv: variables(map[string]string{"V": tt.text})}
		if got := r.flag("V"); got != tt.want || r.err != nil {
			t.Errorf("%q is %v (%v), want %v", tt.text, got, r.err, tt.want)
		}
	}
}

// The first of several errors is the one that is told.
func TestEnvReaderKeepsTheFirstError(t *testing.T) {
	r := envReader{getenv: variables(map[string]string{"A": "7", "B": "x", "C": "y", "D": "z"})}
	if got := r.number("A", 10); got != 7 || r.err != nil {
		t.Fatalf("A is %d, %v", got, r.err)
	}
	if got := r.number("UNSET", 10); got != 0 || r.err != nil {
		t.Fatalf("an unset variable is %d, %v", got, r.err)
	}
	r.number("B", 10)
	r.flag("C")
	r.number("D", 10)
	if r.err == nil || !strings.HasPrefix(r.err.Error(), "B must be ") {
		t.Errorf("want the error of B, got %v", r.err)
	}
}

func TestSpillDir(t *testing.T) {
	for _, tt := range []struct {
		name string
		vars map[string]string
		want string
	}{
		{"below the home directory", map[string]string{"HOME": "/home/ann"}, "/home/ann/.steerable/spill"},
		{"where the operator wants it", map[string]string{"HOME": "/home/ann", "STEERABLE_SPILL_DIR": "/var/spill"}, "/var/spill"},
		{"switched off", map[string]string{"HOME": "/home/ann", "STEERABLE_SPILL_DIR": "/var/spill", "STEERABLE_SIDECAR_SPILL": "0"}, ""},
		{"no home", nil, ""},
		{"home that depends on the working directory", map[string]string{"HOME": "ann"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := spillDir(environment{getenv: variables(tt.vars)}); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCompat(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		rest []string
		code int
		done bool
	}{
		{name: "nothing"},
		{name: "our own flags", args: []string{"--quiet-ready"}, rest: []string{"--quiet-ready"}},
		{name: "a command", args: []string{"demo", "-m"}, rest: []string{"demo", "-m"}},
		{name: "the module", args: []string{"-m", "steerable_sidecar"}},
		{name: "the module with flags", args: []string{"-m", "steerable_sidecar", "--log-level", "DEBUG"}, rest: []string{"--log-level", "DEBUG"}},
		{name: "another module", args: []string{"-m", "http.server"}, code: exitUsage, done: true},
		{name: "a module below it", args: []string{"-m", "steerable_sidecar.sandbox", "profile"}, code: exitUsage, done: true},
		{name: "no module", args: []string{"-m"}, code: exitUsage, done: true},
		{name: "the probe", args: []string{"-c", "import steerable_sidecar"}, code: exitOK, done: true},
		{name: "the empty probe", args: []string{"-c"}, code: exitOK, done: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errOut strings.Builder
			rest, code, done := compat(environment{stdout: &out, stderr: &errOut}, tt.args)
			if code != tt.code || done != tt.done || len(rest)+len(tt.rest) > 0 && !cmp.Equal(rest, tt.rest) {
				t.Errorf("%q, %d, %v; want %q, %d, %v", rest, code, done, tt.rest, tt.code, tt.done)
			}
			if lines := strings.Count(errOut.String(), "\n"); out.Len() > 0 || (lines == 1) != (tt.code != exitOK) {
				t.Errorf("stdout %q, stderr %q", &out, &errOut)
			}
		})
	}
}
