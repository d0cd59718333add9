//go:build linux

package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table in docs/threat-model.md")

// expected says which operations succeed inside, and where: "all" rungs, or
// those with "ns" (namespaces). Everything else must be denied on every rung,
// for root and for an ordinary user.
func expected() map[string]string {
	m := map[string]string{}
	for where, names := range map[string]string{
		"all": `write_root rename_between_directories link_between_directories fifo_in_root chmod_root utime_root
			write_through_existing_hard_link
			dev_null dev_zero dev_full dev_urandom dev_ptmx tmp
			unix_socketpair unix_own_server own_child_ptrace memfd_exec`,
		// Private: its own loopback device, its own shared memory. umount and
		// the rest are denied by the filter.
		"ns": `tcp_bind tcp_listen_autobind icmp_socket netlink_socket dev_shm sysv_shared_memory`,
		// Visible, and nothing more; reading /proc is part of reading.
		"landlock": `see_host_process`,
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = where
		}
	}
	return m
}

// absent are socket families that a kernel may not have, or datagrams that go
// nowhere on a private loopback device: success there is as good as denial.
func absent(backend, name string) bool {
	lonely := map[string]bool{
		// On a loopback device of their own these reach nobody.
		"udp_connect": true, "udp_sendto": true, "udplite_connect": true, "sctp_socket": true,
		"raw_icmp_socket": false, "mptcp_connect": false,
		// Depends on net.ipv4.ping_group_range.
		"icmp_socket": true,
	}
	return backend != "landlock" && lonely[name]
}

func TestOperations(t *testing.T) {
	want := expected()
	results := map[string]map[string]bool{} // column, operation
	rungs(t, func(t *testing.T, u user, backend string) {
		got := runProbe(t, u, backend)
		if len(got) < 99 {
			t.Fatalf("%d operations were tried, want at least 99", len(got))
		}
		results[u.name+" "+backend] = got
		for name, ok := range got {
			where := want[name]
			allowed := where == "all" || where == "ns" && backend != "landlock" || where == "landlock" && backend == "landlock"
			if ok != allowed && !absent(backend, name) {
				t.Errorf("%s: allowed %v, want %v", name, ok, allowed)
			}
		}
	})
	if !t.Failed() {
		document(t, results)
	}
}

// runProbe runs the probe inside and returns which operations succeeded.
func runProbe(t *testing.T, u user, backend string) map[string]bool {
	t.Helper()
	r := newRig(t, u)
	must(t, os.Link(filepath.Join(r.out, "victim"), filepath.Join(r.root, "prelinked")))
	probe := filepath.Join(filepath.Dir(program), "probe-operations")
	if strings.HasPrefix(probe, "/tmp/") { // hidden inside
		image, err := os.ReadFile(probe)
		must(t, err)
		probe = filepath.Join(r.root, "probe-operations")
		must(t, os.WriteFile(probe, image, 0o755))
	}
	args := append([]string{"exec", "--backend", backend, "--root", r.root, "--protect=off"}, r.passed()...)
	cmd := exec.CommandContext(t.Context(), program, append(args, "--", probe)...)
	cmd.Env, cmd.Dir = r.env, r.root
	u.as(cmd)
	leak(t, cmd, r.out)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("%v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	got := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(line, "\t")
		got[f[0]] = f[1] == "ok"
		if want := expected()[f[0]]; (want == "all") != (f[1] == "ok") {
			t.Logf("%s %s", f[0], strings.TrimSpace(strings.Join(f[1:], " ")))
		}
	}
	return got
}

// Markers around the generated table.
const (
	tableBegin = "<!-- operations: begin, written by go test ./cmd/steerable-sandbox -run TestOperations -update -->\n"
	tableEnd   = "<!-- operations: end -->\n"
)

// document compares the table in the threat model with what happened.
func document(t *testing.T, results map[string]map[string]bool) {
	t.Helper()
	columns := []string{"root bwrap", "root native", "root landlock", "user bwrap", "user native", "user landlock"}
	for _, c := range columns {
		if results[c] == nil {
			t.Logf("the table needs all of %v; %s did not run", columns, c)
			return
		}
	}
	var b strings.Builder
	b.WriteString(tableBegin + "| operation | " + strings.Join(columns, " | ") + " |\n|---|---|---|---|---|---|---|\n")
	for _, op := range operations() {
		b.WriteString("| " + op.name)
		for _, c := range columns {
			cell := "denied"
			if results[c][op.name] {
				cell = "works"
			}
			if backend := strings.Fields(c)[1]; absent(backend, op.name) {
				cell = "own loopback only"
			}
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
	file := filepath.Join("..", "..", "docs", "threat-model.md")
	text, err := os.ReadFile(file)
	must(t, err)
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", file)
	}
	now := before + b.String() + tableEnd + after
	if now == string(text) {
		return
	}
	if !*update {
		t.Errorf("the table in %s is not what happened; run with -update and read the difference", file)
		return
	}
	must(t, os.WriteFile(file, []byte(now), 0o644))
}
