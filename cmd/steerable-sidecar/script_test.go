//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary two programs more: the sidecar, under a path of
// its own, so that what it starts again by its own path is the sidecar too; and
// a host for the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"steerable-sidecar": main,
		"converse":          func() { os.Exit(converse(os.Args[1:])) },
	})
}

// TestScripts uses the program as a person or a host does. The scripts may use,
// beside what testscript offers:
//
//	exits CODE PROGRAM ARG…   run it and compare the exit code
//	refuses CODE ARG…         the sidecar exits with CODE, says why in one line
//	                          on standard error, and prints nothing else
//	json FILE LINE PATH WANT  member PATH (a.b.0.c) of the JSON value on a line,
//	                          counted from 1, is the JSON value WANT
//	frames [-marked] FILE     every line is a frame, after a mark < or >
//	exec converse FILE CMD…   write the requests of FILE to CMD, each after the
//	                          answer to the one before; a line SIGTERM is sent
//	                          as a signal
//
// The condition confined holds where something can confine a command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			return os.MkdirAll(home, 0o700)
		},
		Condition: func(name string) (bool, error) {
			if name == "confined" {
				return confinable(t), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits, "refuses": scriptRefuses, "json": scriptJSON, "frames": scriptFrames,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// confinable reports whether bwrap can make namespaces here, which it finds out
// without the code under test.
func confinable(t *testing.T) bool {
	return exec.CommandContext(t.Context(), "bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").Run() == nil
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%q: exit code %d, want %d", args[1:], got, want)
	}
}

func scriptRefuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: refuses CODE ARG…")
	}
	scriptExits(ts, false, append([]string{args[0], "steerable-sidecar"}, args[1:]...))
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("%q printed %q", args[1:], out)
	}
	line, rest, whole := strings.Cut(ts.ReadFile("stderr"), "\n")
	if !strings.HasPrefix(line, "steerable-") || rest != "" || !whole {
		ts.Fatalf("%q: want one line of the program on standard error", args[1:])
	}
}

func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: json FILE LINE PATH WANT")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
	if n < 1 || n > len(lines) {
		ts.Fatalf("line %d of %d", n, len(lines))
	}
	var got, want any
	ts.Check(json.Unmarshal([]byte(lines[n-1]), &got))
	if err := json.Unmarshal([]byte(args[3]), &want); err != nil {
		ts.Fatalf("%s is no JSON: %v", args[3], err)
	}
	for name := range strings.SplitSeq(args[2], ".") {
		got = member(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		ts.Fatalf("%s of %s (-want +got):\n%s", args[2], lines[n-1], diff)
	}
}

// member is a member of an object or an element of an array, "absent" if there
// is none.
func member(value any, name string) any {
	switch v := value.(type) {
	case map[string]any:
		if m, ok := v[name]; ok {
			return m
		}
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return "absent"
}

// frame is what every frame on the wire is made of.
type frame struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// valid reports whether it is a request, a notification or a response.
func (f frame) valid() bool {
	answers := 0
	for _, part := range []json.RawMessage{f.Result, f.Error} {
		if part != nil {
			answers++
		}
	}
	if f.Method == "" {
		return f.JSONRPC == "2.0" && f.ID != nil && answers == 1
	}
	return f.JSONRPC == "2.0" && answers == 0
}

func scriptFrames(ts *testscript.TestScript, neg bool, args []string) {
	marked := len(args) == 2 && args[0] == "-marked"
	if neg || !marked && len(args) != 1 {
		ts.Fatalf("usage: frames [-marked] FILE")
	}
	text, whole := strings.CutSuffix(ts.ReadFile(args[len(args)-1]), "\n")
	if !whole {
		ts.Fatalf("no frame, or the last line is not whole")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if marked {
			direction, rest, _ := strings.Cut(line, " ")
			if direction != "<" && direction != ">" {
				ts.Fatalf("no direction: %q", line)
			}
			line = rest
		}
		var f frame
		if err := json.Unmarshal([]byte(line), &f); err != nil || !f.valid() {
			ts.Fatalf("no frame (%v): %q", err, line)
		}
	}
}

// converse is a host that waits for its answers: a host that closes the pipe
// after its last request cancels what it asked for. It returns the exit code of
// the program.
func converse(args []string) int {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return complain(err)
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return complain(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return complain(err)
	}
	if err := cmd.Start(); err != nil {
		return complain(err)
	}
	answers := bufio.NewReader(io.TeeReader(out, os.Stdout))
	for line := range bytes.Lines(data) {
		if err := exchange(cmd, in, answers, bytes.TrimSpace(line)); err != nil {
			return complain(err)
		}
	}
	if err := in.Close(); err != nil {
		return complain(err)
	}
	if _, err := io.Copy(io.Discard, answers); err != nil {
		return complain(err)
	}
	if err := cmd.Wait(); err != nil {
		return complain(err)
	}
	return cmd.ProcessState.ExitCode()
}

// exchange writes one line and reads until its answer came; a signal is answered by
// the end of output.
func exchange(cmd *exec.Cmd, in io.Writer, answers *bufio.Reader, line []byte) error {
	var asked frame
	if string(line) == "SIGTERM" {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, answers)
		return err
	}
	if err := json.Unmarshal(line, &asked); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(in, "%s\n", line); err != nil {
		return err
	}
	for {
		text, err := answers.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("no answer to %s: %w", line, err)
		}
		var f frame
		if err := json.Unmarshal(text, &f); err != nil {
			return err
		}
		if f.Method == "" && bytes.Equal(f.ID, asked.ID) {
			return nil
		}
	}
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "converse:", err)
	return 99
}
