package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		want string
	}{
		{"no comment", "-- script --\n> {}\n", "says in its comment"},
		{"no script", "x\n", "script is missing"},
		{"empty script", "x\n-- script --\n# nothing\n", "script is missing"},
		{"unknown section", "x\n-- sript --\n> {}\n", `2: unknown section "sript"`},
		{"repeated section", "x\n-- script --\n> {}\n-- script --\n> {}\n", "4: section \"script\" is repeated"},
		{"unknown step", "x\n-- script --\nping\n", `case.txtar:3: unknown step "ping"`},
		{"unknown mode", "x\n-- script --\n<* {}\n", `unknown step "<*"`},
		{"bad frame", "x\n-- script --\n< {\n", "3: expected frame"},
		{"no object", "x\n-- script --\n< []\n", "expected frame is array"},
		{"bad pattern", "x\n-- script --\n< {\"a\":\"<re:(>\"}\n", "missing closing"},
		{"bad capture pattern", "x\n-- script --\n< {\"a\":\"<id:n:(>\"}\n", "missing closing"},
		{"join outside <+", "x\n-- script --\n< {\"a\":\"<join:x>\"}\n", "exactly one <join"},
		{"<+ without join", "x\n-- script --\n<+ {\"a\":1}\n", "exactly one <join"},
		{"two joins", "x\n-- script --\n<+ {\"a\":\"<join:x>\",\"b\":\"<join:y>\"}\n", "exactly one <join"},
		{"optional at the end", "x\n-- script --\n<? {\"a\":1}\n> {}\n", "an optional frame needs one behind it"},
		{"optional alone in its lane", "x\n-- script --\n<~a? {\"a\":1}\n<~b {\"a\":1}\n", "an optional frame needs one behind it"},
		{"bad hex", "x\n-- script --\n>hex 0g\n", "bytes to send"},
		{"bad stderr", "x\n-- script --\n< stderr ready\n", "want /regexp/"},
		{"bad stderr pattern", "x\n-- script --\n< stderr /(/\n", "missing closing"},
		{"unknown event", "x\n-- script --\n! explode\n", `unknown event "explode"`},
		{"no event", "x\n-- script --\n!\n", "an event is missing"},
		{"unknown signal", "x\n-- script --\n! signal KILL\n", "unknown event"},
		{"bad duration", "x\n-- script --\n! none soon\n", "invalid duration"},
		{"bad stall", "x\n-- script --\n! stall soon\n", "invalid duration"},
		{"bad exit code", "x\n-- script --\n! exit zero within 1s\n", "exit code"},
		{"bad exit time", "x\n-- script --\n! exit 0 within soon\n", "invalid duration"},
		{"model missing", "x\n-- script --\n> {\"baseUrl\":\"$LLM\"}\n", "without a model"},
		{"bad model", "x\n-- model --\n[{\"txt\":\"x\"}]\n-- script --\n> {}\n", `unknown field "txt"`},
		{"model and more", "x\n-- model --\n[] []\n-- script --\n> {}\n", "more than one JSON value"},
		{"bad text", "x\n-- model --\n[{\"text\":7}]\n-- script --\n> {}\n", "reply 1: text is neither"},
		{"bad status", "x\n-- model --\n[{},{\"error\":{\"status\":200}}]\n-- script --\n> {}\n", "reply 2: error.status is 200"},
		{"bad requests", "x\n-- requests --\n{}\n-- script --\n> {}\n", "want an array"},
		{"broken requests", "x\n-- requests --\n[\n-- script --\n> {}\n", "requests: "},
		{"bad matcher in requests", "x\n-- requests --\n[\"<re:(>\"]\n-- script --\n> {}\n", "missing closing"},
		{"bad ignore", "x\n-- ignore --\n{\n-- script --\n> {}\n", "3: expected frame"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("dir/case.txtar", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "dir/case.txtar") {
				t.Errorf("%q: want an error with %q and the path, got %v", tt.text, tt.want, err)
			}
		})
	}
}

func TestParse(t *testing.T) {
	tr, err := Parse("dir/a_case.txtar", []byte("Proves\nsomething.\n\n-- args --\n--quiet-ready -x\n-- script --\n\n# said\n> {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if tr.Name != "a_case" || tr.Comment != "Proves\nsomething." || strings.Join(tr.args, "|") != "--quiet-ready|-x" {
		t.Errorf("name, comment and arguments: got %q, %q, %q", tr.Name, tr.Comment, tr.args)
	}
	if len(tr.steps) != 2 || tr.steps[0].text != "< "+readyFrame || tr.steps[1].line != 9 {
		t.Errorf("want the ready step and line 9, got %+v", tr.steps)
	}
	if _, err := ParseFile(filepath.Join(t.TempDir(), "missing.txtar")); err == nil {
		t.Error("a missing file: want an error")
	}
}

func TestSplitArchive(t *testing.T) {
	comment, sections := splitArchive([]byte("c\n-- a --\n1\n--  b --\r\n-- no\n--  --\n2"))
	if comment != "c\n" || len(sections) != 2 {
		t.Fatalf("want a comment and two sections, got %q and %+v", comment, sections)
	}
	if sections[0] != (section{"a", 3, "1\n"}) || sections[1] != (section{"b", 5, "-- no\n--  --\n2"}) {
		t.Errorf("got %+v", sections)
	}
}

func TestExpand(t *testing.T) {
	ids := map[string]string{"call": `"srv_1"`, "n": "7"}
	for _, tt := range []struct{ text, want, problem string }{
		{`{"id":"<id:call>","n":"<id:n>"}`, `{"id":"srv_1","n":7}`, ""},
		{`{"u":"$LLM/x"}`, `{"u":"http://127.0.0.1:1/v1/x"}`, ""},
		{`@repeat(3,ab)@repeat(0,c)@repeat(2,))`, `ababab)`, ""},
		{`[@repeat(2,1,)]`, `[1,1,]`, ""},
		{`"<id:who>"`, "", `captured as "who"`},
		{`@repeat(99999999999,x)`, "", "bad @repeat"},
		{`@repeat(9999999,long)@repeat(-1,x)`, "", "bad @repeat"},
		{`@repeat(70000000,x)`, "", "bad @repeat"},
		{`@repeat(5`, "", "bad @repeat"},
		{`@repeat(5)`, "", "bad @repeat"},
	} {
		got, err := expand(tt.text, "http://127.0.0.1:1/v1", ids)
		switch {
		case tt.problem != "":
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: want an error with %q, got %v", tt.text, tt.problem, err)
			}
		case err != nil || got != tt.want:
			t.Errorf("%s: want %s, got %s, %v", tt.text, tt.want, got, err)
		}
	}
}

func TestReadBaseline(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // part of the error
	}{
		{"", ""},
		{"# known\n\nalpha does not do it\n beta  neither \n", ""},
		{"alpha\n", "1: alpha has no reason"},
		{"alpha x\nalpha y\n", "2: alpha is named twice"},
	} {
		path := filepath.Join(t.TempDir(), "baseline.txt")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := ReadBaseline(path)
		switch {
		case tt.want != "":
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: want an error with %q, got %v", tt.text, tt.want, err)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.text, err)
		case tt.text != "" && (b["alpha"] != "does not do it" || b["beta"] != "neither"):
			t.Errorf("%q: got %v", tt.text, b)
		}
	}
	if _, err := ReadBaseline("no/such/file"); err == nil {
		t.Error("a missing baseline must not count as an empty one")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("x\n-- model --\n[{\"text\":[\"a\"]}]\n-- script --\n> {}\n< {\"a\":\"<id:n:x>\"}\n! exit 0 within 1s\n"))
	f.Add([]byte("x\n-- script --\n<~a+ {\"a\":\"<join:b>\"}\n>hex 00\n< stderr /x/\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := Parse("case.txtar", data)
		if err == nil && (len(tr.steps) == 0 || tr.Comment == "") {
			t.Fatalf("%q: accepted without steps or a comment", data)
		}
	})
}
