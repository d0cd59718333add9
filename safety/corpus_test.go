package safety

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is one graded command of a corpus.
type row struct {
	Cmd      string   `json:"cmd"`
	Platform string   `json:"platform"`
	Want     Severity `json:"want"`
	Group    string   `json:"group"`
	// Strict rows hold dangerous text only as data.
	Strict bool `json:"strict"`
}

// corpora are the files of graded commands.
var corpora = []string{"classifier-dev.jsonl", "heldout.jsonl", "heldout2.jsonl", "heldout3.jsonl", "edges.jsonl", "escapes.jsonl"}

// readLines decodes a JSON Lines file of testdata.
func readLines[T any](tb testing.TB, name string) []T {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []T
	for s := bufio.NewScanner(f); s.Scan(); {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			tb.Fatalf("%s: %v in %s", name, err, s.Text())
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		tb.Fatalf("%s holds nothing", name)
	}
	return out
}

func readRows(tb testing.TB, name string) []row { return readLines[row](tb, name) }

func newClassifier(tb testing.TB, set Set) *Classifier {
	tb.Helper()
	c, err := New(set)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// wellFormed checks what every result must satisfy.
func wellFormed(c *Classifier, r Result) error {
	want := Safe
	last := -1
	for _, id := range r.MatchedRules {
		severity := Critical // of too_complex
		switch i, ok := c.byID[id]; {
		case ok && i <= last:
			return fmt.Errorf("rules out of order or repeated: %v", r.MatchedRules)
		case ok:
			last, severity = i, c.rules[i].Severity
		case id != RuleTooComplex:
			severity = Warning
		}
		if severity.AtLeast(want) {
			want = severity
		}
	}
	if !r.Severity.AtLeast(want) || r.MatchedRules == nil || r.Severity == Safe && len(r.MatchedRules) > 0 || r.Severity != Safe && len(r.MatchedRules) == 0 {
		return fmt.Errorf("severity %s does not fit rules %v", r.Severity, r.MatchedRules)
	}
	return nil
}

// compareResults describes how two results differ; empty if they do not.
func compareResults(want, got Result) string { return cmp.Diff(want, got) }

// scores compares grades with the wanted ones.
type scores struct {
	rows, exact              int
	critical, criticalCaught int
	safe, safeBlocked        int
	strict, strictRight      int
}

func (s *scores) add(r row, got Severity) {
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	s.rows++
	count(&s.exact, got == r.Want)
	count(&s.critical, r.Want == Critical)
	count(&s.criticalCaught, r.Want == Critical && got == Critical)
	count(&s.safe, r.Want == Safe)
	count(&s.safeBlocked, r.Want == Safe && got == Critical)
	count(&s.strict, r.Strict)
	count(&s.strictRight, r.Strict && got == Safe)
}

// share is part/whole, 1 if there is nothing to share.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// The development rows come from public reports and peers' rule sets; the
// held-out rows were written, and graded, before the code had seen them. Where a
// held-out grade turned out wrong, "first" keeps it and "why" says what was. The
// escapes are ways of starting one command from another.
func TestDefaultSetOnCorpora(t *testing.T) {
	c := newClassifier(t, SetDefault)
	for _, tt := range []struct {
		file          string
		exact, recall float64
	}{
		{"classifier-dev.jsonl", .97, .98},
		{"heldout.jsonl", .97, .97},
		{"heldout2.jsonl", .97, .97},
		{"heldout3.jsonl", .97, .97},
		{"edges.jsonl", .97, .97},
		{"escapes.jsonl", .97, .97},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var s scores
			for _, r := range readRows(t, tt.file) {
				got := c.Explain(r.Cmd, Platform(r.Platform))
				s.add(r, got.Severity)
				if got.Severity != r.Want {
					t.Logf("%s (%s): %q is %s, want %s: %v", r.Group, r.Platform, r.Cmd, got.Severity, r.Want, got.Matches)
				}
			}
			t.Logf("%+v", s)
			if got := share(s.exact, s.rows); got < tt.exact {
				t.Errorf("%.3f of the grades are right, want %.3f", got, tt.exact)
			}
			if got := share(s.criticalCaught, s.critical); got < tt.recall {
				t.Errorf("%.3f of the critical commands are caught, want %.3f", got, tt.recall)
			}
			if got := share(s.safeBlocked, s.safe); got > .01 {
				t.Errorf("%.3f of the safe commands are blocked, want at most .01", got)
			}
			if got := share(s.strictRight, s.strict); got < .97 {
				t.Errorf("%.3f of the commands that only mention danger are safe, want .97", got)
			}
		})
	}
}

// conformanceRow is an expectation of the reference.
type conformanceRow struct {
	Cmd          string   `json:"cmd"`
	Severity     Severity `json:"severity"`
	MatchedRules []string `json:"matchedRules"`
}

func TestReferenceSetConformance(t *testing.T) {
	c := newClassifier(t, SetReference)
	rows := readLines[conformanceRow](t, "safety-conformance.jsonl")
	if len(rows) != 22 {
		t.Fatalf("%d cases, want 22", len(rows))
	}
	for _, r := range rows {
		if diff := cmp.Diff(Result{r.Severity, r.MatchedRules}, c.Classify(r.Cmd, "")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", r.Cmd, diff)
		}
	}
}

// naive evaluates the reference's rule table the slow way: every expression on
// the whole line.
func naive(tb testing.TB) func(cmd string) Result {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "safety-rules.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var table []struct{ ID, Severity, Platform, Pattern string }
	if err := json.Unmarshal(data, &table); err != nil {
		tb.Fatal(err)
	}
	exprs := make([]*regexp.Regexp, len(table))
	for i, r := range table {
		if r.Platform == "windows" {
			r.Pattern = "(?i)" + r.Pattern
		}
		exprs[i] = regexp.MustCompile(r.Pattern)
	}
	return func(cmd string) Result {
		cmd = strings.TrimSpace(cmd)
		out := Result{Severity: Safe, MatchedRules: []string{}}
		for i, r := range table {
			if cmd == "" || !exprs[i].MatchString(cmd) {
				continue
			}
			out.MatchedRules = append(out.MatchedRules, r.ID)
			if s := Severity(r.Severity); s.AtLeast(out.Severity) {
				out.Severity = s
			}
		}
		return out
	}
}

func TestReferenceSetEqualsNaiveEvaluation(t *testing.T) {
	c, slow := newClassifier(t, SetReference), naive(t)
	for _, file := range corpora {
		for _, r := range readRows(t, file) {
			for _, p := range []Platform{"", PlatformUnix, PlatformWindows} { // it never filters
				if diff := cmp.Diff(slow(r.Cmd), c.Classify(r.Cmd, p)); diff != "" {
					t.Errorf("%q on %q (-want +got):\n%s", r.Cmd, p, diff)
				}
			}
		}
	}
}

// FuzzReference compares the reference set, with its scan for literals, with the
// naive evaluation.
func FuzzReference(f *testing.F) {
	addCorpus(f)
	f.Add("DIſM /online \u212aill -9", true) // letters that fold to s and k
	f.Add("ſrm a sud\u212ashred b", false)   // and are none of a word
	c, slow := newClassifier(f, SetReference), naive(f)
	f.Fuzz(func(t *testing.T, cmd string, _ bool) {
		if len(cmd) > MaxLine {
			return
		}
		if diff := cmp.Diff(slow(cmd), c.Classify(cmd, PlatformAll)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", cmd, diff)
		}
	})
}
