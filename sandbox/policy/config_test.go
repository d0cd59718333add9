package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes directories, files ("name=text") and links ("name->target") below
// a fresh directory and returns its real path.
func tree(t *testing.T, entries ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		var err error
		if name, target, ok := strings.Cut(entry, "->"); ok {
			err = os.Symlink(strings.ReplaceAll(target, "DIR", dir), filepath.Join(dir, name))
		} else if name, text, ok := strings.Cut(entry, "="); ok {
			err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755),
				os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		} else {
			err = os.MkdirAll(filepath.Join(dir, entry), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRefusals(t *testing.T) {
	dir := tree(t, "p", "p/link->/etc", "p/inside->DIR/p/sub", "p/sub", "file=x", "toroot->/")
	tests := map[string]struct {
		c    Config
		want Reason
	}{
		"missing root":           {Config{Roots: []string{dir + "/none"}}, ReasonRootMissing},
		"file as root":           {Config{Roots: []string{dir + "/file"}}, ReasonRootMissing},
		"whole file system":      {Config{Roots: []string{"/"}}, ReasonRootFS},
		"link to /":              {Config{Roots: []string{dir + "/toroot"}}, ReasonRootFS},
		"dots to /":              {Config{Roots: []string{"/usr/.."}}, ReasonRootFS},
		"planted link":           {Config{Roots: []string{dir + "/p", dir + "/p/link"}}, ReasonSymlinkLeaves},
		"planted link first":     {Config{Roots: []string{dir + "/p/link", dir + "/p"}}, ReasonSymlinkLeaves},
		"newline":                {Config{Roots: []string{dir + "/a\nb"}}, ReasonControlCharacter},
		"delete":                 {Config{ReadDeny: []string{"/a\x7f"}}, ReasonControlCharacter},
		"C1 control":             {Config{Roots: []string{"/a\u0085"}}, ReasonControlCharacter},
		"empty root":             {Config{Roots: []string{""}}, ReasonRelativePath},
		"relative":               {Config{Roots: []string{"p"}}, ReasonRelativePath},
		"home without home":      {Config{Roots: []string{"~/p"}}, ReasonRelativePath},
		"git directory":          {Config{GitDirs: []string{dir + "/p"}}, ReasonGitDir},
		"wildcard":               {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"*.example"}}, ReasonAllowedHosts},
		"bad entry, network off": {Config{HostsGiven: true, AllowedHosts: []string{"a:b"}}, ReasonAllowedHosts},
		"bare IPv6":              {Config{HostsGiven: true, AllowedHosts: []string{"::1:80"}}, ReasonAllowedHosts},
		"port 0":                 {Config{HostsGiven: true, AllowedHosts: []string{"a:0"}}, ReasonAllowedHosts},
		"port too large":         {Config{HostsGiven: true, AllowedHosts: []string{"a:65536"}}, ReasonAllowedHosts},
		"scheme":                 {Config{HostsGiven: true, AllowedHosts: []string{"http://a"}}, ReasonAllowedHosts},
		"socket without port":    {Config{EgressSocket: "/s"}, ReasonEgressEndpoint},
		"port without socket":    {Config{EgressPort: 80}, ReasonEgressEndpoint},
		"socket and hosts":       {Config{EgressSocket: "/s", EgressPort: 1, AllowedHosts: []string{"a"}}, ReasonEgressEndpoint},
		"variable name":          {Config{Env: []string{"A-B"}}, ReasonEnvironment},
		"no variable name":       {Config{Env: []string{"=x"}}, ReasonEnvironment},
		"control token":          {Config{Env: []string{"STEERABLE_EGRESS_CONTROL_TOKEN"}}, ReasonEnvironment},
		"control token by value": {Config{Env: []string{"STEERABLE_EGRESS_SECRET=x"}}, ReasonEnvironment},
		"NUL in a value":         {Config{Env: []string{"A=\x00"}}, ReasonControlCharacter},
		"negative limit":         {Config{Limits: Limits{Processes: -1}}, ReasonLimit},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(tt.c)
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Reason != tt.want {
				t.Errorf("New(%+v) = %v, want reason %s", tt.c, err, tt.want)
			}
		})
	}
}

func TestRoots(t *testing.T) {
	dir := tree(t, "p/sub", "p/inside->DIR/p/sub", "alias->DIR/p", "home/q")
	tests := map[string]struct {
		roots []string
		want  []string
	}{
		"one":                  {[]string{dir + "/p"}, []string{"p"}},
		"link is resolved":     {[]string{dir + "/alias"}, []string{"p"}},
		"link inside stays":    {[]string{dir + "/p", dir + "/p/inside"}, []string{"p", "p/sub"}},
		"duplicates":           {[]string{dir + "/p", dir + "/alias", dir + "/p/"}, []string{"p"}},
		"home":                 {[]string{"~/q"}, []string{"home/q"}},
		"relative":             {[]string{"p/../p/sub"}, []string{"p/sub"}},
		"below another's link": {[]string{dir + "/alias", dir + "/alias/sub"}, []string{"p", "p/sub"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := New(Config{Roots: tt.roots, Home: dir + "/home", Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, root := range p.Roots {
				got = append(got, strings.TrimPrefix(root, dir+"/"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	p, err := New(Config{Roots: []string{"/"}, AllowRootFS: true})
	if err != nil || !slices.Equal(p.Roots, []string{"/"}) {
		t.Errorf("allowed / gives %v, %v", p.Roots, err)
	}
}

func TestEgress(t *testing.T) {
	tests := map[string]struct {
		c    Config
		mode EgressMode
		port uint16
	}{
		"off":                     {Config{}, EgressClosed, 0},
		"off with hosts":          {Config{HostsGiven: true, AllowedHosts: []string{"localhost:1"}}, EgressClosed, 0},
		"open":                    {Config{Network: true}, EgressOpen, 0},
		"present and empty":       {Config{Network: true, HostsGiven: true}, EgressClosed, 0},
		"one loopback":            {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"127.0.0.1:8080"}}, EgressPinned, 8080},
		"one under three names":   {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"LOCALHOST:81", "[::1]:81", "127.0.0.1:81"}}, EgressPinned, 81},
		"mapped":                  {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"[::ffff:127.0.0.1]:81"}}, EgressPinned, 81},
		"two ports":               {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"localhost:1", "localhost:2"}}, EgressLoopback, 0},
		"bare localhost":          {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"localhost"}}, EgressLoopback, 0},
		"another loopback":        {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"127.0.0.2:1"}}, EgressListed, 0},
		"remote":                  {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"example.com:443"}}, EgressListed, 0},
		"looks like loopback":     {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"localhost.example:1"}}, EgressListed, 0},
		"loopback beside remote":  {Config{Network: true, HostsGiven: true, AllowedHosts: []string{"localhost:1", "a:1"}}, EgressListed, 0},
		"socket":                  {Config{EgressSocket: "/s", EgressPort: 9}, EgressPinned, 9},
		"socket beats the switch": {Config{EgressSocket: "/s", EgressPort: 9, Network: true}, EgressPinned, 9},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := New(tt.c)
			if err != nil || p.Egress.Mode != tt.mode || p.Egress.Port != tt.port {
				t.Errorf("egress %+v, %v; want mode %d port %d", p.Egress, err, tt.mode, tt.port)
			}
		})
	}
}

func TestReadDenyDropsWhatIsNotThere(t *testing.T) {
	dir := tree(t, "secret=x", "link->DIR/secret")
	p, err := New(Config{ReadDeny: []string{dir + "/link", dir + "/none"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{dir + "/secret"}, p.ReadDeny); diff != "" {
		t.Error(diff)
	}
}

func TestScrub(t *testing.T) {
	p, err := New(Config{Env: []string{"KEEP", "SET=new", "PATH=/p", "EMPTY="}})
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"PATH=/usr/bin", "HOME=/h", "LC_ALL=C", "LC_X=1", "KEEP=k", "SET=old", "OPENAI_API_KEY=secret",
		"LD_PRELOAD=x", "STEERABLE_EGRESS_CONTROL_TOKEN=t", "noequals", "TMPDIR=/t",
	}
	want := []string{"HOME=/h", "LC_ALL=C", "LC_X=1", "KEEP=k", "TMPDIR=/t", "SET=new", "PATH=/p", "EMPTY="}
	if diff := cmp.Diff(want, Scrub(environ, p)); diff != "" {
		t.Error(diff)
	}
	if got, ok := Lookup([]string{"A=1", "A=2"}, "A"); got != "2" || !ok {
		t.Errorf("Lookup = %q, %v", got, ok)
	}
}

func TestProtectedPaths(t *testing.T) {
	dir := tree(t,
		"p/.git/HEAD=x", "p/.git/objects", "p/.git/refs", "p/.git/hooks", "p/.git/config=x",
		"p/.git/modules/m/hooks", "p/.git/modules/m/config=x", "p/.git/modules/libs/n/config=x", "p/.git/worktrees/w/commondir=x",
		"p/.envrc=x", "p/.vscode", "p/.zshrc->DIR/outside", "outside=x",
		"nohooks/.git/HEAD=x", "nohooks/.git/objects", "nohooks/.git/refs",
		"repo.git/HEAD=x", "repo.git/objects", "repo.git/refs", "repo.git/config=x",
		"linked/real", "linked/.agents->real", "bare", "notgit/.git",
		"tree/.git=gitdir: ../outside", "headless/.git/hooks", "headless/.git/config=x", "apart/.git=gitdir: a/b/data\n",
		"apart/a/b/data/HEAD=x", "apart/a/b/data/objects", "apart/a/b/data/refs", "apart/a/b/data/hooks",
	)
	tests := map[string][]Protected{
		"p": {
			{Path: "p/.git", Pin: true},
			{Path: "p/.git/hooks"},
			{Path: "p/.git/config"},
			{Path: "p/.git/modules", Pin: true, Between: true},
			{Path: "p/.git/modules/libs", Pin: true, Between: true},
			{Path: "p/.git/modules/libs/n", Pin: true},
			{Path: "p/.git/modules/libs/n/config"},
			{Path: "p/.git/modules/m", Pin: true},
			{Path: "p/.git/modules/m/hooks"},
			{Path: "p/.git/modules/m/config"},
			{Path: "p/.git/worktrees", Pin: true, Between: true},
			{Path: "p/.git/worktrees/w", Pin: true},
			{Path: "p/.git/worktrees/w/commondir"},
			{Path: "p/.envrc"},
			{Path: "p/.vscode"},
		},
		"nohooks":  {{Path: "nohooks/.git", Pin: true}, {Path: "nohooks/.git/hooks", Create: true}},
		"linked":   {{Path: "linked/real"}},
		"headless": {{Path: "headless/.git", Pin: true}, {Path: "headless/.git/hooks"}, {Path: "headless/.git/config"}},
		"tree":     {{Path: "tree/.git"}}, // the directory it names is in no root
		"apart": {
			{Path: "apart/.git"},
			{Path: "apart/a", Pin: true, Between: true},
			{Path: "apart/a/b", Pin: true, Between: true},
			{Path: "apart/a/b/data", Pin: true},
			{Path: "apart/a/b/data/hooks"},
		},
		"bare": nil,
		"repo.git": {
			{Path: "repo.git/hooks", Create: true},
			{Path: "repo.git/config"},
		},
		"notgit": nil,
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			got := ProtectedPaths([]string{filepath.Join(dir, name)}, nil)
			for i := range got {
				got[i].Path = strings.TrimPrefix(got[i].Path, dir+"/")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := ProtectedPaths([]string{"/"}, nil); got != nil {
		t.Errorf("protected in /: %v", got)
	}
	gitDir := filepath.Join(dir, "p/.git")
	if got := ProtectedPaths(nil, []string{gitDir}); len(got) == 0 || got[0].Pin {
		t.Errorf("a named git directory gives %v; its hooks are protected, and it needs no pin", got)
	}
}

// TestPinned: what lies between, and nothing else.
func TestPinned(t *testing.T) {
	tests := map[string]struct {
		p    Policy
		want []string
	}{
		"one root":        {Policy{Roots: []string{"/a"}}, nil},
		"apart":           {Policy{Roots: []string{"/a/b", "/a/c"}, ReadDeny: []string{"/a/s", "/e/s"}}, nil},
		"directly below":  {Policy{Roots: []string{"/a", "/a/b"}, ReadDeny: []string{"/a/s"}}, nil},
		"deep":            {Policy{Roots: []string{"/a", "/a/b/c/d", "/a/b/x"}}, []string{"/a/b", "/a/b/c"}},
		"git directory":   {Policy{Roots: []string{"/a"}, GitDirs: []string{"/a/m/.git"}}, []string{"/a/m"}},
		"hidden":          {Policy{Roots: []string{"/a"}, ReadDeny: []string{"/a/b/s"}}, []string{"/a/b"}},
		"everything":      {Policy{Roots: []string{"/", "/a/b"}}, []string{"/a"}},
		"similar names":   {Policy{Roots: []string{"/a", "/ab/c/d"}}, nil},
		"nothing at all":  {Policy{}, nil},
		"only to be read": {Policy{ReadDeny: []string{"/a/b/c"}}, nil},
	}
	for name, tt := range tests {
		if got := tt.p.Pinned(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestNewcomers: only what git would read in a git directory is removed.
func TestNewcomers(t *testing.T) {
	dir := tree(t, "p/.git=gitdir: a/data", "p/a/data/HEAD=x", "p/a/data/objects", "p/a/data/refs", "p/a/data/hooks", "p/a/data/config=x")
	got, misled := NewcomersIn([]string{dir + "/p"}, nil)
	if want := []string{dir + "/p/a/data/commondir", dir + "/p/a/data/config.worktree"}; !slices.Equal(got, want) || misled {
		t.Errorf("%q, %v; want %q", got, misled, want)
	}
}

// TestMisled: a commondir belongs to a worktree, which has no objects.
func TestMisled(t *testing.T) {
	tests := map[string]struct {
		files []string
		want  bool
	}{
		"planted":  {[]string{"p/.git/HEAD=x", "p/.git/objects", "p/.git/refs", "p/.git/commondir=../evil"}, true},
		"worktree": {[]string{"p/.git=gitdir: a", "p/a/HEAD=x", "p/a/commondir=../b", "p/a/gitdir=x"}, false},
		"usual":    {[]string{"p/.git/HEAD=x", "p/.git/objects", "p/.git/refs", "p/.git/config=x"}, false},
	}
	for name, tt := range tests {
		if _, got := NewcomersIn([]string{tree(t, tt.files...) + "/p"}, nil); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
