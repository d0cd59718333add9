package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileSteps shows what a session's files can be asked, with a peer that
// does nothing to them.
func TestFileSteps(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string // sections and script
		want string // part of the mismatch; empty when the transcript passes
	}{
		{"content as JSON", "-- file a/b.json --\n{\"n\": 1.0}\n-- script --\n! file a/b.json {\"n\":1}\n", ""},
		{"content as text", "-- file a.txt --\nx\n-- script --\n! file a.txt \"x\\n\"\n", ""},
		{"text by pattern", "-- file a.txt --\nxyz\n-- script --\n! file a.txt \"<re:^x.z>\"\n", ""},
		{"wrong member", "-- file a.json --\n{\"n\":1}\n-- script --\n! file a.json {\"n\":2}\n", "n: want 2, got 1"},
		{"no JSON", "-- file a.json --\n{\n-- script --\n! file a.json {}\n", "the file is not JSON"},
		{"missing", "-- script --\n! file a.json {}\n", "want one such file, there are 0"},
		{"several", "-- file a.1 --\n-- file a.2 --\n-- script --\n! file a.* \"\"\n", "want one such file, there are 2"},
		{"one by pattern", "-- file a.json.old-1 --\n[]\n-- script --\n! file a.json.old-* []\n", ""},
		{"absent", "-- script --\n! no file a*\n", ""},
		{"not absent", "-- file a.1 --\n-- script --\n! no file a*\n", "there must be no such file"},
		{"written", "-- file a --\n1\n-- script --\n! file a 1\n! write a {\"d\":\"$DIR\"}\n! file a {\"d\":\"$DIR\"}\n! file a {\"d\":\"<re:^.*conformance-[^/]*$>\"}\n", ""},
		{"directory in a file", "-- file a --\n\"$DIR/x\"\n-- script --\n! file a \"<re:conformance-[0-9]+/x>\"\n", ""},
		{"a capture in a file", "-- file a --\n{\"id\":7}\n-- file b --\n{\"id\":8}\n-- script --\n! file a {\"id\":\"<id:n>\"}\n! file b {\"id\":\"<id:n>\"}\n", "want 7 as before (n), got 8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr, err := Parse("case.txtar", []byte("Proves something.\n"+tt.text+pingStep+okStep))
			if err != nil {
				t.Fatal(err)
			}
			player := fakeCommand(t, "good")
			m, err := player.Play(t.Context(), tr)
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.want == "" && m != nil:
				t.Error(m)
			case tt.want != "" && (m == nil || !strings.Contains(m.String(), tt.want)):
				t.Errorf("want a mismatch with %q, got %v", tt.want, m)
			}
		})
	}
}

// TestSessionDirectory shows that the directory reaches the command, the model
// and the frames, and that nothing of it is left.
func TestSessionDirectory(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	tr, err := Parse("case.txtar", []byte(`Proves something.
-- env --
WHERE=$DIR/env
-- file here --
1
-- args --
$DIR/arg
-- model --
[{"text":"$DIR/model"}]
-- script --
> {"jsonrpc":"2.0","id":1,"method":"where","params":{"sent":"$DIR/sent","baseUrl":"$LLM"}}
< {"jsonrpc":"2.0","id":1,"result":{"sent":"$DIR/sent","arg":"$DIR/arg","env":"$DIR/env","here":"1\n","said":true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	player := fakeCommand(t, "where")
	if m, err := player.Play(t.Context(), tr); err != nil || m != nil {
		t.Fatal(err, m)
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("want nothing left in the directory for temporary files, got %v, %v", left, err)
	}
}

// whereFake is what a peer sees of a session's directory.
func whereFake(params string) string {
	var p struct{ Sent, BaseURL string }
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		return `"` + err.Error() + `"`
	}
	dir := filepath.Dir(p.Sent)
	here, _ := os.ReadFile(filepath.Join(dir, "here"))
	said := ""
	if resp, err := http.Post(p.BaseURL+"/chat/completions", "application/json", strings.NewReader("{}")); err == nil {
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		said = string(body)
	}
	answer, _ := json.Marshal(map[string]any{
		"sent": p.Sent, "arg": os.Args[len(os.Args)-1], "env": os.Getenv("WHERE"), "here": string(here),
		"said": strings.Contains(said, filepath.ToSlash(dir)+"/model"),
	})
	return string(answer)
}

// TestEnvironmentIsEmpty shows that a command sees nothing of ours that it was
// not given.
func TestEnvironmentIsEmpty(t *testing.T) {
	t.Setenv("CONFORMANCE_LEAK", "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Parse("case.txtar", []byte("Proves something.\n-- env --\n"+fakePeer+"=environ\n-- script --\n"+
		pingStep+`< {"jsonrpc":"2.0","id":1,"result":{"leak":""}}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	player := Player{Command: []string{exe}}
	if m, err := player.Play(t.Context(), tr); err != nil || m != nil {
		t.Fatal(err, m)
	}
}

func TestFileErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"-- file ../a --\n-- script --\n> {}\n", `2: file "../a" is not below`},
		{"-- file /a --\n-- script --\n> {}\n", `file "/a" is not below`},
		{"-- script --\n! write ../a x\n", `3: file "../a" is not below`},
		{"-- script --\n! file a\n", "to be followed by a name"},
		{"-- script --\n! write a\n", "to be followed by a name"},
		{"-- script --\n! no file a {}\n", "to be followed by a name"},
		{"-- script --\n! no thing\n", "unknown event"},
		{"-- script --\n! file a {\n", "expected content"},
		{"-- script --\n! file a \"<re:(>\"\n", "missing closing"},
		{"-- script --\n! file a \"<join:x>\"\n", "is for frames"},
		{"-- script --\n! file a @repeat(x)\n", "bad @repeat"},
		{"-- env --\nNAME\n-- script --\n> {}\n", `3: want NAME=VALUE, got "NAME"`},
		{"-- env --\n=x\n-- script --\n> {}\n", "want NAME=VALUE"},
	} {
		_, err := Parse("case.txtar", []byte("Proves something.\n"+tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: want an error with %q, got %v", tt.text, tt.want, err)
		}
	}
}

// TestMakeDirFails shows that files which cannot be made are an error of the
// transcript and leave nothing behind.
func TestMakeDirFails(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	if dir, err := makeDir([]file{{"a", "x"}, {"a/b", "y"}}); err == nil {
		t.Errorf("want an error for a file below a file, got %s", dir)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
		t.Errorf("want nothing left, got %v, %v", left, err)
	}
}
