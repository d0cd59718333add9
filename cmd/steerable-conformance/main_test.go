package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// peerMode turns the test binary into a peer that answers every line with the
// same frame.
const peerMode = "CONFORMANCE_TEST_PEER"

func TestMain(m *testing.M) {
	answer := os.Getenv(peerMode)
	if answer == "" {
		testscript.Main(m, map[string]func(){"steerable-conformance": main})
	}
	fmt.Println(`{"jsonrpc":"2.0","method":"lifecycle.ready","params":{}}`)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if answer == "env" { // says which variables it was given
			answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":[%q,%q]}`, os.Getenv("STEERABLE_AUTHZ"), os.Getenv("https_proxy"))
		}
		fmt.Println(answer)
	}
}

const (
	good     = "A ping is answered.\n-- script --\n> {\"id\":1}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":true}\n"
	goodPeer = `{"jsonrpc":"2.0","id":1,"result":true}`
	badPeer  = `{"jsonrpc":"2.0","id":1,"result":false}`
)

func TestRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dir := filepath.Dir(write("ping.txtar", good))
	envDir := filepath.Dir(write("env.txtar", strings.Replace(good, "true", `["",""]`, 1)))
	broken := filepath.Dir(write("broken.txtar", "nothing"))
	known := write("known.txt", "ping it says no\n")
	for _, tt := range []struct {
		name   string
		args   []string
		peer   string
		code   int
		stdout string
		stderr string
	}{
		{"pass", []string{dir, "--", self}, goodPeer, 0, "1 passed, 0 failed, 0 known\n", ""},
		{"verbose", []string{"-v", dir, "--", self}, goodPeer, 0, "ok   ping\n", ""},
		{"mismatch", []string{dir, "--", self}, badPeer, 1, "result: want true, got false", ""},
		{"known", []string{"-baseline", known, dir, "--", self}, badPeer, 0, "0 passed, 0 failed, 1 known", ""},
		{"baseline is stale", []string{"-baseline", known, dir, "--", self}, goodPeer, 1, "take it off the baseline", ""},
		{"selected", []string{"-run", "^pi", "-timeout", "5s", dir, "--", self}, goodPeer, 0, "1 passed", ""},
		{"settings are withheld", []string{envDir, "--", self}, "env", 0, "1 passed", ""},
		{"nothing selected", []string{"-run", "^po", dir, "--", self}, goodPeer, 2, "", "no transcript"},
		{"bad regexp", []string{"-run", "(", dir, "--", self}, goodPeer, 2, "", "-run: "},
		{"bad timeout", []string{"-timeout", "-1s", dir, "--", self}, goodPeer, 2, "", "-timeout -1s is not between"},
		{"unknown flag", []string{"-x", dir, "--", self}, goodPeer, 2, "", "not defined: -x"},
		{"no command", []string{dir}, goodPeer, 2, "", "want one directory, then -- and the command"},
		{"empty command", []string{dir, "--"}, goodPeer, 2, "", "want one directory"},
		{"no directory", []string{"--", self}, goodPeer, 2, "", "want one directory"},
		{"two directories", []string{dir, dir, "--", self}, goodPeer, 2, "", "want one directory"},
		{"missing baseline", []string{"-baseline", "none", dir, "--", self}, goodPeer, 2, "", "read baseline"},
		{"broken transcript", []string{broken, "--", self}, goodPeer, 2, "", "script is missing"},
		{"missing program", []string{dir, "--", "./no-such-program"}, goodPeer, 2, "", "no-such-program"},
		{"help", []string{"-h"}, goodPeer, 0, "usage: steerable-conformance [flags] DIR -- COMMAND", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			environ := []string{peerMode + "=" + tt.peer, "STEERABLE_AUTHZ=enforce", "https_proxy=http://127.0.0.1:1"}
			code := run(t.Context(), streams{&stdout, &stderr}, environ, tt.args)
			if code != tt.code || !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("%q: want code %d, %q and %q, got %d\nstdout: %s\nstderr: %s", tt.args, tt.code, tt.stdout, tt.stderr, code, &stdout, &stderr)
			}
			if tt.code == 2 && strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("wrong usage is one clear line, got %q", &stderr)
			}
		})
	}
}

// TestRunUpdate shows that -update leaves a transcript that passes.
func TestRunUpdate(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "ping.txtar")
	if err := os.WriteFile(path, []byte(strings.Replace(good, "true", "0", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	environ := []string{peerMode + "=" + goodPeer}
	if code := run(t.Context(), streams{&out, &out}, environ, []string{"-update", dir, "--", self}); code != 0 {
		t.Fatalf("want exit code 0, got %d: %s", code, &out)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != good {
		t.Errorf("want\n%s\ngot\n%s\n%v", good, data, err)
	}
}
