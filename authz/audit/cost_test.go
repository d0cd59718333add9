//go:build !race

// The race detector watches our code and not the assembly of the hash: a ratio
// of the two says nothing under it.

package audit_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/steerable-go/sidecar/authz/audit"
)

// Appending costs little more than the hash it needs. The aim is 1.6 times raw
// SHA-256 of the same bytes; the gate is wider because machines are noisy.
func TestAppendCostIsTheHash(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	_, head, _ := audit.Head{}.Next(benchFields())
	e, _, err := head.Next(benchFields())
	if err != nil {
		t.Fatal(err)
	}
	canonical := e.Record().AppendCanonical(nil)
	raw := func() { sha256.Sum256(canonical) }
	fields := benchFields()
	next := func() { _, head, _ = head.Next(fields) }
	best := map[string]time.Duration{"raw": time.Hour, "next": time.Hour}
	const rounds, batch = 400, 250 // short ones: some of them are undisturbed
	for range rounds {             // take turns, so that a busy moment meets both
		for name, f := range map[string]func(){"raw": raw, "next": next} {
			start := time.Now()
			for range batch {
				f()
			}
			best[name] = min(best[name], time.Since(start))
		}
	}
	ratio := float64(best["next"]) / float64(best["raw"])
	t.Logf("sha256 %v, append %v, ratio %.2f", best["raw"]/batch, best["next"]/batch, ratio)
	if ratio > 3 {
		t.Errorf("append takes %.1f times its hash", ratio)
	}
}
