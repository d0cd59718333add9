//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// footprint is what repeated calls could leave behind.
type footprint struct {
	processes, mounts, cgroups, temps int
}

func measure(t *testing.T, u user) footprint {
	t.Helper()
	count := func(pattern string) int { m, _ := filepath.Glob(pattern); return len(m) }
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	return footprint{
		processes: len(processes(program)) + len(processes("sandbox-inner")) + len(processes("/usr/bin/bwrap")),
		mounts:    strings.Count(string(mounts), "\n"),
		cgroups:   count("/sys/fs/cgroup/*/*/"),
		temps:     count("/tmp/steerable-"+strconv.Itoa(int(u.uid))+"/*") + count("/tmp/steerable-probe-*"),
	}
}

// TestNothingAccumulates runs many commands, one after the other and many at
// once, and compares what is there before and after.
func TestNothingAccumulates(t *testing.T) {
	rounds, parallel := 40, 16
	if *long {
		rounds, parallel = 10000, 64
	}
	rungs(t, func(t *testing.T, u user, backend string) {
		dir := u.home(t)
		once := func() {
			cmd := exec.CommandContext(t.Context(), program, "exec", "--backend", backend, "--root", dir, "--", "true")
			cmd.Env, cmd.Dir = []string{"PATH=" + path}, dir
			u.as(cmd)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
		once()
		before := measure(t, u)
		for range rounds / 2 {
			once()
		}
		var wg sync.WaitGroup
		queue := make(chan struct{}, parallel)
		for range rounds / 2 {
			queue <- struct{}{}
			wg.Go(func() { once(); <-queue })
		}
		wg.Wait()
		if left := lingering(t, "\x00"+backend+"\x00--root\x00"+dir); left != nil {
			t.Errorf("still running: %v", left)
		}
		if after := measure(t, u); after != before {
			t.Errorf("before %+v, after %+v", before, after)
		}
	})
}
