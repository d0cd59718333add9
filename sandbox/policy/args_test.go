package policy

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestParseArgs(t *testing.T) {
	tests := map[string]struct {
		args []string
		want Command
	}{
		"command": {[]string{"--", "ls", "-l"}, Command{Backend: "auto", Argv: []string{"ls", "-l"}}},
		"command without --": {[]string{"--root", "/r", "ls", "--root"}, Command{
			Backend: "auto", Argv: []string{"ls", "--root"}, Config: Config{Roots: []string{"/r"}},
		}},
		"everything": {
			[]string{
				"--root=/a", "--root", "/b", "--git-dir", "/g", "--read-deny", "/d", "--protect=off", "--network", "on",
				"--allow", "h:1", "--env", "A=b=c", "--caches", "host", "--allow-root-fs", "--backend=native",
				"--require", "partial", "--json", "--supervise", "off", "--cpu-seconds", "3", "--", "x",
			},
			Command{
				Backend: "native", Require: Partial, JSON: true, Unsupervised: true, Argv: []string{"x"},
				Config: Config{
					Roots: []string{"/a", "/b"}, GitDirs: []string{"/g"}, ReadDeny: []string{"/d"}, Unprotected: true,
					Network: true, HostsGiven: true, AllowedHosts: []string{"h:1"}, Env: []string{"A=b=c"},
					HostCaches: true, AllowRootFS: true, Limits: Limits{CPUSeconds: 3},
				},
			},
		},
		"off wins over allow": {[]string{"--network", "off", "--allow", "h:1", "x"}, Command{
			Backend: "auto", Argv: []string{"x"}, Config: Config{HostsGiven: true, AllowedHosts: []string{"h:1"}},
		}},
		"script": {[]string{"--script", "-"}, Command{Backend: "auto", Script: "-"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseArgs(tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Command{}), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseArgsRefuses(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"--"},
		{"--root"},
		{"--root", "/r"},
		{"--unknown", "x"},
		{"--json=yes", "x"},
		{"--network", "maybe", "x"},
		{"--protect", "", "x"},
		{"--backend", "docker", "x"},
		{"--require", "total", "x"},
		{"--egress-port", "70000", "x"},
		{"--egress-port", "-1", "x"},
		{"--cpu-seconds", "-1", "x"},
		{"--cpu-seconds", "1.5", "x"},
		{"--script", "f", "--", "x"},
		{"--allow", "--", "x"},
		{"--root", "--", "x"},
		{"--shell", "bash", "--", "x"},
		{"--unlink", "--", "x"},
		{"--help=yes", "x"},
	} {
		_, err := ParseArgs(args)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Reason != ReasonUsage {
			t.Errorf("ParseArgs(%q) = %v, want a usage refusal", args, err)
		}
	}
}

// TestHelpIsNoCommand: help is a flag like any other, until the command begins.
func TestHelpIsNoCommand(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"--root", "/r", "--help", "--no-such-flag"}} {
		if c, err := ParseArgs(args); err != nil || !c.Help {
			t.Errorf("ParseArgs(%q) = %+v, %v, want help", args, c, err)
		}
	}
	for _, args := range [][]string{{"--", "--help"}, {"ls", "--help"}, {"--env", "--help", "ls"}} {
		if c, err := ParseArgs(args); err != nil || c.Help {
			t.Errorf("ParseArgs(%q) = %+v, %v, want a command", args, c, err)
		}
	}
}

// TestArgsRoundTrip shows that what the library decided is what the launcher
// arrives at.
func TestArgsRoundTrip(t *testing.T) {
	dir := tree(t, "a", "b", "secret=x", "g/HEAD=x", "g/objects", "g/refs")
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Roots:       rapid.SliceOfDistinct(rapid.SampledFrom([]string{dir + "/a", dir + "/b"}), rapid.ID).Draw(t, "roots"),
			GitDirs:     rapid.SampledFrom([][]string{nil, {dir + "/g"}}).Draw(t, "git"),
			ReadDeny:    rapid.SampledFrom([][]string{nil, {dir + "/secret"}}).Draw(t, "deny"),
			Unprotected: rapid.Bool().Draw(t, "unprotected"),
			HostCaches:  rapid.Bool().Draw(t, "caches"),
			Network:     rapid.Bool().Draw(t, "network"),
			HostsGiven:  rapid.Bool().Draw(t, "given"),
			Env:         rapid.SliceOf(rapid.SampledFrom([]string{"A", "B=", "C=x y=z", "D=$(e)\n"})).Draw(t, "env"),
			Limits:      Limits{CPUSeconds: rapid.Int64Range(0, 5).Draw(t, "cpu"), AddressSpaceBytes: rapid.Int64Min(0).Draw(t, "as")},
		}
		if c.HostsGiven {
			c.AllowedHosts = rapid.SampledFrom([][]string{nil, {"localhost:8080"}, {"[::1]:1"}, {"a.example"}, {"localhost"}}).Draw(t, "hosts")
		} else if rapid.Bool().Draw(t, "socket") {
			c.EgressSocket, c.EgressPort = dir+"/proxy.sock", 8899
		}
		want, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		command, err := ParseArgs(append(Args(want), "--", "true"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := New(command.Config)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q: %s", Args(want), diff)
		}
	})
}

// FuzzParseArgs looks for a command line that does not come back as itself or
// panics.
func FuzzParseArgs(f *testing.F) {
	f.Add("--root", "/tmp", "--", "x")
	f.Add("--allow=[::1]:80", "--network", "on", "x")
	f.Add("--env", "A=b", "--script", "-")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		command, err := ParseArgs([]string{a, b, c, d})
		if err != nil {
			return
		}
		command.Config.Home, command.Config.Dir = "/", os.TempDir()
		p, err := New(command.Config)
		if err != nil {
			return
		}
		again, err := ParseArgs(append(Args(p), "--", "x"))
		if err != nil {
			t.Fatalf("Args(%+v) = %q: %v", p, Args(p), err)
		}
		q, err := New(again.Config)
		if err != nil {
			t.Fatalf("%q: %v", Args(p), err)
		}
		if diff := cmp.Diff(p, q, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
