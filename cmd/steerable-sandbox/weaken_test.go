//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// protections are what the hook can switch off, with an attempt that succeeds
// only where it is off.
func protections() []protection {
	return []protection{
		{dimension: "writes", attempt: `echo x > "$OUT/new"`},
		{dimension: "protect", flags: []string{"--protect=on"}, attempt: `echo x > .envrc`, never: "landlock"},
		{dimension: "readDeny", flags: []string{"--read-deny", "HIDDEN"}, attempt: `grep -q secret "$OUT/hidden"`, never: "landlock"},
		{dimension: "metadata", attempt: `chmod 700 "$OUT/victim"`},
		{dimension: "egress", attempt: `exec 3<>/dev/tcp/127.0.0.1/$TCP`},
		{dimension: "unix", attempt: `python3 -c "import socket,os;socket.socket(1).connect(os.environ['SOCK'])"`},
		{dimension: "descriptors", attempt: `echo x > /proc/self/fd/9/viafd || echo x >&8`},
		{dimension: "environment", attempt: `env | grep -q CONTROL_TOKEN`},
		{dimension: "signals", attempt: `renice -n 19 -p $VPID`, dead: "native"},
		{dimension: "kernel", attempt: `python3 -c "import ctypes,sys;l=ctypes.CDLL(None);sys.exit(0 if l.syscall(425,8,ctypes.create_string_buffer(120))>=0 else 1)"`},
		{dimension: "limits", flags: []string{"--file-size", "1000"}, attempt: `head -c 5000 /dev/zero > big`},
	}
}

type protection struct {
	dimension string
	flags     []string
	attempt   string
	// never is a rung that does not carry the dimension: Landlock grants by
	// directory and takes nothing away inside one. There is nothing to switch
	// off, so the report must name it in the program as it is shipped.
	never string
	// dead is a rung that does not start without the protection: a fresh /proc,
	// which the native rung puts in the place of the host's, belongs to a pid
	// namespace of its own.
	dead string
}

// TestNoFalseFull switches off one protection at a time, in a program built
// for that, and demands two things: the protection is gone, so the test tests
// something, and the report names it. Every dimension is tried on every rung.
func TestNoFalseFull(t *testing.T) {
	weak := filepath.Join(filepath.Dir(program), "weak", "steerable-sandbox")
	must(t, os.MkdirAll(filepath.Dir(weak), 0o755))
	if err := goBuild(weak, "-tags=steerable_weaken"); err != nil {
		t.Fatal(err)
	}
	all := users()
	for _, p := range protections() {
		for _, backend := range []string{"bwrap", "native", "landlock"} {
			t.Run(p.dimension+"/"+backend, func(t *testing.T) {
				u := all[0]
				if p.dimension == "signals" {
					u = all[len(all)-1] // root without capabilities cannot renice root anyway
				}
				if !available(t, u, backend) {
					t.Skip("the rung does not work here")
				}
				t.Parallel()
				p.try(t, u, weak, backend)
			})
		}
	}
}

func (p protection) try(t *testing.T, u user, weak, backend string) {
	t.Helper()
	names := func(report string) bool {
		return strings.Contains(report, `"enforcement":"partial"`) && strings.Contains(report, `"`+p.dimension+`"`)
	}
	sound, report := weakRun(t, u, program, "", backend, p.flags, p.attempt)
	if p.never == backend {
		if sound != 0 || !names(report) {
			t.Errorf("exit %d and %s; the rung does not carry %s", sound, report, p.dimension)
		}
		return
	}
	if sound == 0 {
		t.Errorf("the attempt succeeds with the protection on")
	}
	if !strings.Contains(report, `"enforcement":"full"`) {
		t.Errorf("with everything on the report is %s", report)
	}
	code, report := weakRun(t, u, weak, p.dimension, backend, p.flags, p.attempt)
	switch {
	case p.dead == backend:
		if code != 125 || !strings.HasPrefix(report, "steerable-sandbox: "+backend+": mount /proc: ") {
			t.Errorf("exit %d, %q; the rung cannot start without %s", code, report, p.dimension)
		}
	case code != 0:
		t.Errorf("exit %d: the protection is not off, so this shows nothing", code)
	case !names(report):
		t.Errorf("without %s the report is %s", p.dimension, report)
	}
}

// weakRun runs attempt and returns its status and the report line.
func weakRun(t *testing.T, u user, program, weaken, backend string, flags []string, attempt string) (int, string) {
	t.Helper()
	r := newRig(t, u)
	must(t, r.shell(u, `echo secret > "$OUT/hidden"; : > "$ROOT/.envrc"`))
	args := append([]string{"exec", "--json", "--backend", backend, "--root", r.root, "--caches", "host"}, r.passed()...)
	if len(flags) == 0 || !strings.HasPrefix(flags[0], "--protect") {
		args = append(args, "--protect=off")
	}
	for _, f := range flags {
		args = append(args, strings.ReplaceAll(f, "HIDDEN", r.out+"/hidden"))
	}
	cmd := exec.CommandContext(t.Context(), program, append(args, "--", "bash", "-c", "--", attempt)...)
	cmd.Env = append([]string{"STEERABLE_EGRESS_CONTROL_TOKEN=tok", "STEERABLE_WEAKEN=" + weaken}, r.env...)
	cmd.Dir = r.root
	u.as(cmd)
	leak(t, cmd, r.out)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	_ = cmd.Run()
	line, _, _ := strings.Cut(stderr.String(), "\n")
	return exitCode(cmd.ProcessState), line
}
