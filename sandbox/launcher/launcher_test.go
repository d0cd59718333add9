package launcher

import (
	"slices"
	"testing"

	"github.com/steerable-go/sidecar/sandbox/policy"
)

func TestMatch(t *testing.T) {
	tests := map[string]struct {
		args []string
		verb verb
		rest []string
		ok   bool
	}{
		"launcher":                {[]string{"/x/steerable-sandbox", "exec", "--", "a"}, verbExec, []string{"--", "a"}, true},
		"launcher on windows":     {[]string{"steerable-sandbox.exe", "exec", "a"}, verbExec, []string{"a"}, true},
		"any program":             {[]string{"x", "sandbox", "exec", "a"}, verbExec, []string{"a"}, true},
		"reference":               {[]string{"x", "-m", referenceModule, "--root", "/"}, verbOld, []string{"--root", "/"}, true},
		"exec of another program": {[]string{"x", "exec", "a"}, 0, nil, false},
		"other verb":              {[]string{"x", "sandbox", "describe"}, 0, nil, false},
		"nothing":                 {[]string{"x"}, 0, nil, false},
		"no name":                 {nil, 0, nil, false},
	}
	for name, tt := range tests {
		v, rest, ok := match(tt.args)
		if v != tt.verb || ok != tt.ok || !slices.Equal(rest, tt.rest) {
			t.Errorf("%s: match(%q) = %d %q %v", name, tt.args, v, rest, ok)
		}
	}
}

func TestTranslate(t *testing.T) {
	args := translate([]string{"--root", "/r", "--network", "--", "sh", "-c", "--network"})
	command, err := policy.ParseArgs(args)
	if err != nil {
		t.Fatal(err)
	}
	c := command.Config
	if command.Backend != policy.BackendLandlock || !c.Network || !c.Unprotected || !c.HostCaches {
		t.Errorf("translated to %+v", command)
	}
	if !slices.Equal(command.Argv, []string{"sh", "-c", "--network"}) {
		t.Errorf("the command became %q", command.Argv)
	}
	if !slices.Contains(c.Roots, "/r") || !slices.Contains(c.Roots, "/tmp") {
		t.Errorf("roots %q", c.Roots)
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{"a\nb": "a b", " a\r\n": "a", "tab\there": "tab here", "\x1b[31m": "[31m", "é": "é"} {
		if got := line(in); got != want {
			t.Errorf("line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWithTemp(t *testing.T) {
	roots := []string{"/p"}
	tests := map[string]struct {
		env    []string
		temp   string
		caches bool
		want   map[string]string // "" means unset
	}{
		"unset":             {nil, "/tmp", false, map[string]string{"TMPDIR": "", "GOCACHE": "/tmp/go-build"}},
		"unset, elsewhere":  {nil, "/tmp/x/1", false, map[string]string{"TMPDIR": "/tmp/x/1", "TMPPREFIX": "/tmp/x/1/zsh", "npm_config_cache": "/tmp/x/1/npm-cache"}},
		"in a root":         {[]string{"TMPDIR=/p/t"}, "/tmp", false, map[string]string{"TMPDIR": "/p/t", "GOMODCACHE": "/p/t/go-mod"}},
		"not writable":      {[]string{"TMPDIR=/home/t"}, "/tmp", false, map[string]string{"TMPDIR": "/tmp"}},
		"relative":          {[]string{"TMPDIR=p/t"}, "/tmp", false, map[string]string{"TMPDIR": "/tmp"}},
		"dots leave a root": {[]string{"TMPDIR=/p/../etc"}, "/tmp", false, map[string]string{"TMPDIR": "/tmp"}},
		"host caches":       {nil, "/tmp", true, map[string]string{"GOCACHE": "", "PIP_CACHE_DIR": ""}},
		"given cache":       {[]string{"GOCACHE=/c"}, "/tmp", false, map[string]string{"GOCACHE": "/c"}},
	}
	for name, tt := range tests {
		l := &launch{env: tt.env, policy: policy.Policy{HostCaches: tt.caches}}
		env := l.withTemp(tt.temp, roots)
		for key, want := range tt.want {
			if got, _ := policy.Lookup(env, key); got != want {
				t.Errorf("%s: %s = %q, want %q", name, key, got, want)
			}
		}
	}
}
