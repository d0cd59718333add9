package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// harden raises the descriptor limit to what the user may have, and keeps
// other processes of the same user from reading this one's memory, and with it
// the secrets, through /proc or a debugger.
func harden() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < limit.Max {
		limit.Cur = limit.Max
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) // a low limit is served, too
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process not dumpable: %w", err)
	}
	return nil
}

// dieWithParent asks for a SIGTERM when the parent ends. The kernel keeps that
// wish with the thread, so that this thread has to stay.
func dieWithParent() error {
	parent := os.Getppid()
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("ask to die with the parent: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("the parent process has ended already")
	}
	return nil
}

// Positions of env_start and env_end in /proc/self/stat, counted from the
// field behind the command name (proc_pid_stat(5)).
const (
	statEnvStart = 50 - 3
	statEnvEnd   = 51 - 3
)

// scrub overwrites a variable in the block that the kernel shows as
// /proc/<pid>/environ: unsetting a variable changes the process's own copy
// only. Failing leaves the text readable to the same user until harden.
func scrub(name string) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	if i := bytes.LastIndex(stat, []byte(") ")); i >= 0 {
		rest = stat[i+2:]
	}
	fields := bytes.Fields(rest)
	if len(fields) <= statEnvEnd {
		return
	}
	start, err1 := strconv.ParseInt(string(fields[statEnvStart]), 10, 64)
	end, err2 := strconv.ParseInt(string(fields[statEnvEnd]), 10, 64)
	if err1 != nil || err2 != nil || end <= start {
		return
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer func() { _ = mem.Close() }()
	block := make([]byte, end-start)
	if _, err := mem.ReadAt(block, start); err != nil {
		return
	}
	for at := 0; at < len(block); {
		entry, _, _ := bytes.Cut(block[at:], []byte{0})
		if bytes.HasPrefix(entry, []byte(name+"=")) {
			from := at + len(name) + 1
			_, _ = mem.WriteAt(make([]byte, at+len(entry)-from), start+int64(from))
		}
		at += len(entry) + 1
	}
	clear(block)
}
