package safety_test

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/safety"
)

// benchCommands are the commands of the development cases.
func benchCommands(b *testing.B) []string {
	b.Helper()
	f, err := os.Open("testdata/classifier-dev.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var commands []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row struct {
			Cmd string `json:"cmd"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			b.Fatal(err)
		}
		commands = append(commands, row.Cmd)
	}
	return commands
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

// BenchmarkClassify reports both built-in sets as ratios to the naive search of
// the 61 expressions, measured in turns in the same run.
func BenchmarkClassify(b *testing.B) {
	commands, search := benchCommands(b), naive(b)
	var took [3]time.Duration
	sets := make([]*safety.Classifier, 2)
	for i, set := range []safety.Set{safety.SetReference, safety.SetDefault} {
		c, err := safety.New(set)
		if err != nil {
			b.Fatal(err)
		}
		sets[i] = c
		for _, command := range commands { // compile what is compiled at first use
			c.Classify(command, safety.PlatformAll)
		}
	}
	for b.Loop() {
		start := time.Now()
		for _, command := range commands {
			search(command)
		}
		took[0] += time.Since(start)
		for i, c := range sets {
			start = time.Now()
			for _, command := range commands {
				c.Classify(command, safety.PlatformAll)
			}
			took[i+1] += time.Since(start)
		}
	}
	calls := float64(b.N * len(commands))
	b.ReportMetric(float64(took[0].Nanoseconds())/calls, "naive-ns/cmd")
	b.ReportMetric(float64(took[1].Nanoseconds())/calls, "reference-ns/cmd")
	b.ReportMetric(float64(took[2].Nanoseconds())/calls, "default-ns/cmd")
	b.ReportMetric(float64(took[1])/float64(took[0]), "reference/naive")
	b.ReportMetric(float64(took[2])/float64(took[0]), "default/naive")
}
