//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoFalseFull switches off one protection at a time, in a program built
// for that, and demands two things: the protection is gone, so the test tests
// something, and the report names it.
func TestNoFalseFull(t *testing.T) {
	weak := filepath.Join(filepath.Dir(program), "weak", "steerable-sandbox")
	must(t, os.MkdirAll(filepath.Dir(weak), 0o755))
	if err := goBuild(weak, "-tags=steerable_weaken"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		dimension string
		backends  string
		flags     []string
		attempt   string // succeeds only where the protection is off
	}{
		{"writes", "bwrap native landlock", nil, `echo x > "$OUT/new"`},
		{"protect", "bwrap native", []string{"--protect=on"}, `echo x > .envrc`},
		{"readDeny", "bwrap native", []string{"--read-deny", "HIDDEN"}, `grep -q secret "$OUT/hidden"`},
		{"metadata", "bwrap native landlock", nil, `chmod 700 "$OUT/victim"`},
		{"egress", "bwrap native landlock", nil, `exec 3<>/dev/tcp/127.0.0.1/$TCP`},
		{"unix", "bwrap native landlock", nil, `python3 -c "import socket,os;socket.socket(1).connect(os.environ['SOCK'])"`},
		{"descriptors", "bwrap native landlock", nil, `echo x > /proc/self/fd/9/viafd || echo x >&8`},
		{"environment", "bwrap native landlock", nil, `env | grep -q CONTROL_TOKEN`},
		{"signals", "landlock", nil, `renice -n 19 -p $VPID`},
		{"kernel", "bwrap native landlock", nil, `python3 -c "import ctypes,sys;l=ctypes.CDLL(None);sys.exit(0 if l.syscall(425,8,ctypes.create_string_buffer(120))>=0 else 1)"`},
		{"limits", "bwrap native landlock", []string{"--file-size", "1000"}, `head -c 5000 /dev/zero > big`},
	}
	all := users()
	for _, tt := range tests {
		for backend := range strings.FieldsSeq(tt.backends) {
			t.Run(tt.dimension+"/"+backend, func(t *testing.T) {
				u := all[0]
				if tt.dimension == "signals" {
					u = all[len(all)-1] // root without capabilities cannot renice root anyway
				}
				if !available(t, u, backend) {
					t.Skip("the rung does not work here")
				}
				t.Parallel()
				sound, report := weakRun(t, u, program, "", backend, tt.flags, tt.attempt)
				if sound == 0 {
					t.Errorf("the attempt succeeds with the protection on")
				}
				if !strings.Contains(report, `"enforcement":"full"`) && tt.dimension != "protect" {
					t.Errorf("with everything on the report is %s", report)
				}
				code, report := weakRun(t, u, weak, tt.dimension, backend, tt.flags, tt.attempt)
				if code != 0 {
					t.Errorf("exit %d: the protection is not off, so this shows nothing", code)
				}
				if !strings.Contains(report, `"enforcement":"partial"`) || !strings.Contains(report, `"`+tt.dimension+`"`) {
					t.Errorf("without %s the report is %s", tt.dimension, report)
				}
			})
		}
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
