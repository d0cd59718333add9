package ruleset

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary restrict itself and try things, since a
// restriction cannot be taken back.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "restricted" {
		os.Exit(restricted(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// restricted applies the rule set named by kind and runs a shell script.
func restricted(kind string, args []string) int {
	runtime.LockOSThread()
	var fd int
	var err error
	if kind == "scope" {
		fd, err = NewScope()
	} else {
		fd, err = New(ABI(), Layout{Writable: []string{args[0]}, HostDevices: kind == "host"})
	}
	if err != nil {
		return 100
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 101
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return 102
	}
	if err := syscall.Exec("/bin/sh", []string{"sh", "-c", args[1], "sh", args[0]}, os.Environ()); err != nil {
		return 103
	}
	return 0
}

func TestRestrictions(t *testing.T) {
	if ABI() < ScopeABI {
		t.Skipf("landlock ABI %d here", ABI())
	}
	tests := map[string]struct {
		kind, script string
		want         int
	}{
		"write inside":                {"plain", `echo x > "$1/f"`, 0},
		"move between directories":    {"plain", `mkdir "$1/a" "$1/b" && echo > "$1/a/f" && mv "$1/a/f" "$1/b/" && ln "$1/b/f" "$1/a/l"`, 0},
		"write outside":               {"plain", `echo x > "$1/../f"`, 2},
		"remove outside":              {"plain", `rm "$1/../victim"`, 1},
		"truncate outside":            {"plain", `: > "$1/../victim"`, 2},
		"fifo inside":                 {"plain", `mkfifo "$1/p"`, 0},
		"null device":                 {"plain", `echo x > /dev/null && head -c1 /dev/zero > /dev/null`, 0},
		"read /etc":                   {"host", `cat /etc/passwd > /dev/null`, 0},
		"list /dev":                   {"host", `ls /dev > /dev/null`, 0},
		"run a program":               {"host", `/bin/true`, 0},
		"signal outside":              {"plain", `kill -0 "$PPID"`, 1},
		"signal own child":            {"plain", `sleep 9 & kill $!`, 0},
		"scope leaves files alone":    {"scope", `mkdir "$1/a" "$1/b" && echo > "$1/a/f" && mv "$1/a/f" "$1/b/" && echo x > "$1/../victim"`, 0},
		"scope stops signals":         {"scope", `kill -0 "$PPID"`, 1},
		"scope reaches its own":       {"scope", `sleep 9 & kill $!`, 0},
		"nothing else grants a write": {"plain", `echo x > /tmp/steer-ruleset-test`, 2},
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "root")
			if err := errors.Join(os.Mkdir(root, 0o755), os.WriteFile(root+"/../victim", []byte("x"), 0o644)); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), exe, "restricted", tt.kind, root, tt.script)
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != tt.want {
				t.Errorf("exit %d, want %d: %s", got, tt.want, out)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(MinABI-1, Layout{}); !errors.Is(err, syscall.ENOSYS) {
		t.Errorf("an old ABI gives %v, want ENOSYS", err)
	}
	if ABI() < MinABI {
		t.Skip("no landlock here")
	}
	if _, err := New(ABI(), Layout{Writable: []string{filepath.Join(t.TempDir(), "none")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing directory gives %v", err)
	}
}

func TestRights(t *testing.T) {
	for abi, want := range map[int]Rights{1: 1<<13 - 1, 2: 1<<14 - 1, 3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 7: 1<<16 - 1, 99: 1<<16 - 1} {
		if got := handled(abi); got != want {
			t.Errorf("handled(%d) = %#x, want %#x", abi, got, want)
		}
	}
	for _, abi := range []int{3, 5, 7} {
		if w := Writable(abi); w&(makeChar|makeBlock|ioctlDev) != 0 || w&refer == 0 {
			t.Errorf("Writable(%d) = %#x grants nodes or device ioctls, or no moving", abi, w)
		}
	}
	if scopes(5) != 0 || scopes(6) != scopeAbstract|scopeSignal {
		t.Error("scopes begin with ABI 6")
	}
}
