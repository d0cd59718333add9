package mount

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

// base are the arguments that every plan with a read-only root begins with.
const base = "--ro-bind / / --dev /dev --proc /proc --remount-ro /proc --tmpfs /tmp --tmpfs /var/tmp --tmpfs /run"

func TestBwrapArgs(t *testing.T) {
	dirs := map[string]bool{"/hide": true}
	h := Host{IsDir: func(p string) bool { return dirs[p] }}
	tests := map[string]struct {
		p    policy.Policy
		h    Host
		want string
	}{
		"nothing writable": {policy.Policy{}, h, base},
		"parents before children": {
			policy.Policy{Roots: []string{"/b", "/b/c"}, GitDirs: []string{"/a/.git"}},
			h,
			base + " --bind /a/.git /a/.git --bind /b /b --bind /b/c /b/c",
		},
		"what lies between roots is pinned": {
			policy.Policy{Roots: []string{"/b", "/b/c/d", "/b/c/e", "/b-c"}},
			h,
			base + " --bind /b /b --bind /b/c /b/c --bind /b/c/d /b/c/d --bind /b/c/e /b/c/e --bind /b-c /b-c",
		},
		"what leads to a hidden file is pinned": {
			policy.Policy{Roots: []string{"/b"}, ReadDeny: []string{"/b/c/secret", "/e/secret"}},
			h,
			base + " --bind /b /b --bind /b/c /b/c --ro-bind /dev/null /b/c/secret --ro-bind /dev/null /e/secret",
		},
		"nothing in a hidden directory": {
			policy.Policy{Roots: []string{"/hide/d/root"}, ReadDeny: []string{"/hide", "/hide/secret"}},
			h,
			base + " --tmpfs /hide --remount-ro /hide",
		},
		"devices are not the host's": {
			policy.Policy{Roots: []string{"/"}, AllowRootFS: true, ReadDeny: []string{"/dev/x/y", "/proc/x/y", "/sys/x/y"}},
			h,
			"--bind / / --dev /dev --proc /proc --remount-ro /proc --ro-bind /dev/null /dev/x/y --ro-bind /dev/null /proc/x/y --ro-bind /sys /sys --ro-bind /dev/null /sys/x/y",
		},
		"root in a private directory": {policy.Policy{Roots: []string{"/tmp/p"}}, h, base + " --bind /tmp/p /tmp/p"},
		"temporary directory": {
			policy.Policy{}, Host{IsDir: h.IsDir, TempDir: "/tmp/mine/"}, base + " --dir /tmp/mine",
		},
		"temporary directory elsewhere": {policy.Policy{}, Host{IsDir: h.IsDir, TempDir: "/home/t"}, base},
		"temporary directory in a root": {
			policy.Policy{Roots: []string{"/tmp/p"}}, Host{IsDir: h.IsDir, TempDir: "/tmp/p/t"}, base + " --bind /tmp/p /tmp/p",
		},
		"resolver":         {policy.Policy{}, Host{IsDir: h.IsDir, Resolver: "/run/r/resolv.conf"}, base + " --ro-bind /run/r/resolv.conf /run/r/resolv.conf"},
		"plain resolver":   {policy.Policy{}, Host{IsDir: h.IsDir, Resolver: "/etc/resolv.conf"}, base},
		"hidden directory": {policy.Policy{ReadDeny: []string{"/hide"}}, h, base + " --tmpfs /hide --remount-ro /hide"},
		"hidden file":      {policy.Policy{ReadDeny: []string{"/secret"}}, h, base + " --ro-bind /dev/null /secret"},
		"hidden anyway":    {policy.Policy{ReadDeny: []string{"/tmp/x"}}, h, base},
		"whole file system": {
			policy.Policy{Roots: []string{"/"}, AllowRootFS: true},
			h,
			"--bind / / --dev /dev --proc /proc --remount-ro /proc --ro-bind /sys /sys",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := New(tt.p, tt.h)
			if diff := cmp.Diff(tt.want, strings.Join(plan.BwrapArgs(), " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProtectedPathsAreMountedInTheirDirectories(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{".git/objects", ".git/refs", ".git/hooks"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{".git/HEAD", ".git/config", ".envrc"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := policy.Policy{Roots: []string{dir}}
	got := New(p, Host{}).Entries
	want := []Entry{
		{Bind, dir},
		{ReadOnly, dir + "/.envrc"},
		{Bind, dir + "/.git"},
		{ReadOnly, dir + "/.git/config"},
		{ReadOnly, dir + "/.git/hooks"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p.Unprotected = true
	if got := New(p, Host{}).Entries; len(got) != 1 {
		t.Errorf("unprotected, the plan has %v", got)
	}
}

// TestOrder: a directory that is closed stays closed, whatever the order in
// which its reasons are found.
func TestOrder(t *testing.T) {
	var plan Plan
	for _, e := range []Entry{
		{Bind, "/r"},
		{ReadOnly, "/r/.vscode"},
		{Bind, "/r/.vscode"},
		{Bind, "/r/.vscode/deep"},
		{Bind, "/r/.vscode/deep/root"},
		{ReadOnly, "/r/.vscode/deep/root/.git/config"},
		{Bind, "/r/.vscode/deep/root/.git"},
		{Empty, "/r/.vscode/secrets"},
		{Bind, "/r/.vscode/secrets/x"},
		{Bind, "/r"},
	} {
		plan.add(e.Kind, e.Path)
	}
	plan.prune([]string{"/r", "/r/.vscode/deep/root"})
	want := []Entry{
		{Bind, "/r"},
		{Bind, "/r/.vscode"},
		{ReadOnly, "/r/.vscode"},
		{Bind, "/r/.vscode/deep/root"},
		{Bind, "/r/.vscode/deep/root/.git"},
		{ReadOnly, "/r/.vscode/deep/root/.git/config"},
		{Empty, "/r/.vscode/secrets"},
	}
	if diff := cmp.Diff(want, plan.Entries); diff != "" {
		t.Error(diff)
	}
}

func TestHides(t *testing.T) {
	roots := []string{"/tmp/p"}
	plan := New(policy.Policy{Roots: roots, ReadDeny: []string{"/home/me/.ssh"}}, Host{IsDir: func(string) bool { return true }})
	for path, want := range map[string]bool{
		"/":                false,
		"/home/me":         false,
		"/home/me/.ssh":    true,
		"/home/me/.ssh/x":  true,
		"/tmp":             false,
		"/tmp/q":           true,
		"/tmp/p":           false,
		"/tmp/p/sub":       false,
		"/tmp/pp":          true,
		"/run/user/1000":   true,
		"/var/tmp/x":       true,
		"/var":             false,
		"/runner/not/tmp":  false,
		"/home/me/.sshkey": false,
	} {
		if got := plan.Hides(path, roots); got != want {
			t.Errorf("Hides(%s) = %v, want %v", path, got, want)
		}
	}
}
