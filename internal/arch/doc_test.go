package arch

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table in docs/architecture.md")

// The table in docs/architecture.md stands between these two lines.
const (
	tableBegin = "<!-- imports: kept equal by internal/arch -->\n"
	tableEnd   = "<!-- /imports -->\n"
)

// importTable is the table of who may import whom as the document shows it.
func importTable() string {
	var b strings.Builder
	b.WriteString("| package | may import |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		row := make([]string, 0, len(allowed[name]))
		for _, imp := range slices.Sorted(slices.Values(allowed[name])) {
			row = append(row, "`"+imp+"`")
		}
		if len(row) == 0 {
			row = append(row, "–")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.Join(row, " "))
	}
	return b.String()
}

// TestDocumentedTable: people read the document, the compiler of this package
// reads the table; with -update the document follows the table.
func TestDocumentedTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "architecture.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(data), tableBegin)
	table, tail, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no table between its two marks", path)
	}
	want := importTable()
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("the table of %s differs from the one here; run this test with -update", path)
	}
	if err := os.WriteFile(path, []byte(head+tableBegin+want+tableEnd+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
