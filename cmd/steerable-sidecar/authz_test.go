package main

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// runIn runs the program with the given input.
func runIn(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut strings.Builder
	env := environment{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errOut, getenv: func(string) string { return "" }}
	code = run(env, args)
	return code, out.String(), errOut.String()
}

// Every case of every module, through the command; what needs a session says
// so and is tested where sessions are. The siblings are derived from the tables
// and rules, not from answers; their chains were hashed by another program.
func TestAuthzEvalCases(t *testing.T) {
	for _, tt := range []struct {
		name            string
		cases, sessions int
	}{
		{"cases", 174, 7},
		{"siblings", 751, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cases, sessions := evalCases(t, "testdata/authz/"+tt.name+".jsonl")
			if cases != tt.cases || sessions != tt.sessions {
				t.Errorf("%d cases, %d of them need a session; want %d and %d", cases, sessions, tt.cases, tt.sessions)
			}
		})
	}
}

// evalCases answers the cases of a file and compares. It returns how many there
// are and how many need a session.
func evalCases(t *testing.T, path string) (cases, sessions int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// "~~" keeps scanners of this repository from taking made-up tokens for real.
	data = bytes.ReplaceAll(data, []byte("~~"), nil)
	code, stdout, stderr := runIn(t, string(data), "authz", "eval", "--jsonl")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	answers := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	for line := range bytes.Lines(data) {
		var row struct{ Want map[string]any }
		var got map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if cases == len(answers) {
			t.Fatalf("only %d answers", cases)
		}
		if err := json.Unmarshal([]byte(answers[cases]), &got); err != nil {
			t.Fatal(err)
		}
		cases++
		if got["error"] == errSession.Error() {
			sessions++
			continue
		}
		if !holds(row.Want, got) {
			t.Errorf("%s\n got %s", line, answers[cases-1])
		}
	}
	return cases, sessions
}

// holds reports whether got has everything that a case wants: equal values,
// except that "holds" may be a part of what is held and "lacks" must not be.
func holds(want, got map[string]any) bool {
	for key, w := range want {
		g := got[key]
		switch key {
		case "holds":
			have, _ := g.([]any)
			for _, x := range w.([]any) {
				if !slices.Contains(have, x) {
					return false
				}
			}
		case "lacks":
			have, _ := got["holds"].([]any)
			for _, x := range w.([]any) {
				if slices.Contains(have, x) {
					return false
				}
			}
		default:
			if !reflect.DeepEqual(w, g) {
				return false
			}
		}
	}
	return true
}

func TestAuthzEvalErrors(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`{"module":"nothing","input":{}}`, `unknown module "nothing"`},
		{`{"module":"dlp","input":{"op":"encrypt","band":"low"}}`, `unknown operation "encrypt"`},
		{`{"module":"audit","input":{"op":"delete"}}`, `unknown operation "delete"`},
		{`{"module":"audit","input":{"op":"appendFails","error":"ENOSPC"}}`, "needs a session"},
		{`{"module":"audit","input":{"op":"appendSomethingNew","x":1}}`, "needs a session"},
		{`{"module":"govern","input":{"owner":"u1","fault":"dlp_panic"}}`, "needs a session"},
		{`{"module":"govern","input":{"owner":"u1","then":{"tool":"list"}}}`, "needs a session"},
		{`{"module":"govern","input":{"owner":"u1","approval":"allow_once"}}`, "needs a session"},
		{`{"module":"govern","input":{"owner":"u1","surprise":1}}`, "malformed input"},
		{`{"module":"chain","input":{"calls":1.5}}`, "malformed input"},
		{`{"module":"egress","input":{}}`, "malformed input"},
		{`{"module":"dlp","input":{"op":"scanArgs","band":"low","args":{"a":1}}}x`, "invalid character"},
		{`not JSON`, "invalid character"},
		{`{"module":"audit","input":{"op":"hash","record":{"owner":"\ud800","action":"a","capability":"c","decision":"d","risk":"r","sequence":0,"prev_hash":"sha256:` + strings.Repeat("0", 64) + `"}}}`, "surrogate"},
	} {
		code, stdout, _ := runIn(t, tt.line+"\n", "authz", "eval", "--jsonl")
		var got struct{ Error string }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK || !strings.Contains(got.Error, tt.want) {
			t.Errorf("%s gives %d %s, want an error with %q", tt.line, code, stdout, tt.want)
		}
	}
	_, stdout, _ := runIn(t, "x\n\n{\"module\":\"chain\",\"input\":{}}", "authz", "eval", "--jsonl")
	if lines := strings.Count(stdout, "\n"); lines != 2 {
		t.Errorf("two inputs, the last without a newline, give %d answers: %s", lines, stdout)
	}
}

func TestAuthzExplain(t *testing.T) {
	input := `{"owner":"u1","requestOwner":"u1","tool":"web_fetch","args":{"url":"http://10.0.0.1/?k=` + "ghp_" + `abcd1234abcd1234abcd1234abcd1234abcd"}}`
	code, stdout, stderr := runIn(t, input, "authz", "explain", "--json")
	var got struct {
		Decision string
		Reasons  []string
		Stages   []struct {
			Stage, Decision string
			Reasons         []string
		}
		Redacted map[string]string
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK {
		t.Fatalf("%d %s %s %v", code, stdout, stderr, err)
	}
	var stages []string
	for _, s := range got.Stages {
		stages = append(stages, s.Stage+" "+s.Decision)
	}
	want := "chain ALLOW, risk ALLOW, policy ESCALATE, egress DENY, dlp DENY"
	if strings.Join(stages, ", ") != want || got.Decision != "DENY" || got.Reasons[0] != "REASON_PRIVATE_IPV4" {
		t.Errorf("stages %q, want %q; %s %q", stages, want, got.Decision, got.Reasons)
	}
	if strings.Contains(stdout, "abcd1234abcd") {
		t.Errorf("the secret is shown: %s", stdout)
	}
	if code, _, stderr := runIn(t, `{"tool":`, "authz", "explain", "--json"); code != exitFailed || stderr == "" {
		t.Errorf("broken input: %d %q", code, stderr)
	}
}

func TestAuthzUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"eval"}, {"eval", "--json"}, {"explain"}, {"explain", "--jsonl"}, {"judge"}, {"eval", "--jsonl", "x"}, {"eval", "--what"}} {
		if code, stdout, stderr := runIn(t, "", append([]string{"authz"}, args...)...); code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("authz %q: %d %q %q", args, code, stdout, stderr)
		}
	}
	if code, stdout, _ := runIn(t, "", "authz", "eval", "-h"); code != exitOK || !strings.Contains(stdout, "usage:") {
		t.Errorf("help: %d %q", code, stdout)
	}
}

// The comparison of cases is strict; otherwise none of them would show anything.
func TestCasesCanFail(t *testing.T) {
	for _, tt := range []struct {
		want, got string
		holds     bool
	}{
		{`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"a":1}`, `{}`, false},
		{`{"a":false}`, `{}`, false},
		{`{"a":"1"}`, `{"a":1}`, false},
		{`{"a":["x","y"]}`, `{"a":["y","x"]}`, false},
		{`{"record":{"capability":"c"}}`, `{"record":{"capability":"c","owner":"u"}}`, false},
		{`{"holds":["x"]}`, `{"holds":["x","y"]}`, true},
		{`{"holds":["z"]}`, `{"holds":["x","y"]}`, false},
		{`{"lacks":["z"]}`, `{"holds":["x","y"]}`, true},
		{`{"lacks":["x"]}`, `{"holds":["x","y"]}`, false},
	} {
		var want, got map[string]any
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(tt.got), &got); err != nil {
			t.Fatal(err)
		}
		if holds(want, got) != tt.holds {
			t.Errorf("%s in %s: %v", tt.want, tt.got, !tt.holds)
		}
	}
}
