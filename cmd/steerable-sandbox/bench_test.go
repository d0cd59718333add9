//go:build linux

package main

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// variant is one way of running /bin/true.
type variant struct {
	name string
	argv []string
}

// variants are the rungs, between two baselines of the same run: nothing, and
// the reference's bwrap profile.
func variants(dir string) []variant {
	ours := func(flags ...string) []string {
		return append(append([]string{program, "exec", "--root", dir}, flags...), "--", "/bin/true")
	}
	pinned := []string{"--network", "on", "--allow", "localhost:49200"}
	return []variant{
		{"raw", []string{"/bin/true"}},
		{"reference-bwrap", []string{
			"/usr/bin/bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--die-with-parent",
			"--tmpfs", "/tmp", "--unshare-net", "--bind", dir, dir, "--", "/bin/true",
		}},
		{"landlock-plain", ours("--backend", "landlock", "--supervise", "off")},
		{"landlock", ours("--backend", "landlock")},
		{"native", ours("--backend", "native")},
		{"native-egress", ours(append(pinned, "--backend", "native")...)},
		{"bwrap", ours("--backend", "bwrap")},
		{"bwrap-egress", ours(append(pinned, "--backend", "bwrap")...)},
	}
}

// BenchmarkTrue interleaves the variants, one run of each per iteration, and
// reports the median of each and its ratio to the reference's profile. Absolute
// times depend on the machine and its load; ratios of one run compare.
func BenchmarkTrue(b *testing.B) {
	dir := b.TempDir()
	list := variants(dir)
	times := make([][]time.Duration, len(list))
	for b.Loop() {
		for i, v := range list {
			cmd := exec.CommandContext(b.Context(), v.argv[0], v.argv[1:]...)
			cmd.Env, cmd.Dir = []string{"PATH=" + path}, dir
			start := time.Now()
			if err := cmd.Run(); err != nil {
				b.Fatalf("%s: %v", v.name, err)
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2]) / float64(time.Millisecond)
	}
	reference := median(1)
	for i, v := range list {
		b.ReportMetric(median(i), v.name+"-ms")
		b.ReportMetric(median(i)/reference, v.name+"-x")
	}
}
