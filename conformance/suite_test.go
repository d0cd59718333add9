package conformance

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// writeDir writes transcripts into a new directory.
func writeDir(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		text := "Proves something.\n-- script --\n" + script
		if err := os.WriteFile(filepath.Join(dir, name+".txtar"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSuite(t *testing.T) {
	wrong := strings.Replace(okStep, "true", "false", 1)
	dir := writeDir(t, map[string]string{"a_good": pingStep + okStep, "b_bad": pingStep + wrong, "c_good": okReady()})
	for _, tt := range []struct {
		name     string
		run      string
		baseline Baseline
		verbose  bool
		want     Summary
		report   []string
	}{
		{"no baseline", "", nil, false, Summary{2, 1, 0}, []string{"FAIL b_bad\n", "result.ok: want false, got true", "2 passed, 1 failed, 0 known"}},
		{"known failure", "", Baseline{"b_bad": "says no"}, true, Summary{2, 0, 1}, []string{"ok   a_good\n", "known b_bad: says no", "2 passed, 0 failed, 1 known"}},
		{"stale baseline", "", Baseline{"b_bad": "x", "a_good": "was bad once"}, false, Summary{1, 1, 1}, []string{"FAIL a_good: it passes, take it off the baseline (was bad once)"}},
		{"baseline without transcript", "", Baseline{"b_bad": "x", "gone": "y"}, false, Summary{2, 1, 1}, []string{"FAIL gone: the baseline names it"}},
		{"selection", "^a_", Baseline{"b_bad": "x"}, false, Summary{1, 0, 0}, []string{"1 passed, 0 failed, 0 known"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Suite{Player: fakeCommand(t, "good"), Dir: dir, Baseline: tt.baseline, Verbose: tt.verbose}
			if tt.run != "" {
				s.Run = regexp.MustCompile(tt.run)
			}
			var report bytes.Buffer
			got, err := s.Play(t.Context(), &report)
			if err != nil || got != tt.want {
				t.Errorf("want %v, got %v, %v", tt.want, got, err)
			}
			for _, part := range tt.report {
				if !strings.Contains(report.String(), part) {
					t.Errorf("want %q in the report, got\n%s", part, &report)
				}
			}
		})
	}
}

func okReady() string {
	return `< {"jsonrpc":"2.0","method":"lifecycle.ready","params":{}}` + "\n"
}

func TestSuiteErrors(t *testing.T) {
	good := writeDir(t, map[string]string{"a": pingStep + okStep})
	broken := writeDir(t, map[string]string{"a": "nonsense\n"})
	for _, tt := range []struct {
		name string
		s    Suite
		want string
	}{
		{"empty directory", Suite{Dir: t.TempDir()}, "no transcripts in"},
		{"broken transcript", Suite{Dir: broken}, "unknown step"},
		{"nothing selected", Suite{Dir: good, Run: regexp.MustCompile("zzz")}, "called like zzz"},
		{"no command", Suite{Dir: good}, "no command"},
		{"bad directory pattern", Suite{Dir: "[", Player: fakeCommand(t, "good")}, "list transcripts"},
	} {
		if _, err := tt.s.Play(t.Context(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: want an error with %q, got %v", tt.name, tt.want, err)
		}
	}
}

func TestUpdate(t *testing.T) {
	for _, tt := range []struct {
		name, mode, script, want string
	}{
		{"value", "good", pingStep + strings.Replace(okStep, "true", "false", 1), pingStep + okStep},
		{
			"matchers stay", "extra field",
			pingStep + `< {"jsonrpc":"2.0","id":"<int>","result":{"ok":false,"gone":1,"never":"<absent>"}}` + "\n",
			pingStep + `< {"jsonrpc":"2.0","id":"<int>","result":{"ok":true,"more":1,"never":"<absent>"}}` + "\n",
		},
		{
			"open stays open", "extra field",
			pingStep + `< {"jsonrpc":"2.0","id":1,"result":{"ok":false,"...":"..."}}` + "\n",
			pingStep + `< {"jsonrpc":"2.0","id":1,"result":{"ok":true,"...":"..."}}` + "\n",
		},
		{"frame that did not come", "good", pingStep + okStep + "# said\n" + okStep, pingStep + okStep + "# said\n"},
		{"frame too many", "extra frame", pingStep + okStep, pingStep + okStep + okStep},
		{
			"frame too many before an exit", "good", pingStep + "! eof\n! exit 0 within 2s\n",
			pingStep + "! eof\n! exit 0 within 2s\n" + okStep + "< " + goodbye + "\n",
		},
		{"optional frame", "good", pingStep + `<? {"jsonrpc":"2.0","method":"x"}` + "\n" + strings.Replace(okStep, "true", "0", 1), pingStep + `<? {"jsonrpc":"2.0","method":"x"}` + "\n" + okStep},
		{
			"pieces", "pieces", pingStep + `<+ {"jsonrpc":"2.0","method":"stream.chunk","params":{"delta":"<join:Hello world>"}}` + "\n" + strings.Replace(okStep, "true", "0", 1),
			pingStep + `<+ {"jsonrpc":"2.0","method":"stream.chunk","params":{"delta":"<join:Hello world>"}}` + "\n" + okStep,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := writeDir(t, map[string]string{"a": tt.script})
			s := Suite{Player: fakeCommand(t, tt.mode), Dir: dir, Update: true}
			s.Player.Timeout = 2 * time.Second
			var report bytes.Buffer
			if sum, err := s.Play(t.Context(), &report); err != nil || sum.Failed > 0 || !strings.Contains(report.String(), "rewrote a\n") {
				t.Fatalf("want a rewritten transcript, got %v, %v\n%s", sum, err, &report)
			}
			data, err := os.ReadFile(filepath.Join(dir, "a.txtar"))
			if err != nil {
				t.Fatal(err)
			}
			if _, got, _ := strings.Cut(string(data), "-- script --\n"); got != tt.want {
				t.Errorf("want\n%s\ngot\n%s", tt.want, got)
			}
		})
	}
}

// TestUpdateRefuses shows what -update does not paper over.
func TestUpdateRefuses(t *testing.T) {
	laned := strings.Replace(strings.Replace(okStep, "< ", "<~ ", 1), "true", "false", 1)
	for name, tt := range map[string]struct{ mode, script string }{
		"invalid frame": {"print", pingStep + okStep},
		"lanes":         {"good", pingStep + laned},
		"hang":          {"hang at eof", pingStep + strings.Replace(okStep, "true", "false", 1)},
	} {
		dir := writeDir(t, map[string]string{"a": tt.script})
		before, _ := os.ReadFile(filepath.Join(dir, "a.txtar"))
		s := Suite{Player: fakeCommand(t, tt.mode), Dir: dir, Update: true}
		s.Player.Timeout = 2 * time.Second
		var report bytes.Buffer
		sum, err := s.Play(t.Context(), &report)
		if err != nil || sum.Failed != 1 || !strings.Contains(report.String(), "cannot be rewritten") {
			t.Errorf("%s: want a failure, got %v, %v\n%s", name, sum, err, &report)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, "a.txtar")); !bytes.Equal(before, after) {
			t.Errorf("%s: the file must stay as it was", name)
		}
	}
}
