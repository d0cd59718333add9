package auditlog

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// commits measures records per second with so many callers at once.
func commits(t testing.TB, l *Log, callers, each int) float64 {
	t.Helper()
	start := time.Now()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				if _, err := l.Append(t.Context(), record("u1", "a")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	return float64(callers*each) / time.Since(start).Seconds()
}

// perRecord measures records per second of one fdatasync for each, without
// anything else: what group commit is compared with.
func perRecord(t testing.TB, n int) float64 {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := make([]byte, 350)
	start := time.Now()
	for range n {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
		if err := datasync(f); err != nil {
			t.Fatal(err)
		}
	}
	return float64(n) / time.Since(start).Seconds()
}

// Flushing once for sixty-four records is worth its code. The aim is 15 times
// the rate of a flush per record; the gate is wider because disks are shared,
// and open where flushing costs next to nothing, as in memory.
func TestGroupCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	single, group := 0.0, 0.0
	for range 3 {
		single = max(single, perRecord(t, 200))
		group = max(group, commits(t, newLog(t, Options{}), 256, 20))
	}
	t.Logf("flush per record %.0f/s, group commit %.0f/s, %.1f times", single, group, group/single)
	if single < 20_000 && group < 3*single {
		t.Errorf("group commit reaches only %.1f times the rate of single flushes", group/single)
	}
}

func BenchmarkFlushPerRecord(b *testing.B) {
	for b.Loop() {
		perRecord(b, 100)
	}
	b.ReportMetric(float64(100*b.N)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkAppend(b *testing.B) {
	for _, sync := range []Sync{SyncAlways, SyncNever} {
		for _, callers := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("sync%d/callers%d", sync, callers), func(b *testing.B) {
				l := newLog(b, Options{Sync: sync})
				for b.Loop() {
					commits(b, l, callers, 10)
				}
				b.ReportMetric(float64(10*callers*b.N)/b.Elapsed().Seconds(), "records/s")
			})
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	dir := b.TempDir()
	commits(b, newLog(b, Options{Dir: dir, Sync: SyncNever}), 64, 200)
	b.ResetTimer()
	for b.Loop() {
		if rep, err := Verify(VerifyOptions{Dir: dir, Owner: "u1"}); err != nil || !rep.OK {
			b.Fatal(rep, err)
		}
	}
	b.ReportMetric(float64(64*200*b.N)/b.Elapsed().Seconds(), "records/s")
}
