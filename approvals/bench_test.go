package approvals_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/steerable-go/sidecar/approvals"
)

// BenchmarkCheck measures a call that a rule allows: both files are read from
// disk and compared each time.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			list := strings.TrimSuffix(strings.Repeat(denyRM+",", n-1)+allowStatus, ",")
			policy := filepath.Join(dir, "policy.json")
			if err := os.WriteFile(policy, []byte(rules(list)), 0o600); err != nil {
				b.Fatal(err)
			}
			gate := approvals.NewGate(approvals.Options{Mode: approvals.GateHost, PolicyPath: policy, StorePath: filepath.Join(dir, "approvals.json"), Matcher: words{}})
			req := shell("git status --short")
			b.ReportAllocs()
			for b.Loop() {
				if v := gate.Check(req); v.Outcome != approvals.OutcomeAllow {
					b.Fatal(v)
				}
			}
		})
	}
}

// BenchmarkAdd measures a durable answer: lock, write, two flushes, rename.
func BenchmarkAdd(b *testing.B) {
	p := approvals.OpenPolicy(filepath.Join(b.TempDir(), "policy.json"), at)
	n := 0
	for b.Loop() {
		n++
		if err := p.Add(b.Context(), approvals.Rule{Tool: "bash", CommandPrefix: []string{fmt.Sprint(n % 50)}}); err != nil {
			b.Fatal(err)
		}
	}
}
