package safety_test

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/safety"
)

// benchRow is a command of the development cases.
type benchRow struct {
	Cmd      string          `json:"cmd"`
	Platform safety.Platform `json:"platform"`
}

// benchRows are the development cases.
func benchRows(b *testing.B) []benchRow {
	b.Helper()
	f, err := os.Open("testdata/classifier-dev.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var rows []benchRow
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row benchRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			b.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// naive compiles the reference's rules and searches each of them in a command,
// as the reference does.
func naive(b *testing.B) func(string) int {
	b.Helper()
	rules, err := safety.Builtins(safety.SetReference)
	if err != nil {
		b.Fatal(err)
	}
	var all []*regexp.Regexp
	for _, r := range rules {
		expr := r.Pattern
		if r.Platform == safety.PlatformWindows {
			expr = "(?i)" + expr
		}
		all = append(all, regexp.MustCompile(expr))
	}
	return func(command string) (n int) {
		for _, re := range all {
			if re.MatchString(strings.TrimSpace(command)) {
				n++
			}
		}
		return n
	}
}

// warmClassifier returns a classifier that has compiled what is compiled at first
// use.
func warmClassifier(b *testing.B, set safety.Set, rows []benchRow) *safety.Classifier {
	b.Helper()
	c, err := safety.New(set)
	if err != nil {
		b.Fatal(err)
	}
	for _, row := range rows {
		c.Classify(row.Cmd, safety.PlatformAll)
	}
	return c
}

// BenchmarkClassify reports both built-in sets as ratios to the naive search of
// the 61 expressions, measured in turns in the same run; the default set with
// all platforms and, as default-row, with the platform of each command.
func BenchmarkClassify(b *testing.B) {
	rows, search := benchRows(b), naive(b)
	reference, set := warmClassifier(b, safety.SetReference, rows), warmClassifier(b, safety.SetDefault, rows)
	kinds := []struct {
		name string
		run  func(benchRow)
		took time.Duration
	}{
		{name: "naive", run: func(r benchRow) { search(r.Cmd) }},
		{name: "reference", run: func(r benchRow) { reference.Classify(r.Cmd, safety.PlatformAll) }},
		{name: "default", run: func(r benchRow) { set.Classify(r.Cmd, safety.PlatformAll) }},
		{name: "default-row", run: func(r benchRow) { set.Classify(r.Cmd, r.Platform) }},
	}
	for b.Loop() {
		for i := range kinds {
			start := time.Now()
			for _, row := range rows {
				kinds[i].run(row)
			}
			kinds[i].took += time.Since(start)
		}
	}
	for _, k := range kinds {
		b.ReportMetric(float64(k.took.Nanoseconds())/float64(b.N*len(rows)), k.name+"-ns/cmd")
		if k.name != "naive" {
			b.ReportMetric(float64(k.took)/float64(kinds[0].took), k.name+"/naive")
		}
	}
}

// BenchmarkClassifyTail reports the time that 99 of 100 calls of the default set
// stay under.
func BenchmarkClassifyTail(b *testing.B) {
	rows := benchRows(b)
	c := warmClassifier(b, safety.SetDefault, rows)
	var took []time.Duration
	for b.Loop() {
		for _, row := range rows {
			start := time.Now()
			c.Classify(row.Cmd, safety.PlatformAll)
			took = append(took, time.Since(start))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
}

// BenchmarkClassifyLong reports, for lines of 64 KiB made of one piece, the time
// of a line and how much longer a KiB of it takes than of a line of 1 KiB.
func BenchmarkClassifyLong(b *testing.B) {
	for name, piece := range map[string]string{
		"words": "word ", "options": "-a --b=c ", "pipes": "cat x | ", "lists": "ls -la; ", "quotes": `"a b" 'c d' `,
		"variables": "echo $a ${b}; ", "substitutions": "echo $(ls); ", "downloads": "curl ", "paths": "rm -r a/b/c; ", "escapes": `\a\ b `, "windows": `del c:\x & `,
	} {
		b.Run(name, func(b *testing.B) {
			c := warmClassifier(b, safety.SetDefault, nil)
			fill := func(size int) string { return strings.Repeat(piece, size/len(piece)) + "true" }
			short, long := fill(1<<10), fill(safety.MaxLine-8)
			var took [2]time.Duration
			for b.Loop() {
				start := time.Now()
				for range 64 {
					c.Classify(short, safety.PlatformAll)
				}
				took[0] += time.Since(start)
				start = time.Now()
				c.Classify(long, safety.PlatformAll)
				took[1] += time.Since(start)
			}
			b.ReportMetric(float64(took[1].Microseconds())/1e3/float64(b.N), "64KiB-ms")
			b.ReportMetric(float64(took[1])/float64(took[0]), "64KiB/64x1KiB")
		})
	}
}
