//go:build linux

package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// calls is how many commands TestNothingAccumulates runs, and how many of them
// at once.
func calls() (total, atOnce int) {
	if *long {
		return 10000, 64
	}
	return 500, 64
}

// target is one way of running a command: a rung, for a user, in a directory.
type target struct {
	u            user
	backend, dir string
}

func targets(t *testing.T) []target {
	t.Helper()
	var all []target
	for _, u := range users() {
		for _, backend := range []string{"bwrap", "native", "landlock"} {
			if available(t, u, backend) {
				all = append(all, target{u, backend, u.home(t)})
			}
		}
	}
	if len(all) == 0 {
		t.Skip("no rung works here")
	}
	return all
}

// TestNothingAccumulates runs many commands, many at once and every rung beside
// the others, and compares what is there before and after.
func TestNothingAccumulates(t *testing.T) {
	all := targets(t)
	total, atOnce := calls()
	once := func(at target) {
		cmd := exec.CommandContext(t.Context(), program, "exec", "--backend", at.backend, "--root", at.dir, "--", "true")
		cmd.Env, cmd.Dir = []string{"PATH=" + path}, at.dir
		at.u.as(cmd)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s %s: %v: %s", at.u.name, at.backend, err, out)
		}
	}
	for _, at := range all {
		once(at)
	}
	before, start := traces(t, all), time.Now()
	var wg sync.WaitGroup
	queue := make(chan struct{}, atOnce)
	for i := range total {
		queue <- struct{}{}
		wg.Go(func() { once(all[i%len(all)]); <-queue })
	}
	wg.Wait()
	took := time.Since(start)
	left := remaining(t, all, before)
	for trace := range left {
		t.Errorf("left behind: %s", trace)
	}
	t.Logf("%d calls on %d rungs, %d at once, in %v", total, len(all), atOnce, took.Round(time.Millisecond))
}

// remaining are the traces that were not there before and do not go away. What
// somebody else on the machine does goes away; a leak stays.
func remaining(t *testing.T, all []target, before map[string]bool) map[string]bool {
	t.Helper()
	left := traces(t, all)
	maps.DeleteFunc(left, func(trace string, _ bool) bool { return before[trace] })
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for len(left) > 0 {
		select {
		case <-tick.C:
			now := traces(t, all)
			maps.DeleteFunc(left, func(trace string, _ bool) bool { return !now[trace] })
		case <-deadline.C:
			return left
		}
	}
	return left
}

// traces are what calls could leave behind: processes, mounts, control groups,
// temporary files, and descriptors of this process.
func traces(t *testing.T, all []target) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, pattern := range []string{
		"/sys/fs/cgroup/*/", "/sys/fs/cgroup/*/*/", "/sys/fs/cgroup/*/*/*/",
		"/tmp/steerable-[0-9]*/*", "/tmp/steerable-probe-*", "/var/tmp/*", "/dev/shm/*", "/run/*",
		filepath.Dir(program) + "/*", "/proc/self/fd/*",
	} {
		paths, err := filepath.Glob(pattern)
		must(t, err)
		for _, path := range paths {
			found[path] = true
		}
	}
	for _, at := range all {
		entries, err := os.ReadDir(at.dir)
		must(t, err)
		for _, entry := range entries {
			found[filepath.Join(at.dir, entry.Name())] = true
		}
		for _, process := range processesIn(at.dir) {
			found[process] = true
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	for line := range strings.Lines(string(mounts)) {
		found["mount "+line] = true
	}
	return found
}

// processesIn lists the processes that run the launcher, work in dir, or name
// it on their command lines, as those of bwrap do.
func processesIn(dir string) []string {
	found := processes(dir)
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		exe, err := os.Readlink(link)
		cwd, cwdErr := os.Readlink(filepath.Join(filepath.Dir(link), "cwd"))
		if errors.Join(err, cwdErr) == nil && (exe == program || cwd == dir) {
			found = append(found, filepath.Dir(link))
		}
	}
	return found
}
