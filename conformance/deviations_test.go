package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDifferencesAreDocumented: a transcript of approvals or safety that shows
// something else than the reference names the row of docs/deviations.md that
// says so.
func TestDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "deviations.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if topic, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.HasPrefix(line, "| ") {
			rows[topic] = true
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join("testdata", "confined", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "\n-- ")
		for line := range strings.Lines(head) {
			topic, ok := strings.CutPrefix(strings.TrimSpace(line), "Differs: ")
			if !ok {
				continue
			}
			if named++; !rows[topic] {
				t.Errorf("%s names the row %q, which docs/deviations.md does not have", file, topic)
			}
		}
	}
	if named < 60 {
		t.Errorf("only %d differences are named", named)
	}
}
